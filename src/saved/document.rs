//! A signal as numbers of its values, for values that occur in searches.

use super::keys::{Key, Keys, Kind, UNKNOWN};
use crate::query::Facet;
use crate::signal::{Company, Signal};
use crate::text;

/// Words of [`Document::seen`].
const SEEN_WORDS: usize = 16;

/// The values of a signal and its company.
#[derive(Debug, Default)]
pub(super) struct Document {
    /// The distinct values, ascending.
    keys: Vec<Key>,
    /// A Bloom filter with one hash function, which rejects most absent values.
    seen: [u64; SEEN_WORDS],
    /// The words of the title in order; [`UNKNOWN`] for words that occur in no search.
    pub(super) title: Vec<Key>,
    /// The words of the company's name in order.
    pub(super) company_name: Vec<Key>,
}

impl Document {
    pub(super) fn new(keys: &Keys, signal: &Signal<'_>, company: &Company<'_>) -> Document {
        let mut document = Document {
            title: terms(keys, Kind::TitleTerm, &signal.title),
            company_name: terms(keys, Kind::CompanyTerm, &company.name),
            ..Document::default()
        };
        document.keys.extend(&document.title);
        document.keys.extend(&document.company_name);
        visit_values(signal, company, &|kind| keys.has(kind), |kind, text| {
            document.keys.extend(keys.get(kind, text));
        });
        document.keys.sort_unstable();
        document.keys.dedup();
        if document.keys.last() == Some(&UNKNOWN) {
            document.keys.pop();
        }
        for &key in &document.keys {
            let (word, bit) = place(key);
            document.seen[word] |= bit;
        }
        document
    }

    pub(super) fn keys(&self) -> &[Key] {
        &self.keys
    }

    pub(super) fn has(&self, key: Key) -> bool {
        let (word, bit) = place(key);
        self.seen[word] & bit != 0 && self.keys.binary_search(&key).is_ok()
    }
}

/// The word and bit of a value in the filter.
fn place(key: Key) -> (usize, u64) {
    let bits = key as usize % (64 * SEEN_WORDS);
    (bits / 64, 1 << (bits % 64))
}

fn terms(keys: &Keys, kind: Kind, text: &str) -> Vec<Key> {
    let mut found = Vec::new();
    if keys.has(kind) {
        text::analyze(text, |term| {
            found.push(keys.get(kind, term).unwrap_or(UNKNOWN));
        });
    }
    found
}

/// Calls `visit` with the values of a signal and its company, except words, of the kinds that are `wanted`.
pub(super) fn visit_values(
    signal: &Signal<'_>,
    company: &Company<'_>,
    wanted: &dyn Fn(Kind) -> bool,
    mut visit: impl FnMut(Kind, &str),
) {
    if wanted(Kind::CompanySlug) {
        visit(Kind::CompanySlug, &company.slug);
    }
    if wanted(Kind::CompanyName) {
        visit(Kind::CompanyName, &text::fold_value(&company.name));
    }
    if wanted(Kind::Id) {
        visit(Kind::Id, &signal.id.to_string());
    }
    for facet in Facet::ALL {
        if wanted(Kind::Facet(facet))
            && let Some(label) = facet.label(signal, company)
        {
            visit(Kind::Facet(facet), &facet.key(&label));
        }
    }
}
