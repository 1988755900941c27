//! What is stored: an immutable segment of signals and companies.
//!
//! A segment is one file that is viewed in place: postings by value, columns by row, dictionaries
//! by key, records by row. Opening checks the frame, the checksum of every section and that every
//! number points inside; nothing is rebuilt. How segments come together over time is the business
//! of [`index`](crate::index); what a query means, of [`query`](crate::query).

mod assemble;
pub(crate) mod bits;
mod buckets;
mod builder;
mod bytes;
mod column;
mod companies;
mod dictionary;
mod field;
mod format;
mod frames;
mod halves;
mod interner;
mod item;
mod layout;
mod order;
mod ordered;
mod pairs;
mod posting;
mod record;
mod row;
mod tokens;
mod validate;
mod verify;

pub use builder::Added;
pub(crate) use builder::SegmentBuilder;
pub(crate) use bytes::Bytes;
pub(crate) use column::{Column, NO_CODE};
pub(crate) use dictionary::Strings;
pub(crate) use field::Field;
pub(crate) use frames::Frames;
pub(crate) use halves::FacetColumn;
#[cfg(feature = "http")]
pub(crate) use item::Shown;
pub(crate) use ordered::{OrderedColumn, Verdict};
pub(crate) use pairs::is_frequent;
pub(crate) use posting::{
    ARRAY_ROWS_MAX, BlockRows, Posting, PostingId, PostingSections, Postings,
};
pub(crate) use record::{check_company, check_signal};
pub(crate) use row::{BLOCK_ROWS, BLOCK_WORDS, BlockBits, Row, block_count};
pub(crate) use tokens::{EncodedPhrase, TermNumber, TokenStreams};

use self::companies::{CompanyKeys, RowsByCompany};
use self::layout::Layout;
use self::order::BlockOrders;
use self::pairs::Pairs;
use self::record::{Records, Verified};
use crate::query::Facet;
use crate::signal::{Company, Item, Signal, SignalId};
use crate::{Error, Result};

/// An open segment.
#[derive(Debug)]
pub(crate) struct Segment {
    bytes: Bytes,
    layout: Layout,
    verified: Verified,
}

/// A text field: titles, by row, or names, by company.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextField {
    /// Titles; token streams go by row.
    Title,
    /// Company names; token streams go by company, postings by row.
    Name,
}

/// A view of a facet's values: value `n` has posting `first_posting + n` and code `n + 1`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FacetView<'a> {
    /// What values are compared by; sorted.
    pub(crate) keys: Strings<'a>,
    /// What is shown.
    pub(crate) labels: Strings<'a>,
    /// The value of each row.
    pub(crate) column: FacetColumn<'a>,
    first_posting: u32,
}

