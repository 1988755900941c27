//! A plan and what came of it, for people.

use std::fmt;
use std::time::Duration;

use super::{Access, Clause, Estimate, Plan};
use crate::query::UnknownValue;

/// How a query was answered: the plan of every segment, with estimates and what really happened.
///
/// Its `Display` is meant for terminals. Times are those of an explained run, which counts behind
/// every step and is therefore slower than the query itself; `page_time` is measured without.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The filters in canonical form.
    pub query: String,
    /// Companies and facet values of the filter that no segment knows.
    pub unknown: Vec<UnknownValue>,
    /// One for each segment, oldest first.
    pub segments: Vec<SegmentExplanation>,
    /// The exact number of matches.
    pub matches: u64,
    /// The number of signals on the page that was asked for.
    pub page_length: usize,
    /// The time that the page took, ids and cursor, without the counting behind steps.
    pub page_time: Duration,
    /// Blocks of which the page formed candidates.
    pub page_blocks_visited: u64,
    /// Blocks that the page passed over.
    pub page_blocks_skipped: u64,
    /// The time that the traced run over all matches took.
    pub total_time: Duration,
}

/// The plan of one segment.
#[derive(Clone, Debug)]
pub struct SegmentExplanation {
    /// The number of rows in the segment, deleted ones included.
    pub rows: u64,
    /// The steps in order of application.
    pub steps: Vec<StepExplanation>,
    /// The part of the filter that nothing here fulfils, where there is one: no step was run.
    pub impossible: Option<String>,
    /// The matches in this segment.
    pub matches: u64,
    /// Blocks whose candidates were formed.
    pub blocks_visited: u64,
    /// Blocks that were passed over.
    pub blocks_skipped: u64,
}

/// One step of a plan.
#[derive(Clone, Debug)]
pub struct StepExplanation {
    /// The part of the filter, such as `title has "series"`.
    pub clause: String,
    /// What the step does, such as `lead with a posting`.
    pub strategy: &'static str,
    /// Why it is done in that way and at that place.
    pub reason: &'static str,
    /// How many rows of the segment the clause was thought to match by itself.
    pub estimate: Estimate,
    /// How many candidates were left behind the step, over all blocks.
    pub actual: u64,
    /// The time that the step took, over all blocks.
    pub time: Duration,
}

/// What a trace says of a step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StepActual {
    pub(crate) rows: u64,
    pub(crate) time: Duration,
}

impl Plan<'_> {
    /// The steps in the order in which an execution traces them, with what it saw.
    pub(crate) fn explain(&self, actuals: &[StepActual], deleted: u64) -> Vec<StepExplanation> {
        let required = self.required.iter().enumerate().map(|(place, step)| {
            let (strategy, reason) = required_strategy(&step.access, place == 0);
            (step.clause, strategy, reason, step.estimate)
        });
        let ranges = self.ranges.iter().map(|step| {
            (
                step.clause,
                "check ranges",
                "blocks outside are skipped, blocks inside taken whole",
                step.estimate,
            )
        });
        let excluded = self.excluded.iter().map(|step| {
            let (strategy, reason) = excluded_strategy(&step.access);
            (step.clause, strategy, reason, step.estimate)
        });
        let deleted = (deleted > 0).then(|| {
            let reason = "rows deleted or replaced by later commits";
            (
                Clause::Deleted,
                "subtract rows",
                reason,
                Estimate::exact(deleted),
            )
        });
        let phrases = self.phrases.iter().map(|step| {
            (
                step.clause,
                "check order of words",
                "reads a title for each candidate, so it comes last",
                step.estimate,
            )
        });
        required
            .chain(ranges)
            .chain(excluded)
            .chain(deleted)
            .chain(phrases)
            .enumerate()
            .map(|(place, (clause, strategy, reason, estimate))| {
                let actual = actuals.get(place).copied().unwrap_or_default();
                StepExplanation {
                    clause: clause.to_string(),
                    strategy,
                    reason,
                    estimate,
                    actual: actual.rows,
                    time: actual.time,
                }
            })
            .collect()
    }
}

fn required_strategy(access: &Access, leads: bool) -> (&'static str, &'static str) {
    match (access, leads) {
        (Access::One(_), true) => ("lead with a posting", "the fewest rows of all steps"),
        (Access::One(_), false) => ("intersect a posting", "more rows than the step before"),
        (Access::Union(_), true) => ("lead with a union", "the fewest rows of all steps"),
        (Access::Union(_), false) => ("intersect a union", "more rows than the step before"),
        (Access::Rows(_), true) => ("lead with listed rows", "the fewest rows of all steps"),
        (Access::Rows(_), false) => ("intersect listed rows", "more rows than the step before"),
        (Access::OfCompanies(_), true) => ("lead with companies", "few are left of all"),
        (Access::OfCompanies(_), false) => {
            ("intersect companies", "more rows than the step before")
        }
        (Access::Phrase { .. }, true) => ("lead with a phrase", "the fewest rows of all steps"),
        (Access::Phrase { .. }, false) => ("intersect a phrase", "more rows than the step before"),
    }
}

fn excluded_strategy(access: &Access) -> (&'static str, &'static str) {
    match access {
        Access::Phrase { .. } => (
            "subtract a phrase",
            "titles are read only for rows with the rarest word",
        ),
        _ => (
            "subtract a posting",
            "behind what is required, when few candidates are left",
        ),
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let filters = if self.query.is_empty() {
            "(no filter)"
        } else {
            &self.query
        };
        writeln!(f, "filters  {filters}")?;
        for value in &self.unknown {
            writeln!(f, "unknown  {value}")?;
        }
        writeln!(
            f,
            "page     {} signals in {:.1?}, {} blocks visited, {} skipped",
            self.page_length, self.page_time, self.page_blocks_visited, self.page_blocks_skipped
        )?;
        writeln!(
            f,
            "matches  {} in {:.1?} (traced)",
            self.matches, self.total_time
        )?;
        for (number, segment) in self.segments.iter().enumerate() {
            writeln!(f, "\nsegment {number}: {} rows", segment.rows)?;
            segment.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for SegmentExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(clause) = &self.impossible {
            return writeln!(f, "  nothing here fulfils: {clause}");
        }
        if self.steps.is_empty() {
            writeln!(f, "  every row matches")?;
        }
        for (place, step) in self.steps.iter().enumerate() {
            writeln!(f, "  {}. {}: {}", place + 1, step.strategy, step.clause)?;
            writeln!(
                f,
                "     estimated {}, left {}, {:.1?}; {}",
                step.estimate, step.actual, step.time, step.reason
            )?;
        }
        writeln!(
            f,
            "  {} matches, {} blocks visited, {} skipped",
            self.matches, self.blocks_visited, self.blocks_skipped
        )
    }
}
