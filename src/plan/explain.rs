//! Explanations of plans and their execution, for people.

use std::fmt;
use std::time::Duration;

use super::clause::Clause;
use super::estimate::Estimate;
use super::steps::{Access, PhraseStep, Plan, Step};
use crate::query::NamedCompanies;

/// How a query was answered: for each segment, the execution of the page and of the count.
///
/// `Display` is meant for terminals. Strategies, rows and blocks are those of the code that searches and
/// counts. Times of steps include counting their rows; `page_time` and `count_time` do not.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explanation {
    /// The filters, as their `Display` writes them.
    pub query: String,
    /// The companies that each item of `companies` is.
    pub companies: Vec<NamedCompanies>,
    /// The [hints](crate::Snapshot::hints) for the result.
    pub hints: Vec<String>,
    /// One explanation per segment, oldest first.
    pub segments: Vec<SegmentExplanation>,
    /// The exact number of matches.
    pub matches: u64,
    /// The number of signals on the requested page.
    pub page_length: usize,
    /// The time for the page, including ids and cursor.
    pub page_time: Duration,
    /// The time for counting all matches.
    pub count_time: Duration,
}

/// How one segment was searched.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SegmentExplanation {
    /// The number of rows in the segment, including deleted ones.
    pub rows: u64,
    /// The matches in this segment.
    pub matches: u64,
    /// How the segment's part of the page was found; `None` if the page was already full.
    pub page: Option<ExecutionExplanation>,
    /// How the matches were counted.
    pub count: ExecutionExplanation,
}

/// The execution of a plan.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExecutionExplanation {
    /// The overall strategy, such as `block by block` or `answered from the stored count`.
    pub strategy: String,
    /// The part of the filter that matches nothing in the segment, if any; then no step ran.
    pub no_match: Option<String>,
    /// The steps in the order of the plan.
    pub steps: Vec<StepExplanation>,
    /// Rows that were checked individually.
    pub rows_checked: u64,
    /// Blocks whose candidates were formed.
    pub blocks_visited: u64,
    /// Blocks that were skipped.
    pub blocks_skipped: u64,
    /// Bytes of sets, codes and titles that the steps read, where a row that is looked up by itself reads a cache line of
    /// 64 bytes. Without what planning read of dictionaries, and without the ids of the page.
    pub bytes_read: u64,
}

impl ExecutionExplanation {
    /// Whether rows or blocks were visited. A stored count visits none, and a direct scan reads only the rows
    /// that it returns.
    pub fn has_visits(&self) -> bool {
        self.rows_checked + self.blocks_visited + self.blocks_skipped > 0
    }
}

/// One step of a plan.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StepExplanation {
    /// The part of the filter, such as `title has "series"`.
    pub clause: String,
    /// What the step did, such as `lead with a posting`, or `not run`.
    pub strategy: String,
    /// The reason for the strategy and the order.
    pub reason: &'static str,
    /// The estimated number of rows of the segment that match the clause on its own.
    pub estimate: Estimate,
    /// The number of remaining rows after the step, over all blocks in which it ran. `None` if it did not run,
    /// or ran in one pass with the next step.
    pub actual: Option<u64>,
    /// The time of the step, over all blocks.
    pub time: Duration,
}

impl StepExplanation {
    /// A part of the filter that was applied to the rows that the parts before it left.
    pub(crate) fn applied(part: AppliedPart<'_>, left: u64, time: Duration) -> StepExplanation {
        let strategy = if part.is_excluded {
            "drop rows"
        } else {
            "apply"
        };
        StepExplanation {
            clause: part.clause.to_string(),
            strategy: strategy.to_owned(),
            reason: "in the order of the filter, since rows are few",
            estimate: part.estimate,
            actual: Some(left),
            time,
        }
    }

    /// A phrase that was checked for the rows of a page.
    pub(crate) fn checked(step: &PhraseStep<'_>) -> StepExplanation {
        Described::phrase(step).with(Some(StepActual {
            methods: vec!["check row by row".to_owned()],
            ..StepActual::default()
        }))
    }
}

/// A part of the filter that is applied at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AppliedPart<'q> {
    pub(crate) clause: Clause<'q>,
    /// The number of rows that it selects on its own.
    estimate: Estimate,
    /// Whether these rows are dropped rather than kept.
    is_excluded: bool,
}

impl<'q> AppliedPart<'q> {
    #[inline(always)]
    pub(crate) fn kept(clause: Clause<'q>, estimate: Estimate) -> AppliedPart<'q> {
        AppliedPart {
            clause,
            estimate,
            is_excluded: false,
        }
    }

    #[inline(always)]
    pub(crate) fn excluded(clause: Clause<'q>, estimate: Estimate) -> AppliedPart<'q> {
        AppliedPart {
            is_excluded: true,
            ..AppliedPart::kept(clause, estimate)
        }
    }
}

/// The observed execution of a step.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepActual {
    /// The operations, such as `intersect`, in the order of first use.
    pub(crate) methods: Vec<String>,
    pub(crate) left: Option<u64>,
    pub(crate) time: Duration,
}

/// The description of a step before it runs: clause, source and reason.
struct Described<'q> {
    clause: Clause<'q>,
    operand: &'static str,
    reason: &'static str,
    estimate: Estimate,
}

