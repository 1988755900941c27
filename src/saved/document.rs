//! A signal as numbers of its values, for values that occur in searches.

use super::keys::{Key, Keys, Kind, UNKNOWN};
use crate::query::Facet;
use crate::signal::{Company, Signal};
use crate::text::{self, CompanyName, Form};

/// Words of [`Document::seen`].
const SEEN_WORDS: usize = 16;

/// The values of a signal and its company.
#[derive(Debug, Default)]
pub(super) struct Document {
    /// The distinct values, ascending.
    keys: Vec<Key>,
    /// A Bloom filter with one hash function, which rejects most absent values.
    seen: [u64; SEEN_WORDS],
    /// The primary forms of the title's words in order; [`UNKNOWN`] for those that occur in no search.
    pub(super) title: Vec<Key>,
    /// Those of the company's name.
    pub(super) company_name: Vec<Key>,
}

impl Document {
    pub(super) fn new(keys: &Keys, signal: &Signal<'_>, company: &Company<'_>) -> Document {
        let mut document = Document::default();
        document.title = document.add_words(keys, Kind::TitleTerm, &signal.title);
        document.company_name = document.add_words(keys, Kind::CompanyTerm, &company.name);
        visit_values(signal, company, &|kind| keys.has(kind), |kind, text| {
            document.keys.extend(keys.get(kind, text));
        });
        document.keys.sort_unstable();
        document.keys.dedup();
        for &key in &document.keys {
            let (word, bit) = place(key);
            document.seen[word] |= bit;
        }
        document
    }

    /// Adds the known forms of the words of a text, and of a title the prefixes that they begin with. Returns the primary
    /// forms in order.
    fn add_words(&mut self, keys: &Keys, kind: Kind, text: &str) -> Vec<Key> {
        let has_prefixes = kind == Kind::TitleTerm && keys.has(Kind::TitlePrefix);
        let mut primary = Vec::new();
        if !keys.has(kind) && !has_prefixes {
            return primary;
        }
        let see = |form: Form<'_>| {
            let key = keys.get(kind, form.text);
            self.keys.extend(key);
            if has_prefixes {
                self.keys.extend(keys.prefixes_of(form.text));
            }
            if !form.is_alternate {
                primary.push(key.unwrap_or(UNKNOWN));
            }
        };
        if kind == Kind::CompanyTerm {
            text::visit_name_forms(text, see);
        } else {
            text::visit_forms(text, see);
        }
        primary
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
        visit(Kind::CompanyName, CompanyName::new(&company.name).key());
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
