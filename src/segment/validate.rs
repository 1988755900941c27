//! Cross-checks of a segment: every reference is in bounds.
//!
//! Checksums ensure that the bytes are those that were written; these checks ensure that reading them cannot fail,
//! regardless of what wrote them. They report the first violated rule. The checks of a part run before its first use
//! ([`parts`](super::parts)). The number of elements of each section ([`schema`](super::schema)) has been checked
//! on opening.

use super::companies::RowsByCompany;
use super::ensure::ensure;
use super::field::{COMPANY_POSTINGS, company_field};
use super::parts::Part;
use super::{Segment, TextField};
use crate::Result;
use crate::encoding::zone_map::OrderedColumn;
use crate::kernels::whole;
use crate::query::Facet;
use crate::signal::SignalId;

impl Segment {
    /// Checks a part, whose checksums have been verified.
    ///
    /// Cost: one pass over it.
    pub(super) fn validate_part(&self, part: Part) -> Result<()> {
        let views = self.views();
        match part {
            Part::FacetValues => Facet::ALL
                .into_iter()
                .try_for_each(|facet| self.validate_values(facet)),
            Part::FacetColumn(facet) => {
                let view = &views.facets[facet as usize];
                view.column.validate(view.len())
            }
            Part::PostingEntries => self.validate_entries(),
            Part::Terms(field) => views.text(field).keys.index.validate_shape(),
            Part::Tokens(field) => views.text(field).tokens.validate(),
            Part::Pairs => {
                let terms = views.text(TextField::Title).keys.len();
                views.title_pairs.validate(terms)
            }
            Part::WordOrder => views.word_order.validate(views.titles.keys.len()),
            Part::Ids => self.validate_ids(),
            Part::Dates => {
                self.validate_ordered(&views.day_column, views.days.len())?;
                let ascend = views.days.is_sorted_by(|a, b| a < b);
                ensure(ascend, "the days are out of order")
            }
            Part::Amounts => {
                self.validate_ordered(&views.amount_column, views.amounts.len())?;
                let ascend = views.amounts.is_sorted_by(|a, b| a < b);
                ensure(ascend, "the amounts are out of order")?;
                views.rows_by_amount.validate_bounds(self.row_count())
            }
            // A string with invalid bounds or without valid UTF-8 reads as empty.
            Part::CompanyKeys => views.company_keys.0.index.validate_shape(),
            Part::CompanyNames => views.company_names.validate_shape(),
            Part::CompanyAttributes => views.company_attributes.validate(),
            Part::CompanyColumn => self.validate_company_column(),
            Part::CompanyRows => self.validate_company_rows(),
            Part::RecordStarts => {
                views.symbols.validate()?;
                views.signal_records.validate()?;
                views.company_records.validate()
            }
            Part::Commits => views.commits.validate(),
            Part::ValueCounts => {
                let of_rows = views.table.field_postings[COMPANY_POSTINGS];
                views.value_counts.validate(of_rows)
            }
        }
    }

    /// Checks rules that no reader relies on, after all parts have been checked: dictionaries find their keys, texts
    /// are UTF-8, and permutations are sorted.
    pub(super) fn validate_order(&self) -> Result<()> {
        let views = self.views();
        for field in [TextField::Title, TextField::Name] {
            views.text(field).keys.validate()?;
        }
        views.word_order.validate_order(&views.titles.keys.keys)?;
        views.company_keys.validate(self.company_count() as usize)?;
        views.company_names.validate()?;
        let amounts = &views.amount_column.column;
        views.rows_by_amount.validate(self.row_count(), amounts)?;
        let days = &views.day_column;
        days.orders.map_or(Ok(()), |orders| {
            orders.validate(self.row_count(), &days.column, days.blocks)
        })
    }

    fn validate_ids(&self) -> Result<()> {
        let ids = self.views().ids;
        ids.validate()?;
        ensure(
            ids.iter().is_sorted_by(|a, b| a < b),
            "the ids are out of order",
        )?;
        // Ids ascend, so checking the first and the last suffices.
        let in_range = |id: Option<u64>| id.is_none_or(|id| SignalId::new(id).is_some());
        ensure(
            in_range(ids.iter().next()) && in_range(ids.last()),
            "an id is out of range",
        )
    }

    /// Checks the cardinalities of postings, which are used before their rows are read.
    fn validate_entries(&self) -> Result<()> {
        let postings = &self.views().postings;
        let numbers = self.row_count().max(self.company_count());
        ensure(
            postings.max_cardinality() <= numbers,
            "a posting has more rows than there are",
        )
    }

    fn validate_values(&self, facet: Facet) -> Result<()> {
        let view = &self.views().facets[facet as usize];
        view.keys.validate_sorted()?;
        view.labels.validate_ends()?;
        view.labels.validate_text()?;
        let of_companies = company_field(facet).map(|index| self.posting_count(index));
        ensure(
            of_companies.is_none_or(|of_companies| of_companies == view.len()),
            "a facet does not have one posting of companies for each value",
        )
    }

    fn validate_ordered(&self, ordered: &OrderedColumn<'_>, values: usize) -> Result<()> {
        ordered.column.validate(values)?;
        ordered
            .orders
            .map_or(Ok(()), |orders| orders.validate_bounds(self.row_count()))
    }

    fn validate_company_column(&self) -> Result<()> {
        let column = self.views().company_column;
        column.validate(self.company_count() as usize)?;
        ensure(!column.has_rows_without_value(), "a row has no company")
    }

    fn validate_company_rows(&self) -> Result<()> {
        let by_company = &self.views().rows_by_company;
        let RowsByCompany { starts, rows } = *by_company;
        let row_count = self.row_count();
        let last = starts.last().map_or(0, |&end| end as usize);
        let spans_all = starts.is_sorted() && starts.first() == Some(&0) && last == rows.len();
        ensure(spans_all, "the rows by company do not span all companies")?;
        for company in self.companies() {
            // The starts span all companies, so this is in bounds.
            let rows = by_company.get(company);
            let in_order = whole::ascend(rows);
            ensure(
                in_order && rows.last().is_none_or(|row| row.0 < row_count),
                "a company's rows are out of order",
            )?;
        }
        Ok(())
    }

    fn posting_count(&self, index: usize) -> usize {
        self.views().table.posting_count(index) as usize
    }
}
