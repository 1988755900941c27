//! What receives the steps of a filter: a plan, or an evaluation that applies them at once.

use super::{Clause, PhraseStep, Plan, RangeStep, Step};

/// A clause that matches no row of the segment, or none of those that the clauses before it left.
#[derive(Debug)]
pub(crate) struct NoMatch<'q>(pub(crate) Clause<'q>);

pub(crate) type Planned<'q> = Result<(), NoMatch<'q>>;

/// A consumer of steps.
pub(crate) trait StepSink<'q> {
    /// Takes a set that contains every match.
    fn require(&mut self, step: Step<'q>) -> Planned<'q>;

    /// Takes a condition on a column.
    fn limit(&mut self, step: RangeStep<'q>) -> Planned<'q>;

    /// Takes a set that contains no match.
    fn exclude(&mut self, step: Step<'q>) -> Planned<'q>;

    /// Takes a condition on token streams.
    fn check(&mut self, step: PhraseStep<'q>);
}

impl<'q> StepSink<'q> for Plan<'q> {
    #[inline(always)]
    fn require(&mut self, step: Step<'q>) -> Planned<'q> {
        self.required.push(step);
        Ok(())
    }

    #[inline(always)]
    fn limit(&mut self, step: RangeStep<'q>) -> Planned<'q> {
        self.ranges.push(step);
        Ok(())
    }

    #[inline(always)]
    fn exclude(&mut self, step: Step<'q>) -> Planned<'q> {
        self.excluded.push(step);
        Ok(())
    }

    #[inline(always)]
    fn check(&mut self, step: PhraseStep<'q>) {
        self.phrases.push(step);
    }
}
