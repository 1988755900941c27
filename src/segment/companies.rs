//! Companies: look-up by slug or whole name, and rows.

use super::ensure::ensure;
use crate::Result;
use crate::encoding::dictionary::Dictionary;
use crate::encoding::row::{CompanyNumber, Row};

/// The keys of companies: slugs in ascending order, followed by folded names, both by company number.
///
/// Both are in one table, because a request does not say whether a text is a slug or a name. Most texts equal
/// their folded form, so one look-up suffices.
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
        // The look-up returns the first index of a key, and slugs come first.
        let first = self.0.find(slug)?;
        (first < self.company_count()).then_some(CompanyNumber(first as u32))
    }

    /// Adds the companies with any of these texts as their slug or folded name. Folding is idempotent, so a text that
    /// is not folded cannot be a folded name.
    pub(crate) fn by_slugs_or_names<'k>(
        &self,
        texts: impl Iterator<Item = &'k str>,
        found: &mut Vec<CompanyNumber>,
    ) {
        let companies = self.company_count();
        self.0.find_each(texts, |index| {
            // Names follow all slugs, so they have the same numbers after subtracting these.
            let number = index.checked_sub(companies).unwrap_or(index);
            found.push(CompanyNumber(number as u32));
        });
    }

    /// Adds the companies with any of these folded names.
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

    /// Checks that slugs are unique and every key is found.
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
    /// The start of each company's rows, and the end of the last.
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
