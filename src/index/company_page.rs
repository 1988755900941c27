//! Pages of companies, and iterators over all that fulfil a filter.

use std::iter::FusedIterator;
use std::vec;

use time::Date;

use super::snapshot::Snapshot;
use crate::Result;
use crate::query::{CompanyCursor, CompanyFilter, MatchedCompany};

/// Companies that are read at once by an iterator.
const BATCH: usize = 50;

/// A page of companies, and the cursor of the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompanyPage<'s> {
    pub(super) items: Vec<MatchedCompany<'s>>,
    pub(super) next_cursor: Option<CompanyCursor>,
}

impl<'s> CompanyPage<'s> {
    /// The companies, in the query's order; at most its limit.
    ///
    /// ```
    /// use signaldex::query::CompanyQuery;
    /// use signaldex::sample;
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let query = CompanyQuery::from_query_string("has=(categories=hiring;min=5)&limit=3")?;
    /// for item in snapshot.companies(&query, sample::AS_OF)?.items() {
    ///     println!("{}: {}", item.profile.company.name, item.matches[0].count);
    ///     assert!(item.matches[0].count >= 5);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn items(&self) -> &[MatchedCompany<'s>] {
        &self.items
    }

    /// As [`items`](Self::items), by value.
    pub fn into_items(self) -> Vec<MatchedCompany<'s>> {
        self.items
    }

    /// The cursor of the next page; `None` if and only if no further company fulfils the query.
    ///
    /// ```
    /// use signaldex::query::CompanyQuery;
    /// use signaldex::sample;
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let one = CompanyQuery::from_query_string("companySlug=cpp-foundry")?;
    /// assert!(snapshot.companies(&one, sample::AS_OF)?.next_cursor().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn next_cursor(&self) -> Option<&CompanyCursor> {
        self.next_cursor.as_ref()
    }

    /// The number of companies on the page.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether no company is on the page.
    ///
    /// ```
    /// use signaldex::query::CompanyQuery;
    /// use signaldex::sample;
    ///
    /// let query = CompanyQuery::from_query_string("country=Atlantis")?;
    /// assert!(sample::index()?.snapshot().companies(&query, sample::AS_OF)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

/// An iterator over the companies that fulfil a filter, returned by [`Snapshot::matching_companies`].
pub struct MatchingCompanies<'s> {
    snapshot: &'s Snapshot,
    filter: CompanyFilter,
    today: Date,
    rest: vec::IntoIter<u32>,
    batch: vec::IntoIter<MatchedCompany<'s>>,
}

impl<'s> MatchingCompanies<'s> {
    pub(super) fn new(
        snapshot: &'s Snapshot,
        filter: CompanyFilter,
        today: Date,
        numbers: Vec<u32>,
    ) -> MatchingCompanies<'s> {
        MatchingCompanies {
            snapshot,
            filter,
            today,
            rest: numbers.into_iter(),
            batch: Vec::new().into_iter(),
        }
    }
}

impl<'s> Iterator for MatchingCompanies<'s> {
    type Item = Result<MatchedCompany<'s>>;

    fn next(&mut self) -> Option<Result<MatchedCompany<'s>>> {
        if let Some(item) = self.batch.next() {
            return Some(Ok(item));
        }
        let numbers: Vec<u32> = self.rest.by_ref().take(BATCH).collect();
        let items = self
            .snapshot
            .matched_companies(&self.filter, &numbers, self.today);
        match items {
            Ok(items) => self.batch = items.into_iter(),
            Err(error) => {
                self.rest = Vec::new().into_iter();
                return Some(Err(error));
            }
        }
        self.batch.next().map(Ok)
    }
}

impl FusedIterator for MatchingCompanies<'_> {}
