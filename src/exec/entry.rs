//! The entry points of execution: queries on one live segment.
//!
//! All queries on one segment (matches of a page, counts, facets, costs) start here; [`index`](crate::index) merges
//! the results of several.

use std::ops::Range;
use std::sync::OnceLock;

use super::eager::{EagerMatches, Evaluated, bind_all};
use super::executed_matches::ExecutedMatches;
use super::execution::{Execution, are_few};
use super::facets::{self, FacetTally};
use super::live::{LiveSegment, Request};
use super::matches::Consumer;
use super::observer::{Observer, Run, Strategy, Unobserved};
use super::operand::rows_of;
use super::remaining::Remaining;
use super::row_test::RowTest;
use super::scan::{Scan, ScanSource};
use super::stored_facets;
use crate::Result;
use crate::encoding::posting::Posting;
use crate::encoding::row::Row;
use crate::plan::{Access, Cost, PhraseStep, Plan, PlanRequest, PlanStorage, Strategies, cost};
use crate::query::{Facet, IdOrder};
use crate::segment::VisibleValues;

impl<'a> LiveSegment<'a> {
    /// Plans a request for `wanted` matches, or all; as [`Plan::new_in`].
    #[inline(always)]
    pub(crate) fn plan<'s, 'q>(
        self,
        storage: &'s mut PlanStorage<'q>,
        request: &Request<'q>,
        wanted: Option<usize>,
    ) -> Result<&'s Plan<'q>> {
        self.plan_by(request.strategies, storage, request, wanted)
    }

    /// Plans a request for `wanted` matches within a range of rows.
    #[inline(always)]
    pub(crate) fn plan_among<'s, 'q>(
        self,
        storage: &'s mut PlanStorage<'q>,
        request: &Request<'q>,
        rows: &Range<u32>,
        wanted: usize,
    ) -> Result<&'s Plan<'q>> {
        if are_few(rows) {
            self.plan_without_company_sets(storage, request, Some(wanted))
        } else {
            self.plan(storage, request, Some(wanted))
        }
    }

    /// As [`plan`](Self::plan), for few or no rows: without listing the rows of companies, which would take
    /// longer.
    fn plan_without_company_sets<'s, 'q>(
        self,
        storage: &'s mut PlanStorage<'q>,
        request: &Request<'q>,
        wanted: Option<usize>,
    ) -> Result<&'s Plan<'q>> {
        let strategies = request.strategies.without_company_sets();
        self.plan_by(&strategies, storage, request, wanted)
    }

    /// Plans a request with the given strategies.
    #[inline(always)]
    fn plan_by<'s, 'q>(
        self,
        strategies: &Strategies,
        storage: &'s mut PlanStorage<'q>,
        request: &Request<'q>,
        wanted: Option<usize>,
    ) -> Result<&'s Plan<'q>> {
        let wanted = PlanRequest {
            filter: request.filter,
            today: request.today,
            strategies,
            matches: wanted,
        };
        Plan::new_in(storage, &wanted, &self)
    }

    /// Explains a plan without matches.
    pub(crate) fn explain_no_match<O: Observer>(self, plan: &Plan<'_>) -> O::Explained {
        let run = Run::without_visits(Strategy::NoMatch);
        O::default().explain(run, plan, self)
    }

    /// Passes the matches of a plan within a range of rows to a consumer, in the request's order.
    ///
    /// # Errors
    /// A part of the segment that the plan needs is damaged. Finding matches cannot fail after that.
    #[inline(always)]
    pub(crate) fn search<O: Observer + 'a, C: Consumer<'a, O>>(
        self,
        plan: &'a Plan<'_>,
        request: &Request<'a>,
        rows: Range<u32>,
        consumer: C,
    ) -> Result<C::Output> {
        Ok(match self.scan_source(plan, request, &rows)? {
            Some(source) => {
                let deleted = self.deleted.posting();
                consumer.consume(Scan::<O>::new(source, deleted, request.order, rows))
            }
            None => {
                let mut matches = ExecutedMatches::<O>::unbound(self, request, rows);
                matches.bind(self, plan)?;
                consumer.consume(matches)
            }
        })
    }

