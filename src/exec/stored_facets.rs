//! Facets under a frequent set, from its stored value counts, less the rows that the rest of a filter leaves out.
//!
//! The rows left out are counted where they are fewer than the matches: those of the set that are in no other required
//! set, in an excluded one, or deleted. They are counted part by part, so that no row is in two parts.

use smallvec::SmallVec;

use super::execution::Execution;
use super::facets::{self, FacetTally};
use super::live::{LiveSegment, Request};
use super::observer::Unobserved;
use super::operand::Operand;
use super::parallel::SharedExecutor;
use crate::Result;
use crate::encoding::posting::Posting;
use crate::kernels::block::block_count;
use crate::plan::{Plan, Source, Step, Strategies};
use crate::query::Facet;
use crate::segment::PostingCounts;

/// Cost of forming the candidates of a block, in units of counting a match. In tests, whose segments are small, rows are
/// subtracted as often as possible.
const BLOCK_COST: f64 = if cfg!(test) { 0.0 } else { 64.0 };

/// What leaves rows of the base out.
#[derive(Clone, Copy, Debug)]
enum LeftOut<'a, 'q> {
    /// A required step leaves out the rows that are not in it.
    Required(&'a Step<'q>),
    /// An excluded step leaves out its rows.
    Excluded(&'a Step<'q>),
    /// Deleted rows.
    Deleted(Posting<'a>),
}

/// The set whose value counts are stored.
#[derive(Debug)]
enum Base<'a, 'q> {
    Everything,
    Step(&'a Step<'q>, Vec<PostingCounts<'a>>),
}

/// How facets are counted: what is stored of the base, less the rows left out by each part.
#[derive(Debug)]
struct Subtraction<'a, 'q> {
    live: LiveSegment<'a>,
    strategies: &'a Strategies,
    base: Base<'a, 'q>,
    parts: SmallVec<[LeftOut<'a, 'q>; 4]>,
}

/// Counts the values of facets among the matches of a plan, returning a tally per facet; `None` where visiting the matches
/// costs less, or too little is stored.
///
/// # Errors
/// Stored counts or a set of the plan are damaged.
pub(super) fn tally<'a, 'q>(
    live: LiveSegment<'a>,
    plan: &'a Plan<'q>,
    request: &Request<'a>,
    facets: &[Facet],
) -> Result<Option<Vec<FacetTally>>> {
    let strategies = request.strategies;
    if !strategies.stored_facets || !plan.has_only_sets() {
        return Ok(None);
    }
    match Subtraction::choose(live, plan, strategies)? {
        Some(subtraction) => {
            let executor = request.executor_for::<Unobserved>(live.segment);
            subtraction.tally(facets, executor).map(Some)
        }
        None => Ok(None),
    }
}

impl<'a, 'q> Subtraction<'a, 'q> {
    /// The base that leaves out the fewest rows, if that is less to count than the matches.
    fn choose(
        live: LiveSegment<'a>,
        plan: &'a Plan<'q>,
        strategies: &'a Strategies,
    ) -> Result<Option<Subtraction<'a, 'q>>> {
        let rows = f64::from(live.segment.row_count().max(1));
        let block_cost = f64::from(block_count(live.segment.row_count())) * BLOCK_COST;
        let all = parts_beside(live, plan, None);
        let shares = all.iter().map(|part| 1.0 - part.left_out(live));
        let matches = rows * shares.product::<f64>();
        let mut chosen = None;
        // The least cost so far. One required part may be the base, so the others have to pay off at least.
        let mut limit = matches;
        let parts_min = all.len() - usize::from(!plan.required.is_empty());
        if matches <= parts_min as f64 * block_cost {
            return Ok(None);
        }
        for base in [None].into_iter().chain((0..plan.required.len()).map(Some)) {
            let parts = parts_beside(live, plan, base);
            let base_rows = base.map_or(rows, |base| plan.required[base].estimate.expected as f64);
            let left_out: f64 = parts.iter().map(|part| part.left_out(live)).sum();
            let cost = base_rows * left_out + parts.len() as f64 * block_cost;
            // Whether counts are stored is looked up last.
            if cost < limit
                && let Some(base) = Base::of(live, plan, base)?
            {
                limit = cost;
                chosen = Some(Subtraction {
                    live,
                    strategies,
                    base,
                    parts,
                });
            }
        }
        Ok(chosen)
    }

    fn tally(self, facets: &[Facet], executor: Option<&SharedExecutor>) -> Result<Vec<FacetTally>> {
        let mut counts = self.base.counts(self.live, facets)?;
        // Invariant: rows that a part before this one leaves out have been subtracted.
        for part in 0..self.parts.len() {
            let left_out = facets::tally(self.left_out_by(part)?, facets, executor)?;
            for (counts, tally) in counts.iter_mut().zip(left_out) {
                for (value, rows) in tally {
                    // Stored counts have not been compared with the rows, so the difference
                    // saturates.
                    let count = &mut counts[value as usize];
                    *count = count.saturating_sub(rows);
                }
            }
        }
        Ok(counts
            .iter()
            .map(|counts| facets::counted(counts))
            .collect())
    }

