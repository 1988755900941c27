//! The parts of a filter that steps implement, and how explanations name them.

use std::fmt;

use smol_str::SmolStr;

use crate::query::{Facet, Filter, Phrase};

/// The part of a filter that a step implements.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Clause<'q> {
    /// A word of the title, on its own or as part of a phrase.
    TitleWord(&'q str),
    /// A phrase of the title.
    TitlePhrase(&'q Phrase),
    /// Two neighbouring words of a phrase of the title, whose rows are stored.
    TitlePair(&'q [SmolStr]),
    /// The beginning of a word of the title, and the number of words that begin so.
    TitlePrefix(&'q str, usize),
    /// Any of several words and phrases of the title, and the number of words that its prefix words stand for.
    TitleAny(&'q [Phrase], usize),
    /// A word of the company's name.
    NameWord(&'q str),
    /// A phrase of the company's name.
    NamePhrase(&'q Phrase),
    /// The company by slug.
    CompanySlug(&'q str),
    /// Companies by slug or name.
    Companies(usize),
    /// Values of a facet.
    Facet(Facet, &'q str, usize),
    /// Days.
    Dates,
    /// Amounts.
    Amounts(Option<f64>, Option<f64>),
    /// Values of all facets of companies that a filter has.
    OfCompanies(&'q Filter),
    /// Ids.
    Ids(usize),
    /// Deleted or replaced rows of the segment.
    Deleted,
}

impl<'q> Clause<'q> {
    /// The clause of a filter for a facet.
    pub(super) fn of_facet(filter: &'q Filter, facet: Facet) -> Option<Clause<'q>> {
        let keys = filter.value_keys(facet);
        let first = keys.first()?;
        Some(Clause::Facet(facet, first, keys.len()))
    }

    /// The number of words that prefix words stand for.
    pub(super) fn prefixed_words(&self) -> u64 {
        match *self {
            Clause::TitlePrefix(_, words) | Clause::TitleAny(_, words) => words as u64,
            _ => 0,
        }
    }

    /// Whether a row has at most one of the clause's values, so that its sources are disjoint: a row has one
    /// company, and one value of a facet.
    pub(super) fn has_one_value_a_row(&self) -> bool {
        matches!(
            self,
            Clause::CompanySlug(_) | Clause::Companies(_) | Clause::Facet(..)
        )
    }
}

impl fmt::Display for Clause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Clause::TitleWord(word) => write!(f, "title has {word:?}"),
            Clause::TitlePhrase(phrase) => write!(f, "title has {}", Quoted(phrase)),
            Clause::TitlePair(words) => write!(f, "title has \"{}\"", words.join(" ")),
            Clause::TitlePrefix(beginning, words) => {
                write!(f, "title has {beginning}* {}", WordCount(*words))
            }
            Clause::TitleAny(phrases, words) => {
                f.write_str("title has any of ")?;
                for (index, phrase) in phrases.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{}", Quoted(phrase))?;
                }
                if phrases.iter().any(Phrase::is_prefix) {
                    write!(f, " {}", WordCount(*words))?;
                }
                Ok(())
            }
            Clause::NameWord(word) => write!(f, "company name has {word:?}"),
            Clause::NamePhrase(phrase) => write!(f, "company name has {}", Quoted(phrase)),
            Clause::CompanySlug(slug) => write!(f, "company is {slug:?}"),
            Clause::Companies(count) => write!(f, "company is one of {count}"),
            Clause::Facet(facet, key, 1) => write!(f, "{} is {key:?}", facet.description().name),
            Clause::Facet(facet, key, count) => {
                write!(
                    f,
                    "{} is {key:?} or {} more",
                    facet.description().name,
                    count - 1
                )
            }
            Clause::Dates => f.write_str("date in range"),
            Clause::Amounts(min, max) => {
                f.write_str("amount")?;
                min.map_or(Ok(()), |min| write!(f, " from {min}"))?;
                max.map_or(Ok(()), |max| write!(f, " to {max}"))
            }
            Clause::OfCompanies(filter) => {
                let facets = Facet::OF_COMPANY.into_iter();
                let clauses = facets.filter_map(|facet| Clause::of_facet(filter, facet));
                for (index, clause) in clauses.enumerate() {
                    f.write_str(if index == 0 { "" } else { ", " })?;
                    clause.fmt(f)?;
                }
                Ok(())
            }
            Clause::Ids(count) => write!(f, "id is one of {count}"),
            Clause::Deleted => f.write_str("deleted"),
        }
    }
}

/// The number of words that prefix words stand for.
struct WordCount(usize);

impl fmt::Display for WordCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ending = if self.0 == 1 { "" } else { "s" };
        write!(f, "({} word{ending})", self.0)
    }
}

/// A phrase in quotes, or a prefix word.
struct Quoted<'a>(&'a Phrase);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.joined(" ");
        if self.0.is_prefix() {
            f.write_str(&text)
        } else {
            write!(f, "\"{text}\"")
        }
    }
}
