//! Queries on the command line: words and `name=value` pairs, with hints for mistakes.

use std::ffi::OsString;
use std::path::PathBuf;

use signaldex::query::{CompanyQuery, InvalidQuery, Parameter, ParameterSet, QueryBuilder};
use signaldex::{AggregateQuery, FacetQuery, Query, Snapshot};
use time::Date;

use crate::mistakes::{command_of, corrected_query, typed_words, with_phrase};
use crate::stderr::say;
use crate::words::{encoded, has_name};
use crate::{Failure, source};

/// A query to an index.
#[derive(Debug, clap::Args)]
pub(crate) struct QueryArguments {
    /// The directory of the index, or @sample
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Words of the title, -excluded words, and parameters such as country=Germany, combined with AND
    #[arg(value_name = "QUERY")]
    terms: Vec<String>,
    /// The day that counts as today
    #[arg(long, value_name = "DATE", value_parser = source::parse_date)]
    pub(crate) as_of: Option<Date>,
}

/// Marks an argument such as `-intern` as an excluded word.
const EXCLUDED: char = '\u{1}';

/// Marks the excluded words among the arguments, so that they are not parsed as options.
pub(crate) fn mark_excluded(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    const ASKING: [&str; 6] = [
        "search",
        "explain",
        "options",
        "aggregate",
        "export",
        "changes",
    ];
    let mut arguments: Vec<OsString> = arguments.collect();
    let is_asking = |command: &OsString| ASKING.iter().any(|asking| command == asking);
    if arguments.get(1).is_some_and(is_asking) {
        for argument in arguments.iter_mut().skip(2) {
            let Some(text) = argument.to_str() else {
                continue;
            };
            let is_option = ["-h", "-V", "-"].contains(&text);
            if text.starts_with('-') && !text.starts_with("--") && !is_option {
                *argument = format!("{EXCLUDED}{text}").into();
            }
        }
    }
    arguments
}

impl QueryArguments {
    /// The query string: words become `q`, percent-encoded; `name=value` pairs are unchanged.
    pub(crate) fn query_string(&self) -> String {
        query_string_of("q", &self.terms)
    }

    /// The query.
    ///
    /// # Errors
    /// All errors of the query.
    pub(crate) fn query(&self) -> Result<Query, Failure> {
        self.parsed(Query::from_query_string)
    }

    /// The query of commands without pages, which has filters only.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub(crate) fn filters(&self) -> Result<Query, Failure> {
        self.of_parameters(ParameterSet::FILTERS)
    }

    /// The query of exports: filters and an order.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub(crate) fn ordered_filters(&self) -> Result<Query, Failure> {
        self.of_parameters(ParameterSet::FILTERS.with(Parameter::Order))
    }

    fn of_parameters(&self, accepted: ParameterSet) -> Result<Query, Failure> {
        self.parsed(|text| {
            let (builder, []) = QueryBuilder::from_query_string(text, accepted, []);
            builder.build()
        })
    }

    /// The filter and the facets of `options`.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub(crate) fn facet_query(&self) -> Result<FacetQuery, Failure> {
        self.parsed(|text| FacetQuery::from_query_string(text, ParameterSet::FILTERS))
    }

    /// The query of `aggregate`.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub(crate) fn aggregate_query(&self) -> Result<AggregateQuery, Failure> {
        self.parsed(|text| AggregateQuery::from_query_string(text, ParameterSet::FILTERS))
    }

    /// The query for companies: words are those of the name.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub(crate) fn company_query(&self) -> Result<CompanyQuery, Failure> {
        let parsed = CompanyQuery::from_query_string(&self.company_query_string());
        parsed.map_err(|invalid| invalid.to_string().into())
    }

    /// The query string for companies: words become `company`; `name=value` pairs are unchanged.
    pub(crate) fn company_query_string(&self) -> String {
        query_string_of("company", &self.terms)
    }

    fn parsed<T>(&self, parse: impl Fn(&str) -> Result<T, InvalidQuery>) -> Result<T, Failure> {
        let text = self.query_string();
        let invalid = match parse(&text) {
            Ok(parsed) => {
                self.note_phrase();
                return Ok(parsed);
            }
            Err(invalid) => invalid,
        };
        let corrected = typed_words().and_then(|words| corrected_query(&words, &invalid));
        let corrected = corrected.filter(|words| {
            // The first two are the command and the directory.
            let terms = words.iter().skip(2).filter(|word| has_name(word));
            let rest = self.terms.iter().filter(|term| !has_name(term));
            let terms = terms.chain(rest).cloned().collect::<Vec<_>>();
            parse(&query_string_of("q", &terms)).is_ok()
        });
        match corrected {
            Some(words) => Err(format!("{invalid}\nType:\n\n  {}\n", command_of(&words)).into()),
            None => Err(invalid.to_string().into()),
        }
    }

    /// Notes that words with a space between them, of which a shell took the quotes, are no phrase.
    fn note_phrase(&self) {
        let Some(words) = typed_words() else {
            return;
        };
        for term in &self.terms {
            if let Some(words) = with_phrase(&words, term) {
                say(format_args!(
                    "note: {term:?} are words on their own; this finds them as a phrase: {}",
                    command_of(&words)
                ));
            }
        }
    }

    /// Whether there is a query at all.
    pub(crate) fn has_terms(&self) -> bool {
        !self.query_string().is_empty()
    }

    /// Today: the given date, the sample's date, or the UTC date.
    pub(crate) fn today(&self) -> Date {
        self.as_of
            .unwrap_or_else(|| source::today_of(&self.directory))
    }
}

/// The query string of terms; words are the value of the parameter `of_words`, after what a pair gives it.
fn query_string_of(of_words: &str, terms: &[String]) -> String {
    let (mut words, mut pairs) = (Vec::new(), Vec::new());
    for term in terms {
        match term.strip_prefix(EXCLUDED) {
            Some(excluded) => words.push(excluded),
            None if has_name(term) => pairs.extend(term.split('&').map(str::to_owned)),
            None if term.is_empty() => {}
            None => words.push(term),
        }
    }
    if !words.is_empty() {
        let words = encoded(&words.join(" "));
        let gives_words = |pair: &&mut String| {
            pair.split_once('=')
                .is_some_and(|(name, _)| name == of_words)
        };
        match pairs.iter_mut().find(gives_words) {
            Some(pair) => *pair = format!("{pair}+{words}"),
            None => pairs.insert(0, format!("{of_words}={words}")),
        }
    }
    pairs.join("&")
}

/// Prints the hints for the result of a query on standard error.
pub(crate) fn print_hints(
    snapshot: &Snapshot,
    query: &Query,
    is_empty: bool,
) -> signaldex::Result<()> {
    for hint in snapshot.hints(query, is_empty)? {
        say(format_args!("note: {hint}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
