//! The full check of a segment: everything that was derived from records, derived again.

use std::collections::BTreeMap;

use super::posting::PostingId;
use super::record;
use super::tokens::{self, TermNumber};
use super::{Field, Row, Segment, TextField, ensure};
use crate::query::Facet;
use crate::query::dates::day_number;
use crate::signal::{Company, Signal};
use crate::{Error, Result, text};

impl Segment {
    /// Reads every record and checks columns, postings and token streams against it.
    ///
    /// Cost: analyses every title; holds the rows of all postings in memory.
    pub(crate) fn verify(&self) -> Result<()> {
        let mut expected = ExpectedPostings::default();
        for number in 0..self.company_count() {
            self.verify_company(number)?;
        }
        for row in (0..self.row_count()).map(Row) {
            let signal = self.signal(row)?;
            let company = self.company(self.company_of(row))?;
            self.verify_record(row, &signal)?;
            self.verify_row(row, &signal, &company, &mut expected)
                .map_err(|rule| Error::corrupt(format!("signal {}: {rule}", signal.id)))?;
        }
        self.verify_postings(expected)
    }

    /// Checks that a record holds what its fields say, and the item they are shown as.
    fn verify_record(&self, row: Row, signal: &Signal<'_>) -> Result<()> {
        let mut expected = Vec::new();
        record::write_signal(&mut expected, signal);
        let place = self.layout.signal_records.view(&self.bytes)[row.index()] as usize;
        let stored = self.records().get(place..).unwrap_or_default();
        let rule = format!("signal {}: its item is another", signal.id);
        ensure(stored.starts_with(&expected), &rule)
    }

    fn verify_company(&self, number: u32) -> Result<()> {
        let company = self.company(number)?;
        let rule =
            |holds, rule: &str| ensure(holds, &format!("company {:?}: {rule}", company.slug));
        rule(
            self.company_slugs().get(number as usize) == company.slug,
            "its slug is another",
        )?;
        rule(
            self.company_name(number) == company.name,
            "its name is another",
        )?;
        let named = self.companies_by_name(&text::fold_value(&company.name));
        rule(named.contains(&number), "it is not found by its name")?;
        let expected = match self.company_rows(number) {
            [] => Vec::new(),
            _ => self.stream_of(TextField::Name, &company.name),
        };
        let stream = self.tokens(TextField::Name).bytes(number as usize);
        rule(expected == stream, "its name's terms are others")?;
        let listed = self
            .company_rows(number)
            .iter()
            .all(|&row| self.company_of(Row(row)) == number);
        rule(listed, "it lists a row of another company")
    }

    fn verify_row(
        &self,
        row: Row,
        signal: &Signal<'_>,
        company: &Company<'_>,
        expected: &mut ExpectedPostings,
    ) -> Result<(), String> {
        for facet in Facet::ALL {
            let view = self.facet(facet);
            let value = view
                .column
                .get(row)
                .checked_sub(1)
                .map(|value| value as usize);
            let label = facet.label(signal, company);
            if value.map(|value| view.labels.get(value)) != label.as_deref() {
                return Err(format!("the column of {facet:?} has another value"));
            }
            if let Some(value) = value {
                expected.add(view.posting(value), row);
            }
        }
        let day = self.day_column().column.get(row).checked_sub(1);
        if day.map(|place| self.days()[place as usize]) != signal.date.map(day_number) {
            return Err("the column of days has another date".into());
        }
        let amount = self.amount_column().column.get(row).checked_sub(1);
        let recorded = signal.funding.as_ref().and_then(|funding| funding.amount);
        if amount.map(|place| self.amounts()[place as usize]) != recorded {
            return Err("the column of amounts has another amount".into());
        }
        if self.stream_of(TextField::Title, &signal.title)
            != self.tokens(TextField::Title).bytes(row.index())
        {
            return Err("the title's terms are others".into());
        }
        for (field, text) in [
            (TextField::Title, &signal.title),
            (TextField::Name, &company.name),
        ] {
            for term in text::terms(text) {
                let (posting, _) = self
                    .term(field, &term)
                    .ok_or("a term is not in the dictionary")?;
                expected.add(posting, row);
            }
        }
        Ok(())
    }

    /// The token stream that a text should have.
    fn stream_of(&self, field: TextField, text: &str) -> Vec<u8> {
        let mut stream = Vec::new();
        text::analyze(text, |term| {
            let unknown = TermNumber(u32::MAX);
            let number = self.term(field, term).map_or(unknown, |(_, number)| number);
            tokens::push(&mut stream, number);
        });
        stream
    }

    fn verify_postings(&self, expected: ExpectedPostings) -> Result<()> {
        let postings = self.postings();
        let total = postings.entries.len();
        ensure(
            expected.0.len() == total,
            "there is a posting that no record asks for",
        )?;
        for (id, rows) in expected.0 {
            let stored = postings.get(id).rows().map(|row| row.0);
            ensure(
                stored.eq(rows),
                &format!("posting {} has other rows than the records", id.0),
            )?;
        }
        self.verify_block_ranges(Field::Date)?;
        self.verify_block_ranges(Field::Amount)
    }

    fn verify_block_ranges(&self, field: Field) -> Result<()> {
        let ordered = match field {
            Field::Date => self.day_column(),
            _ => self.amount_column(),
        };
        let codes: Vec<u32> = (0..self.row_count())
            .map(|row| ordered.column.get(Row(row)))
            .collect();
        let ranges = super::column::block_ranges(&codes);
        ensure(
            ranges == ordered.blocks,
            "the ranges of blocks are not those of their rows",
        )
    }
}

/// The rows that each posting should have, gathered record by record.
#[derive(Default)]
struct ExpectedPostings(BTreeMap<PostingId, Vec<u32>>);

impl ExpectedPostings {
    fn add(&mut self, posting: PostingId, row: Row) {
        let rows = self.0.entry(posting).or_default();
        if rows.last() != Some(&row.0) {
            rows.push(row.0);
        }
    }
}