    /// The rows of the base that a part leaves out, and no part before it.
    fn left_out_by(&self, part: usize) -> Result<Execution<'a, Unobserved>> {
        let mut sets = Sets::new(self.live);
        if let Base::Step(step, _) = self.base {
            sets.keep(LeftOut::Required(step))?;
        }
        for &kept in &self.parts[..part] {
            sets.keep(kept)?;
        }
        sets.leave_out(self.parts[part])?;
        let mut execution = Execution::unbound(self.live, self.strategies);
        sets.required.sort_by_key(|&(rows, _)| rows);
        let required = sets.required.into_iter().map(|(_, set)| set);
        execution.bind_sets(required, sets.excluded);
        Ok(execution)
    }
}

/// Sets of an execution.
struct Sets<'a> {
    live: LiveSegment<'a>,
    /// With their numbers of rows.
    required: SmallVec<[(u64, Operand<'a>); 4]>,
    excluded: SmallVec<[Operand<'a>; 2]>,
}

impl<'a> Sets<'a> {
    fn new(live: LiveSegment<'a>) -> Sets<'a> {
        Sets {
            live,
            required: SmallVec::new(),
            excluded: SmallVec::new(),
        }
    }

    /// Leaves the rows that a part does not leave out.
    fn keep(&mut self, part: LeftOut<'a, '_>) -> Result<()> {
        match part {
            LeftOut::Required(step) => self.require(step),
            LeftOut::Excluded(step) => self.exclude(step),
            LeftOut::Deleted(rows) => {
                self.excluded.push(Operand::One(rows));
                Ok(())
            }
        }
    }

    /// Leaves the rows that a part leaves out.
    fn leave_out(&mut self, part: LeftOut<'a, '_>) -> Result<()> {
        match part {
            LeftOut::Required(step) => self.exclude(step),
            LeftOut::Excluded(step) => self.require(step),
            LeftOut::Deleted(rows) => {
                let count = self.live.deleted.row_count();
                self.required.push((count, Operand::One(rows)));
                Ok(())
            }
        }
    }

    fn require(&mut self, step: &'a Step<'_>) -> Result<()> {
        let set = Operand::bind(self.live.segment, step, true)?;
        self.required.push((step.estimate.expected, set));
        Ok(())
    }

    fn exclude(&mut self, step: &'a Step<'_>) -> Result<()> {
        self.excluded
            .push(Operand::bind(self.live.segment, step, true)?);
        Ok(())
    }
}

/// What leaves rows of a base out; `None` is the base of all rows.
fn parts_beside<'a, 'q>(
    live: LiveSegment<'a>,
    plan: &'a Plan<'q>,
    base: Option<usize>,
) -> SmallVec<[LeftOut<'a, 'q>; 4]> {
    let required = plan.required.iter().enumerate();
    let required = required.filter(|&(index, _)| Some(index) != base);
    let required = required.map(|(_, step)| LeftOut::Required(step));
    let excluded = plan.excluded.iter().map(LeftOut::Excluded);
    let deleted = live.deleted.posting().map(LeftOut::Deleted);
    required.chain(excluded).chain(deleted).collect()
}

impl LeftOut<'_, '_> {
    /// The expected share of rows that it leaves out.
    fn left_out(&self, live: LiveSegment<'_>) -> f64 {
        let rows = f64::from(live.segment.row_count().max(1));
        let share = |step: &Step<'_>| step.estimate.expected as f64 / rows;
        match self {
            LeftOut::Required(step) => 1.0 - share(step),
            LeftOut::Excluded(step) => share(step),
            LeftOut::Deleted(_) => live.deleted.row_count() as f64 / rows,
        }
    }
}

impl<'a, 'q> Base<'a, 'q> {
    /// The base of a required step, or of all rows; `None` where counts of the step are not stored.
    fn of(
        live: LiveSegment<'a>,
        plan: &'a Plan<'q>,
        step: Option<usize>,
    ) -> Result<Option<Base<'a, 'q>>> {
        let Some(step) = step.map(|index| &plan.required[index]) else {
            return Ok(Some(Base::Everything));
        };
        let mut stored = Vec::new();
        // The sources are disjoint, so that a row is in the counts of one.
        for source in step.disjoint_sources().unwrap_or_default() {
            let Source::Posting(posting) = source else {
                return Ok(None);
            };
            let Some(counts) = live.segment.value_counts(*posting)? else {
                return Ok(None);
            };
            stored.push(counts);
        }
        Ok((!stored.is_empty()).then_some(Base::Step(step, stored)))
    }

    /// The rows of the base with each value of some facets.
    fn counts(&self, live: LiveSegment<'_>, facets: &[Facet]) -> Result<Vec<Vec<u64>>> {
        match self {
            Base::Everything => facets
                .iter()
                .map(|&facet| facets::stored_values(live, facet))
                .collect(),
            Base::Step(_, stored) => Ok(facets
                .iter()
                .map(|&facet| {
                    let mut counts = vec![0; live.segment.facet(facet).len()];
                    stored.iter().for_each(|of| of.add_to(facet, &mut counts));
                    counts
                })
                .collect()),
        }
    }
}
