//! Copies signals and companies of a finished segment to one under construction.
//!
//! The result equals that of adding the records, without parsing or analysing them: their bytes are copied
//! after checking their checksums, or recompressed with other symbols, and the numbers of terms, labels and
//! companies are mapped from one dictionary to the other.

use std::io::Write;

use super::builder::{PendingAttributes, PendingCompany, SegmentBuilder};
use super::interner::Interner;
use super::pending::{FacetLabels, PendingSignal};
use super::record::Stored;
use super::views::TextView;
use super::{Segment, TextField};
use crate::encoding::row::{CompanyNumber, Row};
use crate::encoding::symbols::SymbolTable;
use crate::encoding::tokens;
use crate::query::Facet;
use crate::{Error, Result};

/// A segment to copy from, with the numbers that one builder has assigned to its strings.
#[derive(Debug)]
pub(crate) struct CopySource<'s> {
    segment: &'s Segment,
    /// Whether the builder has the same symbols, so that records are copied unchanged.
    has_same_symbols: bool,
    companies: Ordinals,
    /// By facet.
    labels: [Ordinals; Facet::ALL.len()],
    title_terms: Ordinals,
    name_terms: Ordinals,
}

/// By number in the segment: the number in the builder plus one; 0 if not yet known.
#[derive(Debug)]
struct Ordinals(Vec<u32>);

