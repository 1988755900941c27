//! Saved searches: named filters, matched against signals as they come.
//!
//! ```text
//! filter -> conditions   on numbers of values, so that checking one takes nanoseconds
//!        -> candidates   listed under the rarest value that it requires
//! signal -> document     the numbers of its values and words
//!        -> candidates whose conditions hold -> names of searches
//! ```
//!
//! [`Filter::matches`] says what is right; the tests compare every answer with it.

mod candidates;
mod changes;
mod conditions;
mod document;
mod frequencies;
mod keys;
mod vocabulary;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use time::Date;

use self::candidates::{Candidates, Listing, SearchNumber};
use self::conditions::{Conditions, Decision};
use self::document::Document;
use self::frequencies::Frequencies;
use self::vocabulary::Vocabulary;
use crate::Result;
use crate::index::Snapshot;
use crate::query::Filter;
use crate::signal::{Company, Signal};

pub use changes::{MatchedSignal, MatchedSignals};

/// Removed searches whose values are kept at least, before all others are listed anew.
const REMOVED_MIN: usize = 1024;

/// Named filters, and an index over them: which of them match a signal is found without asking each.
///
/// It sends nothing anywhere. A host keeps the position up to which it has told its users, asks for what
/// [matches](Self::matching) since, tells them, and keeps the new position:
/// `examples/alerts.rs` is such a host.
///
/// Cost: memory of some 800 bytes a search, its name and filter included.
#[derive(Clone, Default)]
pub struct SavedSearches {
    /// By number; `None` for those that were removed.
    searches: Vec<Option<SavedSearch>>,
    conditions: Conditions,
    /// By number.
    names: Vec<Arc<str>>,
    by_name: HashMap<Arc<str>, SearchNumber>,
    vocabulary: Vocabulary,
    candidates: Candidates,
    /// What changes are asked for by.
    everything: Filter,
}

#[derive(Clone)]
struct SavedSearch {
    filter: Filter,
    listing: Listing,
}

impl SavedSearches {
    /// No searches yet. How frequent a value is, is guessed from its kind: a word is rarer than a country.
    pub fn new() -> SavedSearches {
        SavedSearches::default()
    }

    /// No searches yet. How frequent values are is taken from the newest 2,000 signals of an index. Matching
    /// is faster then, and finds the same.
    ///
    /// # Errors
    /// A record is corrupt.
    ///
    /// Cost: some ten milliseconds.
    pub fn for_index(snapshot: &Snapshot, today: Date) -> Result<SavedSearches> {
        let frequencies = Frequencies::sample(snapshot, today)?;
        Ok(SavedSearches {
            vocabulary: Vocabulary::new(frequencies),
            ..SavedSearches::default()
        })
    }

    /// Saves a search under a name, and returns the filter that it had before.
    ///
    /// Cost: a microsecond or two.
    pub fn insert(&mut self, name: impl Into<String>, filter: Filter) -> Option<Filter> {
        let name: Arc<str> = name.into().into();
        let before = self.remove(&name);
        let number = SearchNumber::try_from(self.searches.len())
            .expect("memory holds fewer than 2^32 searches");
        let found_by = self.conditions.push(&filter, &mut self.vocabulary);
        let listing = Listing::choose(found_by, &self.vocabulary);
        self.candidates.insert(number, &listing);
        self.by_name.insert(Arc::clone(&name), number);
        self.names.push(name);
        self.searches.push(Some(SavedSearch { filter, listing }));
        before
    }

    /// Removes a search, and returns its filter.
    ///
    /// Cost: a look at the searches that are listed with it; now and then, that of saving all others anew.
    pub fn remove(&mut self, name: &str) -> Option<Filter> {
        let number = self.by_name.remove(name)?;
        let removed = self.searches[number as usize].take()?;
        self.candidates.remove(number, &removed.listing);
        let removed_count = self.searches.len() - self.by_name.len();
        if removed_count > REMOVED_MIN.max(self.by_name.len()) {
            self.list_anew();
        }
        Some(removed.filter)
    }

    /// Lists all searches anew, so that nothing is left of removed ones.
    fn list_anew(&mut self) {
        let frequencies = std::mem::take(&mut self.vocabulary.frequencies);
        let names = std::mem::take(&mut self.names);
        let searches = std::mem::take(&mut self.searches);
        *self = SavedSearches {
            vocabulary: Vocabulary::new(frequencies),
            ..SavedSearches::default()
        };
        for (name, search) in names.iter().zip(searches) {
            if let Some(search) = search {
                self.insert(&**name, search.filter);
            }
        }
    }

    /// The filter of a search.
    pub fn get(&self, name: &str) -> Option<&Filter> {
        let number = self.by_name.get(name)?;
        self.searches[*number as usize]
            .as_ref()
            .map(|search| &search.filter)
    }

    /// The number of searches.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// The searches with their filters, in the order in which they were saved.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Filter)> {
        let searches = self.names.iter().zip(&self.searches);
        searches.filter_map(|(name, search)| Some((&**name, &search.as_ref()?.filter)))
    }

    /// The names of the searches that a signal matches, in the order in which they were saved.
    ///
    /// `company` must be the signal's. `today` is what `days` and `dateRanges` count from.
    ///
    /// Cost: some microseconds, and tens of nanoseconds for each search that asks for the same rare value, or
    /// pair of values; a search that requires nothing, such as one that only excludes words, is asked for
    /// every signal.
    pub fn matches(&self, signal: &Signal<'_>, company: &Company<'_>, today: Date) -> Vec<&str> {
        let numbers = self.numbers(signal, company, today);
        self.names(&numbers).collect()
    }

    /// The searches that a signal matches, ascending.
    fn numbers(
        &self,
        signal: &Signal<'_>,
        company: &Company<'_>,
        today: Date,
    ) -> Vec<SearchNumber> {
        let document = Document::new(&self.vocabulary.keys, signal, company);
        let mut matching = Vec::new();
        self.candidates.visit(&document, |number| {
            let is_match = match self.conditions.decide(number as usize, &document) {
                Decision::Match => true,
                Decision::NoMatch => false,
                Decision::InRanges => self.is_in_ranges(number, signal, today),
            };
            if is_match {
                matching.push(number);
            }
        });
        matching.sort_unstable();
        matching.dedup();
        matching
    }

    fn is_in_ranges(&self, search: SearchNumber, signal: &Signal<'_>, today: Date) -> bool {
        let search = self.searches[search as usize].as_ref();
        search.is_some_and(|search| search.filter.matches_ranges(signal, today))
    }

    fn names(&self, numbers: &[SearchNumber]) -> impl Iterator<Item = &str> {
        let names = numbers.iter().map(|&number| &self.names[number as usize]);
        names.map(|name| &**name)
    }
}

impl fmt::Debug for SavedSearches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SavedSearches")
            .field("searches", &self.len())
            .finish_non_exhaustive()
    }
}