impl Segment {
    /// Opens a segment in memory.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Segment> {
        Segment::new(Bytes::copy(bytes))
    }

    /// Opens a segment.
    ///
    /// # Errors
    /// Foreign, newer or corrupt.
    ///
    /// Cost: one pass over everything but the records.
    pub(crate) fn new(bytes: Bytes) -> Result<Segment> {
        let layout = Layout::read(&bytes)?;
        let mut segment = Segment {
            bytes,
            layout,
            verified: Verified::none(0),
        };
        segment.validate()?;
        // Only now are the counts known to be those of real sections.
        let records = segment.layout.rows as usize + segment.layout.companies as usize;
        segment.verified = Verified::none(records);
        Ok(segment)
    }

    /// The number of rows.
    pub(crate) fn row_count(&self) -> u32 {
        self.layout.rows
    }

    /// The number of companies.
    pub(crate) fn company_count(&self) -> u32 {
        self.layout.companies
    }

    /// The ids by row, ascending.
    pub(crate) fn ids(&self) -> Frames<'_> {
        self.layout.ids.view(&self.bytes, self.layout.rows)
    }

    /// The id of a row.
    pub(crate) fn id(&self, row: Row) -> SignalId {
        SignalId::of_checked(self.ids().get(row.index()))
    }

    /// The row of an id.
    pub(crate) fn row(&self, id: SignalId) -> Option<Row> {
        let row = Row(self.ids().count_below(id.get()) as u32);
        self.is_of(row, id).then_some(row)
    }

    /// Whether there is a row of that number, and it is that of an id.
    pub(crate) fn is_of(&self, row: Row, id: SignalId) -> bool {
        row.0 < self.row_count() && self.id(row) == id
    }

    /// All postings.
    pub(crate) fn postings(&self) -> Postings<'_> {
        let (layout, bytes) = (&self.layout, &*self.bytes);
        Postings {
            entries: layout.posting_entries.view(bytes),
            rows: layout.posting_rows.view(bytes),
            containers: layout.containers.view(bytes),
            arrays: layout.arrays.view(bytes),
            bitsets: layout.bitsets.view(bytes),
        }
    }

    /// The number of rows of a posting, as stored. Cost: less than that of a view of all.
    pub(crate) fn cardinality(&self, id: PostingId) -> u32 {
        self.layout.posting_entries.view(&self.bytes)[id.0 as usize].cardinality()
    }

    /// The values of a facet.
    pub(crate) fn facet(&self, facet: Facet) -> FacetView<'_> {
        let layout = &self.layout.facets[facet as usize];
        let keys = layout.keys.keys.view(&self.bytes);
        let codes = layout.codes.view(&self.bytes);
        // The length was checked when the segment was opened.
        let column = FacetColumn::new(codes, self.layout.rows, keys.len());
        FacetView {
            keys,
            labels: layout.labels.view(&self.bytes),
            column: column.unwrap_or(FacetColumn::empty()),
            first_posting: layout.first_posting,
        }
    }

    /// The postings of a facet's values with a key.
    pub(crate) fn facet_postings(
        &self,
        facet: Facet,
        key: &str,
    ) -> impl Iterator<Item = PostingId> + use<> {
        let layout = &self.layout.facets[facet as usize];
        let (keys, first) = (layout.keys.view(&self.bytes), layout.first_posting);
        let values = keys.find(key).map_or(0..0, |value| keys.run(value));
        values.map(move |value| PostingId(first + value as u32))
    }

    /// The posting of companies with a value of a facet, by that of its rows; `None` where the value is
    /// the signal's.
    pub(crate) fn company_posting(&self, facet: Facet, posting: PostingId) -> Option<PostingId> {
        let layout = &self.layout.facets[facet as usize];
        let first = layout.first_company_posting;
        first.map(|first| PostingId(first + posting.0 - layout.first_posting))
    }

    /// The posting and the number of a term.
    pub(crate) fn term(&self, field: TextField, term: &str) -> Option<(PostingId, TermNumber)> {
        let layout = self.text_layout(field);
        let place = layout.keys.view(&self.bytes).find(term)?;
        let number = layout.order.view(&self.bytes)[place];
        Some((PostingId(layout.first_posting + number), TermNumber(number)))
    }

    /// The posting of two words next to each other in titles, where it is kept and not empty.
    pub(crate) fn title_pair(&self, first: TermNumber, second: TermNumber) -> Option<PostingId> {
        self.title_pairs().find(first, second)
    }

    fn title_pairs(&self) -> Pairs<'_> {
        Pairs {
            keys: self.layout.title_pairs.view(&self.bytes),
            first_posting: self.layout.first_pair_posting,
        }
    }

    /// The token streams of a text field.
    pub(crate) fn tokens(&self, field: TextField) -> TokenStreams<'_> {
        let texts = match field {
            TextField::Title => self.layout.rows,
            TextField::Name => self.layout.companies,
        };
        self.text_layout(field).tokens.view(&self.bytes, texts)
    }

    /// Day codes of rows.
    pub(crate) fn day_column(&self) -> OrderedColumn<'_> {
        let layout = &self.layout.days;
        OrderedColumn {
            column: self.column(&layout.codes),
            blocks: layout.blocks.view(&self.bytes),
            stretches: Some(self.layout.day_stretches.view(&self.bytes)),
            orders: Some(BlockOrders {
                offsets: self.layout.day_order.view(&self.bytes),
                table_ends: self.layout.day_table_ends.view(&self.bytes),
                starts: self.layout.day_starts.view(&self.bytes),
            }),
        }
    }

    /// The days that day codes stand for: code `n` for the day at `n - 1`.
    pub(crate) fn days(&self) -> &[i32] {
        self.layout.day_values.view(&self.bytes)
    }

    /// Amount codes of rows.
    pub(crate) fn amount_column(&self) -> OrderedColumn<'_> {
        let layout = &self.layout.amounts;
        OrderedColumn {
            column: self.column(&layout.codes),
            blocks: layout.blocks.view(&self.bytes),
            stretches: None,
            orders: None,
        }
    }

    /// The amounts that amount codes stand for: code `n` for the amount at `n - 1`.
    pub(crate) fn amounts(&self) -> &[f64] {
        self.layout.amount_values.view(&self.bytes)
    }

    /// The company of a row, by number.
    pub(crate) fn company_of(&self, row: Row) -> u32 {
        self.company_column().get(row) - 1
    }

    /// Company numbers of rows, plus one.
    pub(crate) fn company_column(&self) -> Column<'_> {
        self.column(&self.layout.company_codes)
    }

    /// The rows of a company, ascending.
    pub(crate) fn company_rows(&self, company: u32) -> &[u32] {
        self.rows_by_company().get(company)
    }

    /// The rows of companies, for many of them.
    pub(crate) fn rows_by_company(&self) -> RowsByCompany<'_> {
        RowsByCompany {
            starts: self.layout.company_starts.view(&self.bytes),
            rows: self.layout.company_rows.view(&self.bytes),
        }
    }

    /// What companies are found by.
    pub(crate) fn company_keys(&self) -> CompanyKeys<'_> {
        CompanyKeys(self.layout.company_keys.view(&self.bytes))
    }

    /// A row as an answer shows it.
    ///
    /// # Errors
    /// The record is corrupt.
    #[cfg(feature = "http")]
    pub(crate) fn shown(&self, row: Row) -> Result<Shown<'_>> {
        let place = self.signal_records().get(row.index());
        let Some([before_name, behind_name]) = self.records().item(row.index(), place)? else {
            return Ok(Shown::Item(Box::new(self.item(row)?)));
        };
        Ok(Shown::Stored {
            before_name,
            company_name: self.company_names().bytes(self.company_of(row) as usize),
            behind_name,
        })
    }

    /// A row's signal and the name of its company.
    ///
    /// # Errors
    /// The record is corrupt.
    pub(crate) fn item(&self, row: Row) -> Result<Item<'_>> {
        Ok(Item {
            signal: self.signal(row)?,
            company_name: self.company_name(self.company_of(row)),
        })
    }

    /// The name of a company, as its record has it.
    pub(crate) fn company_name(&self, company: u32) -> &str {
        self.company_names().get(company as usize)
    }

    fn company_names(&self) -> Strings<'_> {
        self.layout.company_names.view(&self.bytes)
    }

    /// The record of a row.
    ///
    /// # Errors
    /// The record is corrupt.
    pub(crate) fn signal(&self, row: Row) -> Result<Signal<'_>> {
        let place = self.signal_records().get(row.index());
        let slug = self.company_keys().slug(self.company_of(row));
        self.records()
            .signal(row.index(), place, self.id(row), slug)
    }

    /// The record of a company.
    ///
    /// # Errors
    /// The record is corrupt.
    pub(crate) fn company(&self, company: u32) -> Result<Company<'_>> {
        let place = self.layout.company_records.view(&self.bytes)[company as usize];
        let record = self.layout.rows as usize + company as usize;
        self.records().company(record, place)
    }

    /// The name and length in bytes of each section, for reports.
    pub(crate) fn section_sizes(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        self.layout.sizes.iter().cloned()
    }

    /// The length of the file in bytes.
    pub(crate) fn file_size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Where each row's record starts.
    fn signal_records(&self) -> Frames<'_> {
        self.layout
            .signal_records
            .view(&self.bytes, self.layout.rows)
    }

    fn records(&self) -> Records<'_> {
        Records {
            bytes: self.layout.records.view(&self.bytes),
            verified: &self.verified,
        }
    }

    fn column(&self, codes: &layout::Section<u8>) -> Column<'_> {
        // The length was checked when the segment was opened.
        Column::new(codes.view(&self.bytes), self.layout.rows).unwrap_or(Column::One(&[]))
    }

    fn text_layout(&self, field: TextField) -> &layout::TextLayout {
        match field {
            TextField::Title => &self.layout.titles,
            TextField::Name => &self.layout.names,
        }
    }
}

impl FacetView<'_> {
    /// The number of values.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The posting of a value.
    pub(crate) fn posting(&self, value: usize) -> PostingId {
        PostingId(self.first_posting + value as u32)
    }
}

impl From<TextField> for Field {
    fn from(field: TextField) -> Field {
        match field {
            TextField::Title => Field::Title,
            TextField::Name => Field::Name,
        }
    }
}

/// A corrupt-segment error for a rule that does not hold.
fn ensure(holds: bool, rule: &str) -> Result<()> {
    match holds {
        true => Ok(()),
        false => Err(Error::corrupt(rule)),
    }
}
