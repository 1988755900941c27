//! The cross-checks of an opened segment: that every number points inside what it points into.
//!
//! Checksums say that the bytes are those that were written; these checks say that reading them
//! cannot go wrong, whatever wrote them. They name the first broken rule. That each section has as many
//! elements as the [`schema`](super::schema) says has been checked before.

use super::companies::RowsByCompany;
use super::field::{COMPANY_POSTINGS, company_field};
use super::views::TextView;
use super::{Segment, TextField, ensure};
use crate::Result;
use crate::encoding::zone_map::OrderedColumn;
use crate::kernels::whole;
use crate::query::Facet;
use crate::signal::SignalId;

impl Segment {
    /// Checks the segment. Cost: one pass over postings, columns and dictionaries.
    pub(super) fn validate(&self) -> Result<()> {
        self.validate_ids()?;
        self.validate_postings()?;
        for facet in Facet::ALL {
            self.validate_facet(facet)?;
        }
        self.validate_text(TextField::Title)?;
        self.validate_pairs()?;
        self.validate_text(TextField::Name)?;
        self.validate_ordered(self.day_column(), self.days().len())?;
        self.validate_ordered(self.amount_column(), self.amounts().len())?;
        ensure(
            self.days().is_sorted_by(|a, b| a < b),
            "the days are out of order",
        )?;
        ensure(
            self.amounts().is_sorted_by(|a, b| a < b),
            "the amounts are out of order",
        )?;
        self.views().commits.validate()?;
        self.validate_companies()
    }

    fn validate_ids(&self) -> Result<()> {
        let ids = self.ids();
        ids.validate()?;
        ensure(
            ids.iter().is_sorted_by(|a, b| a < b),
            "the ids are out of order",
        )?;
        let in_range = |id: Option<u64>| id.is_none_or(|id| SignalId::new(id).is_some());
        ensure(
            in_range(ids.iter().next()) && in_range(ids.last()),
            "an id is out of range",
        )?;
        self.symbols().validate()?;
        self.views().signal_records.validate()
    }

    fn validate_postings(&self) -> Result<()> {
        let postings = self.postings();
        let of_companies = self.views().table.field_postings[COMPANY_POSTINGS] as usize;
        postings.validate(0..of_companies, self.row_count())?;
        postings.validate(of_companies..postings.entries.len(), self.company_count())
    }

    fn validate_facet(&self, facet: Facet) -> Result<()> {
        let view = self.facet(facet);
        view.keys.validate_sorted()?;
        view.labels.validate_ends()?;
        view.labels.validate_text()?;
        let of_companies = company_field(facet).map(|index| self.posting_count(index));
        ensure(
            of_companies.is_none_or(|of_companies| of_companies == view.len()),
            "a facet does not have one posting of companies for each value",
        )?;
        view.column.validate(view.len())
    }

    fn validate_text(&self, field: TextField) -> Result<()> {
        let TextView {
            keys,
            term_numbers,
            tokens,
            ..
        } = self.text(field);
        keys.validate_sorted()?;
        let terms = keys.len();
        let in_range = |&number: &u32| (number as usize) < terms;
        ensure(
            term_numbers.iter().all(in_range),
            "a term has a number without a posting",
        )?;
        tokens.validate()
    }

    fn validate_pairs(&self) -> Result<()> {
        let terms = self.text(TextField::Title).keys.len();
        self.views().title_pairs.validate(terms)
    }

    fn validate_ordered(&self, ordered: &OrderedColumn<'_>, values: usize) -> Result<()> {
        ordered.column.validate(values)?;
        ordered.orders.map_or(Ok(()), |orders| {
            orders.validate(self.row_count(), &ordered.column, ordered.blocks)
        })
    }

    fn validate_companies(&self) -> Result<()> {
        let companies = self.company_count() as usize;
        self.company_keys().validate(companies)?;
        let names = &self.views().company_names;
        names.validate_ends()?;
        names.validate_text()?;
        self.validate_company_rows(companies)
    }

    fn validate_company_rows(&self, companies: usize) -> Result<()> {
        let RowsByCompany { starts, rows } = *self.rows_by_company();
        let row_count = self.row_count();
        let spans_all =
            starts.is_sorted() && starts[0] == 0 && starts[companies] as usize == rows.len();
        ensure(spans_all, "the rows by company do not span all companies")?;
        for company in self.companies() {
            let rows = self.company_rows(company);
            let in_order = whole::ascend(rows);
            ensure(
                in_order && rows.last().is_none_or(|row| row.0 < row_count),
                "a company's rows are out of order",
            )?;
        }
        let column = self.company_column();
        column.validate(companies)?;
        ensure(!column.has_rows_without_value(), "a row has no company")
    }

    fn posting_count(&self, index: usize) -> usize {
        self.views().table.posting_count(index) as usize
    }
}
