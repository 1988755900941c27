//! Explains how a query for companies is answered: each step with what it left.

use std::fmt;
use std::time::{Duration, Instant};

use time::Date;

use super::company_matches::MatchesByCompany;
use super::company_search::{CompanySearch, SearchObserver, SearchStep};
use super::company_set::CompanySet;
use super::snapshot::Snapshot;
use crate::Result;
use crate::plan::Cost;
use crate::query::{CompanyQuery, Condition, Filter};

/// How a query for companies was answered. `Display` is meant for terminals.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompaniesExplanation {
    /// The filter in its text form.
    pub query: String,
    /// The number of live companies.
    pub companies: u64,
    /// The steps, in the order in which they ran.
    pub steps: Vec<CompanyStepExplanation>,
    /// The exact number of companies that fulfil the filter.
    pub matches: u64,
    /// The number of companies on the requested page.
    pub page_length: usize,
    /// The time for the page, with its records and what its conditions count.
    pub page_time: Duration,
    /// The bound of the cost: [`Snapshot::companies_cost`].
    pub cost: Cost,
}

/// A step of the search for companies.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompanyStepExplanation {
    /// The part of the filter, such as `has, condition 1: (categories=funding)`.
    pub clause: String,
    /// What the step did, such as `count all matches by company`.
    pub strategy: String,
    /// The bound of the cost of finding all matches, for a condition: [`Snapshot::cost`].
    pub estimate: Option<Cost>,
    /// The number of companies that were left.
    pub left: u64,
    /// The time of the step.
    pub time: Duration,
}

impl Snapshot {
    /// Explains how a query for companies is answered: runs the page as [`companies`](Self::companies) does, and the search
    /// again with observed steps.
    ///
    /// ```
    /// use signaldex::query::CompanyQuery;
    /// use signaldex::sample;
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let query = CompanyQuery::from_query_string("country=Germany&has=(categories=funding)")?;
    /// let explanation = snapshot.explain_companies(&query, sample::AS_OF)?;
    /// println!("{explanation}");
    /// assert_eq!(explanation.matches, snapshot.count_companies(query.filter(), sample::AS_OF)?);
    /// assert_eq!(explanation.steps.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`companies`](Self::companies).
    ///
    /// Cost: twice that of [`companies`](Self::companies).
    pub fn explain_companies(
        &self,
        query: &CompanyQuery,
        today: Date,
    ) -> Result<CompaniesExplanation> {
        let day = query.day(today);
        let started = Instant::now();
        let page_length = self.companies(query, today)?.len();
        let page_time = started.elapsed();
        let search = CompanySearch::new(self, day)?;
        let mut steps = Explainer {
            query,
            started: Instant::now(),
            steps: Vec::new(),
        };
        let found = search.find_observed(query.filter(), query.order(), &mut steps)?;
        let mut steps = steps.steps;
        for (filter, step) in steps.iter_mut() {
            let cost = filter.as_ref().map(|filter| self.cost(filter, day, 0));
            step.estimate = cost.transpose()?;
        }
        let steps = steps.into_iter().map(|(_, step)| step).collect();
        Ok(CompaniesExplanation {
            query: query.filter().to_string(),
            companies: search.numbers.len().into(),
            steps,
            matches: found.set.count(),
            page_length,
            page_time,
            cost: self.companies_cost(query, day, 0)?,
        })
    }
}

/// Notes the steps of a search, each with the filter of its condition.
struct Explainer<'q> {
    query: &'q CompanyQuery,
    started: Instant,
    steps: Vec<(Option<Filter>, CompanyStepExplanation)>,
}

impl SearchObserver for Explainer<'_> {
    fn ran(&mut self, step: SearchStep, matches: Option<&MatchesByCompany>, set: &CompanySet) {
        let time = self.started.elapsed();
        let (clause, condition) = described(self.query, step);
        let strategy = match (matches, matches.and_then(|matches| matches.looked_up)) {
            (None, _) => "narrow the set of companies".to_owned(),
            (_, None) => "count all matches by company".to_owned(),
            (_, Some(rows)) => format!("look at the {rows} signals of the companies that are left"),
        };
        let step = CompanyStepExplanation {
            clause,
            strategy,
            estimate: None,
            left: set.count(),
            time,
        };
        let filter = condition.map(|condition| condition.filter().clone());
        self.steps.push((filter, step));
        self.started = Instant::now();
    }
}

/// What a step applies, and its condition.
fn described(query: &CompanyQuery, step: SearchStep) -> (String, Option<&Condition>) {
    let filter = query.filter();
    let of_condition = |name: &str, index: usize, condition: &Condition| {
        format!("{name}, condition {}: {condition}", index + 1)
    };
    match step {
        SearchStep::OfCompany => (filter.of_company(), None),
        SearchStep::Has(index) => {
            let condition = &filter.has()[index];
            (of_condition("has", index, condition), Some(condition))
        }
        SearchStep::HasNot(index) => {
            let condition = &filter.has_not()[index];
            (of_condition("hasNot", index, condition), Some(condition))
        }
        SearchStep::Order => (format!("order {}", query.order()), None),
        SearchStep::OfAttributes => ("city, year and number of employees".to_owned(), None),
    }
}

impl fmt::Display for CompaniesExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "query      {}", self.query)?;
        writeln!(f, "companies  {} of {}", self.matches, self.companies)?;
        writeln!(f, "page       {} in {:?}", self.page_length, self.page_time)?;
        writeln!(f, "cost       at most {}", self.cost)?;
        for (step, number) in self.steps.iter().zip(1..) {
            writeln!(f, "\n{number}. {}", step.clause)?;
            writeln!(f, "   {}", step.strategy)?;
            let estimate = step.estimate.map(|cost| format!(", cost at most {cost}"));
            let estimate = estimate.unwrap_or_default();
            writeln!(f, "   {} left, {:?}{estimate}", step.left, step.time)?;
        }
        Ok(())
    }
}
