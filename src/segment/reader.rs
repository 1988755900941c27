//! An open segment, and what is read from it.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::calendar::{Calendar, CodedPeriod};
use super::commits::ChangeOffset;
use super::companies::{CompanyKeys, RowsByCompany};
use super::company_attributes::CompanyAttributes;
use super::field::TextField;
use super::parts::{Checked, Checks, Part};
use super::period_rows::PeriodRows;
use super::record::{Records, Stored};
use super::trust::Trust;
use super::value_counts::PostingCounts;
use super::views::{FacetView, TextView, ViewedBytes, Views};
use crate::Result;
use crate::digest::Digest;
use crate::encoding::column::Column;
use crate::encoding::frame_of_reference::FrameOfReference;
use crate::encoding::nibbles::FacetColumn;
use crate::encoding::pairs::Pairs;
use crate::encoding::posting::{PostingId, Postings};
use crate::encoding::row::{CompanyNumber, Row};
use crate::encoding::rows_by_code::RowsByCode;
use crate::encoding::symbols::SymbolTable;
use crate::encoding::tokens::{TermNumber, TokenStreams};
use crate::encoding::zone_map::OrderedColumn;
use crate::query::{Facet, TimeUnit};
#[cfg(feature = "json")]
use crate::signal::SentItem;
use crate::signal::{Company, Item, Signal, SignalId};

/// An open segment.
pub(crate) struct Segment {
    pub(super) bytes: ViewedBytes,
    /// The path of the file, for messages.
    pub(super) path: Option<Arc<Path>>,
    pub(super) checks: Checks,
    pub(super) trust: Trust,
    /// The verified records: first those of signals, by row, then those of companies.
    pub(super) records: Checked,
    /// The last commit that changed a row or deleted a signal, computed on demand.
    pub(super) last_commit: OnceLock<u64>,
    /// Rows by day and period, computed on demand.
    pub(super) calendar: OnceLock<Calendar>,
}

/// Figures on one line: a segment holds up to gigabytes.
impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Segment")
            .field("rows", &self.row_count())
            .field("companies", &self.company_count())
            .field("bytes", &self.file_size())
            .finish_non_exhaustive()
    }
}

impl Segment {
    /// The number of rows.
    pub(crate) fn row_count(&self) -> u32 {
        self.views().table.rows
    }

    /// The number of companies.
    pub(crate) fn company_count(&self) -> u32 {
        self.views().table.companies
    }

