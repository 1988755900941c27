//! What the peers are built from: records whose values are numbers and whose titles are terms.
//!
//! Each peer gets the library's own terms and a number for every value, so that all answer the
//! same questions and none spends time on names. Signals are ranked from the newest, rank 0, to
//! the oldest: a page then goes forwards, the direction in which the peers are fastest.

use std::collections::HashMap;

use signaldex::query::Facet;
use signaldex::{Found, Snapshot, text};
use time::Date;

use crate::Result;

/// The number of facets.
pub const FACETS: usize = Facet::ALL.len();

/// The facets that are counted: those that a search page shows first.
pub const COUNTED: [Facet; 4] = [
    Facet::Category,
    Facet::Country,
    Facet::Industry,
    Facet::Size,
];

/// A signal as the peers take it.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Counted from the newest signal, 0.
    pub rank: u32,
    /// The signal's id.
    pub id: u64,
    /// The terms of the title, separated by spaces, which no term contains.
    pub title: String,
    /// The number of the value of each facet; [`NONE`] where there is none.
    pub facets: [u32; FACETS],
    /// The number of the company.
    pub company: u32,
    /// Days since 1970-01-01.
    pub day: Option<i32>,
    /// The amount of funding.
    pub amount: Option<f64>,
}

/// The number of no value. Values are numbered from 1 on.
pub const NONE: u32 = 0;

/// A date as days since 1970-01-01.
pub fn day_number(date: Date) -> i32 {
    const EPOCH_JULIAN_DAY: i32 = 2_440_588;
    date.to_julian_day() - EPOCH_JULIAN_DAY
}

/// The numbers of all values and companies of a corpus.
#[derive(Default)]
pub struct Dictionary {
    values: [HashMap<String, u32>; FACETS],
    companies: HashMap<String, u32>,
}

impl Dictionary {
    /// Numbers what a corpus has, by one scan.
    pub fn of(snapshot: &Snapshot) -> Result<Dictionary> {
        let mut dictionary = Dictionary::default();
        for found in snapshot.scan() {
            dictionary.add(&found?);
        }
        Ok(dictionary)
    }

    /// The number of a facet's value; labels with one key are one value.
    pub fn value(&self, facet: Facet, label: &str) -> Option<u32> {
        let key = facet.key(label);
        self.values[facet as usize].get(key.as_ref()).copied()
    }

    /// One more than the greatest number of a facet's value.
    pub fn value_bounds(&self) -> [usize; FACETS] {
        std::array::from_fn(|facet| self.values[facet].len() + 1)
    }

    /// The number of a company.
    pub fn company(&self, slug: &str) -> Option<u32> {
        self.companies.get(slug).copied()
    }

    /// The record of a signal.
    pub fn record(&self, found: &Found<'_>, rank: u32) -> Record {
        let number = |facet: Facet| {
            let label = facet.label(&found.signal, &found.company);
            let number = label.and_then(|label| self.value(facet, &label));
            number.unwrap_or(NONE)
        };
        let funding = found.signal.funding.as_ref();
        Record {
            rank,
            id: found.signal.id.get(),
            title: title_of(&found.signal.title),
            facets: Facet::ALL.map(number),
            company: self.companies[found.company.slug.as_ref()],
            day: found.signal.date.map(day_number),
            amount: funding.and_then(|funding| funding.amount),
        }
    }

    fn add(&mut self, found: &Found<'_>) {
        for facet in Facet::ALL {
            if let Some(label) = facet.label(&found.signal, &found.company) {
                let values = &mut self.values[facet as usize];
                number(values, &facet.key(&label), NONE + 1);
            }
        }
        number(&mut self.companies, &found.company.slug, 0);
    }
}

/// Numbers a name in the order of first sight.
fn number(numbers: &mut HashMap<String, u32>, name: &str, first: u32) {
    if !numbers.contains_key(name) {
        let next = numbers.len() as u32 + first;
        numbers.insert(name.to_owned(), next);
    }
}

/// The terms of a title, with spaces between them. Alternates follow, each after a `_`, which no phrase has.
fn title_of(title: &str) -> String {
    let mut terms = text::terms(title).join(" ");
    for word in text::words(title) {
        for alternate in &word[1..] {
            terms.push_str(" _ ");
            terms.push_str(alternate);
        }
    }
    terms
}