impl<W: Write> SegmentBuilder<W> {
    /// Prepares a segment for copying.
    ///
    /// # Errors
    /// Its symbols or dictionaries are damaged.
    ///
    /// Cost: a few bytes per term and company of the segment; compares its symbols.
    pub(crate) fn copy_source<'s>(&self, segment: &'s Segment) -> Result<CopySource<'s>> {
        let SymbolTable { starts, bytes } = segment.symbols()?;
        Ok(CopySource {
            segment,
            has_same_symbols: self.symbols.starts == starts && self.symbols.bytes == bytes,
            companies: Ordinals::new(segment.company_count() as usize),
            labels: Facet::ALL.map(|facet| Ordinals::new(segment.facet(facet).len())),
            title_terms: Ordinals::new(segment.text(TextField::Title)?.keys.len()),
            name_terms: Ordinals::new(segment.text(TextField::Name)?.keys.len()),
        })
    }

    /// Adds a company of another segment; a later one with the same slug replaces it.
    ///
    /// # Errors
    /// Its record is corrupt; or as [`add_company`](Self::add_company).
    pub(crate) fn copy_company(
        &mut self,
        source: &mut CopySource<'_>,
        company: CompanyNumber,
    ) -> Result<()> {
        let segment = source.segment;
        // Terms and labels of companies without rows are not stored.
        let Some(&row) = segment.company_rows(company)?.first() else {
            return self.add_company(&segment.company(company)?).map(drop);
        };
        let record = self.copy_record(source, segment.stored_company(company)?)?;
        let mut name_tokens = Vec::new();
        source.name_terms.map_text(
            (segment.text(TextField::Name)?, company.index()),
            &mut self.name_terms,
            &mut name_tokens,
        )?;
        let pending = PendingCompany {
            record,
            name: segment.company_name(company)?.into(),
            name_key: segment.company_keys()?.name_key(company).into(),
            name_tokens: name_tokens.into(),
            facets: self.copy_labels(source, row, true)?,
            attributes: self.copy_attributes(segment, company)?,
        };
        let slug = segment.company_keys()?.slug(company);
        self.push_company(slug, pending).map(drop)
    }

    fn copy_attributes(
        &mut self,
        segment: &Segment,
        company: CompanyNumber,
    ) -> Result<PendingAttributes> {
        let attributes = segment.company_attributes()?;
        let city = attributes.cities.get(company);
        Ok(PendingAttributes {
            city: city.map(|key| self.cities.intern(key)).transpose()?,
            founded: attributes.founded.get(company),
            employees: attributes.employees.get(company),
        })
    }

    /// Adds a signal of another segment; a later one with the same id replaces it.
    ///
    /// # Errors
    /// Its record is corrupt; or as [`add_signal`](Self::add_signal).
    pub(crate) fn copy_signal(&mut self, source: &mut CopySource<'_>, row: Row) -> Result<()> {
        let segment = source.segment;
        let company = segment.company_of(row)?;
        let keys = segment.company_keys()?;
        let company = source
            .companies
            .get(company.index(), || self.company_by_slug(keys.slug(company)))?;
        // Before the record is appended, so that a full segment does not grow.
        self.check_room()?;
        let record = self.copy_record(source, segment.stored_signal(row)?)?;
        source.title_terms.map_text(
            (segment.text(TextField::Title)?, row.index()),
            &mut self.title_terms,
            &mut self.signals.title_tokens,
        )?;
        let facets = self.copy_labels(source, row, false)?;
        let (days, amounts) = (segment.days()?, segment.amounts()?);
        let day = segment.day_column()?.column.get(row).checked_sub(1);
        let amount = segment.amount_column()?.column.get(row).checked_sub(1);
        let id = segment.id(row)?;
        self.note_id(id);
        self.signals.push(PendingSignal {
            id,
            commits: segment.commits(row)?,
            record,
            company,
            day: day.map(|index| days[index as usize]),
            amount: amount.map(|index| amounts[index as usize]),
            facets,
        })
    }

    /// Appends a record of another segment, compressed with the symbols of this one. Returns its offset.
    fn copy_record(&mut self, source: &CopySource<'_>, stored: Stored<'_>) -> Result<u64> {
        if source.has_same_symbols {
            return self.output.append(stored.bytes);
        }
        let symbols = source.segment.symbols()?;
        let bytes = self
            .record
            .encode(&stored, symbols, self.encoder.as_ref())?;
        self.output.append(bytes)
    }

    /// The labels of a row: either those of its company or those of the signal.
    fn copy_labels(
        &mut self,
        source: &mut CopySource<'_>,
        row: Row,
        of_company: bool,
    ) -> Result<FacetLabels> {
        let mut numbers = FacetLabels::default();
        let facets = Facet::ALL
            .into_iter()
            .filter(|facet| facet.is_of_company() == of_company);
        for facet in facets {
            let view = source.segment.facet(facet);
            let column = source.segment.facet_column(facet)?;
            let Some(value) = column.get(row).checked_sub(1) else {
                continue;
            };
            let label = || self.labels[facet as usize].intern(view.labels.get(value as usize));
            numbers[facet as usize] = source.labels[facet as usize].get(value as usize, label)? + 1;
        }
        Ok(numbers)
    }
}

impl Ordinals {
    fn new(len: usize) -> Ordinals {
        Ordinals(vec![0; len])
    }

    /// The number in the builder, looked up by `find` the first time.
    #[inline]
    fn get(&mut self, number: usize, find: impl FnOnce() -> Result<u32>) -> Result<u32> {
        let ordinal = &mut self.0[number];
        // 0 means not looked up yet.
        if *ordinal == 0 {
            *ordinal = find()? + 1;
        }
        Ok(*ordinal - 1)
    }

    /// Appends the forms of the text at an index, as numbers of the builder.
    ///
    /// # Errors
    /// The stream is corrupt; or there are too many terms.
    fn map_text(
        &mut self,
        (text, index): (&TextView<'_>, usize),
        interner: &mut Interner,
        tokens: &mut Vec<u32>,
    ) -> Result<()> {
        for term in tokens::decode(text.tokens.get(index)) {
            let (number, alternate) = tokens::split(term?.0);
            let number = number as usize;
            // Only the ends of streams have been checked, not the terms in them.
            if number >= text.keys.len() {
                return Err(Error::corrupt("a token stream has a term without a key"));
            }
            let intern = || interner.intern(text.keys.get(number));
            tokens.push(self.get(number, intern)? | alternate);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
