//! How aggregates are found, for people.

use std::fmt;
use std::time::{Duration, Instant};

use time::Date;

use super::aggregates::AggregateRun;
use super::snapshot::Snapshot;
use super::top_companies::is_of_top_companies;
use crate::Result;
use crate::exec::Counting;
use crate::plan::{Cost, ExecutionExplanation};
use crate::query::AggregateQuery;

/// How an [`AggregateQuery`] was answered. `Display` is meant for terminals.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AggregateExplanation {
    /// The query in its text form.
    pub query: String,
    /// How groups were counted.
    pub strategy: &'static str,
    /// The upper bound of the work, as [`Snapshot::aggregate_cost`].
    pub cost: Cost,
    /// The number of matches.
    pub matches: u64,
    /// The number of all groups.
    pub groups: u64,
    /// The number of groups that are shown.
    pub shown: u64,
    /// The time for finding the matches and counting their groups.
    pub counting_time: Duration,
    /// The time for ranking the groups and measuring those that are shown.
    pub measuring_time: Duration,
    /// How the matches of each segment were found, oldest first; none if counts are stored.
    pub segments: Vec<ExecutionExplanation>,
}

impl Snapshot {
    /// Explains how aggregates are found: runs the query with observed steps.
    ///
    /// ```
    /// use signaldex::query::ParameterSet;
    /// use signaldex::{AggregateQuery, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let query = AggregateQuery::from_query_string("by=month", ParameterSet::FILTERS)?;
    /// let explanation = snapshot.explain_aggregate(&query, sample::AS_OF)?;
    /// println!("{explanation}");
    /// assert_eq!(explanation.strategy, "stored counts, less deleted rows");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`aggregate`](Self::aggregate).
    ///
    /// Cost: a little more than that of [`aggregate`](Self::aggregate).
    pub fn explain_aggregate(
        &self,
        query: &AggregateQuery,
        today: Date,
    ) -> Result<AggregateExplanation> {
        let cost = self.aggregate_cost(query, today, 0)?;
        let started = Instant::now();
        let run = AggregateRun::<Counting>::new(self, query, today)?;
        let counting_time = started.elapsed();
        let started = Instant::now();
        let answer = run.answer()?;
        let measuring_time = started.elapsed();
        let strategy = match (run.is_stored(), query.by().len()) {
            (true, _) => "stored counts, less deleted rows",
            _ if is_of_top_companies(query) => "all matches counted by company, the first selected",
            (_, 0) => "one pass over all matches",
            (_, 1) => "one pass over all matches, by the codes of one column",
            _ => "one pass over all matches, by the codes of two columns",
        };
        Ok(AggregateExplanation {
            query: query.to_string(),
            strategy,
            cost,
            matches: answer.totals.figures.count,
            groups: answer.totals.groups,
            shown: answer.groups.len() as u64,
            counting_time,
            measuring_time,
            segments: run.explained,
        })
    }
}

impl fmt::Display for AggregateExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let query = if self.query.is_empty() {
            "(no filter)"
        } else {
            &self.query
        };
        writeln!(f, "query     {query}")?;
        writeln!(f, "strategy  {}", self.strategy)?;
        writeln!(f, "cost      at most {}", self.cost)?;
        writeln!(
            f,
            "matches   {} counted in {:.1?}",
            self.matches, self.counting_time
        )?;
        let (shown, groups) = (self.shown, self.groups);
        writeln!(
            f,
            "groups    {shown} of {groups} measured in {:.1?}",
            self.measuring_time
        )?;
        for (number, segment) in self.segments.iter().enumerate() {
            write!(f, "\nsegment {number}\n  matches: {segment}")?;
        }
        Ok(())
    }
}
