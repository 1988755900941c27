//! The sections of a segment, each viewed as what it holds.
//!
//! All views are made when a segment is opened. A query needs a few of them, and to make those anew,
//! with the checks that a cast takes, was a tenth of a short page (`benches/instructions`, rare term).

use std::collections::HashMap;

use bytemuck::Pod;
use self_cell::self_cell;

use super::TextField;
use super::companies::{CompanyKeys, RowsByCompany};
use super::field::{
    Field, NAME_POSTINGS, PAIR_POSTINGS, POSTING_FIELDS, TITLE_POSTINGS, company_field,
};
use super::format::{self, FieldNumber, SectionKind, Table};
use crate::digest::Digest;
use crate::encoding::block_permutation::BlockPermutations;
use crate::encoding::bytes::Bytes;
use crate::encoding::column::Column;
use crate::encoding::dictionary::{Dictionary, Strings};
use crate::encoding::frame_of_reference::FrameOfReference;
use crate::encoding::hash_index::HashIndex;
use crate::encoding::nibbles::FacetColumn;
use crate::encoding::pairs::Pairs;
use crate::encoding::posting::{PostingId, Postings};
use crate::encoding::row::SEGMENT_ROWS_MAX;
use crate::encoding::tokens::TokenStreams;
use crate::encoding::zone_map::OrderedColumn;
use crate::query::Facet;
use crate::{Error, Result};

self_cell! {
    /// The bytes of a segment together with the views of them.
    pub(super) struct ViewedBytes {
        owner: Bytes,
        #[covariant]
        dependent: Views,
    }

    impl {Debug}
}

/// A view of a facet's values: value `n` has posting `first_posting + n` and code `n + 1`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FacetView<'a> {
    /// What values are compared by; sorted.
    pub(crate) keys: Dictionary<'a>,
    /// What is shown.
    pub(crate) labels: Strings<'a>,
    /// The value of each row.
    pub(crate) column: FacetColumn<'a>,
    pub(super) first_posting: u32,
    /// The first posting of companies, where the value is the company's.
    pub(super) first_company_posting: Option<u32>,
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

/// A view of a text field: the term at index `n` of the keys has number `order[n]`, and the term of a
/// number has posting `first_posting` and that number.
#[derive(Debug)]
pub(super) struct TextView<'a> {
    pub(super) keys: Dictionary<'a>,
    pub(super) order: &'a [u32],
    pub(super) tokens: TokenStreams<'a>,
    pub(super) first_posting: u32,
}

/// Views of all sections, each of which matches its checksum.
#[derive(Debug)]
pub(super) struct Views<'a> {
    pub(super) rows: u32,
    pub(super) companies: u32,
    pub(super) field_postings: Vec<u32>,
    pub(super) ids: FrameOfReference<'a>,
    pub(super) postings: Postings<'a>,
    pub(super) facets: [FacetView<'a>; Facet::ALL.len()],
    pub(super) titles: TextView<'a>,
    pub(super) title_pairs: Pairs<'a>,
    pub(super) names: TextView<'a>,
    pub(super) day_column: OrderedColumn<'a>,
    pub(super) days: &'a [i32],
    pub(super) amount_column: OrderedColumn<'a>,
    pub(super) amounts: &'a [f64],
    pub(super) company_keys: CompanyKeys<'a>,
    pub(super) company_names: Strings<'a>,
    pub(super) rows_by_company: RowsByCompany<'a>,
    pub(super) company_column: Column<'a>,
    pub(super) company_records: &'a [u64],
    pub(super) signal_records: FrameOfReference<'a>,
    pub(super) records: &'a [u8],
    /// Name and length of each section.
    pub(super) sizes: Vec<(String, u64)>,
    /// Of the section table.
    pub(super) table_digest: Digest,
}

