//! Companies: look-up by slug or by the key of a whole name, and rows.

use super::ensure::ensure;
use super::{Segment, TextField};
use crate::Result;
use crate::encoding::dictionary::Dictionary;
use crate::encoding::row::{CompanyNumber, Row};
use crate::encoding::tokens::{self, TermNumber};
use crate::text::CompanyName;

/// The keys of companies: slugs in ascending order, followed by the [keys of names](crate::text::CompanyName::key),
/// both by company number.
///
/// Both are in one table, because a request does not say whether a text is a slug or a name, and for many texts one
/// look-up suffices. Names of one key may differ in their legal forms, which the table does not have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompanyKeys<'a>(pub(super) Dictionary<'a>);

impl<'a> CompanyKeys<'a> {
    /// The slug of a company.
    pub(crate) fn slug(&self, company: CompanyNumber) -> &'a str {
        self.0.get(company.index())
    }

    /// The bytes of a company's slug.
    pub(crate) fn slug_bytes(&self, company: CompanyNumber) -> &'a [u8] {
        self.0.keys.bytes(company.index())
    }

    /// The key of a company's name.
    pub(crate) fn name_key(&self, company: CompanyNumber) -> &'a str {
        self.0.get(self.company_count() + company.index())
    }

    /// The company with a slug.
    pub(crate) fn by_slug(&self, slug: &str) -> Option<CompanyNumber> {
        // The look-up returns the first index of a key, and slugs come first.
        let first = self.0.find(slug)?;
        (first < self.company_count()).then_some(CompanyNumber(first as u32))
    }

    /// Adds the companies with any of these texts as their slug or as the key of their name.
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

    /// Adds the companies with any of these slugs.
    pub(crate) fn by_slugs<'k>(
        &self,
        slugs: impl Iterator<Item = &'k str>,
        found: &mut Vec<CompanyNumber>,
    ) {
        let companies = self.company_count();
        self.0.find_each(slugs, |index| {
            found.extend((index < companies).then_some(CompanyNumber(index as u32)));
        });
    }

    /// Adds the companies whose names have any of these keys. Of those that are in `found` from an index on, in the order
    /// of the keys, most are not added again.
    pub(crate) fn by_names<'k>(
        &self,
        name_keys: impl Iterator<Item = &'k str>,
        found: &mut Vec<CompanyNumber>,
        mut known: usize,
    ) {
        let (companies, known_end) = (self.company_count(), found.len());
        self.0.find_each(name_keys, |index| {
            let Some(number) = index.checked_sub(companies) else {
                return;
            };
            let company = CompanyNumber(number as u32);
            let is_known = known < known_end && found[known] == company;
            if is_known {
                known += 1;
            } else {
                found.push(company);
            }
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

impl Segment {
    /// Whether each of some terms is, as a primary form or an alternate, in the name of a company.
    ///
    /// # Errors
    /// The terms of names are damaged.
    pub(crate) fn name_has(&self, company: CompanyNumber, terms: &[TermNumber]) -> Result<bool> {
        let stream = self.tokens(TextField::Name)?.get(company.index());
        let has = |term: &TermNumber| {
            let mut forms = tokens::decode(stream).map_while(Result::ok);
            forms.any(|form| tokens::split(form.0).0 == term.0)
        };
        Ok(terms.iter().all(has))
    }

    /// Adds the companies whose names agree with `name`, which has a legal form.
    ///
    /// # Errors
    /// The keys or names of companies are damaged.
    ///
    /// Cost: a look-up, and an analysis of each name with the same key.
    pub(crate) fn find_companies(
        &self,
        name: &CompanyName,
        found: &mut Vec<CompanyNumber>,
    ) -> Result<()> {
        let mut index = found.len();
        self.company_keys()?
            .by_names([name.key()].into_iter(), found, index);
        // Invariant: the names before `index` agree. Each turn accepts one or removes one.
        while let Some(&company) = found.get(index) {
            if name.agrees_with(&CompanyName::new(self.company_name(company)?)) {
                index += 1;
            } else {
                found.swap_remove(index);
            }
        }
        Ok(())
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
