//! The keys of a page of companies, and the companies of keys: for hosts that merge the answers of several indexes.

use time::Date;

use super::company_search::CompanySearch;
use super::snapshot::Snapshot;
use crate::Result;
use crate::query::{CompanyKey, CompanyQuery, MatchedCompany};

impl Snapshot {
    /// The keys of the companies of a page, in the query's order, without reading a record: to merge pages of several
    /// indexes that share no company.
    ///
    /// ```
    /// use signaldex::query::CompanyQuery;
    /// use signaldex::sample;
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let query = CompanyQuery::from_query_string("has=(categories=funding)&order=-latest")?;
    /// let keys = snapshot.company_keys(&query, sample::AS_OF)?;
    /// let items = snapshot.companies(&query, sample::AS_OF)?.into_items();
    /// assert_eq!(keys[0], query.order().key_of(&items[0]));
    /// assert_eq!(snapshot.companies_of_keys(&query, &keys, sample::AS_OF)?, items);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`companies`](Self::companies).
    ///
    /// Cost: that of [`count_companies`](Self::count_companies), and a look-up per key.
    pub fn company_keys(&self, query: &CompanyQuery, today: Date) -> Result<Vec<CompanyKey>> {
        let search = CompanySearch::new(self, query.day(today))?;
        let found = search.find(query.filter(), query.order())?;
        let numbers = found.page(self, query)?.numbers;
        let keys = numbers.into_iter().map(|number| found.key(self, number));
        keys.collect()
    }

    /// The companies of keys, in their order, with what the conditions of a query count. Companies that do not exist are
    /// left out.
    ///
    /// ```
    /// use signaldex::query::{CompanyKey, CompanyQuery};
    /// use signaldex::sample;
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let keys = ["nobody", "cpp-foundry"].map(|slug| CompanyKey::new(None, slug));
    /// let query = CompanyQuery::from_query_string("has=(categories=funding)")?;
    /// let found = snapshot.companies_of_keys(&query, &keys, sample::AS_OF)?;
    /// assert_eq!(found.len(), 1);
    /// assert_eq!(found[0].profile.company.name, "C++ Foundry");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`companies`](Self::companies).
    ///
    /// Cost: reading the companies, and a look-up per condition and signal of theirs.
    pub fn companies_of_keys(
        &self,
        query: &CompanyQuery,
        keys: &[CompanyKey],
        today: Date,
    ) -> Result<Vec<MatchedCompany<'_>>> {
        let mut numbers = Vec::with_capacity(keys.len());
        for key in keys {
            let number = self.count_slugs(|slug| slug < key.slug())?;
            let is_known = number < self.company_ranks()?.len();
            if is_known && self.slug_of_number(number)? == key.slug() {
                numbers.push(number);
            }
        }
        self.matched_companies(query.filter(), &numbers, query.day(today))
    }
}
