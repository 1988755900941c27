//! How to get it: from a filter and what a segment knows about itself to steps in cost order.
//!
//! A plan belongs to one segment, since what is rare differs from one to the next. It touches no
//! rows: everything it needs to know comes through [`Statistics`], so that planning is tested
//! without an index. Rows come from **sources** (postings, which can be combined block by block);
//! what postings cannot decide is left to **checks** on the rows that remain (the edges of ranges,
//! the order of words in phrases). A phrase thus adds a source for each of its words and a check.

mod companies;
#[cfg(feature = "http")]
pub(crate) mod cost;
mod estimate;
mod explain;
mod planner;
mod statistics;
#[cfg_attr(
    not(any(test, feature = "__strategies")),
    allow(dead_code, unreachable_pub)
)]
mod strategies;
#[cfg(test)]
mod tests;

use std::fmt;

use smallvec::SmallVec;
use time::Date;

pub(crate) use companies::CompanyFacet;
#[cfg(feature = "http")]
pub(crate) use cost::Cost;
pub use estimate::Estimate;
pub(crate) use explain::StepActual;
pub use explain::{ExecutionExplanation, Explanation, SegmentExplanation, StepExplanation};
pub(crate) use statistics::{
    CodeRange, Pair, Source, SourceStatistics, Statistics, TermStatistics,
};
#[cfg(not(feature = "__strategies"))]
pub(crate) use strategies::Strategies;
#[cfg(feature = "__strategies")]
pub use strategies::Strategies;

use crate::encoding::row::CompanyNumber;
use crate::encoding::tokens::EncodedPhrase;
use crate::query::{Facet, Filter, Phrase};
use crate::segment::TextField;

/// Rows of companies are looked up one by one in a set of up to this many sources. In more it takes up to
/// a microsecond a row (`benches/slow_shapes`, any of phrases that occur + industry and country).
const LOOKED_UP_SOURCES_MAX: usize = 8;

/// How to find a filter's rows in one segment.
#[derive(Debug)]
pub(crate) struct Plan<'q> {
    /// What every row has to be in, in the order of application; the first one leads. Empty:
    /// every row is a candidate.
    pub(crate) required: SmallVec<[Step<'q>; 4]>,
    /// What no row may be in.
    pub(crate) excluded: SmallVec<[Step<'q>; 2]>,
    /// What is decided by columns, block by block and then row by row.
    pub(crate) ranges: SmallVec<[RangeStep<'q>; 1]>,
    /// What is decided by reading token streams, row by row.
    pub(crate) phrases: SmallVec<[PhraseStep<'q>; 1]>,
    /// The clause that matches nothing in the segment, where there is one.
    pub(crate) no_match: Option<Clause<'q>>,
}

/// Where a plan is made, once.
#[derive(Debug)]
pub(crate) struct PlanStorage<'q>(Plan<'q>);

impl<'q> PlanStorage<'q> {
    /// Room for a plan.
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
}

/// A step on sets of rows.
#[derive(Debug)]
pub(crate) struct Step<'q> {
    pub(crate) clause: Clause<'q>,
    pub(crate) access: Access,
    pub(crate) estimate: Estimate,
}

/// Where the rows of a step come from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Access {
    /// One source.
    One(Source),
    /// All rows of several sources.
    Union(SmallVec<[Source; 4]>),
    /// These rows, ascending.
    Rows(Vec<u32>),
    /// These rows, those of one company after those of another.
    OfCompanies(Vec<u32>),
    /// The rows of any of several phrases of which some have to be checked. Boxed, since steps are moved.
    AnyPhrase(Box<AnyPhrase>),
}

/// A step on an ordered column.
#[derive(Debug)]
pub(crate) struct RangeStep<'q> {
    pub(crate) clause: Clause<'q>,
    pub(crate) column: RangeColumn,
    /// A row's code has to be in one of these, which ascend and do not touch.
    pub(crate) codes: SmallVec<[CodeRange; 2]>,
    pub(crate) estimate: Estimate,
}

/// The columns that ranges are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RangeColumn {
    /// Dates of signals.
    Date,
    /// Amounts of funding.
    Amount,
}

