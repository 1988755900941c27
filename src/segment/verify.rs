//! The full check of a segment: derives all index data from the records again and compares.

use std::collections::BTreeMap;
use std::fmt::Display;

use super::ensure::ensure;
use super::record::{self, RecordWriter, Stored};
use super::value_counts::{CountedFacet, ValueCounter};
use super::{FacetView, Field, Segment, TextField, check_file};
use crate::encoding::pairs::is_frequent;
use crate::encoding::posting::PostingId;
use crate::encoding::row::{CompanyNumber, Row};
use crate::encoding::tokens::{self, ALTERNATE, TermNumber};
use crate::query::Facet;
use crate::query::dates::day_number;
use crate::signal::{Company, Signal};
use crate::text::CompanyName;
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
            self.expect_company(number, &mut expected)?;
        }
        // Rows ascend, so the rows expected of each posting do, too.
        for row in self.rows() {
            let signal = self.signal(row)?;
            let company = self.company(self.company_of(row)?)?;
            record::write_signal(&mut record, &signal);
            let of = format_args!("signal {}", signal.id);
            self.verify_record(self.stored_signal(row)?, &mut record, of)?;
            self.verify_row(row, &signal, &company, &mut expected)?;
        }
        self.verify_postings(expected)?;
        self.verify_value_counts()
    }

    /// Counts the values among the rows of each posting anew whose counts are stored.
    pub(super) fn verify_value_counts(&self) -> Result<()> {
        let mut facets = Vec::new();
        for facet in Facet::ALL {
            let view = self.facet(facet);
            facets.push(CountedFacet {
                values: view.len(),
                first_posting: view.first_posting,
                column: self.facet_column(facet)?,
            });
        }
        let (stored, postings) = (self.views().value_counts, self.posting_entries()?);
        let mut counter = ValueCounter::new(postings, &facets);
        // All postings have been checked.
        let ids: Vec<PostingId> = stored.postings().collect();
        for (index, counted) in counter.counts_of(&ids).enumerate() {
            let (id, bytes) = counted?;
            ensure(
                bytes == stored.bytes_of(index),
                &format!(
                    "the value counts of posting {} are not those of its rows",
                    id.0
                ),
            )?;
        }
        Ok(())
    }

    /// Checks that a record equals the encoding of its fields, including the checksum.
    fn verify_record(
        &self,
        stored: Stored<'_>,
        expected: &mut RecordWriter,
        of: impl Display,
    ) -> Result<()> {
        let mut read = RecordWriter::default();
        let read = read.encode(&stored, self.symbols()?, None)?;
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
            self.company_keys()?.slug(number) == company.slug,
            "its slug is another",
        )?;
        rule(
            self.company_name(number)? == company.name,
            "its name is another",
        )?;
        rule(
            self.company_keys()?.name_key(number) == CompanyName::new(&company.name).key(),
            "it is found by another name",
        )?;
        rule(
            self.company_attributes()?.are_of(number, &company),
            "its city, year or number of employees is another",
        )?;
        let rows = self.company_rows(number)?;
        let expected = match rows {
            [] => Vec::new(),
            _ => self.stream_of(TextField::Name, &company.name)?,
        };
        let streams = self.tokens(TextField::Name)?;
        let stream = streams.get(number.index());
        rule(expected == stream, "its name's terms are others")?;
        let companies = self.company_column()?;
        let company_of = |row: Row| CompanyNumber::of_code(companies.get(row));
        let listed = rows.iter().all(|&row| company_of(row) == number);
        rule(listed, "it lists a row of another company")
    }

    /// Checks that a company with rows is in the posting of each of its values.
    fn expect_company(&self, number: CompanyNumber, expected: &mut ExpectedPostings) -> Result<()> {
        let Some(&row) = self.company_rows(number)?.first() else {
            return Ok(());
        };
        for facet in Facet::OF_COMPANY {
            let view = self.facet(facet);
            let value = self.facet_column(facet)?.get(row).checked_sub(1);
            let posting = value.map(|value| view.posting(value as usize));
            if let Some(posting) = posting.and_then(|rows| self.company_posting(facet, rows)) {
                expected.add(posting, number.0);
            }
        }
        Ok(())
    }

    fn verify_row(
        &self,
        row: Row,
        signal: &Signal<'_>,
        company: &Company<'_>,
        expected: &mut ExpectedPostings,
    ) -> Result<()> {
        let wrong = |rule: &str| Error::corrupt(format!("signal {}: {rule}", signal.id));
        for facet in Facet::ALL {
            let view = self.facet(facet);
            let code = self.facet_column(facet)?.get(row);
            let value = code.checked_sub(1).map(|value| value as usize);
            let label = facet.label(signal, company);
            if value.map(|value| view.labels.get(value)) != label.as_deref() {
                return Err(wrong(&format!("the column of {facet:?} has another value")));
            }
            if let Some(value) = value {
                expected.add(view.posting(value), row.0);
            }
        }
        let (day, days) = (self.day_column()?.column.get(row), self.days()?);
        let day = day.checked_sub(1);
        if day.map(|index| days[index as usize]) != signal.date.map(day_number) {
            return Err(wrong("the column of days has another date"));
        }
        let (amount, amounts) = (self.amount_column()?.column.get(row), self.amounts()?);
        let amount = amount.checked_sub(1);
        let recorded = signal.funding.as_ref().and_then(|funding| funding.amount);
        if amount.map(|index| amounts[index as usize]) != recorded {
            return Err(wrong("the column of amounts has another amount"));
        }
        let streams = self.tokens(TextField::Title)?;
        if self.stream_of(TextField::Title, &signal.title)? != streams.get(row.index()) {
            return Err(wrong("the title's terms are others"));
        }
        for (field, text) in [
            (TextField::Title, &signal.title),
            (TextField::Name, &company.name),
        ] {
            let mut forms = Vec::new();
            field.visit_forms(text, |form| forms.push(form.text.to_owned()));
            for form in &forms {
                let (posting, _) = self
                    .term(field, form)?
                    .ok_or_else(|| wrong("a term is not in the dictionary"))?;
                expected.add(posting, row.0);
            }
        }
        let has_all_pairs = self.expect_pairs(row, &signal.title, expected)?;
        has_all_pairs
            .then_some(())
            .ok_or_else(|| wrong("a pair of words has no posting"))
    }

    /// Expects the row in the posting of each pair of the title's frequent words. Returns whether each pair has one.
    fn expect_pairs(&self, row: Row, title: &str, expected: &mut ExpectedPostings) -> Result<bool> {
        let (entries, stored) = (self.posting_entries()?, self.title_pairs()?);
        let mut frequent = Vec::new();
        for term in text::terms(title) {
            let term = self.term(TextField::Title, &term)?;
            frequent.push(term.and_then(|(posting, number)| {
                let rows = u64::from(entries.cardinality(posting));
                is_frequent(rows, self.row_count()).then_some(number)
            }));
        }
        for words in frequent.windows(2) {
            if let [Some(first), Some(second)] = *words {
                let Some(pair) = stored.find(first, second) else {
                    return Ok(false);
                };
                expected.add(pair, row.0);
            }
        }
        Ok(true)
    }

    /// The expected token stream of a text.
    fn stream_of(&self, field: TextField, text: &str) -> Result<Vec<u8>> {
        let keys = self.text(field)?.keys;
        let (mut stream, mut alternates) = (Vec::new(), Vec::new());
        field.visit_forms(text, |form| {
            // One that is not in the dictionary gets a number that no stream has.
            let number = keys
                .find(form.text)
                .map_or(u32::MAX, |number| number as u32);
            if form.is_alternate {
                tokens::push(&mut alternates, TermNumber(number | ALTERNATE));
            } else {
                tokens::push(&mut stream, TermNumber(number));
            }
        });
        stream.append(&mut alternates);
        Ok(stream)
    }

    fn verify_postings(&self, expected: ExpectedPostings) -> Result<()> {
        let total = self.views().postings.entries.len();
        // Every expected posting is a stored one, so equal numbers mean that none is left over.
        ensure(
            expected.0.len() == total,
            "there is a posting that no record asks for",
        )?;
        for (id, rows) in expected.0 {
            let stored = self.posting(id)?.rows().map(|row| row.0);
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
            Field::Date => self.day_column()?,
            _ => self.amount_column()?,
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
        // Numbers arrive in ascending order, so a repeated one is the last.
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
