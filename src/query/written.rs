//! The text form of queries and filters: a percent-encoded query string of normalised values.
//!
//! Nodes of a cluster send queries in this form. It differs from other query strings in two ways:
//! full-width quotes group words of a company's name, and the limits on lengths do not apply. `text.parse() == query` for every query.

use std::fmt::{self, Write};
use std::str::FromStr;

use super::keywords::WORD_QUOTE;
use super::values::Origin;
use super::{
    Filter, FilterPart, InvalidQuery, Order, ParameterSet, Phrase, Query, Start, list, params,
};

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.filter)?;
        if !self.filter.is_empty() {
            f.write_char('&')?;
        }
        write!(f, "limit={}", self.limit)?;
        if self.order != Order::default() {
            write!(f, "&order={}", self.order)?;
        }
        match &self.start {
            Start::First => {}
            Start::After(cursor) => write!(f, "&cursor={cursor}")?,
            Start::Page(number) => write!(f, "&page={number}")?,
        }
        if self.count_only {
            f.write_str("&countOnly=true")?;
        }
        Ok(())
    }
}

impl FromStr for Query {
    type Err = InvalidQuery;

    /// Reads what `Display` writes. What clients type goes to [`Query::from_query_string`].
    fn from_str(text: &str) -> Result<Query, InvalidQuery> {
        params::parse(text, ParameterSet::SEARCH, [], Origin::Written)
            .0
            .build()
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (parameter, part) in self.parts() {
            write!(f, "{separator}{}=", parameter.name())?;
            write_encoded(f, &text_of(part))?;
            separator = "&";
        }
        Ok(())
    }
}

impl FromStr for Filter {
    type Err = InvalidQuery;

    /// Reads what `Display` writes. What clients type goes to [`Filter::from_query_string`].
    fn from_str(text: &str) -> Result<Filter, InvalidQuery> {
        let (builder, []) = params::parse(text, ParameterSet::FILTERS, [], Origin::Written);
        builder.build().map(|query| query.filter)
    }
}

/// The text of a part, as typed by a user.
fn text_of(part: FilterPart<'_>) -> String {
    match part {
        FilterPart::Phrases(phrases) => {
            let phrases: Vec<String> = phrases.iter().map(text_of_phrase).collect();
            phrases.join(" ")
        }
        FilterPart::Words(words) => {
            let words: Vec<String> = words.iter().map(text_of_word).collect();
            words.join(" ")
        }
        FilterPart::Text(text) => text.to_owned(),
        FilterPart::Texts(texts) => list::join(texts),
        FilterPart::Companies(companies) => {
            list::join(companies.iter().map(|company| &company.slug))
        }
        FilterPart::Days(days) => days.count().to_string(),
        FilterPart::DateRanges(ranges) => list::join(ranges.iter().map(ToString::to_string)),
        FilterPart::Date(date) => date.to_string(),
        FilterPart::Amount(amount) => amount.to_string(),
        FilterPart::Ids(ids) => list::join(ids.iter().map(ToString::to_string)),
    }
}

/// A text that analyses to the same terms, in quotes if there are several.
///
/// A quote within a term, as in Hebrew words, is written full-width, so that it does not end the phrase;
/// analysis restores it.
fn text_of_phrase(phrase: &Phrase) -> String {
    let text = phrase.joined(" ").replace('"', "\u{FF02}");
    if phrase.terms().len() > 1 {
        format!("\"{text}\"")
    } else {
        text
    }
}

/// A word that analyses to the terms of a phrase, such as `r-d`. If there is none, because a term starts
/// with a combining mark, the terms are grouped by [`WORD_QUOTE`]s.
fn text_of_word(phrase: &Phrase) -> String {
    let word = phrase.joined("-");
    if Phrase::new(&word).as_ref() == Some(phrase) {
        return word;
    }
    format!("{WORD_QUOTE}{}{WORD_QUOTE}", phrase.joined(" "))
}

/// Percent-encodes a value, with `+` for single spaces: `++` could be read as two plus signs.
fn write_encoded(f: &mut fmt::Formatter<'_>, value: &str) -> fmt::Result {
    let mut before = b' ';
    for byte in value.bytes() {
        match byte {
            b' ' if before != b' ' => f.write_char('+')?,
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'~' | b',' => {
                f.write_char(char::from(byte))?;
            }
            _ => write!(f, "%{byte:02X}")?,
        }
        before = byte;
    }
    Ok(())
}
