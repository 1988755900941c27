//! Conditions of SQL that a scan evaluates itself: what they mean for a row, by its columns alone.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::utils::split_binary;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};
use signaldex::{Facet, Filter};

use crate::columns::{SignalColumn, SignalSource};

/// A condition on a row of `signals`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SqlCondition {
    /// The row is among the matches of a search.
    Search(String),
    /// The label is one of these very texts.
    Labels(Facet, BTreeSet<String>),
    /// The company's slug is one of these.
    Slugs(BTreeSet<String>),
    /// The id is one of these.
    Ids(BTreeSet<u64>),
    /// The id is in a range; both ends are included.
    IdRange(u64, u64),
    /// The date is in a range of days since 1970; both ends are included.
    Days(i32, i32),
    /// The amount compares so with a number.
    Amount(Comparison, f64),
    /// The column has a value, or has none.
    HasValue(Nullable, bool),
}

/// A column that may have no value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Nullable {
    Facet(Facet),
    Date,
    Amount,
}

/// How a value compares with a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    fn of(operator: Operator) -> Option<Comparison> {
        Some(match operator {
            Operator::Eq => Comparison::Equal,
            Operator::Lt => Comparison::Less,
            Operator::LtEq => Comparison::LessOrEqual,
            Operator::Gt => Comparison::Greater,
            Operator::GtEq => Comparison::GreaterOrEqual,
            _ => return None,
        })
    }

    /// The comparison with both sides exchanged.
    fn mirrored(self) -> Comparison {
        match self {
            Comparison::Equal => Comparison::Equal,
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        }
    }

    /// Whether it holds for the order of a value and the constant.
    pub(crate) fn holds(self, order: Ordering) -> bool {
        match self {
            Comparison::Equal => order.is_eq(),
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual => order.is_ge(),
        }
    }

    /// The range of whole numbers for which it holds, if there is one.
    fn range<T: Copy + PartialOrd>(
        self,
        value: T,
        (min, max): (T, T),
        before: impl Fn(T) -> Option<T>,
        after: impl Fn(T) -> Option<T>,
    ) -> Option<(T, T)> {
        match self {
            Comparison::Equal => Some((value, value)),
            Comparison::Less => Some((min, before(value)?)),
            Comparison::LessOrEqual => Some((min, value)),
            Comparison::Greater => Some((after(value)?, max)),
            Comparison::GreaterOrEqual => Some((value, max)),
        }
    }
}

impl SqlCondition {
    /// The conditions that an expression of SQL means; `None` if the engine evaluates it.
    ///
    /// # Errors
    /// The expression is about `query` and no search, or its search is invalid.
    pub(crate) fn of(expression: &Expr) -> Result<Option<Vec<SqlCondition>>> {
        if is_about_search(expression)? {
            return search_of(expression).map(|search| Some(vec![search]));
        }
        Ok(match expression {
            Expr::BinaryExpr(BinaryExpr {
                op: Operator::Or, ..
            }) => of_alternatives(expression).map(|condition| vec![condition]),
            Expr::BinaryExpr(binary) => of_comparison(binary).map(|condition| vec![condition]),
            Expr::Between(between) if !between.negated => of_between(between),
            Expr::InList(list) if !list.negated => {
                let values = list.list.iter().map(literal).collect::<Option<Vec<_>>>();
                values.and_then(|values| Some(vec![of_list(column(&list.expr)?, &values)?]))
            }
            Expr::IsNull(inner) => of_null(inner, false),
            Expr::IsNotNull(inner) => of_null(inner, true),
            _ => None,
        })
    }
}

