//! Numbers for the values that occur in saved searches.

use std::collections::HashMap;

use crate::query::Facet;

/// The number of a value, counted from 0.
pub(super) type Key = u32;

/// The number of values that occur in no search.
pub(super) const UNKNOWN: Key = Key::MAX;

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A word of the title.
    TitleTerm,
    /// The beginning of a word of the title.
    TitlePrefix,
    /// A word of the company's name.
    CompanyTerm,
    CompanySlug,
    /// The key of the company's whole name.
    CompanyName,
    Id,
    Facet(Facet),
}

/// The kinds that are not facets.
const PLAIN_KINDS: usize = 6;

/// The number of kinds.
const KINDS: usize = PLAIN_KINDS + Facet::ALL.len();

impl Kind {
    fn index(self) -> usize {
        match self {
            Kind::TitleTerm => 0,
            Kind::CompanyTerm => 1,
            Kind::CompanySlug => 2,
            Kind::CompanyName => 3,
            Kind::Id => 4,
            Kind::TitlePrefix => 5,
            Kind::Facet(facet) => PLAIN_KINDS + facet as usize,
        }
    }
}

/// A number for each value of each kind.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    by_kind: [HashMap<Box<str>, Key>; KINDS],
    /// The lengths of prefixes in bytes, ascending.
    prefix_lengths: Vec<usize>,
    count: Key,
}

impl Default for Keys {
    fn default() -> Keys {
        Keys {
            by_kind: std::array::from_fn(|_| HashMap::new()),
            prefix_lengths: Vec::new(),
            count: 0,
        }
    }
}

impl Keys {
    /// The number of a value, assigned if it has none.
    pub(super) fn add(&mut self, kind: Kind, text: &str) -> Key {
        let of_kind = &mut self.by_kind[kind.index()];
        if let Some(&key) = of_kind.get(text) {
            return key;
        }
        let key = self.count;
        self.count += 1;
        of_kind.insert(text.into(), key);
        if kind == Kind::TitlePrefix
            && let Err(index) = self.prefix_lengths.binary_search(&text.len())
        {
            self.prefix_lengths.insert(index, text.len());
        }
        key
    }

    pub(super) fn get(&self, kind: Kind, text: &str) -> Option<Key> {
        self.by_kind[kind.index()].get(text).copied()
    }

    /// The prefixes that a word of a title begins with. Cost: a look-up for each length that prefixes have.
    pub(super) fn prefixes_of(&self, word: &str) -> impl Iterator<Item = Key> {
        let lengths = self.prefix_lengths.iter();
        let lengths = lengths.take_while(|&&length| length <= word.len());
        // A length may end within a character of the word.
        let beginnings = lengths.filter_map(|&length| word.get(..length));
        beginnings.filter_map(|beginning| self.get(Kind::TitlePrefix, beginning))
    }

    /// The values of a kind with their numbers.
    pub(super) fn of_kind(&self, kind: Kind) -> impl Iterator<Item = (&str, Key)> {
        let of_kind = self.by_kind[kind.index()].iter();
        of_kind.map(|(text, &key)| (&**text, key))
    }

    /// Whether any value of a kind has a number.
    pub(super) fn has(&self, kind: Kind) -> bool {
        !self.by_kind[kind.index()].is_empty()
    }

    pub(super) fn count(&self) -> usize {
        self.count as usize
    }
}
