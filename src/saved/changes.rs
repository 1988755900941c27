//! Matches changes with saved searches.

use std::iter::FusedIterator;

use time::Date;

use super::SavedSearches;
use crate::Result;
use crate::index::{Change, Changes, Position, PositionError, Snapshot};
use crate::signal::{Company, Item};

/// A changed signal with the saved searches that it matches.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MatchedSignal<'a> {
    /// The current state of the signal, with the name of its company.
    pub item: Item<'a>,
    /// Whether it was added after the position.
    pub is_new: bool,
    /// The names of the matching searches, at least one, in the order in which they were saved.
    pub searches: Vec<&'a str>,
}

/// An iterator over changed signals that match, returned by [`SavedSearches::matching`] and
/// [`SavedSearches::newly_matching`].
pub struct MatchedSignals<'a> {
    searches: &'a SavedSearches,
    snapshot: &'a Snapshot,
    /// Matches in this snapshot are skipped.
    before: Option<&'a Snapshot>,
    today: Date,
    changes: Changes<'a>,
    /// The company of the last signal: signals of one company often change together.
    company: Option<Company<'a>>,
    has_failed: bool,
}

impl SavedSearches {
    /// Matches the changes after a position: returns each signal that was added or changed and matches now, with
    /// the names of the searches. This includes changed signals that matched before.
    ///
    /// ```
    /// use signaldex::{Company, Filter, Index, SavedSearches, Signal, SignalId};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let index = Index::in_memory()?;
    /// let mut searches = SavedSearches::new();
    /// searches.insert("jobs", Filter::from_query_string("q=hires -intern")?);
    /// searches.insert("money", Filter::from_query_string("q=raises")?);
    /// let since = index.snapshot().position();
    ///
    /// let mut writer = index.writer()?;
    /// writer.upsert_company(&Company::new("acme", "Acme"))?;
    /// writer.upsert_signal(&Signal::new(SignalId::MIN, "acme", "Acme hires an engineer"))?;
    /// writer.commit()?;
    ///
    /// let snapshot = index.snapshot();
    /// let today = time::macros::date!(2026 - 06 - 30);
    /// let mut matched = searches.matching(&snapshot, &since, today)?;
    /// let first = matched.next().transpose()?.expect("a match");
    /// assert_eq!((first.searches, first.is_new), (vec!["jobs"], true));
    /// assert!(matched.next().is_none());
    /// assert_eq!(matched.position(), snapshot.position());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Snapshot::changes`].
    ///
    /// Cost: that of [`Snapshot::changes`], of reading each signal and its company, and of
    /// [`matches`](Self::matches).
    pub fn matching<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        since: &Position,
        today: Date,
    ) -> Result<MatchedSignals<'a>, PositionError> {
        Ok(MatchedSignals {
            searches: self,
            snapshot,
            before: None,
            today,
            changes: snapshot.changes(&self.everything, today, since)?,
            company: None,
            has_failed: false,
        })
    }

    /// As [`matching`](Self::matching) after the position of an earlier snapshot, without searches that the signal
    /// already matched there.
    ///
    /// ```
    /// # use signaldex::{Filter, SavedSearches, Signal, SignalId, sample};
    /// # let index = sample::index()?;
    /// let mut searches = SavedSearches::new();
    /// searches.insert("jobs", Filter::from_query_string("q=roles")?);
    /// searches.insert("money", Filter::from_query_string("q=raises")?);
    /// let before = index.snapshot();
    /// let mut writer = index.writer()?;
    /// writer.upsert_signal(&Signal::new(SignalId::MAX, "pomelora", "Pomelora raises, opens roles"))?;
    /// writer.commit()?;
    /// let after = index.snapshot();
    /// let mut matched = searches.newly_matching(&before, &after, sample::AS_OF)?;
    /// let matched = matched.next().transpose()?.expect("a match");
    /// assert_eq!(matched.searches, ["money"]); // it matched "jobs" before
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Snapshot::changes`].
    ///
    /// Cost: that of [`matching`](Self::matching), twice for each signal that existed before.
    pub fn newly_matching<'a>(
        &'a self,
        before: &'a Snapshot,
        after: &'a Snapshot,
        today: Date,
    ) -> Result<MatchedSignals<'a>, PositionError> {
        let matching = self.matching(after, &before.position(), today)?;
        Ok(MatchedSignals {
            before: Some(before),
            ..matching
        })
    }
}

impl<'a> MatchedSignals<'a> {
    /// The position after the signals returned so far, for the next call.
    ///
    /// ```
    /// use signaldex::{Filter, Position, SavedSearches, sample};
    ///
    /// let mut searches = SavedSearches::new();
    /// searches.insert("robots", Filter::from_query_string("q=robotics")?);
    /// let snapshot = sample::index()?.snapshot();
    /// let mut matched = searches.matching(&snapshot, &Position::START, sample::AS_OF)?;
    /// assert_eq!(matched.by_ref().take(20).count(), 20);
    /// let rest = searches.matching(&snapshot, &matched.position(), sample::AS_OF)?;
    /// assert_eq!(rest.count(), 13);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn position(&self) -> Position {
        self.changes.position()
    }

    fn matched(&mut self, change: Change<'a>) -> Result<Option<MatchedSignal<'a>>> {
        let Change::Upsert { item, is_new } = change else {
            return Ok(None);
        };
        let signal = &item.signal;
        let known = self.company.take();
        self.company = match known.filter(|known| known.slug == signal.company_slug) {
            Some(known) => Some(known),
            None => self.snapshot.company_record(&signal.company_slug)?,
        };
        // Every signal has a company.
        let Some(company) = &self.company else {
            return Ok(None);
        };
        let mut searches = self.searches.numbers(signal, company, self.today);
        if let Some(before) = self.before.filter(|_| !is_new && !searches.is_empty())
            && let Some(found) = before.signal(signal.id)?
        {
            let earlier = self
                .searches
                .numbers(&found.signal, &found.company, self.today);
            searches.retain(|search| earlier.binary_search(search).is_err());
        }
        if searches.is_empty() {
            return Ok(None);
        }
        let searches = self.searches.names(&searches).collect();
        Ok(Some(MatchedSignal {
            item,
            is_new,
            searches,
        }))
    }
}

impl<'a> Iterator for MatchedSignals<'a> {
    type Item = Result<MatchedSignal<'a>>;

    fn next(&mut self) -> Option<Result<MatchedSignal<'a>>> {
        while !self.has_failed {
            let matched = match self.changes.next()? {
                Ok(change) => self.matched(change),
                Err(error) => Err(error),
            };
            self.has_failed = matched.is_err();
            if let Some(matched) = matched.transpose() {
                return Some(matched);
            }
        }
        None
    }
}

impl FusedIterator for MatchedSignals<'_> {}
