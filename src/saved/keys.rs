//! The values that saved searches ask for, as numbers.

use std::collections::HashMap;

use crate::query::Facet;

/// The number of a value. Numbers count up from 0.
pub(super) type Key = u32;

/// The number of a value that no search asks for.
pub(super) const UNKNOWN: Key = Key::MAX;

/// What a value is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A word of the title.
    TitleTerm,
    /// A word of the company's name.
    CompanyTerm,
    CompanySlug,
    /// The company's whole name, folded.
    CompanyName,
    Id,
    Facet(Facet),
}

/// The kinds that are not facets.
const PLAIN_KINDS: usize = 5;

/// How many kinds there are.
const KINDS: usize = PLAIN_KINDS + Facet::ALL.len();

impl Kind {
    fn index(self) -> usize {
        match self {
            Kind::TitleTerm => 0,
            Kind::CompanyTerm => 1,
            Kind::CompanySlug => 2,
            Kind::CompanyName => 3,
            Kind::Id => 4,
            Kind::Facet(facet) => PLAIN_KINDS + facet as usize,
        }
    }
}

/// A number for each value of each kind.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    by_kind: [HashMap<Box<str>, Key>; KINDS],
    count: Key,
}

impl Default for Keys {
    fn default() -> Keys {
        Keys {
            by_kind: std::array::from_fn(|_| HashMap::new()),
            count: 0,
        }
    }
}

impl Keys {
    /// The number of a value, which gets one where it has none.
    pub(super) fn add(&mut self, kind: Kind, text: &str) -> Key {
        let of_kind = &mut self.by_kind[kind.index()];
        if let Some(&key) = of_kind.get(text) {
            return key;
        }
        let key = self.count;
        self.count += 1;
        of_kind.insert(text.into(), key);
        key
    }

    pub(super) fn get(&self, kind: Kind, text: &str) -> Option<Key> {
        self.by_kind[kind.index()].get(text).copied()
    }

    /// Whether any value of a kind has a number.
    pub(super) fn has(&self, kind: Kind) -> bool {
        !self.by_kind[kind.index()].is_empty()
    }

    pub(super) fn count(&self) -> usize {
        self.count as usize
    }
}
