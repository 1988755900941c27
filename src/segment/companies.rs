//! Companies: how they are found, by slug or by whole name, and the rows of each.

use super::ensure;
use crate::Result;
use crate::encoding::dictionary::Dictionary;
use crate::encoding::row::{CompanyNumber, Row};

/// What companies are found by: their slugs, ascending, by number, and after them their folded names,
/// by number as well.
///
/// One table finds both. A request gives a slug or a name without saying which, and
/// most of what is given reads the same when it is folded: one look-up does then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompanyKeys<'a>(pub(super) Dictionary<'a>);

impl<'a> CompanyKeys<'a> {
    /// The slug of a company.
    pub(crate) fn slug(&self, company: CompanyNumber) -> &'a str {
        self.0.get(company.index())
    }

    /// The folded name of a company.
    pub(crate) fn name_key(&self, company: CompanyNumber) -> &'a str {
        self.0.get(self.company_count() + company.index())
    }

    /// The company with a slug.
    pub(crate) fn by_slug(&self, slug: &str) -> Option<CompanyNumber> {
        // The first index of a key is found, and slugs come first.
        let first = self.0.find(slug)?;
        (first < self.company_count()).then_some(CompanyNumber(first as u32))
    }

    /// Adds the companies that have any of some texts as their slug or as their folded name. A text that
    /// is not folded is no folded name: folding what is folded changes nothing.
    pub(crate) fn by_slugs_or_names<'k>(
        &self,
        texts: impl Iterator<Item = &'k str>,
        found: &mut Vec<CompanyNumber>,
    ) {
        let companies = self.company_count();
        self.0.find_each(texts, |index| {
            let number = index.checked_sub(companies).unwrap_or(index);
            found.push(CompanyNumber(number as u32));
        });
    }

    /// Adds the companies with any of some folded names.
    pub(crate) fn by_names<'k>(
        &self,
        name_keys: impl Iterator<Item = &'k str>,
        found: &mut Vec<CompanyNumber>,
    ) {
        let companies = self.company_count();
        self.0.find_each(name_keys, |index| {
            let number = index.checked_sub(companies);
            found.extend(number.map(|number| CompanyNumber(number as u32)));
        });
    }

    /// Checks everything: that a slug is of one company, and every key is found.
    pub(super) fn validate(&self, companies: usize) -> Result<()> {
        self.0.validate()?;
        let keys = &self.0.keys;
        ensure(
            keys.len() == 2 * companies,
            "there is not one slug and one name for each company",
        )?;
        let are_distinct = (1..companies).all(|index| keys.bytes(index - 1) < keys.bytes(index));
        ensure(are_distinct, "two companies have one slug")
    }

    fn company_count(&self) -> usize {
        self.0.len() / 2
    }
}

/// A view of the rows of each company.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowsByCompany<'a> {
    /// Where the rows of each company start, and the end of the last.
    pub(super) starts: &'a [u32],
    pub(super) rows: &'a [Row],
}

impl<'a> RowsByCompany<'a> {
    /// The rows of a company, ascending.
    pub(crate) fn get(&self, company: CompanyNumber) -> &'a [Row] {
        let company = company.index();
        &self.rows[self.starts[company] as usize..self.starts[company + 1] as usize]
    }
}

#[cfg(test)]
mod tests;