/// A step on token streams.
#[derive(Debug)]
pub(crate) struct PhraseStep<'q> {
    pub(crate) clause: Clause<'q>,
    pub(crate) check: PhraseCheck,
    pub(crate) estimate: Estimate,
}

impl Access {
    /// The sources, where all of their rows are meant.
    pub(crate) fn sources(&self) -> Option<&[Source]> {
        match self {
            Access::One(source) => Some(std::slice::from_ref(source)),
            Access::Union(sources) => Some(sources),
            Access::Rows(_) | Access::OfCompanies(_) | Access::AnyPhrase(_) => None,
        }
    }
}

impl Step<'_> {
    /// The number of stored sets that it combines.
    fn source_count(&self) -> usize {
        match &self.access {
            Access::Union(sources) => sources.len(),
            Access::One(_) => 1,
            Access::AnyPhrase(any) => {
                let checked = any.checked.iter().map(|phrase| phrase.sources.len());
                any.stored.len() + checked.sum::<usize>()
            }
            Access::Rows(_) | Access::OfCompanies(_) => 0,
        }
    }

    /// Whether looking rows up takes so long that they are better combined block by block.
    pub(crate) fn has_many_sources(&self) -> bool {
        self.source_count() > LOOKED_UP_SOURCES_MAX
    }
}

/// Several phrases of which a row has to have one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AnyPhrase {
    /// The sources of those whose rows are stored: words, and pairs of frequent words.
    pub(crate) stored: Vec<Source>,
    /// The others.
    pub(crate) checked: Vec<CheckedPhrase>,
}

/// A phrase whose rows are among those of several sources, and have to be checked one by one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CheckedPhrase {
    /// The rarest first; at least one.
    pub(crate) sources: SmallVec<[Source; 4]>,
    /// How many rows the rarest has.
    pub(crate) rarest_rows: u64,
    /// What is looked for in the token stream.
    pub(crate) check: PhraseCheck,
}

/// Whether a phrase occurs in a row's text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PhraseCheck {
    pub(crate) field: TextField,
    pub(crate) phrase: EncodedPhrase,
}

