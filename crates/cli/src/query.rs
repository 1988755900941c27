//! Queries on the command line: words and `name=value` pairs, with hints for mistakes.

use std::ffi::OsString;
use std::path::PathBuf;

use signaldex::query::InvalidQuery;
use signaldex::query::ParameterSet;
use signaldex::text::nearest_name;
use signaldex::{Facet, FacetQuery, Filter, Query, Snapshot};
use time::Date;

use crate::stderr::say;
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
    const ASKING: [&str; 5] = ["search", "explain", "options", "export", "changes"];
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
        let (mut words, mut parts) = (Vec::new(), Vec::new());
        for term in &self.terms {
            match term.strip_prefix(EXCLUDED) {
                Some(excluded) => words.push(excluded.to_owned()),
                None if has_name(term) => parts.push(term.clone()),
                None if term.is_empty() => {}
                None => words.push(term.clone()),
            }
        }
        if !words.is_empty() {
            parts.insert(0, format!("q={}", encoded(&words.join(" "))));
        }
        parts.join("&")
    }

    /// The query.
    ///
    /// # Errors
    /// All errors of the query.
    pub(crate) fn query(&self) -> Result<Query, Failure> {
        self.parsed(Query::from_query_string)
    }

    /// The filter, for commands without pages.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub(crate) fn filter(&self) -> Result<Filter, Failure> {
        self.parsed(Filter::from_query_string)
    }

    /// The filter and the facets of `options`.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub(crate) fn facet_query(&self) -> Result<FacetQuery, Failure> {
        self.parsed(|text| FacetQuery::from_query_string(text, ParameterSet::FILTERS))
    }

    fn parsed<T>(&self, parse: impl Fn(&str) -> Result<T, InvalidQuery>) -> Result<T, Failure> {
        let text = self.query_string();
        warn_of_plus(&text);
        Ok(parse(&text).map_err(|invalid| invalid.to_string())?)
    }

    /// Today: the given date, the sample's date, or the UTC date.
    pub(crate) fn today(&self) -> Date {
        self.as_of
            .unwrap_or_else(|| source::today_of(&self.directory))
    }
}

/// Whether a term is one or more `name=value` pairs.
fn has_name(term: &str) -> bool {
    let name = term.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Percent-encodes everything except letters, digits and a few punctuation marks.
pub(crate) fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~\"".contains(&byte) {
            encoded.push(char::from(byte));
        } else if byte == b' ' {
            encoded.push('+');
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// Warns if a plus sign was probably meant and is a space, as in `q=C+`.
fn warn_of_plus(text: &str) {
    for pair in text.split('&').filter(|pair| pair.ends_with('+')) {
        let typed = pair.trim_end_matches('+');
        let meant = format!("{typed}{}", "%2B".repeat(pair.len() - typed.len()));
        let filter = |text: &str| Filter::from_query_string(text).ok();
        if filter(pair) != filter(&meant) {
            say(format_args!(
                "note: + is a space in {pair}; for a plus sign write {meant}"
            ));
        }
    }
}

/// Warns on standard error about values that no signal has, with the most similar existing values.
pub(crate) fn warn_of_unknown(
    snapshot: &Snapshot,
    filter: &Filter,
    today: Date,
) -> signaldex::Result<()> {
    let unknown = snapshot.unknown_values(filter)?;
    if unknown.is_empty() {
        return Ok(());
    }
    let facets = snapshot.facets(&Filter::default(), today)?;
    for value in unknown {
        let facet = Facet::ALL
            .into_iter()
            .find(|facet| facet.parameter() == value.parameter);
        let labels = facet.map(|facet| facets.values(facet)).unwrap_or_default();
        let nearest = nearest_name(&value.value, labels.iter().map(|counted| counted.label()));
        match nearest {
            Some(nearest) => say(format_args!(
                "note: {value}; did you mean {}={nearest}?",
                value.parameter.name()
            )),
            None => say(format_args!("note: {value}")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
