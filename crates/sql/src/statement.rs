//! Which statements are run: one that only reads, of bounded length.

use std::collections::VecDeque;

use datafusion::sql::parser::{DFParser, Statement};
use datafusion::sql::sqlparser::ast::{Query, SetExpr, Statement as SqlStatement};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use crate::error::{SqlError, SqlErrorKind};

/// Longest statement, in bytes: room for a list of ten thousand ids.
pub const STATEMENT_BYTES_MAX: usize = 256 * 1024;

/// Most keywords and operators of a statement. The engine recurses as deep as they are nested, so the number bounds the
/// stack that it needs, and the time: it types each expression once for every one around it.
pub const STATEMENT_WORDS_MAX: usize = 500;

/// Words that may stand before the statement that is explained.
const EXPLAINING: [&str; 7] = [
    "EXPLAIN", "ANALYZE", "VERBOSE", "FORMAT", "TREE", "INDENT", "PGJSON",
];

/// Parses a statement.
///
/// # Errors
/// It is malformed, too long, more than one, or does something other than read.
pub(crate) fn parse(text: &str) -> Result<Statement, SqlError> {
    if text.len() > STATEMENT_BYTES_MAX {
        return Err(invalid(format!(
            "the statement has {} bytes; {STATEMENT_BYTES_MAX} are allowed",
            text.len()
        )));
    }
    let tokens = Tokenizer::new(&GenericDialect {}, text).tokenize();
    let tokens = tokens.map_err(|error| invalid(error.to_string()))?;
    let words = tokens.iter().filter(|token| may_nest(token)).count();
    if words > STATEMENT_WORDS_MAX {
        return Err(invalid(format!(
            "the statement has {words} keywords and operators; {STATEMENT_WORDS_MAX} are allowed. A list of values is \
             shorter as column IN (…)"
        )));
    }
    let first = first_word(&tokens);
    let parsed = DFParser::parse_sql(text);
    let mut statements: VecDeque<Statement> = match parsed {
        Ok(statements) => statements,
        // A word that no reading statement begins with is at fault rather than what follows it.
        Err(_) if first.as_deref().is_some_and(|word| !may_begin(word)) => {
            return Err(refused(&first.unwrap_or_default()));
        }
        Err(error) => return Err(SqlError::of_engine(&error)),
    };
    let statement = statements.pop_front();
    let Some(statement) = statement else {
        return Err(invalid("the statement is empty"));
    };
    if !statements.is_empty() {
        return Err(SqlError::new(
            SqlErrorKind::Refused,
            "; is refused between two statements: one is run at a time",
        ));
    }
    match word_at_fault(&statement) {
        None => Ok(statement),
        Some(word) => Err(refused(&word.or(first).unwrap_or_default())),
    }
}

fn invalid(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlErrorKind::Statement, message)
}

fn refused(word: &str) -> SqlError {
    SqlError::new(
        SqlErrorKind::Refused,
        format!(
            "{word} is refused: a statement only reads, so it begins with SELECT, WITH, VALUES or EXPLAIN"
        ),
    )
}

fn may_begin(word: &str) -> bool {
    ["SELECT", "WITH", "VALUES", "EXPLAIN"].contains(&word)
}

/// Whether a token can make an expression or a plan deeper.
fn may_nest(token: &Token) -> bool {
    match token {
        Token::Word(word) => word.keyword != Keyword::NoKeyword,
        Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::Comma
        | Token::Period
        | Token::LParen
        | Token::RParen
        | Token::SemiColon
        | Token::Whitespace(_) => false,
        _ => true,
    }
}

/// The first word of the statement, or of that which is explained.
fn first_word(tokens: &[Token]) -> Option<String> {
    let words = tokens.iter().filter_map(|token| match token {
        Token::Word(word) => Some(word.value.to_uppercase()),
        _ => None,
    });
    words
        .clone()
        .find(|word| !EXPLAINING.contains(&word.as_str()))
        .or_else(|| words.clone().next())
}

/// What makes a statement more than reading: the word, or `Some(None)` for the first one.
fn word_at_fault(statement: &Statement) -> Option<Option<String>> {
    match statement {
        Statement::Statement(statement) => of_sql(statement),
        Statement::Explain(explain) => word_at_fault(&explain.statement),
        _ => Some(None),
    }
}

fn of_sql(statement: &SqlStatement) -> Option<Option<String>> {
    match statement {
        SqlStatement::Query(query) => of_query(query),
        SqlStatement::Explain { statement, .. } => of_sql(statement),
        _ => Some(None),
    }
}

fn of_query(query: &Query) -> Option<Option<String>> {
    if !query.locks.is_empty() {
        return Some(Some("FOR".to_owned()));
    }
    let tables = query.with.iter().flat_map(|with| &with.cte_tables);
    let mut nested = tables.filter_map(|table| of_query(&table.query));
    nested.next().or_else(|| of_body(&query.body))
}

fn of_body(body: &SetExpr) -> Option<Option<String>> {
    // As deep as the statement has words, which are bounded.
    match body {
        SetExpr::Select(select) => select.into.is_some().then(|| Some("INTO".to_owned())),
        SetExpr::Query(query) => of_query(query),
        SetExpr::SetOperation { left, right, .. } => of_body(left).or_else(|| of_body(right)),
        SetExpr::Values(_) | SetExpr::Table(_) => None,
        SetExpr::Insert(_) => Some(Some("INSERT".to_owned())),
        SetExpr::Update(_) => Some(Some("UPDATE".to_owned())),
        SetExpr::Delete(_) => Some(Some("DELETE".to_owned())),
        SetExpr::Merge(_) => Some(Some("MERGE".to_owned())),
    }
}
