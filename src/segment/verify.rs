//! The full check of a segment: derives all index data from the records again and compares.

use std::collections::BTreeMap;
use std::fmt::Display;

use super::record::{self, RecordWriter, Stored};
use super::{FacetView, Field, Segment, TextField, check_file, ensure};
use crate::encoding::pairs::is_frequent;
use crate::encoding::posting::PostingId;
use crate::encoding::row::{CompanyNumber, Row};
use crate::encoding::tokens::{self, TermNumber};
use crate::query::Facet;
use crate::query::dates::day_number;
use crate::signal::{Company, Signal};
use crate::{Error, Result, text};

impl Segment {
    /// Checks every byte against its checksum, then reads every record and checks columns, postings
    /// and token streams against it.
    ///
    /// Cost: analyses every title; holds the rows of all postings in memory.
    pub(crate) fn verify(&self) -> Result<()> {
        check_file(&**self.bytes.borrow_owner())?;
        self.check()?;
        self.validate_order()?;
        self.verify_commits()?;
        let mut expected = ExpectedPostings::default();
        for facet in Facet::ALL {
            verify_keys(facet, self.facet(facet))?;
        }
        let mut record = RecordWriter::default();
        for number in self.companies() {
            self.verify_company(number, &mut record)?;
            self.expect_company(number, &mut expected);
        }
        for row in self.rows() {
            let signal = self.signal(row)?;
            let company = self.company(self.company_of(row))?;
            record::write_signal(&mut record, &signal);
            let of = format_args!("signal {}", signal.id);
            self.verify_record(self.stored_signal(row)?, &mut record, of)?;
            self.verify_row(row, &signal, &company, &mut expected)
                .map_err(|rule| Error::corrupt(format!("signal {}: {rule}", signal.id)))?;
        }
        self.verify_postings(expected)
    }

    /// Checks that a record equals the encoding of its fields, including the checksum.
    fn verify_record(
        &self,
        stored: Stored<'_>,
        expected: &mut RecordWriter,
        of: impl Display,
    ) -> Result<()> {
        let mut read = RecordWriter::default();
        let read = read.encode(&stored, self.symbols(), None)?;
        ensure(
            read == expected.finish(None),
            &format!("{of}: its record is written otherwise"),
        )
    }

    fn verify_company(&self, number: CompanyNumber, record: &mut RecordWriter) -> Result<()> {
        let company = self.company(number)?;
        record::write_company(record, &company);
        let of = format_args!("company {:?}", company.slug);
        self.verify_record(self.stored_company(number)?, record, of)?;
        let rule =
            |holds, rule: &str| ensure(holds, &format!("company {:?}: {rule}", company.slug));
        rule(
            self.company_keys().slug(number) == company.slug,
            "its slug is another",
        )?;
        rule(
            self.company_name(number) == company.name,
            "its name is another",
        )?;
        rule(
            self.company_keys().name_key(number) == text::fold_value(&company.name),
            "it is found by another name",
        )?;
        let expected = match self.company_rows(number) {
            [] => Vec::new(),
            _ => self.stream_of(TextField::Name, &company.name),
        };
        let stream = self.tokens(TextField::Name).get(number.index());
        rule(expected == stream, "its name's terms are others")?;
        let listed = self
            .company_rows(number)
            .iter()
            .all(|&row| self.company_of(row) == number);
        rule(listed, "it lists a row of another company")
    }

    /// Checks that a company with rows is in the posting of each of its values.
    fn expect_company(&self, number: CompanyNumber, expected: &mut ExpectedPostings) {
        let Some(&row) = self.company_rows(number).first() else {
            return;
        };
        for facet in Facet::OF_COMPANY {
            let view = self.facet(facet);
            let value = self.facet_column(facet).get(row).checked_sub(1);
            let posting = value.map(|value| view.posting(value as usize));
            if let Some(posting) = posting.and_then(|rows| self.company_posting(facet, rows)) {
                expected.add(posting, number.0);
            }
        }
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
            let code = self.facet_column(facet).get(row);
            let value = code.checked_sub(1).map(|value| value as usize);
            let label = facet.label(signal, company);
            if value.map(|value| view.labels.get(value)) != label.as_deref() {
                return Err(format!("the column of {facet:?} has another value"));
            }
            if let Some(value) = value {
                expected.add(view.posting(value), row.0);
            }
        }
        let day = self.day_column().column.get(row).checked_sub(1);
        if day.map(|index| self.days()[index as usize]) != signal.date.map(day_number) {
            return Err("the column of days has another date".into());
        }
        let amount = self.amount_column().column.get(row).checked_sub(1);
        let recorded = signal.funding.as_ref().and_then(|funding| funding.amount);
        if amount.map(|index| self.amounts()[index as usize]) != recorded {
            return Err("the column of amounts has another amount".into());
        }
        if self.stream_of(TextField::Title, &signal.title)
            != self.tokens(TextField::Title).get(row.index())
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
                expected.add(posting, row.0);
            }
        }
        self.verify_pairs(row, &signal.title, expected)
    }

    /// Checks the pairs of a title's frequent words.
    fn verify_pairs(
        &self,
        row: Row,
        title: &str,
        expected: &mut ExpectedPostings,
    ) -> Result<(), String> {
        let frequent = |term: &String| {
            let (posting, number) = self.term(TextField::Title, term)?;
            let rows = u64::from(self.cardinality(posting));
            is_frequent(rows, self.row_count()).then_some(number)
        };
        for words in text::terms(title).windows(2) {
            if let (Some(first), Some(second)) = (frequent(&words[0]), frequent(&words[1])) {
                let pair = self.title_pair(first, second);
                expected.add(pair.ok_or("a pair of words has no posting")?, row.0);
            }
        }
        Ok(())
    }

    /// The expected token stream of a text.
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
        let total = self.views().postings.entries.len();
        ensure(
            expected.0.len() == total,
            "there is a posting that no record asks for",
        )?;
        for (id, rows) in expected.0 {
            let stored = self.posting(id).rows().map(|row| row.0);
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
        let codes: Vec<u32> = self.rows().map(|row| ordered.column.get(row)).collect();
        let ranges = crate::encoding::zone_map::block_zones(&codes);
        let fine_zones = crate::encoding::zone_map::fine_zones(&codes);
        ensure(
            ranges == ordered.blocks && ordered.fine_zones.is_none_or(|kept| fine_zones == kept),
            "the ranges of blocks or fine zones are not those of their rows",
        )
    }
}

/// The expected rows or companies of each posting, collected record by record.
#[derive(Default)]
struct ExpectedPostings(BTreeMap<PostingId, Vec<u32>>);

impl ExpectedPostings {
    fn add(&mut self, posting: PostingId, number: u32) {
        let numbers = self.0.entry(posting).or_default();
        if numbers.last() != Some(&number) {
            numbers.push(number);
        }
    }
}

/// Checks that a value is found by the key of its label.
fn verify_keys(facet: Facet, view: &FacetView<'_>) -> Result<()> {
    let is_found = |value| facet.key(view.labels.get(value)) == view.keys.get(value);
    ensure(
        (0..view.len()).all(is_found),
        &format!("a value of {facet:?} is found by another key"),
    )
}

#[cfg(test)]
mod tests;