impl<'a> Views<'a> {
    /// Reads the table, verifies every section's checksum, and views it. What the sections say has still
    /// to be validated.
    pub(super) fn read(file: &'a [u8]) -> Result<Views<'a>> {
        let (table, table_digest) = format::read_table(file)?;
        check_counts(&table)?;
        let sections = &mut Sections::verify(file, &table)?;
        let facets = Facet::ALL.map(|facet| sections.facet(facet, &table));
        let facets: Vec<FacetView<'a>> = facets.into_iter().collect::<Result<_>>()?;
        let none = Field::None;
        Ok(Views {
            rows: table.rows,
            companies: table.companies,
            ids: sections.frames(Field::Id, table.rows)?,
            postings: sections.postings()?,
            facets: facets
                .try_into()
                .map_err(|_| Error::corrupt("a segment has every facet once"))?,
            titles: sections.text(TextField::Title, &table)?,
            title_pairs: Pairs {
                keys: sections.take(SectionKind::Pairs, Field::TitlePair)?,
                first_posting: table.field_postings[PAIR_POSTINGS],
            },
            names: sections.text(TextField::Name, &table)?,
            day_column: sections.days(table.rows)?,
            days: sections.take(SectionKind::Days, Field::Date)?,
            amount_column: sections.ordered(Field::Amount, table.rows)?,
            amounts: sections.take(SectionKind::Amounts, Field::Amount)?,
            company_keys: CompanyKeys(sections.dictionary(Field::CompanyKey)?),
            company_names: sections.labels(Field::CompanyName)?,
            rows_by_company: RowsByCompany {
                starts: sections.take(SectionKind::CompanyStarts, Field::Company)?,
                rows: sections.take(SectionKind::CompanyRows, Field::Company)?,
            },
            company_column: sections.column(Field::Company, table.rows)?,
            company_records: sections.take(SectionKind::CompanyRecords, none)?,
            signal_records: sections.frames(Field::SignalRecord, table.rows)?,
            records: sections.take(SectionKind::Records, none)?,
            sizes: section_sizes(&table),
            field_postings: table.field_postings,
            table_digest,
        })
    }
}

fn check_counts(table: &Table) -> Result<()> {
    let postings = &table.field_postings;
    let well_formed = table.rows <= SEGMENT_ROWS_MAX
        && postings.len() == POSTING_FIELDS + 1
        && postings.is_sorted()
        && postings[0] == 0;
    if well_formed {
        Ok(())
    } else {
        Err(Error::corrupt(
            "the counts in the section table contradict each other",
        ))
    }
}

fn section_sizes(table: &Table) -> Vec<(String, u64)> {
    let name = |kind: SectionKind, field: FieldNumber| {
        if field == Field::None.number() {
            format!("{kind:?}")
        } else {
            format!("{kind:?}[{field}]")
        }
    };
    table
        .sections
        .iter()
        .map(|entry| (name(entry.kind, entry.field), entry.length))
        .collect()
}

/// The verified sections that have not been viewed yet.
struct Sections<'a>(HashMap<(SectionKind, FieldNumber), &'a [u8]>);

impl<'a> Sections<'a> {
    fn verify(file: &'a [u8], table: &Table) -> Result<Sections<'a>> {
        let mut sections = HashMap::new();
        for entry in &table.sections {
            let section = format::check_section(file, entry)?;
            if sections
                .insert((entry.kind, entry.field), section)
                .is_some()
            {
                return Err(Error::corrupt(format!(
                    "section {:?} occurs twice",
                    entry.kind
                )));
            }
        }
        Ok(Sections(sections))
    }

    fn take<T: Pod>(&mut self, kind: SectionKind, field: Field) -> Result<&'a [T]> {
        let section = self
            .0
            .remove(&(kind, field.number()))
            .ok_or_else(|| Error::corrupt(format!("section {kind:?} of {field:?} is missing")))?;
        // Sections are aligned, so that only the length can be wrong.
        bytemuck::try_cast_slice(section)
            .map_err(|_| Error::corrupt(format!("section {kind:?} of {field:?} has an odd length")))
    }

