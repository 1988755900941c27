//! The plan of a query as a tree: the page, its segments, the steps in each.

use crate::http::admin::figures;
use crate::{Estimate, Explanation, SegmentExplanation, StepExplanation};

/// A plan with what came of it.
pub(in crate::http::admin) struct Plan {
    pub(in crate::http::admin) filters: String,
    pub(in crate::http::admin) page_length: usize,
    pub(in crate::http::admin) page_time: String,
    pub(in crate::http::admin) blocks: String,
    pub(in crate::http::admin) matches: String,
    pub(in crate::http::admin) total_time: String,
    pub(in crate::http::admin) segments: Vec<Segment>,
}

pub(in crate::http::admin) struct Segment {
    pub(in crate::http::admin) number: usize,
    pub(in crate::http::admin) rows: String,
    pub(in crate::http::admin) matches: String,
    pub(in crate::http::admin) blocks: String,
    pub(in crate::http::admin) impossible: Option<String>,
    pub(in crate::http::admin) steps: Vec<Step>,
}

pub(in crate::http::admin) struct Step {
    pub(in crate::http::admin) clause: String,
    pub(in crate::http::admin) strategy: &'static str,
    pub(in crate::http::admin) reason: &'static str,
    pub(in crate::http::admin) estimate: String,
    pub(in crate::http::admin) actual: String,
    pub(in crate::http::admin) time: String,
    /// Of the greatest number in the segment's steps, in percent.
    pub(in crate::http::admin) estimate_share: u64,
    pub(in crate::http::admin) actual_share: u64,
}

impl Plan {
    pub(in crate::http::admin) fn of(explanation: &Explanation) -> Plan {
        Plan {
            filters: explanation.query.clone(),
            page_length: explanation.page_length,
            page_time: figures::duration(explanation.page_time),
            blocks: blocks(
                explanation.page_blocks_visited,
                explanation.page_blocks_skipped,
            ),
            matches: figures::grouped(explanation.matches),
            total_time: figures::duration(explanation.total_time),
            segments: explanation
                .segments
                .iter()
                .enumerate()
                .map(Segment::of)
                .collect(),
        }
    }
}

impl Segment {
    fn of((number, segment): (usize, &SegmentExplanation)) -> Segment {
        let numbers = |step: &StepExplanation| step.actual.max(step.estimate.expected);
        let greatest = segment.steps.iter().map(numbers).max().unwrap_or(0).max(1);
        Segment {
            number,
            rows: figures::grouped(segment.rows),
            matches: figures::grouped(segment.matches),
            blocks: blocks(segment.blocks_visited, segment.blocks_skipped),
            impossible: segment.impossible.clone(),
            steps: segment
                .steps
                .iter()
                .map(|step| Step::of(step, greatest))
                .collect(),
        }
    }
}

impl Step {
    fn of(step: &StepExplanation, greatest: u64) -> Step {
        Step {
            clause: step.clause.clone(),
            strategy: step.strategy,
            reason: step.reason,
            estimate: estimate(step.estimate),
            actual: figures::grouped(step.actual),
            time: figures::duration(step.time),
            estimate_share: share(step.estimate.expected, greatest),
            actual_share: share(step.actual, greatest),
        }
    }
}

fn estimate(estimate: Estimate) -> String {
    let expected = figures::grouped(estimate.expected);
    if estimate.min == estimate.max {
        expected
    } else {
        let (min, max) = (
            figures::grouped(estimate.min),
            figures::grouped(estimate.max),
        );
        format!("{expected} ({min} to {max})")
    }
}

/// How many blocks of rows were looked at, of those that there are.
fn blocks(visited: u64, skipped: u64) -> String {
    let all = visited + skipped;
    let noun = if all == 1 { "block" } else { "blocks" };
    format!(
        "{} of {} {noun}",
        figures::grouped(visited),
        figures::grouped(all)
    )
}

/// In percent; what is not nothing is seen.
fn share(part: u64, whole: u64) -> u64 {
    match part {
        0 => 0,
        part => (part.saturating_mul(100) / whole).max(1),
    }
}