/// The part of a filter that a step is there for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Clause<'q> {
    /// A word of the title, by itself or as part of a phrase.
    TitleWord(&'q str),
    /// A phrase of the title.
    TitlePhrase(&'q Phrase),
    /// Any of several words and phrases of the title.
    TitleAny(&'q [Phrase]),
    /// A word of the company's name.
    NameWord(&'q str),
    /// A phrase of the company's name.
    NamePhrase(&'q Phrase),
    /// The company by slug.
    CompanySlug(&'q str),
    /// Companies by slug or name.
    Companies(usize),
    /// Values of a facet.
    Facet(Facet, &'q str, usize),
    /// Days.
    Dates,
    /// Amounts.
    Amounts(Option<f64>, Option<f64>),
    /// Values of all facets of companies that a filter has.
    OfCompanies(&'q Filter),
    /// Ids.
    Ids(usize),
    /// Rows that were deleted or replaced since the segment was written.
    Deleted,
}

/// What a plan is made for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'q, 's> {
    pub(crate) filter: &'q Filter,
    /// The day that counts as today.
    pub(crate) today: Date,
    pub(crate) strategies: &'s Strategies,
    /// How many matches are of interest; `None`: all.
    pub(crate) matches: Option<usize>,
}

impl<'q> Plan<'q> {
    /// Plans what is wanted in the storage: moving a plan
    /// takes as long as planning a short filter. See [`planner`].
    #[inline(always)]
    pub(crate) fn new_in<'s>(
        storage: &'s mut PlanStorage<'q>,
        wanted: &Wanted<'q, '_>,
        statistics: &impl Statistics,
    ) -> &'s Plan<'q> {
        let PlanStorage(plan) = storage;
        planner::plan(plan, wanted, statistics);
        plan
    }

    /// The number of matches, deleted ones included, where it is known: that of one source, of several
    /// that share no row, or of rows that were found while planning.
    pub(crate) fn stored_count(&self) -> Option<u64> {
        let step = self.only_step()?;
        let is_stored = match &step.access {
            Access::One(_) => true,
            Access::Union(_) => step.clause.has_one_value_a_row(),
            Access::OfCompanies(_) => true,
            Access::Rows(_) | Access::AnyPhrase(_) => false,
        };
        is_stored.then_some(step.estimate.max)
    }

    /// Which share of a segment's rows is expected to match, if the parts of the filter have nothing
    /// to do with each other. Dates are left out: rows come in about their order, so that those of
    /// other dates lie elsewhere.
    pub(crate) fn expected_share(&self, rows: u32) -> f64 {
        let share = |estimate: &Estimate| estimate.expected as f64 / f64::from(rows);
        let required: f64 = self
            .required
            .iter()
            .map(|step| share(&step.estimate))
            .product();
        let ranges = self.ranges.iter();
        let amounts = ranges.filter(|step| step.column == RangeColumn::Amount);
        required * amounts.map(|step| share(&step.estimate)).product::<f64>()
    }

    /// The only step, where the rows of its set are the matches.
    pub(crate) fn only_step(&self) -> Option<&Step<'q>> {
        match self.required.as_slice() {
            [step] if self.no_match.is_none() && self.has_nothing_else() => Some(step),
            _ => None,
        }
    }

    /// The companies whose rows are the matches, where there are some.
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

    /// Whether nothing narrows what the required steps have in common.
    fn has_nothing_else(&self) -> bool {
        self.excluded.is_empty() && self.ranges.is_empty() && self.phrases.is_empty()
    }
}

impl<'q> Clause<'q> {
    /// What a filter says of a facet.
    fn of_facet(filter: &'q Filter, facet: Facet) -> Option<Clause<'q>> {
        let keys = filter.value_keys(facet);
        let first = keys.first()?;
        Some(Clause::Facet(facet, first, keys.len()))
    }

    /// Whether a row has at most one of the values that the clause is about: it has one company, and
    /// one value of a facet.
    fn has_one_value_a_row(&self) -> bool {
        matches!(
            self,
            Clause::CompanySlug(_) | Clause::Companies(_) | Clause::Facet(..)
        )
    }
}

impl fmt::Display for Clause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Clause::TitleWord(word) => write!(f, "title has {word:?}"),
            Clause::TitlePhrase(phrase) => write!(f, "title has {}", Quoted(phrase)),
            Clause::TitleAny(phrases) => {
                f.write_str("title has any of ")?;
                for (index, phrase) in phrases.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{}", Quoted(phrase))?;
                }
                Ok(())
            }
            Clause::NameWord(word) => write!(f, "company name has {word:?}"),
            Clause::NamePhrase(phrase) => write!(f, "company name has {}", Quoted(phrase)),
            Clause::CompanySlug(slug) => write!(f, "company is {slug:?}"),
            Clause::Companies(count) => write!(f, "company is one of {count}"),
            Clause::Facet(facet, key, 1) => write!(f, "{} is {key:?}", facet.description().name),
            Clause::Facet(facet, key, count) => {
                write!(
                    f,
                    "{} is {key:?} or {} more",
                    facet.description().name,
                    count - 1
                )
            }
            Clause::Dates => f.write_str("date in range"),
            Clause::Amounts(min, max) => {
                f.write_str("amount")?;
                min.map_or(Ok(()), |min| write!(f, " from {min}"))?;
                max.map_or(Ok(()), |max| write!(f, " to {max}"))
            }
            Clause::OfCompanies(filter) => {
                let facets = Facet::OF_COMPANY.into_iter();
                let clauses = facets.filter_map(|facet| Clause::of_facet(filter, facet));
                for (index, clause) in clauses.enumerate() {
                    f.write_str(if index == 0 { "" } else { ", " })?;
                    clause.fmt(f)?;
                }
                Ok(())
            }
            Clause::Ids(count) => write!(f, "id is one of {count}"),
            Clause::Deleted => f.write_str("deleted"),
        }
    }
}

/// A phrase as a person would type it.
struct Quoted<'a>(&'a Phrase);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.terms().join(" "))
    }
}