/// Whether an expression mentions the column `query`.
pub(crate) fn is_about_search(expression: &Expr) -> Result<bool> {
    let mut found = false;
    expression.apply(|part| {
        if matches!(part, Expr::Column(column) if column.name == "query") {
            found = true;
            return Ok(TreeNodeRecursion::Stop);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

/// # Errors
/// A condition has two searches of one table. The engine would find that no text equals both, and ask the table nothing.
pub(crate) fn refuse_two_searches(condition: &Expr) -> Result<()> {
    let mut searches: Vec<(&Expr, &ScalarValue)> = Vec::new();
    for part in split_binary(condition, Operator::And) {
        let Some((operand, text)) =
            equality(part).filter(|_| is_about_search(part).unwrap_or(true))
        else {
            continue;
        };
        if let Some((_, other)) = searches
            .iter()
            .find(|(known, other)| *known == operand && *other != text)
        {
            return plan_err!(
                "query has one search at a time, not '{other}' and '{text}'; join their parameters with & instead"
            );
        }
        searches.push((operand, text));
    }
    Ok(())
}

fn search_of(expression: &Expr) -> Result<SqlCondition> {
    let text = equality(expression).and_then(|(operand, value)| match operand {
        Expr::Column(_) => text_of(value),
        _ => None,
    });
    let Some(text) = text else {
        return plan_err!(
            "the column query takes one condition, query = '…' with the search as a literal, joined by AND with \
             all others; not {expression}"
        );
    };
    match Filter::from_query_string(&text) {
        Ok(_) => Ok(SqlCondition::Search(text)),
        Err(invalid) => plan_err!("query = '{text}': {invalid}"),
    }
}

fn of_comparison(binary: &BinaryExpr) -> Option<SqlCondition> {
    let comparison = Comparison::of(binary.op)?;
    let (column, value, comparison) = match (column(&binary.left), literal(&binary.right)) {
        (Some(column), Some(value)) => (column, value, comparison),
        _ => (
            column(&binary.right)?,
            literal(&binary.left)?,
            comparison.mirrored(),
        ),
    };
    compared(column, comparison, value)
}

fn compared(
    column: SignalColumn,
    comparison: Comparison,
    value: &ScalarValue,
) -> Option<SqlCondition> {
    let bounds = match (column.source, value) {
        (SignalSource::Id, ScalarValue::UInt64(Some(id))) => {
            let range = comparison.range(
                *id,
                (0, u64::MAX),
                |id| id.checked_sub(1),
                |id| id.checked_add(1),
            );
            range.map_or(SqlCondition::IdRange(1, 0), |(first, last)| {
                SqlCondition::IdRange(first, last)
            })
        }
        (SignalSource::Date, ScalarValue::Date32(Some(day))) => {
            let range = comparison.range(
                *day,
                (i32::MIN, i32::MAX),
                |day| day.checked_sub(1),
                |day| day.checked_add(1),
            );
            range.map_or(SqlCondition::Days(1, 0), |(first, last)| {
                SqlCondition::Days(first, last)
            })
        }
        (SignalSource::Amount, ScalarValue::Float64(Some(amount))) => {
            SqlCondition::Amount(comparison, *amount)
        }
        _ if comparison == Comparison::Equal => return of_list(column, &[value]),
        _ => return None,
    };
    Some(bounds)
}

fn of_between(between: &Between) -> Option<Vec<SqlCondition>> {
    let column = column(&between.expr)?;
    let (low, high) = (literal(&between.low)?, literal(&between.high)?);
    Some(vec![
        compared(column, Comparison::GreaterOrEqual, low)?,
        compared(column, Comparison::LessOrEqual, high)?,
    ])
}

/// The condition that a column has one of some values. A null among them never makes it true.
fn of_list(column: SignalColumn, values: &[&ScalarValue]) -> Option<SqlCondition> {
    let known = values.iter().filter(|value| !value.is_null());
    match column.source {
        SignalSource::Facet(facet) => {
            let labels = known.map(|value| text_of(value));
            Some(SqlCondition::Labels(facet, labels.collect::<Option<_>>()?))
        }
        SignalSource::CompanySlug => {
            let slugs = known.map(|value| text_of(value));
            Some(SqlCondition::Slugs(slugs.collect::<Option<_>>()?))
        }
        SignalSource::Id => {
            let ids = known.map(|value| match value {
                ScalarValue::UInt64(id) => *id,
                _ => None,
            });
            Some(SqlCondition::Ids(ids.collect::<Option<_>>()?))
        }
        _ => None,
    }
}

/// `a = 1 OR a = 2`, as which the engine writes short lists.
fn of_alternatives(expression: &Expr) -> Option<SqlCondition> {
    let mut values = Vec::new();
    let mut only: Option<SignalColumn> = None;
    for alternative in split_binary(expression, Operator::Or) {
        let (operand, value) = equality(alternative)?;
        let column = column(operand)?;
        if only.is_some_and(|only| only.name != column.name) {
            return None;
        }
        only = Some(column);
        values.push(value);
    }
    of_list(only?, &values)
}

/// The two sides of `column = literal`, in either order.
fn equality(expression: &Expr) -> Option<(&Expr, &ScalarValue)> {
    match expression {
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Eq,
            right,
        }) => match (literal(left), literal(right)) {
            (None, Some(value)) => Some((left, value)),
            (Some(value), None) => Some((right, value)),
            _ => None,
        },
        _ => None,
    }
}

fn of_null(inner: &Expr, has_value: bool) -> Option<Vec<SqlCondition>> {
    let nullable = match column(inner)?.source {
        SignalSource::Facet(facet) => Nullable::Facet(facet),
        SignalSource::Date => Nullable::Date,
        SignalSource::Amount => Nullable::Amount,
        _ => return None,
    };
    Some(vec![SqlCondition::HasValue(nullable, has_value)])
}

/// The column that an expression is, possibly as plain text instead of a dictionary of texts.
fn column(expression: &Expr) -> Option<SignalColumn> {
    match expression {
        Expr::Column(column) => SignalColumn::named(&column.name),
        Expr::Cast(cast) if is_text(cast.field.data_type()) => match &*cast.expr {
            Expr::Column(column) => SignalColumn::named(&column.name).filter(|column| {
                matches!(
                    column.source,
                    SignalSource::Facet(_) | SignalSource::CompanySlug
                )
            }),
            _ => None,
        },
        _ => None,
    }
}

fn is_text(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8
    )
}

fn literal(expression: &Expr) -> Option<&ScalarValue> {
    match expression {
        Expr::Literal(value, _) => Some(value),
        _ => None,
    }
}

/// The text of a constant.
fn text_of(value: &ScalarValue) -> Option<String> {
    match value {
        ScalarValue::Dictionary(_, value) => text_of(value),
        ScalarValue::Utf8(text) | ScalarValue::Utf8View(text) | ScalarValue::LargeUtf8(text) => {
            text.clone()
        }
        _ => None,
    }
}

/// The texts that a condition requires a text column to be one of, if that is all it says.
pub(crate) fn slugs_of(expression: &Expr, name: &str) -> Option<BTreeSet<String>> {
    let is_column = |part: &Expr| matches!(part, Expr::Column(column) if column.name == name);
    let mut values = Vec::new();
    for alternative in split_binary(expression, Operator::Or) {
        match alternative {
            Expr::InList(list) if !list.negated && is_column(&list.expr) => {
                values.extend(list.list.iter().map(literal).collect::<Option<Vec<_>>>()?);
            }
            _ => {
                let (operand, value) = equality(alternative)?;
                values.push(Some(value).filter(|_| is_column(operand))?);
            }
        }
    }
    // Nothing equals null.
    let known = values.into_iter().filter(|value| !value.is_null());
    known.map(text_of).collect()
}
