//! The candidates for a signal: searches indexed by values that they require.
//!
//! A search is listed under the rarest value that it requires or, if that one is frequent, under pairs with
//! the next rarest. The candidates of a signal are the searches listed under its values and pairs.

use std::collections::HashMap;

use super::conditions::Alternatives;
use super::document::Document;
use super::keys::Key;
use super::vocabulary::Vocabulary;

/// The number of a saved search.
pub(super) type SearchNumber = u32;

/// Share of signals from which a value is too frequent to list searches under it alone, so that a signal's
/// values lead to at most this share of unrelated searches (`benches/saved_searches`).
const FREQUENT_SHARE: f64 = 1.0 / 256.0;

/// Maximum number of pairs per search; with more, the search is listed under single values.
const PAIRS_MAX: usize = 64;

/// The index of searches by required values.
#[derive(Clone, Debug, Default)]
pub(super) struct SearchIndex {
    /// By key.
    by_value: Vec<Vec<SearchNumber>>,
    by_pair: HashMap<(Key, Key), Vec<SearchNumber>>,
    /// Whether a value occurs in a pair, by key.
    is_in_pair: Vec<bool>,
    /// Searches that require nothing and may match any signal.
    others: Vec<SearchNumber>,
}

/// The lists of a search.
#[derive(Clone, Debug)]
pub(super) enum Listing {
    Values(Alternatives),
    Pairs(Vec<(Key, Key)>),
    Nowhere,
}

impl Listing {
    /// Chooses the lists of a search, given alternatives of each of which every match has one value.
    pub(super) fn choose(mut found_by: Vec<Alternatives>, vocabulary: &Vocabulary) -> Listing {
        let share = |keys: &Alternatives| vocabulary.share(keys);
        found_by.sort_by(|one, other| share(one).total_cmp(&share(other)));
        let mut found_by = found_by.into_iter();
        let Some(rarest) = found_by.next() else {
            return Listing::Nowhere;
        };
        if share(&rarest) <= FREQUENT_SHARE {
            return Listing::Values(rarest);
        }
        // A pair needs two different values.
        let next = found_by.find(|next| next.iter().all(|key| !rarest.contains(key)));
        match next {
            Some(next) if rarest.len() * next.len() <= PAIRS_MAX => {
                let pairs = rarest.iter().flat_map(|&one| {
                    next.iter()
                        .map(move |&other| (one.min(other), one.max(other)))
                });
                Listing::Pairs(pairs.collect())
            }
            _ => Listing::Values(rarest),
        }
    }
}

impl SearchIndex {
    pub(super) fn insert(&mut self, search: SearchNumber, listing: &Listing) {
        match listing {
            Listing::Values(keys) => {
                for &key in keys {
                    at(&mut self.by_value, key).push(search);
                }
            }
            Listing::Pairs(pairs) => {
                for &pair in pairs {
                    self.by_pair.entry(pair).or_default().push(search);
                    *at(&mut self.is_in_pair, pair.0) = true;
                    *at(&mut self.is_in_pair, pair.1) = true;
                }
            }
            Listing::Nowhere => self.others.push(search),
        }
    }

    pub(super) fn remove(&mut self, search: SearchNumber, listing: &Listing) {
        let remove = |list: &mut Vec<SearchNumber>| list.retain(|&other| other != search);
        match listing {
            Listing::Values(keys) => keys
                .iter()
                .for_each(|&key| remove(at(&mut self.by_value, key))),
            Listing::Pairs(pairs) => {
                for pair in pairs {
                    if let Some(list) = self.by_pair.get_mut(pair) {
                        remove(list);
                        if list.is_empty() {
                            self.by_pair.remove(pair);
                        }
                    }
                }
            }
            Listing::Nowhere => remove(&mut self.others),
        }
    }

    /// Calls `visit` with each candidate, some more than once.
    pub(super) fn visit(&self, document: &Document, mut visit: impl FnMut(SearchNumber)) {
        let mut visit_all = |list: &[SearchNumber]| list.iter().for_each(|&search| visit(search));
        visit_all(&self.others);
        let mut in_pairs: Vec<Key> = Vec::new();
        for &key in document.keys() {
            if let Some(list) = self.by_value.get(key as usize) {
                visit_all(list);
            }
            if self.is_in_pair.get(key as usize) == Some(&true) {
                in_pairs.push(key);
            }
        }
        for (index, &one) in in_pairs.iter().enumerate() {
            for &other in &in_pairs[index + 1..] {
                if let Some(list) = self.by_pair.get(&(one, other)) {
                    visit_all(list);
                }
            }
        }
    }
}

/// The entry of a key, created if missing.
fn at<T: Default + Clone>(list: &mut Vec<T>, key: Key) -> &mut T {
    let index = key as usize;
    if list.len() <= index {
        list.resize(index + 1, T::default());
    }
    &mut list[index]
}
