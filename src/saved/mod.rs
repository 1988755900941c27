//! Saved searches: named filters, matched against incoming signals (reverse search).
//!
//! ```text
//! filter -> conditions   on numbers of values and prefixes; a check takes nanoseconds
//!        -> candidates   listed under the rarest required value
//! signal -> document     the numbers of its values, of its words and of the prefixes that they begin with
//!        -> candidates whose conditions hold -> names of searches
//! ```
//!
//! [`Filter::matches`] defines the result; tests compare every answer with it.

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

use self::candidates::{Listing, SearchIndex, SearchNumber};
use self::conditions::{Conditions, Decision};
use self::document::Document;
use self::frequencies::Frequencies;
use self::vocabulary::Vocabulary;
use crate::Result;
use crate::index::Snapshot;
use crate::query::Filter;
use crate::signal::{Company, Signal};

pub use changes::{MatchedSignal, MatchedSignals};

/// Minimum number of removed searches before the index is rebuilt.
const REMOVED_MIN: usize = 1024;

/// Named filters with an index over them, which finds the filters that match a signal without evaluating
/// each.
///
/// It sends no notifications. A host stores the position up to which it has notified its users, queries the
/// [matches](Self::matching) after it, notifies the users, and stores the new position, as
/// `examples/alerts.rs` does.
///
/// Cost: about 800 bytes of memory per search, including its name and filter.
#[derive(Clone, Default)]
pub struct SavedSearches {
    /// By number; `None` for removed searches.
    searches: Vec<Option<SavedSearch>>,
    conditions: Conditions,
    /// By number.
    names: Vec<Arc<str>>,
    by_name: HashMap<Arc<str>, SearchNumber>,
    vocabulary: Vocabulary,
    candidates: SearchIndex,
    /// The empty filter, for querying changes.
    everything: Filter,
}

#[derive(Clone)]
struct SavedSearch {
    filter: Filter,
    listing: Listing,
}

impl SavedSearches {
    /// Creates an empty set of searches. The frequency of a value is assumed from its kind: a word is rarer than a
    /// country.
    ///
    /// ```
    /// use signaldex::{Filter, SavedSearches};
    ///
    /// let mut searches = SavedSearches::new();
    /// searches.insert("jobs", Filter::from_query_string("q=hires -intern")?);
    /// assert_eq!(searches.len(), 1);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn new() -> SavedSearches {
        SavedSearches::default()
    }

    /// Creates an empty set of searches with frequencies from the newest 2,000 signals of an index, which makes
    /// matching faster. The results are the same.
    ///
    /// ```
    /// use signaldex::{Filter, SavedSearches, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let mut searches = SavedSearches::for_index(&snapshot, sample::AS_OF)?;
    /// searches.insert("german money", Filter::from_query_string("q=raises&country=Germany")?);
    /// assert_eq!(searches.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A record is corrupt.
    ///
    /// Cost: about ten milliseconds.
    pub fn for_index(snapshot: &Snapshot, today: Date) -> Result<SavedSearches> {
        let frequencies = Frequencies::sample(snapshot, today)?;
        Ok(SavedSearches {
            vocabulary: Vocabulary::new(frequencies),
            ..SavedSearches::default()
        })
    }

    /// Saves a search under a name, and returns the previous filter of that name.
    ///
    /// ```
    /// use signaldex::{Filter, SavedSearches};
    ///
    /// let mut searches = SavedSearches::new();
    /// let jobs = Filter::from_query_string("q=hires")?;
    /// assert_eq!(searches.insert("jobs", jobs.clone()), None);
    /// assert_eq!(searches.insert("jobs", Filter::from_query_string("q=hires -intern")?), Some(jobs));
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
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
    /// ```
    /// use signaldex::{Filter, SavedSearches};
    ///
    /// let mut searches = SavedSearches::new();
    /// searches.insert("jobs", Filter::from_query_string("q=hires")?);
    /// assert!(searches.remove("jobs").is_some());
    /// assert!(searches.remove("jobs").is_none());
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    ///
    /// Cost: that of scanning the searches listed with it; occasionally, that of saving all others again.
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

    /// Rebuilds the index without removed searches.
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
    ///
    /// ```
    /// use signaldex::{Filter, SavedSearches};
    ///
    /// let mut searches = SavedSearches::new();
    /// searches.insert("jobs", Filter::from_query_string("q=hires")?);
    /// assert_eq!(searches.get("jobs").map(ToString::to_string).as_deref(), Some("all=hires"));
    /// assert!(searches.get("money").is_none());
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn get(&self, name: &str) -> Option<&Filter> {
        let number = self.by_name.get(name)?;
        self.searches[*number as usize]
            .as_ref()
            .map(|search| &search.filter)
    }

    /// The number of searches.
    ///
    /// ```
    /// use signaldex::{Filter, SavedSearches};
    ///
    /// let mut searches = SavedSearches::new();
    /// searches.insert("jobs", Filter::from_query_string("q=hires")?);
    /// searches.insert("jobs", Filter::from_query_string("q=hiring")?);
    /// assert_eq!(searches.len(), 1);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether there are no searches.
    ///
    /// ```
    /// use signaldex::{Filter, SavedSearches};
    ///
    /// let mut searches = SavedSearches::new();
    /// assert!(searches.is_empty());
    /// searches.insert("all", Filter::default());
    /// assert!(!searches.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// The searches with their filters, in the order in which they were saved.
    ///
    /// ```
    /// use signaldex::{Filter, SavedSearches};
    ///
    /// let mut searches = SavedSearches::new();
    /// searches.insert("jobs", Filter::from_query_string("q=hires")?);
    /// searches.insert("all", Filter::default());
    /// assert!(searches.iter().map(|(name, _)| name).eq(["jobs", "all"]));
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Filter)> {
        let searches = self.names.iter().zip(&self.searches);
        searches.filter_map(|(name, search)| Some((&**name, &search.as_ref()?.filter)))
    }

    /// The names of the searches that a signal matches, in the order in which they were saved.
    ///
    /// `company` must be the company of the signal. `days` and `dateRanges` are relative to `today`.
    ///
    /// ```
    /// use signaldex::{Company, Filter, SavedSearches, Signal, SignalId};
    ///
    /// let mut searches = SavedSearches::new();
    /// searches.insert("jobs", Filter::from_query_string("q=hires -intern")?);
    /// searches.insert("money", Filter::from_query_string("q=raises")?);
    /// let acme = Company::new("acme", "Acme GmbH");
    /// let signal = Signal::new(SignalId::MIN, "acme", "Acme hires an engineer");
    /// let today = time::macros::date!(2026 - 06 - 30);
    /// assert_eq!(searches.matches(&signal, &acme, today), ["jobs"]);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    ///
    /// Cost: a few microseconds, and tens of nanoseconds for each search that requires the same rare value or
    /// pair of values. A search that requires nothing, such as one that only excludes words, is checked for
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
                Decision::AskFilter => self.ask_filter(number, signal, company, today),
            };
            if is_match {
                matching.push(number);
            }
        });
        matching.sort_unstable();
        matching.dedup();
        matching
    }

    /// Whether the filter of a search accepts what conditions do not tell.
    fn ask_filter(
        &self,
        search: SearchNumber,
        signal: &Signal<'_>,
        company: &Company<'_>,
        today: Date,
    ) -> bool {
        let search = self.searches[search as usize].as_ref();
        search.is_some_and(|search| {
            let filter = &search.filter;
            filter.matches_ranges(signal, today) && filter.names_company(company)
        })
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
