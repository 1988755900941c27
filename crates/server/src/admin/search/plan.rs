//! The plans of queries as trees: a page with its segments and the steps in each, and aggregates.

use crate::admin::figures;
use signaldex::{
    AggregateExplanation, Estimate, ExecutionExplanation, Explanation, SegmentExplanation,
    StepExplanation,
};

/// The plan of a query.
pub(in crate::admin) struct QueryPlan {
    pub(in crate::admin) filters: String,
    pub(in crate::admin) page_length: usize,
    pub(in crate::admin) page_time: String,
    pub(in crate::admin) matches: String,
    pub(in crate::admin) count_time: String,
    pub(in crate::admin) segments: Vec<SegmentPlan>,
}

pub(in crate::admin) struct SegmentPlan {
    pub(in crate::admin) number: usize,
    pub(in crate::admin) rows: String,
    pub(in crate::admin) matches: String,
    pub(in crate::admin) executions: Vec<ExecutionPlan>,
}

/// The execution of the page or the count.
pub(in crate::admin) struct ExecutionPlan {
    pub(in crate::admin) purpose: &'static str,
    pub(in crate::admin) strategy: String,
    /// Visited rows and blocks, if any.
    pub(in crate::admin) visits: Option<String>,
    pub(in crate::admin) no_match: Option<String>,
    pub(in crate::admin) steps: Vec<PlanStep>,
}

pub(in crate::admin) struct PlanStep {
    pub(in crate::admin) clause: String,
    pub(in crate::admin) strategy: String,
    pub(in crate::admin) reason: &'static str,
    pub(in crate::admin) estimate: String,
    /// The remaining rows and the time, if the step was executed separately.
    pub(in crate::admin) actual: Option<String>,
    pub(in crate::admin) time: String,
    /// Percentage of the largest estimate.
    pub(in crate::admin) estimate_share: u64,
    pub(in crate::admin) actual_share: u64,
}

/// How aggregates were found.
pub(in crate::admin) struct AggregatePlan {
    pub(in crate::admin) query: String,
    pub(in crate::admin) strategy: &'static str,
    pub(in crate::admin) cost: String,
    pub(in crate::admin) matches: String,
    pub(in crate::admin) groups: String,
    pub(in crate::admin) counting_time: String,
    pub(in crate::admin) measuring_time: String,
    /// How the matches of each segment were found; none if counts are stored.
    pub(in crate::admin) executions: Vec<ExecutionPlan>,
}

impl AggregatePlan {
    pub(in crate::admin) fn of(explanation: &AggregateExplanation) -> AggregatePlan {
        let segments = explanation.segments.iter();
        AggregatePlan {
            query: explanation.query.clone(),
            strategy: explanation.strategy,
            cost: figures::grouped(explanation.cost),
            matches: figures::grouped(explanation.matches),
            groups: figures::grouped(explanation.groups),
            counting_time: figures::duration(explanation.counting_time),
            measuring_time: figures::duration(explanation.measuring_time),
            executions: segments
                .map(|it| ExecutionPlan::of("Segment", it))
                .collect(),
        }
    }
}

impl QueryPlan {
    pub(in crate::admin) fn of(explanation: &Explanation) -> QueryPlan {
        let segments = explanation.segments.iter().enumerate();
        QueryPlan {
            filters: explanation.query.clone(),
            page_length: explanation.page_length,
            page_time: figures::duration(explanation.page_time),
            matches: figures::grouped(explanation.matches),
            count_time: figures::duration(explanation.count_time),
            segments: segments.map(SegmentPlan::of).collect(),
        }
    }
}

impl SegmentPlan {
    fn of((number, segment): (usize, &SegmentExplanation)) -> SegmentPlan {
        let page = segment.page.as_ref();
        let page = page.map(|page| ExecutionPlan::of("Page", page));
        let count = ExecutionPlan::of("Count", &segment.count);
        SegmentPlan {
            number,
            rows: figures::grouped(segment.rows),
            matches: figures::grouped(segment.matches),
            executions: page.into_iter().chain([count]).collect(),
        }
    }
}

impl ExecutionPlan {
    fn of(purpose: &'static str, execution: &ExecutionExplanation) -> ExecutionPlan {
        let number = |step: &StepExplanation| step.actual.max(Some(step.estimate.expected));
        let numbers = execution.steps.iter().filter_map(number);
        let largest = numbers.max().unwrap_or(0).max(1);
        let steps = execution.steps.iter();
        ExecutionPlan {
            purpose,
            strategy: execution.strategy.clone(),
            visits: execution.has_visits().then(|| visits(execution)),
            no_match: execution.no_match.clone(),
            steps: steps.map(|step| PlanStep::of(step, largest)).collect(),
        }
    }
}

impl PlanStep {
    fn of(step: &StepExplanation, largest: u64) -> PlanStep {
        PlanStep {
            clause: step.clause.clone(),
            strategy: step.strategy.clone(),
            reason: step.reason,
            estimate: estimate(step.estimate),
            actual: step.actual.map(figures::grouped),
            time: figures::duration(step.time),
            estimate_share: share(step.estimate.expected, largest),
            actual_share: share(step.actual.unwrap_or(0), largest),
        }
    }
}

fn estimate(estimate: Estimate) -> String {
    let expected = figures::grouped(estimate.expected);
    if estimate.min == estimate.max {
        return expected;
    }
    let (min, max) = (estimate.min, estimate.max);
    let (min, max) = (figures::grouped(min), figures::grouped(max));
    format!("{expected} ({min} to {max})")
}

/// The rows checked individually, and the visited share of all blocks.
fn visits(execution: &ExecutionExplanation) -> String {
    let visited = execution.blocks_visited;
    let all = visited + execution.blocks_skipped;
    let noun = if all == 1 { "block" } else { "blocks" };
    format!(
        "{} rows checked, {} of {} {noun} visited",
        figures::grouped(execution.rows_checked),
        figures::grouped(visited),
        figures::grouped(all)
    )
}

/// A percentage that is at least 1 if `part` is not zero.
fn share(part: u64, whole: u64) -> u64 {
    match part {
        0 => 0,
        part => (part.saturating_mul(100) / whole).max(1),
    }
}
