//! Companies in the order of their slugs: all of them, or those with a matching signal.

use std::collections::BTreeSet;

use time::Date;

use super::live::SegmentHandle;
use super::snapshot::Snapshot;
use crate::Result;
use crate::encoding::row::CompanyNumber;
use crate::query::{Filter, Order};
use crate::signal::Company;

impl Snapshot {
    /// Iterates over all live companies, ascending by the bytes of their slugs.
    ///
    /// ```
    /// let snapshot = signaldex::sample::index()?.snapshot();
    /// let companies = snapshot.companies_by_slug()?;
    /// let slugs: Vec<_> = companies.map(|company| Ok(company?.slug)).collect::<signaldex::Result<_>>()?;
    /// assert!(slugs.is_sorted());
    /// assert_eq!(slugs.len() as u64, snapshot.company_count()?);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// The keys of companies of a file are damaged; the iterator returns an error for a damaged record.
    ///
    /// Cost: a look-up per company and older segment, 32 bytes of memory per company, and reading every record.
    pub fn companies_by_slug(&self) -> Result<impl Iterator<Item = Result<Company<'_>>> + '_> {
        let mut live: Vec<(&str, &SegmentHandle, CompanyNumber)> = Vec::new();
        for (handle, company) in self.live_companies()? {
            let slug = handle.segment.company_keys()?.slug(company);
            live.push((slug, handle, company));
        }
        live.sort_unstable_by_key(|&(slug, ..)| slug);
        let records = live.into_iter();
        Ok(records.map(|(_, handle, company)| handle.segment.company(company)))
    }

    /// The slugs of the companies of which a signal matches, ascending.
    ///
    /// ```
    /// use signaldex::{Filter, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let filter = Filter::from_query_string("companies=\"C++ Foundry\"")?;
    /// let slugs = snapshot.slugs_of_matches(&filter, sample::AS_OF)?;
    /// assert!(slugs.into_iter().eq(["cpp-foundry"]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A part of a file that is needed is damaged.
    ///
    /// Cost: that of [`matches`](Self::matches) without the records, and a byte per company of a segment.
    pub fn slugs_of_matches(&self, filter: &Filter, today: Date) -> Result<BTreeSet<&str>> {
        let mut found: Vec<Vec<bool>> = self.segments.iter().map(|_| Vec::new()).collect();
        let mut matches = self.matches(filter, today, Order::OldestFirst);
        while let Some((_, address)) = matches.next_address()? {
            let index = address.segment as usize;
            let segment = &self.segments[index].segment;
            let companies = &mut found[index];
            companies.resize(segment.company_count() as usize, false);
            companies[segment.company_of(address.row)?.index()] = true;
        }
        let mut slugs = BTreeSet::new();
        for (live, found) in self.segments.iter().zip(&found) {
            let has_match = |company: &CompanyNumber| found.get(company.index()) == Some(&true);
            let keys = live.segment.company_keys()?;
            let matching = live.segment.companies().filter(has_match);
            slugs.extend(matching.map(|company| keys.slug(company)));
        }
        Ok(slugs)
    }
}
