//! Queries for companies: pages, counts, facets, all of them, and their cost.

use time::Date;

use super::company_page::{CompanyPage, MatchingCompanies};
use super::company_search::{CompanySearch, FirstCompanies};
use super::company_set::CompanySet;
use super::facets::Facets;
use super::snapshot::Snapshot;
use crate::Result;
use crate::encoding::row::CompanyNumber;
use crate::plan::{Cost, cost};
use crate::query::{CompanyFilter, CompanyOrder, CompanyQuery, Condition, Facet, MatchedCompany};
use crate::signal::Company;

impl Snapshot {
    /// Finds the requested page of companies, with what their conditions count.
    ///
    /// [`CompanyFilter::matches`] says which companies fulfil the query. If the query has a cursor, the date of the
    /// first page is used instead of `today`.
    ///
    /// ```
    /// use signaldex::query::CompanyQuery;
    /// use signaldex::sample;
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let text = "country=Germany&has=(categories=hiring;min=2)&hasNot=(categories=funding)&order=-latest";
    /// let page = snapshot.companies(&CompanyQuery::from_query_string(text)?, sample::AS_OF)?;
    /// for item in page.items() {
    ///     assert!(item.profile.company.country.as_deref() == Some("Germany") && item.matches[0].count >= 2);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A part of a file that the query needs is damaged.
    ///
    /// Cost: for each condition that of a count and some nanoseconds per match, or a look-up per signal of the companies
    /// where other filters leave few; a pass over a bit per company; and a look-up per condition and signal of the
    /// companies on the page.
    /// The first query to a snapshot numbers its companies: a comparison per company and segment.
    pub fn companies(&self, query: &CompanyQuery, today: Date) -> Result<CompanyPage<'_>> {
        let day = query.day(today);
        let found = CompanySearch::new(self, day)?.find(query.filter(), query.order())?;
        let FirstCompanies { numbers, has_more } = found.page(self, query)?;
        let items = self.matched_companies(query.filter(), &numbers, day)?;
        let last = items.last().filter(|_| has_more);
        Ok(CompanyPage {
            next_cursor: last.map(|last| query.cursor_after(last, day)),
            items,
        })
    }

    /// The exact number of companies that fulfil a filter.
    ///
    /// ```
    /// use signaldex::query::CompanyQuery;
    /// use signaldex::sample;
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let count = |text| {
    ///     let query = CompanyQuery::from_query_string(text)?;
    ///     Ok::<u64, Box<dyn std::error::Error>>(snapshot.count_companies(query.filter(), sample::AS_OF)?)
    /// };
    /// let (with, without) = (count("has=(categories=funding)")?, count("hasNot=(categories=funding)")?);
    /// assert_eq!(with + without, snapshot.company_count()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`companies`](Self::companies).
    ///
    /// Cost: that of [`companies`](Self::companies) without a page.
    pub fn count_companies(&self, filter: &CompanyFilter, today: Date) -> Result<u64> {
        let found = CompanySearch::new(self, today)?.find(filter, CompanyOrder::Slug)?;
        Ok(found.set.count())
    }

    /// The values of facets of companies with the number of companies that have each, under everything but the facet's
    /// own filter. The lists of facets that are not asked for, or are of signals, are empty.
    ///
    /// ```
    /// use signaldex::Facet;
    /// use signaldex::query::CompanyQuery;
    /// use signaldex::sample;
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let query = CompanyQuery::from_query_string("country=Germany&has=(categories=funding)")?;
    /// let facets = snapshot.company_facets(query.filter(), sample::AS_OF, &[Facet::Country])?;
    /// let germany = facets.values(Facet::Country).iter().find(|value| value.label() == "Germany");
    /// let count = snapshot.count_companies(query.filter(), sample::AS_OF)?;
    /// assert_eq!(germany.map(|value| value.count()), Some(count));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`companies`](Self::companies).
    ///
    /// Cost: that of [`count_companies`](Self::count_companies), once more for each facet that is filtered on, and a pass
    /// over the companies per facet.
    pub fn company_facets(
        &self,
        filter: &CompanyFilter,
        today: Date,
        facets: &[Facet],
    ) -> Result<Facets> {
        let search = CompanySearch::new(self, today)?;
        let mut counted = Facets::default();
        let asked = Facet::OF_COMPANY.into_iter();
        let asked = asked.filter(|facet| facets.contains(facet));
        let (filtered, free): (Vec<Facet>, Vec<Facet>) =
            asked.partition(|&facet| filter.is_on(facet));
        let mut runs: Vec<(CompanyFilter, Vec<Facet>)> = filtered
            .into_iter()
            .map(|facet| (filter.without(facet), vec![facet]))
            .collect();
        if !free.is_empty() {
            runs.push((filter.clone(), free));
        }
        for (filter, facets) in runs {
            let found = search.find(&filter, CompanyOrder::Slug)?;
            for facet in facets {
                counted.set(facet, self.count_labels(&search, facet, &found.set)?);
            }
        }
        Ok(counted)
    }

    /// The labels of a facet, each with its number of companies in a set.
    fn count_labels(
        &self,
        search: &CompanySearch<'_>,
        facet: Facet,
        set: &CompanySet,
    ) -> Result<Vec<(String, u64)>> {
        let mut labels = Vec::new();
        for (index, handle) in self.segments.iter().enumerate() {
            handle.segment.check_facet_values()?;
            let view = handle.segment.facet(facet);
            for (value, label) in handle.segment.facet_labels(facet).enumerate() {
                let posting = handle.segment.company_posting(facet, view.posting(value));
                let Some(posting) = posting else { continue };
                let companies = search.companies_of(index, posting)?;
                let numbers =
                    companies.filter_map(|company| search.numbers.number_of_record(index, company));
                let count = numbers.filter(|&number| set.contains(number)).count() as u64;
                labels.push((label.to_owned(), count));
            }
        }
        search.visit_without_rows(set, |_, company| {
            let label = facet.company_label(company);
            labels.extend(label.map(|label| (label.into_owned(), 1)));
        })?;
        Ok(labels)
    }

    /// All companies that fulfil a filter, in an order.
    ///
    /// The iterator is lazy: it reads 50 records at a time. It ends after an error.
    ///
    /// ```
    /// use signaldex::query::{CompanyOrder, CompanyQuery};
    /// use signaldex::sample;
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let query = CompanyQuery::from_query_string("country=Japan")?;
    /// let all = snapshot.matching_companies(query.filter(), sample::AS_OF, CompanyOrder::Slug)?;
    /// let all = all.collect::<signaldex::Result<Vec<_>>>()?;
    /// assert_eq!(all.len() as u64, snapshot.count_companies(query.filter(), sample::AS_OF)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`companies`](Self::companies).
    ///
    /// Cost: that of [`count_companies`](Self::count_companies), four bytes per company, and reading what it yields.
    pub fn matching_companies(
        &self,
        filter: &CompanyFilter,
        today: Date,
        order: CompanyOrder,
    ) -> Result<MatchingCompanies<'_>> {
        let found = CompanySearch::new(self, today)?.find(filter, order)?;
        let all = found.first(self, None, 0, usize::MAX)?.numbers;
        Ok(MatchingCompanies::new(self, filter.clone(), today, all))
    }

    /// Reads companies by number, with what the conditions of a filter count.
    pub(super) fn matched_companies(
        &self,
        filter: &CompanyFilter,
        numbers: &[u32],
        today: Date,
    ) -> Result<Vec<MatchedCompany<'_>>> {
        let matches = self.condition_matches(filter.has(), numbers, today)?;
        let mut items = Vec::with_capacity(numbers.len());
        for (&number, matches) in numbers.iter().zip(matches) {
            let company = self.company_of_number(number)?;
            let profile = self.company_profile(company, |index| self.number_in(index, number))?;
            items.push(MatchedCompany { profile, matches });
        }
        Ok(items)
    }

    /// An upper bound of the work of a query for companies, in the unit of [`cost`](Self::cost) and otherwise as that.
    ///
    /// ```
    /// use signaldex::query::CompanyQuery;
    /// use signaldex::sample;
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let cost = |text| {
    ///     let query = CompanyQuery::from_query_string(text)?;
    ///     Ok::<u64, Box<dyn std::error::Error>>(snapshot.companies_cost(&query, sample::AS_OF, 0)?)
    /// };
    /// assert!(cost("has=(q=raises)")? < cost("has=(q=raises),(any=\"series a\" \"series b\")")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`cost`](Self::cost).
    pub fn companies_cost(&self, query: &CompanyQuery, today: Date, cheap: Cost) -> Result<Cost> {
        let filter = query.filter();
        let is_filtered = |facet: &&Facet| filter.is_on(**facet);
        let runs = 1 + query.facets().iter().filter(is_filtered).count() as u64;
        let rows: u64 = self
            .segments
            .iter()
            .map(|it| u64::from(it.segment.row_count()))
            .sum();
        let companies = self.segments.iter();
        let companies: u64 = companies
            .map(|it| u64::from(it.segment.company_count()))
            .sum();
        // Numbering, the passes over sets, and a facet's values.
        let per_run = companies;
        let conditions = filter.has().iter().chain(filter.has_not());
        // A page looks once more at the rows of its companies, and the order may count all signals.
        let passes = 2 * (filter.has().len() + filter.has_not().len() + 1) as u64;
        let mut total = runs * (per_run + passes * cost::of_rows(rows));
        for filter in conditions.map(Condition::filter) {
            total += 2 * runs * self.cost(filter, query.day(today), cheap)?;
        }
        Ok(total)
    }
}

