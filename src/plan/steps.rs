//! Plans and their steps.

use smallvec::SmallVec;

use super::clause::Clause;
use super::estimate::Estimate;
use super::statistics::{CodeRange, RangeColumn, Source};
use super::stored_union::StoredUnion;
use crate::encoding::row::CompanyNumber;
use crate::encoding::tokens::EncodedPhrase;
use crate::segment::TextField;

/// Rows of companies are looked up individually in a union of up to this many sources. With more, a look-up
/// takes up to a microsecond per row (`benches/slow_shapes`, any of phrases that occur + industry and
/// country).
const LOOKED_UP_SOURCES_MAX: usize = 8;

/// The plan for finding a filter's rows in one segment.
#[derive(Debug)]
pub(crate) struct Plan<'q> {
    /// Sets that contain every match, in the order of application; the first one leads. If empty, every row is
    /// a candidate.
    pub(crate) required: SmallVec<[Step<'q>; 4]>,
    /// Sets that contain no match.
    pub(crate) excluded: SmallVec<[Step<'q>; 2]>,
    /// Conditions on columns, evaluated block by block and then row by row.
    pub(crate) ranges: SmallVec<[RangeStep<'q>; 1]>,
    /// Conditions on token streams, evaluated row by row.
    pub(crate) phrases: SmallVec<[PhraseStep<'q>; 1]>,
    /// A clause that matches nothing in the segment, if any.
    pub(crate) no_match: Option<Clause<'q>>,
}

/// Storage in which a plan is constructed in place.
#[derive(Debug)]
pub(crate) struct PlanStorage<'q>(pub(super) Plan<'q>);

impl<'q> PlanStorage<'q> {
    /// Empty storage.
    #[inline(always)]
    pub(crate) fn new() -> PlanStorage<'q> {
        PlanStorage(Plan {
            required: SmallVec::new(),
            excluded: SmallVec::new(),
            ranges: SmallVec::new(),
            phrases: SmallVec::new(),
            no_match: None,
        })
    }

    /// The plan.
    pub(crate) fn plan(&self) -> &Plan<'q> {
        &self.0
    }

    /// Moves the range of a column after the others. Returns whether the plan has one.
    pub(crate) fn move_last(&mut self, column: RangeColumn) -> bool {
        let ranges = &mut self.0.ranges;
        let found = ranges.iter().position(|step| step.column == column);
        if let Some(index) = found {
            ranges[index..].rotate_left(1);
        }
        found.is_some()
    }

    /// Restricts the plan to codes of a column, instead of those of its step on this column, if it has one.
    pub(crate) fn restrict(&mut self, range: RangeStep<'q>) {
        let ranges = &mut self.0.ranges;
        match ranges.iter_mut().find(|step| step.column == range.column) {
            None => ranges.push(range),
            Some(step) => (step.codes, step.estimate) = (range.codes, range.estimate),
        }
    }
}

/// A step on sets of rows.
#[derive(Debug)]
pub(crate) struct Step<'q> {
    pub(crate) clause: Clause<'q>,
    pub(crate) access: Access,
    pub(crate) estimate: Estimate,
}

/// The source of a step's rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Access {
    /// One source.
    One(Source),
    /// All rows of several sources.
    Union(SmallVec<[Source; 4]>),
    /// All rows of several sources, and listed rows. Boxed, because steps are moved.
    UnionWithRows(Box<StoredUnion>),
    /// These rows, ascending.
    Rows(Vec<u32>),
    /// These rows, those of one company after those of another.
    OfCompanies(Vec<u32>),
    /// The rows of any of several phrases, some of which need a check. Boxed, because steps are moved.
    AnyPhrase(Box<AnyPhrase>),
}

/// A step on an ordered column.
#[derive(Debug)]
pub(crate) struct RangeStep<'q> {
    pub(crate) clause: Clause<'q>,
    pub(crate) column: RangeColumn,
    /// The allowed codes: ascending ranges that do not touch.
    pub(crate) codes: SmallVec<[CodeRange; 2]>,
    pub(crate) estimate: Estimate,
}

/// A step on token streams.
#[derive(Debug)]
pub(crate) struct PhraseStep<'q> {
    pub(crate) clause: Clause<'q>,
    pub(crate) check: PhraseCheck,
    pub(crate) estimate: Estimate,
}

impl Access {
    /// The sources, if the step means all of their rows.
    pub(crate) fn sources(&self) -> Option<&[Source]> {
        match self {
            Access::One(source) => Some(std::slice::from_ref(source)),
            Access::Union(sources) => Some(sources),
            Access::Rows(_)
            | Access::OfCompanies(_)
            | Access::UnionWithRows(_)
            | Access::AnyPhrase(_) => None,
        }
    }
}