    fn strings(&mut self, [ends, bytes]: [SectionKind; 2], field: Field) -> Result<Strings<'a>> {
        Ok(Strings::new(
            self.take(ends, field)?,
            self.take(bytes, field)?,
        ))
    }

    fn frames(&mut self, field: Field, numbers: u32) -> Result<FrameOfReference<'a>> {
        Ok(FrameOfReference {
            frames: self.take(SectionKind::FrameOfReference, field)?,
            exceptions: self.take(SectionKind::ExceptionBlocks, field)?,
            len: numbers as usize,
        })
    }

    fn postings(&mut self) -> Result<Postings<'a>> {
        let none = Field::None;
        Ok(Postings {
            entries: self.take(SectionKind::Postings, none)?,
            rows: self.take(SectionKind::PostingRows, none)?,
            containers: self.take(SectionKind::Containers, none)?,
            arrays: self.take(SectionKind::Arrays, none)?,
            bitsets: self.take(SectionKind::Bitsets, none)?,
        })
    }

    fn labels(&mut self, field: Field) -> Result<Strings<'a>> {
        self.strings([SectionKind::LabelEnds, SectionKind::Labels], field)
    }

    fn dictionary(&mut self, field: Field) -> Result<Dictionary<'a>> {
        Ok(Dictionary {
            keys: self.strings([SectionKind::KeyEnds, SectionKind::Keys], field)?,
            buckets: HashIndex {
                starts: self.take(SectionKind::BucketStarts, field)?,
                entries: self.take(SectionKind::BucketEntries, field)?,
            },
        })
    }

    fn facet(&mut self, facet: Facet, table: &Table) -> Result<FacetView<'a>> {
        let field = Field::Facet(facet);
        let keys = self.dictionary(field)?;
        let codes = self.take(SectionKind::Codes, field)?;
        Ok(FacetView {
            labels: self.labels(field)?,
            column: FacetColumn::new(codes, table.rows, keys.len())?,
            keys,
            first_posting: table.field_postings[facet as usize],
            first_company_posting: company_field(facet).map(|index| table.field_postings[index]),
        })
    }

    fn text(&mut self, field: TextField, table: &Table) -> Result<TextView<'a>> {
        let (texts, postings) = match field {
            TextField::Title => (table.rows, TITLE_POSTINGS),
            TextField::Name => (table.companies, NAME_POSTINGS),
        };
        let field = Field::from(field);
        Ok(TextView {
            keys: self.dictionary(field)?,
            order: self.take(SectionKind::KeyOrder, field)?,
            tokens: TokenStreams {
                ends: self.frames(field, texts)?,
                bytes: self.take(SectionKind::Tokens, field)?,
            },
            first_posting: table.field_postings[postings],
        })
    }

    fn column(&mut self, field: Field, rows: u32) -> Result<Column<'a>> {
        Column::new(self.take(SectionKind::Codes, field)?, rows)
    }

    fn ordered(&mut self, field: Field, rows: u32) -> Result<OrderedColumn<'a>> {
        Ok(OrderedColumn {
            column: self.column(field, rows)?,
            blocks: self.take(SectionKind::BlockZones, field)?,
            fine_zones: None,
            orders: None,
        })
    }

    fn days(&mut self, rows: u32) -> Result<OrderedColumn<'a>> {
        let field = Field::Date;
        Ok(OrderedColumn {
            fine_zones: Some(self.take(SectionKind::FineZones, field)?),
            orders: Some(BlockPermutations {
                offsets: self.take(SectionKind::BlockOrder, field)?,
                table_ends: self.take(SectionKind::OrderTableEnds, field)?,
                starts: self.take(SectionKind::OrderStarts, field)?,
            }),
            ..self.ordered(field, rows)?
        })
    }
}