impl Plan<'_> {
    /// The steps in the order of the plan (required, ranges, excluded, deleted rows, phrases), with the observed
    /// execution of each.
    pub(crate) fn explain(
        &self,
        actuals: &[Option<StepActual>],
        deleted: u64,
    ) -> Vec<StepExplanation> {
        let required = self
            .required
            .iter()
            .enumerate()
            .map(|(index, step)| Described {
                clause: step.clause,
                operand: operand(&step.access),
                reason: self.required_reason(index, step),
                estimate: step.estimate,
            });
        let ranges = self.ranges.iter().map(|step| Described {
            clause: step.clause,
            operand: "a range",
            reason: "blocks outside are skipped, blocks inside taken whole",
            estimate: step.estimate,
        });
        let excluded = self.excluded.iter().map(|step| Described {
            clause: step.clause,
            operand: operand(&step.access),
            reason: excluded_reason(&step.access),
            estimate: step.estimate,
        });
        let deleted = (deleted > 0).then(|| Described {
            clause: Clause::Deleted,
            operand: "the deletions",
            reason: "rows deleted or replaced by later commits",
            estimate: Estimate::exact(deleted),
        });
        let phrases = self.phrases.iter().map(Described::phrase);
        let steps = required.chain(ranges).chain(excluded).chain(deleted);
        // `actuals` is in this order. An actual number is missing if its step did not run.
        let steps = steps.chain(phrases).enumerate();
        steps
            .map(|(index, step)| step.with(actuals.get(index).cloned().flatten()))
            .collect()
    }

    /// Why a required step is where it is, as far as the estimates tell.
    fn required_reason(&self, index: usize, step: &Step) -> &'static str {
        let rows = |step: &Step| step.estimate.expected;
        let before = self.required[..index].last();
        match (&step.access, before) {
            (Access::OfCompanies(_), None) => "few companies are left by all their facets",
            (Access::AnyPhrase(_), _) => "titles are read only for rows with all words of a phrase",
            (_, None) if self.required.len() == 1 => "the only required step",
            (_, None) if self.required.iter().all(|other| rows(step) <= rows(other)) => {
                "the fewest rows of the required steps"
            }
            (_, Some(before)) if rows(before) <= rows(step) => {
                "at least as many rows as the step before"
            }
            // Steps are sorted by rows, unless rows of companies lead.
            _ => "sets with few sources are looked up first",
        }
    }
}

impl<'q> Described<'q> {
    fn phrase(step: &PhraseStep<'q>) -> Described<'q> {
        Described {
            clause: step.clause,
            operand: "the order of words",
            reason: "reads a title for each candidate, so it comes last",
            estimate: step.estimate,
        }
    }

    fn with(self, actual: Option<StepActual>) -> StepExplanation {
        let strategy = match &actual {
            None => "not run".to_owned(),
            Some(actual) => format!("{} {}", actual.methods.join(" or "), self.operand),
        };
        let actual = actual.unwrap_or_default();
        StepExplanation {
            clause: self.clause.to_string(),
            strategy,
            reason: self.reason,
            estimate: self.estimate,
            actual: actual.left,
            time: actual.time,
        }
    }
}

fn operand(access: &Access) -> &'static str {
    match access {
        Access::One(_) => "a posting",
        Access::Union(_) | Access::UnionWithRows(_) => "a union",
        Access::Rows(_) => "listed rows",
        Access::OfCompanies(_) => "rows of companies",
        Access::AnyPhrase(any) => match any.stored.set_count() + any.checked.len() {
            1 => "a phrase",
            _ => "a union of phrases",
        },
    }
}

fn excluded_reason(access: &Access) -> &'static str {
    match access {
        Access::AnyPhrase(_) => "titles are read only for rows with all words of the phrase",
        _ => "after what is required, when few candidates are left",
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
        for named in &self.companies {
            writeln!(f, "company  {named}")?;
        }
        for hint in &self.hints {
            writeln!(f, "hint     {hint}")?;
        }
        let (length, time) = (self.page_length, self.page_time);
        writeln!(f, "page     {length} signals in {time:.1?}")?;
        writeln!(f, "matches  {} in {:.1?}", self.matches, self.count_time)?;
        for (number, segment) in self.segments.iter().enumerate() {
            let SegmentExplanation { rows, matches, .. } = segment;
            writeln!(f, "\nsegment {number}: {rows} rows, {matches} matches")?;
            segment.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for SegmentExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.page {
            Some(page) => write!(f, "  page: {page}")?,
            None => writeln!(f, "  page: full before this segment")?,
        }
        write!(f, "  count: {}", self.count)
    }
}

impl fmt::Display for ExecutionExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(clause) = &self.no_match {
            return writeln!(f, "no results for {clause}");
        }
        writeln!(f, "{}", self.strategy)?;
        for (index, step) in self.steps.iter().enumerate() {
            writeln!(f, "    {}. {}: {}", index + 1, step.strategy, step.clause)?;
            write!(f, "       estimated {}", step.estimate)?;
            if let Some(actual) = step.actual {
                write!(f, ", left {actual}, {:.1?}", step.time)?;
            }
            writeln!(f, "; {}", step.reason)?;
        }
        if !self.has_visits() {
            return Ok(());
        }
        let (checked, visited) = (self.rows_checked, self.blocks_visited);
        let (skipped, bytes) = (self.blocks_skipped, self.bytes_read);
        writeln!(
            f,
            "    {checked} rows checked, {visited} blocks visited, {skipped} skipped, {bytes} bytes read"
        )
    }
}