impl RangeStep<'_> {
    /// The factor of the step in the expected selectivity of its plan.
    pub(crate) fn expected_share(&self, rows: u32) -> f64 {
        match self.column {
            RangeColumn::Amount => self.estimate.expected as f64 / f64::from(rows),
            RangeColumn::Date => 1.0,
        }
    }
}

impl Step<'_> {
    /// The number of stored sets that the step combines.
    pub(crate) fn source_count(&self) -> usize {
        match &self.access {
            Access::Union(sources) => sources.len(),
            Access::One(_) => 1,
            Access::UnionWithRows(union) => union.set_count(),
            Access::AnyPhrase(any) => {
                let checked = any.checked.iter().map(|phrase| phrase.sources.len());
                any.stored.set_count() + checked.sum::<usize>()
            }
            Access::Rows(_) | Access::OfCompanies(_) => 0,
        }
    }

    /// The sources, if the step means all of their rows, and no row is in two.
    pub(crate) fn disjoint_sources(&self) -> Option<&[Source]> {
        let sources = self.access.sources()?;
        (sources.len() == 1 || self.clause.has_one_value_a_row()).then_some(sources)
    }

    /// Whether looking up rows individually is slower than combining the sources block by block.
    pub(crate) fn has_many_sources(&self) -> bool {
        self.source_count() > LOOKED_UP_SOURCES_MAX
    }
}

/// Several phrases, of which a row must contain one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AnyPhrase {
    /// The phrases with stored rows: words, pairs of frequent words, and prefix words.
    pub(crate) stored: StoredUnion,
    /// The other phrases.
    pub(crate) checked: Vec<CheckedPhrase>,
}

/// A phrase whose rows are in the intersection of several sources and must be checked individually.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CheckedPhrase {
    /// At least one source, the rarest first.
    pub(crate) sources: SmallVec<[Source; 4]>,
    /// The number of rows of the rarest source.
    pub(crate) rarest_rows: u64,
    /// The check in the token stream.
    pub(crate) check: PhraseCheck,
}

/// Whether a phrase occurs in a row's text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PhraseCheck {
    pub(crate) field: TextField,
    pub(crate) phrase: EncodedPhrase,
}

impl<'q> Plan<'q> {
    /// The number of matches including deleted rows, if it is known without execution: for one source, for
    /// several disjoint ones, or for rows found while planning.
    pub(crate) fn stored_count(&self) -> Option<u64> {
        let step = self.only_step()?;
        let is_stored = match &step.access {
            Access::One(_) => true,
            // Disjoint sources have as many rows as their cardinalities add up to.
            Access::Union(_) => step.clause.has_one_value_a_row(),
            Access::OfCompanies(_) => true,
            Access::Rows(_) | Access::UnionWithRows(_) | Access::AnyPhrase(_) => false,
        };
        is_stored.then_some(step.estimate.max)
    }

    /// The expected selectivity, assuming that the parts of the filter are independent. Dates are ignored:
    /// rows are roughly in their order, so rows with other dates lie elsewhere.
    pub(crate) fn expected_share(&self, rows: u32) -> f64 {
        let share = |estimate: &Estimate| estimate.expected as f64 / f64::from(rows);
        let required: f64 = self
            .required
            .iter()
            .map(|step| share(&step.estimate))
            .product();
        let ranges = self.ranges.iter();
        required
            * ranges
                .map(|step| step.expected_share(rows))
                .product::<f64>()
    }

    /// Whether sets are formed by reading titles, so that other conditions should leave few rows first.
    pub(crate) fn reads_titles(&self) -> bool {
        let reads = |step: &Step<'_>| matches!(step.access, Access::AnyPhrase(_));
        self.required.iter().chain(&self.excluded).any(reads)
    }

    /// The only step, if its rows are the matches.
    pub(crate) fn only_step(&self) -> Option<&Step<'q>> {
        match self.required.as_slice() {
            [step] if self.no_match.is_none() && self.has_nothing_else() => Some(step),
            _ => None,
        }
    }

    /// The companies whose rows are the matches, if the plan has only those.
    pub(crate) fn only_companies(&self) -> Option<SmallVec<[CompanyNumber; 4]>> {
        let sources = self.only_step()?.access.sources()?;
        let company = |source: &Source| match source {
            Source::Company(company) => Some(*company),
            Source::Posting(_) => None,
        };
        sources.iter().map(company).collect()
    }

    /// Whether every row matches.
    pub(crate) fn is_everything(&self) -> bool {
        self.no_match.is_none() && self.required.is_empty() && self.has_nothing_else()
    }

    /// Whether every condition is that rows are in a stored set, or in none.
    pub(crate) fn has_only_sets(&self) -> bool {
        self.ranges.is_empty() && self.phrases.is_empty() && !self.reads_titles()
    }

    /// Whether the intersection of the required steps is not narrowed further.
    fn has_nothing_else(&self) -> bool {
        self.excluded.is_empty() && self.ranges.is_empty() && self.phrases.is_empty()
    }
}
