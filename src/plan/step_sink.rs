//! What receives the steps of a filter: a plan, or an evaluation that applies them at once.

use super::clause::Clause;
use super::steps::{PhraseStep, Plan, RangeStep, Step};
use crate::Error;

/// Why planning stops before the end of a filter.
#[derive(Debug)]
pub(crate) enum Stop<'q> {
    /// The clause matches no row of the segment, or none of those that the clauses before it left.
    NoMatch(Clause<'q>),
    /// A part of the segment that the filter needs is damaged.
    Damaged(Error),
}

pub(crate) type Planned<'q> = Result<(), Stop<'q>>;

impl From<Error> for Stop<'_> {
    fn from(error: Error) -> Self {
        Stop::Damaged(error)
    }
}

impl<'q> Stop<'q> {
    /// The clause that matches nothing, if any, of a filter whose planning went like this.
    ///
    /// # Errors
    /// Planning stopped because of damage.
    #[inline(always)]
    pub(crate) fn no_match(planned: Planned<'q>) -> crate::Result<Option<Clause<'q>>> {
        match planned {
            Ok(()) => Ok(None),
            Err(Stop::NoMatch(clause)) => Ok(Some(clause)),
            Err(Stop::Damaged(error)) => Err(error),
        }
    }
}

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