impl Snapshot {
    /// The slug of a company by number.
    pub(super) fn slug_of_number(&self, number: u32) -> Result<&str> {
        let (segment, company) = self.company_ranks()?.record(number);
        let keys = self.segments[segment].segment.company_keys()?;
        Ok(keys.slug(company))
    }

    /// The record of a company by number.
    pub(super) fn company_of_number(&self, number: u32) -> Result<Company<'_>> {
        let (segment, company) = self.company_ranks()?.record(number);
        self.segments[segment].segment.company(company)
    }

    /// The number in a segment of a company by number, if it is there.
    pub(super) fn number_in(&self, segment: usize, number: u32) -> Result<Option<CompanyNumber>> {
        let ranks = self.company_ranks()?;
        let (of_record, company) = ranks.record(number);
        if of_record == segment {
            return Ok(Some(company));
        }
        if ranks.are_of_segment(segment) {
            return Ok(Some(CompanyNumber(number)));
        }
        let keys = self.segments[segment].segment.company_keys()?;
        Ok(keys.by_slug(self.slug_of_number(number)?))
    }

    /// How many companies have slugs that pass a test, which those before a slug do. Cost: a binary search.
    pub(super) fn count_slugs(&self, test: impl Fn(&str) -> bool) -> Result<u32> {
        let (mut start, mut end) = (0, self.company_ranks()?.len());
        // Invariant: the companies before `start` pass, those from `end` on do not.
        while start < end {
            let middle = start + (end - start) / 2;
            if test(self.slug_of_number(middle)?) {
                start = middle + 1;
            } else {
                end = middle;
            }
        }
        Ok(start)
    }
}
