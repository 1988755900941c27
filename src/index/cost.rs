//! Upper bounds of the cost of queries, found without visiting rows.

use time::Date;

use super::changes::BOUNDED_PASSES;
use super::live::SegmentHandle;
use super::position::Position;
use super::snapshot::Snapshot;
use crate::Result;
use crate::plan::{Cost, cost};
use crate::query::{Facet, Filter, Query, Sorting};

impl Snapshot {
    /// An upper bound of the work of visiting all matches of a filter, found without visiting any: a count never takes
    /// more. Use it to refuse a query, or to run it elsewhere, before it starts.
    ///
    /// The unit is one comparison of a title with a phrase, <!--figure:kernels.phrase-->20 to 50<!--end--> nanoseconds.
    /// If a first, rough bound is at most `cheap`, that is returned; so any result up to `cheap` means only that the
    /// query is cheap.
    ///
    /// Cost: an addition per word if the rough bound suffices; else that of planning without sets of companies,
    /// which would visit rows.
    ///
    /// ```
    /// use signaldex::{Filter, sample};
    ///
    /// let index = sample::index()?;
    /// let snapshot = index.snapshot();
    /// let rare = Filter::from_query_string("q=\"series a\"")?;
    /// let wide = Filter::from_query_string("any=\"series a\" \"series b\" \"series c\"")?;
    /// let cost = |filter| snapshot.cost(filter, sample::AS_OF, 0);
    /// assert!(cost(&rare)? <= cost(&wide)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A part of a file that the plan needs is damaged.
    pub fn cost(&self, filter: &Filter, today: Date, cheap: Cost) -> Result<Cost> {
        self.visiting_cost(filter, today, 0, cheap)
    }

    /// An upper bound of the work of a page of a query; otherwise as [`cost`](Self::cost). In an order by value a page may
    /// visit all matches and read a code of each, as the counts of a facet do.
    ///
    /// ```
    /// use signaldex::{Query, sample};
    ///
    /// let index = sample::index()?;
    /// let snapshot = index.snapshot();
    /// let cost = |text| snapshot.page_cost(&Query::from_query_string(text).expect("a query"), sample::AS_OF, 0);
    /// assert!(cost("q=robotics")? < cost("q=robotics&order=date")?);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`cost`](Self::cost).
    pub fn page_cost(&self, query: &Query, today: Date, cheap: Cost) -> Result<Cost> {
        let facets = match query.order().sorting() {
            Sorting::ById(_) => 0,
            Sorting::ByValue(_) => 1,
        };
        self.visiting_cost(query.filter(), query.day(today), facets, cheap)
    }

    /// The cost of visiting all matches and counting a number of facets that the filter does not have.
    fn visiting_cost(
        &self,
        filter: &Filter,
        today: Date,
        facets: usize,
        cheap: Cost,
    ) -> Result<Cost> {
        let bound: Cost = self
            .sizes()
            .map(|(rows, words)| cost::bound(filter, rows, words) + cost::tally_bound(rows, facets))
            .sum();
        if bound <= cheap {
            return Ok(bound);
        }
        self.cost_of(filter, today, facets)
    }

    /// An upper bound of the work of finding [bounded](crate::Changes::bounded) changes after a position, in the unit
    /// of [`cost`](Self::cost): a few passes over the commits of all rows of changed segments.
    ///
    /// ```
    /// let index = signaldex::sample::index()?;
    /// let snapshot = index.snapshot();
    /// assert_eq!(snapshot.changes_cost(&snapshot.position())?, 0);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// The commits of a file are damaged.
    pub fn changes_cost(&self, since: &Position) -> Result<Cost> {
        let mut rows = 0;
        for SegmentHandle { segment, .. } in &self.segments {
            if segment.has_changed_since(since.offset())? {
                rows += u64::from(segment.row_count()) + segment.tombstone_count() as u64;
            }
        }
        Ok(u64::from(BOUNDED_PASSES) * cost::of_rows(rows))
    }

    /// An upper bound of the work of counting facets; otherwise as [`cost`](Self::cost).
    ///
    /// ```
    /// use signaldex::{Facet, Filter, sample};
    ///
    /// let index = sample::index()?;
    /// let (snapshot, filter) = (index.snapshot(), Filter::from_query_string("q=robotics")?);
    /// let cost = |facets| snapshot.facets_cost(&filter, facets, sample::AS_OF, 0);
    /// assert!(cost(&[Facet::Country])? <= cost(&Facet::ALL)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`cost`](Self::cost).
    pub fn facets_cost(
        &self,
        filter: &Filter,
        facets: &[Facet],
        today: Date,
        cheap: Cost,
    ) -> Result<Cost> {
        let is_filtered = |facet: &&Facet| !filter.value_keys(**facet).is_empty();
        let filtered: Vec<&Facet> = facets.iter().filter(is_filtered).collect();
        let runs = 1 + filtered.len() as u64;
        let bound: Cost = self
            .sizes()
            .map(|(rows, words)| {
                runs * cost::bound(filter, rows, words) + cost::tally_bound(rows, facets.len())
            })
            .sum();
        if bound <= cheap {
            return Ok(bound);
        }
        // Facets without a filter of their own share one run; each other one needs a run of its
        // own.
        let free = facets.len() - filtered.len();
        let mut cost = self.cost_of(filter, today, free)?;
        for &&facet in &filtered {
            cost += self.cost_of(&filter.without(facet), today, 1)?;
        }
        Ok(cost)
    }

    /// As [`cost_of`](Self::cost_of), for other columns that are read as facets are.
    pub(super) fn cost_with_tallies(
        &self,
        filter: &Filter,
        today: Date,
        tallies: usize,
    ) -> Result<Cost> {
        let everything = if filter.is_empty() {
            self.sizes()
                .map(|(rows, _)| cost::tally_bound(rows, tallies))
                .sum()
        } else {
            0
        };
        Ok(self.cost_of(filter, today, tallies)? + everything)
    }

    /// The maximum cost of visiting all matches and counting facets.
    fn cost_of(&self, filter: &Filter, today: Date, facets: usize) -> Result<Cost> {
        let request = self.request(filter, today);
        let segments = self.segments.iter();
        segments
            .map(|handle| handle.live().cost(&request, facets))
            .sum()
    }

    /// The numbers of rows, and of words in titles, of each segment.
    fn sizes(&self) -> impl Iterator<Item = (u64, u64)> {
        self.segments.iter().map(sizes)
    }
}

/// The rows of a segment, and the words of its titles.
pub(super) fn sizes(SegmentHandle { segment, .. }: &SegmentHandle) -> (u64, u64) {
    (
        segment.row_count().into(),
        segment.title_word_count() as u64,
    )
}

#[cfg(test)]
mod tests;