    /// All rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Row> + use<> {
        (0..self.row_count()).map(Row)
    }

    /// All companies.
    pub(crate) fn companies(&self) -> impl Iterator<Item = CompanyNumber> + use<> {
        (0..self.company_count()).map(CompanyNumber)
    }

    /// The ids by row, ascending.
    pub(crate) fn ids(&self) -> Result<FrameOfReference<'_>> {
        Ok(self.checked(Part::Ids)?.ids)
    }

    /// The id of a row.
    pub(crate) fn id(&self, row: Row) -> Result<SignalId> {
        Ok(SignalId::of_checked(self.ids()?.get(row.index())))
    }

    /// The row of an id.
    pub(crate) fn row(&self, id: SignalId) -> Result<Option<Row>> {
        // At most the number of rows, which fits into a `u32`.
        let row = Row(self.ids()?.count_below(id.get()) as u32);
        Ok(self.is_of(row, id)?.then_some(row))
    }

    /// Whether a row exists and has an id.
    pub(crate) fn is_of(&self, row: Row, id: SignalId) -> Result<bool> {
        Ok(row.0 < self.row_count() && self.id(row)? == id)
    }

    /// The entries of postings, which have their cardinalities. Their rows are checked by
    /// [`posting`](Self::posting).
    pub(crate) fn posting_entries(&self) -> Result<&Postings<'_>> {
        Ok(&self.checked(Part::PostingEntries)?.postings)
    }

    /// The number of rows of a posting.
    pub(crate) fn cardinality(&self, id: PostingId) -> Result<u32> {
        Ok(self.posting_entries()?.cardinality(id))
    }

    /// How many rows of a posting have each value of each facet, if the posting is so frequent that this is stored.
    ///
    /// # Errors
    /// The stored counts are damaged.
    pub(crate) fn value_counts(&self, id: PostingId) -> Result<Option<PostingCounts<'_>>> {
        let counts = &self.checked(Part::ValueCounts)?.value_counts;
        let Some(index) = counts.find(id) else {
            return Ok(None);
        };
        self.check_value_counts(index)?;
        Ok(Some(counts.get(index, self.facet_sizes())))
    }

    /// The number of values of each facet.
    pub(super) fn facet_sizes(&self) -> [usize; Facet::ALL.len()] {
        Facet::ALL.map(|facet| self.facet(facet).len())
    }

    /// The codes of rows: the index of the value plus one; see [`facet`](Self::facet).
    pub(crate) fn facet_column(&self, facet: Facet) -> Result<FacetColumn<'_>> {
        Ok(self.checked(Part::FacetColumn(facet))?.facets[facet as usize].column)
    }

    /// The values of a facet.
    pub(crate) fn facet(&self, facet: Facet) -> &FacetView<'_> {
        &self.views().facets[facet as usize]
    }

    /// The labels of a facet's values.
    pub(crate) fn facet_labels(&self, facet: Facet) -> impl ExactSizeIterator<Item = &str> {
        let view = self.facet(facet);
        (0..view.len()).map(|value| view.labels.get(value))
    }

    /// Checks the keys and labels of all facets.
    ///
    /// # Errors
    /// They are damaged.
    pub(crate) fn check_facet_values(&self) -> Result<()> {
        self.ensure(Part::FacetValues.bit())
    }

    /// The postings of a facet's values with a key. Inlined, since many queries look up several.
    #[inline(always)]
    pub(crate) fn facet_postings(
        &self,
        facet: Facet,
        key: &str,
    ) -> Result<impl Iterator<Item = PostingId> + use<>> {
        self.ensure(Part::FacetValues.bit())?;
        let FacetView {
            keys,
            first_posting: first,
            ..
        } = *self.facet(facet);
        let values = keys.find(key).map_or(0..0, |value| keys.run(value));
        Ok(values.map(move |value| PostingId(first + value as u32)))
    }

    /// The posting of companies for the posting of rows with a facet value; `None` for facets of signals.
    pub(crate) fn company_posting(&self, facet: Facet, posting: PostingId) -> Option<PostingId> {
        let view = self.facet(facet);
        let first = view.first_company_posting;
        // The postings of companies are in the same order as those of rows.
        first.map(|first| PostingId(first + posting.0 - view.first_posting))
    }

    /// The posting and the number of a term. Inlined, since queries look up little else.
    #[inline(always)]
    pub(crate) fn term(
        &self,
        field: TextField,
        term: &str,
    ) -> Result<Option<(PostingId, TermNumber)>> {
        let text = self.checked(Part::Terms(field))?.text(field);
        Ok(text.keys.find(term).map(|number| {
            let number = number as u32;
            (PostingId(text.first_posting + number), TermNumber(number))
        }))
    }

    /// The postings of the words of titles that begin with a prefix.
    pub(crate) fn title_words_beginning(
        &self,
        prefix: &str,
    ) -> Result<impl ExactSizeIterator<Item = PostingId> + use<'_>> {
        self.ensure(Part::Terms(TextField::Title).bit() | Part::WordOrder.bit())?;
        let views = self.views();
        let first = views.titles.first_posting;
        let terms = views
            .word_order
            .beginning_with(&views.titles.keys.keys, prefix);
        Ok(terms.map(move |term| PostingId(first + term.0)))
    }

    /// The number of words in titles.
    pub(crate) fn title_word_count(&self) -> usize {
        self.views().titles.keys.len()
    }

    /// The posting of a term, if the number exists.
    pub(super) fn posting_of(&self, field: TextField, term: TermNumber) -> Option<PostingId> {
        let text = self.views().text(field);
        let is_known = (term.0 as usize) < text.keys.len();
        is_known.then(|| PostingId(text.first_posting + term.0))
    }

    /// The pairs of neighbouring words in titles whose rows are stored.
    pub(crate) fn title_pairs(&self) -> Result<&Pairs<'_>> {
        Ok(&self.checked(Part::Pairs)?.title_pairs)
    }

    /// The token streams of a text field.
    pub(crate) fn tokens(&self, field: TextField) -> Result<TokenStreams<'_>> {
        Ok(self.checked(Part::Tokens(field))?.text(field).tokens)
    }

    /// Day codes of rows.
    pub(crate) fn day_column(&self) -> Result<&OrderedColumn<'_>> {
        Ok(&self.checked(Part::Dates)?.day_column)
    }

    /// The days of day codes: code `n` means the day at index `n - 1`.
    pub(crate) fn days(&self) -> Result<&[i32]> {
        Ok(self.checked(Part::Dates)?.days)
    }

    /// Rows by day and period. Cost: a pass over the codes of days, once.
    ///
    /// # Errors
    /// The days are damaged.
    pub(crate) fn calendar(&self) -> Result<&Calendar> {
        let (column, days) = (self.day_column()?.column, self.days()?.len());
        Ok(self.calendar.get_or_init(|| Calendar::of(column, days)))
    }

    /// The periods of a unit that days of the segment are in, ascending.
    ///
    /// # Errors
    /// The days are damaged.
    pub(crate) fn periods(&self, unit: TimeUnit) -> Result<&[CodedPeriod]> {
        Ok(self.calendar()?.periods(self.days()?, unit))
    }

    /// The rows of each of these periods by block, if the unit is long enough for that. Cost: a pass over the
    /// permutations of days, once.
    ///
    /// # Errors
    /// The days are damaged.
    pub(crate) fn period_rows(&self, unit: TimeUnit) -> Result<Option<&PeriodRows>> {
        let (column, days) = (self.day_column()?, self.days()?);
        Ok(self.calendar()?.period_rows(column, days, unit))
    }

    /// By company: the greatest day code of its rows, deleted ones included; 0 without one. Cost: a read per row, once.
    ///
    /// # Errors
    /// The days or the rows of companies are damaged.
    pub(crate) fn latest_day_codes(&self) -> Result<&[u32]> {
        let (column, rows) = (self.day_column()?.column, self.rows_by_company()?);
        let calendar = self.calendar()?;
        let of_companies = self.companies().map(|company| rows.get(company));
        Ok(calendar.latest_codes(column, of_companies))
    }

    /// Amount codes of rows.
    pub(crate) fn amount_column(&self) -> Result<&OrderedColumn<'_>> {
        Ok(&self.checked(Part::Amounts)?.amount_column)
    }

    /// The amounts of amount codes: code `n` means the amount at index `n - 1`.
    pub(crate) fn amounts(&self) -> Result<&[f64]> {
        Ok(self.checked(Part::Amounts)?.amounts)
    }

    /// The rows of each amount code.
    pub(crate) fn rows_by_amount(&self) -> Result<RowsByCode<'_>> {
        Ok(self.checked(Part::Amounts)?.rows_by_amount)
    }

    /// The company of a row.
    pub(crate) fn company_of(&self, row: Row) -> Result<CompanyNumber> {
        Ok(CompanyNumber::of_code(self.company_column()?.get(row)))
    }

    /// The companies of rows: see [`CompanyNumber::of_code`].
    pub(crate) fn company_column(&self) -> Result<Column<'_>> {
        Ok(self.checked(Part::CompanyColumn)?.company_column)
    }

    /// The rows of a company, ascending.
    pub(crate) fn company_rows(&self, company: CompanyNumber) -> Result<&[Row]> {
        Ok(self.rows_by_company()?.get(company))
    }

    /// The rows of companies, for many of them.
    pub(crate) fn rows_by_company(&self) -> Result<&RowsByCompany<'_>> {
        Ok(&self.checked(Part::CompanyRows)?.rows_by_company)
    }

    /// The keys of companies.
    pub(crate) fn company_keys(&self) -> Result<&CompanyKeys<'_>> {
        Ok(&self.checked(Part::CompanyKeys)?.company_keys)
    }

    /// City, founding year and number of employees of companies.
    ///
    /// # Errors
    /// Their columns are damaged.
    pub(crate) fn company_attributes(&self) -> Result<&CompanyAttributes<'_>> {
        Ok(&self.checked(Part::CompanyAttributes)?.company_attributes)
    }

    /// Reads a row's signal and the name of its company.
    ///
    /// # Errors
    /// The record is corrupt.
    pub(crate) fn item(&self, row: Row) -> Result<Item<'_>> {
        Ok(Item {
            signal: self.signal(row)?,
            company_name: self.company_name(self.company_of(row)?)?.into(),
        })
    }

    /// The name of a company for display.
    pub(crate) fn company_name(&self, company: CompanyNumber) -> Result<&str> {
        let names = &self.checked(Part::CompanyNames)?.company_names;
        Ok(names.get(company.index()))
    }

    /// Reads the record of a row.
    ///
    /// # Errors
    /// The record is corrupt.
    pub(crate) fn signal(&self, row: Row) -> Result<Signal<'_>> {
        let index = self.checked_records()?.signal_records.get(row.index());
        let (id, slug) = self.names_of(row)?;
        let signal = self.records()?.signal(row.index(), index, id, slug);
        signal.map_err(|error| self.damaged(error))
    }

    /// Reads the record of a company.
    ///
    /// # Errors
    /// The record is corrupt.
    pub(crate) fn company(&self, company: CompanyNumber) -> Result<Company<'_>> {
        let (record, index) = self.company_record(company)?;
        let company = self.records()?.company(record, index);
        company.map_err(|error| self.damaged(error))
    }

    /// As [`signal`](Self::signal), but decompresses texts into a buffer, which is cleared first.
    ///
    /// # Errors
    /// The record is corrupt.
    pub(crate) fn signal_in<'b>(&'b self, row: Row, buffer: &'b mut Vec<u8>) -> Result<Signal<'b>> {
        let index = self.checked_records()?.signal_records.get(row.index());
        let of = self.names_of(row)?;
        let signal = self.records()?.signal_in(row.index(), index, of, buffer);
        signal.map_err(|error| self.damaged(error))
    }

    /// As [`signal_in`](Self::signal_in), with what answers copy of the record.
    ///
    /// # Errors
    /// The record is corrupt.
    #[cfg(feature = "json")]
    pub(crate) fn sent_item_in<'b>(
        &'b self,
        row: Row,
        buffer: &'b mut Vec<u8>,
    ) -> Result<SentItem<'b>> {
        let index = self.checked_records()?.signal_records.get(row.index());
        let company = self.company_of(row)?;
        // Bytes, which are UTF-8 as the parts they are in have been checked.
        let names = &self.checked(Part::CompanyNames)?.company_names;
        let texts = [
            self.company_keys()?.slug_bytes(company),
            names.bytes_of(company.index()),
        ];
        let of = (self.id(row)?, texts);
        let item = self.records()?.sent_item_in(row.index(), index, of, buffer);
        item.map_err(|error| self.damaged(error))
    }

    /// Reads a byte of each cache line in which a record and the names of its company begin. For the rows of a page the
    /// processor then fetches them side by side, where reading the records waits for one after the other.
    pub(crate) fn touch_record(&self, offset: u64, company: CompanyNumber) -> Result<u8> {
        const LINE: usize = 64;
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let records = self.checked_records()?.records;
        let record = records.get(start..).unwrap_or_default();
        let byte = |bytes: &[u8], at: usize| bytes.get(at).copied().unwrap_or_default();
        let names = &self.checked(Part::CompanyNames)?.company_names;
        Ok(byte(record, 0)
            ^ byte(record, LINE)
            ^ byte(record, 2 * LINE)
            ^ byte(self.company_keys()?.slug_bytes(company), 0)
            ^ byte(names.bytes_of(company.index()), 0))
    }

    /// The stored record of a row.
    pub(super) fn stored_signal(&self, row: Row) -> Result<Stored<'_>> {
        let index = self.checked_records()?.signal_records.get(row.index());
        let stored = self.records()?.stored(row.index(), index);
        stored.map_err(|error| self.damaged(error))
    }

    /// The stored record of a company.
    pub(super) fn stored_company(&self, company: CompanyNumber) -> Result<Stored<'_>> {
        let (record, index) = self.company_record(company)?;
        let stored = self.records()?.stored(record, index);
        stored.map_err(|error| self.damaged(error))
    }

    /// The symbols of compressed texts; empty if records are not compressed.
    pub(super) fn symbols(&self) -> Result<SymbolTable<'_>> {
        Ok(self.checked_records()?.symbols)
    }

    /// The last commit that changed a row or deleted a signal; 0 if there is none.
    pub(crate) fn last_commit(&self) -> Result<u64> {
        if let Some(&known) = self.last_commit.get() {
            return Ok(known);
        }
        let last = self.checked(Part::Commits)?.commits.last_commit();
        // Another thread may have found the same meanwhile.
        Ok(*self.last_commit.get_or_init(|| last))
    }

    /// Whether there may be changes after an offset, according to the last commit.
    pub(crate) fn has_changed_since(&self, offset: ChangeOffset) -> Result<bool> {
        Ok(offset < ChangeOffset::after_commit(self.last_commit()?))
    }

    /// The number of records. Those of signals come first, by row, then those of companies.
    pub(super) fn record_count(&self) -> usize {
        self.row_count() as usize + self.company_count() as usize
    }

    /// The offset of a record.
    pub(crate) fn record_start(&self, record: usize) -> Result<u64> {
        let views = self.checked_records()?;
        Ok(match record.checked_sub(self.row_count() as usize) {
            None => views.signal_records.get(record),
            Some(company) => views.company_records.get(company),
        })
    }

    /// The number of a company's record, and its offset.
    fn company_record(&self, company: CompanyNumber) -> Result<(usize, u64)> {
        let record = self.row_count() as usize + company.index();
        Ok((record, self.record_start(record)?))
    }

    /// The name and size in bytes of each section, for reports.
    pub(crate) fn section_sizes(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        self.views().section_sizes()
    }

    /// The digest of the section table, which identifies the content.
    pub(crate) fn table_digest(&self) -> Digest {
        self.views().table_digest
    }

    /// The length of the file in bytes.
    pub(crate) fn file_size(&self) -> u64 {
        self.bytes.borrow_owner().len() as u64
    }

    /// The id of a row's signal, and the slug of its company.
    fn names_of(&self, row: Row) -> Result<(SignalId, &str)> {
        let company = self.company_of(row)?;
        Ok((self.id(row)?, self.company_keys()?.slug(company)))
    }

    /// The views, whose offsets and symbols of records have been checked.
    #[inline(always)]
    pub(super) fn checked_records(&self) -> Result<&Views<'_>> {
        self.checked(Part::RecordStarts)
    }

    pub(super) fn records(&self) -> Result<Records<'_>> {
        let views = self.checked_records()?;
        Ok(Records {
            bytes: views.records,
            symbols: views.symbols,
            checked: &self.records,
        })
    }

    /// The terms of a text field and its token streams.
    pub(super) fn text(&self, field: TextField) -> Result<&TextView<'_>> {
        self.ensure(Part::Terms(field).bit() | Part::Tokens(field).bit())?;
        Ok(self.views().text(field))
    }

    #[inline(always)]
    pub(super) fn views(&self) -> &Views<'_> {
        self.bytes.borrow_dependent()
    }
}