    /// Passes the matches of an eager evaluation of a range of rows to a consumer, in the request's order. `phrases`
    /// are those of the evaluation.
    ///
    /// # Errors
    /// The texts that phrases are looked for in are damaged.
    #[inline(always)]
    pub(crate) fn search_evaluated<O: Observer + 'a, C: Consumer<'a, O>>(
        self,
        evaluated: Evaluated<'a, O>,
        phrases: &'a [PhraseStep<'a>],
        order: IdOrder,
        rows: Range<u32>,
        consumer: C,
    ) -> Result<C::Output> {
        let remaining = Remaining::new(order, rows);
        let checks = bind_all(self.segment, phrases)?;
        let matches = EagerMatches::new(evaluated, checks, remaining);
        Ok(consumer.consume(matches))
    }

    /// The set whose rows are the matches, if there is one that can be scanned.
    #[inline(always)]
    fn scan_source(
        self,
        plan: &'a Plan<'_>,
        request: &Request<'_>,
        rows: &Range<u32>,
    ) -> Result<Option<ScanSource<'a>>> {
        if plan.no_match.is_some() {
            return Ok(Some(ScanSource::Nothing));
        }
        if let Some(live) = self.deleted.live()
            && plan.is_everything()
        {
            return Ok(Some(ScanSource::Posting(Posting::List(live))));
        }
        ScanSource::of(plan, self.segment, request.order, rows)
    }

    /// The number of live matches, and the observer's explanation of the run.
    ///
    /// # Errors
    /// A part of the segment that the request needs is damaged.
    pub(crate) fn count<O: Observer>(self, request: &Request<'_>) -> Result<(u64, O::Explained)> {
        if request.is_eager(&self.rows()) {
            return self.count_eagerly::<O>(request);
        }
        let mut storage = PlanStorage::new();
        let plan = self.plan(&mut storage, request, None)?;
        if plan.no_match.is_some() {
            return Ok((0, self.explain_no_match::<O>(plan)));
        }
        if let Some(count) = self.stored_count(plan)? {
            let run = Run::without_visits(Strategy::StoredCount);
            return Ok((count, O::default().explain(run, plan, self)));
        }
        let mut execution = Execution::<O>::unbound(self, request.strategies);
        execution.bind(self, plan, &self.rows())?;
        let count = execution.count(request.executor_for::<O>(self.segment))?;
        let (run, observer) = execution.finish();
        Ok((count, observer.explain(run, plan, self)))
    }

    /// Keeps the live matches among rows in any order.
    ///
    /// # Errors
    /// A part of the segment that the request needs is damaged.
    ///
    /// Cost: planning, and looking up each row in the sets of the plan.
    pub(crate) fn retain_matches(self, request: &Request<'_>, rows: &mut Vec<Row>) -> Result<()> {
        let mut storage = PlanStorage::new();
        let plan = self.plan_without_company_sets(&mut storage, request, None)?;
        if plan.no_match.is_some() {
            rows.clear();
            return Ok(());
        }
        let mut execution = Execution::<Unobserved>::unbound(self, request.strategies);
        execution.bind(self, plan, &self.rows())?;
        let tests = RowTest::of_all(&execution, plan, None)?;
        let mut numbers = Row::numbers(rows).to_vec();
        execution.retain_rows(&tests, usize::MAX, &mut numbers);
        rows.clear();
        rows.extend(numbers.into_iter().map(Row));
        Ok(())
    }

    /// Counts the values of facets among the matches, returning a tally per facet.
    ///
    /// # Errors
    /// A part of the segment that the request or the facets need is damaged.
    pub(crate) fn facets(self, request: &Request<'_>, facets: &[Facet]) -> Result<Vec<FacetTally>> {
        let mut storage = PlanStorage::new();
        let plan = self.plan(&mut storage, request, None)?;
        if plan.no_match.is_some() {
            return Ok(vec![FacetTally::new(); facets.len()]);
        }
        if plan.is_everything()
            && request.strategies.stored_facets
            && let Some(kept) = self.deleted.visible_values()
        {
            return self.visible_facets(plan, request, facets, kept);
        }
        // Listed rows are counted directly, without forming the candidates of each block.
        if let Some(companies) = plan.only_companies() {
            return facets::tally_companies(self, &companies, facets);
        }
        if let Some(rows) = self.only_listed(plan)? {
            return facets::tally_listed(self, rows, facets);
        }
        if let Some(tallies) = stored_facets::tally(self, plan, request, facets)? {
            return Ok(tallies);
        }
        self.count_facets(plan, request, facets)
    }

    /// The counts of facets among all rows that a key with a filter sees, which are counted once.
    fn visible_facets(
        self,
        plan: &Plan<'_>,
        request: &Request<'_>,
        facets: &[Facet],
        kept: &OnceLock<VisibleValues>,
    ) -> Result<Vec<FacetTally>> {
        let known = match kept.get() {
            Some(known) => known,
            None => {
                let counted = self.count_facets(plan, request, &Facet::ALL)?;
                let counted = counted.into_iter().map(FacetTally::into_boxed_slice);
                // Another thread may have counted the same meanwhile.
                kept.get_or_init(|| counted.collect())
            }
        };
        let of = |facet: &Facet| FacetTally::from_slice(&known[*facet as usize]);
        Ok(facets.iter().map(of).collect())
    }

    /// Counts the values of facets among the matches of a plan by going through these.
    fn count_facets(
        self,
        plan: &Plan<'_>,
        request: &Request<'_>,
        facets: &[Facet],
    ) -> Result<Vec<FacetTally>> {
        let mut execution = Execution::<Unobserved>::unbound(self, request.strategies);
        execution.bind(self, plan, &self.rows())?;
        let executor = request.executor_for::<Unobserved>(self.segment);
        facets::tally(execution, facets, executor)
    }

    /// The rows of the only set of a plan, if they are listed and all live ones match.
    fn only_listed(self, plan: &'a Plan<'_>) -> Result<Option<&'a [u32]>> {
        let Some(&Access::One(source)) = plan.only_step().map(|step| &step.access) else {
            return Ok(None);
        };
        Ok(match rows_of(self.segment, source)? {
            Posting::List(rows) => Some(rows),
            Posting::Blocks { .. } | Posting::Dense(_) => None,
        })
    }

    /// The maximum cost of visiting all matches and adding each to the counts of `facets` facets.
    pub(crate) fn cost(self, request: &Request<'_>, facets: usize) -> Result<Cost> {
        let mut storage = PlanStorage::new();
        let plan = self.plan_without_company_sets(&mut storage, request, None)?;
        let rows = u64::from(self.segment.row_count());
        Ok(plan.cost(rows) + plan.tally_cost(rows, facets))
    }
    /// The cost of looking up `rows` rows, and the maximum cost of visiting all matches and counting them by company.
    pub(crate) fn look_up_and_visit_cost(
        self,
        request: &Request<'_>,
        rows: u64,
    ) -> Result<(Cost, Cost)> {
        /// A counter and a day.
        const COUNTED: usize = 2;
        let mut storage = PlanStorage::new();
        let plan = self.plan_without_company_sets(&mut storage, request, None)?;
        let all = u64::from(self.segment.row_count());
        let visit = plan.cost(all) + plan.tally_cost(all, COUNTED);
        let companies = u64::from(self.segment.company_count());
        Ok((plan.look_up_cost(rows), visit + cost::of_rows(companies)))
    }
}
