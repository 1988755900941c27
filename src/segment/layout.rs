//! Where everything stands in a segment's bytes.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::ops::Range;

use bytemuck::Pod;

use super::buckets::Buckets;
use super::dictionary::{Dictionary, Strings};
use super::field::{
    Field, NAME_POSTINGS, PAIR_POSTINGS, POSTING_FIELDS, TITLE_POSTINGS, company_field,
};
use super::format::{self, FieldNumber, SectionKind, Table};
use super::frames::{Frame, Frames, Plane};
use super::ordered::BlockRange;
use super::posting::{Container, PostingEntry};
use super::row::{BlockBits, SEGMENT_ROWS_MAX};
use super::tokens::TokenStreams;
use crate::query::Facet;
use crate::{Error, Result};

/// A section of values of one type.
#[derive(Debug)]
pub(super) struct Section<T> {
    range: Range<usize>,
    values: PhantomData<T>,
}

impl<T: Pod> Section<T> {
    /// The values. The range was checked against the bytes, the alignment of sections and the
    /// size of `T` when the layout was read.
    pub(super) fn view<'a>(&self, bytes: &'a [u8]) -> &'a [T] {
        bytemuck::cast_slice(&bytes[self.range.clone()])
    }
}

/// Numbers in frames: a section of frames and one of planes.
#[derive(Debug)]
pub(super) struct FramesLayout {
    frames: Section<Frame>,
    planes: Section<Plane>,
}

impl FramesLayout {
    pub(super) fn view<'a>(&self, bytes: &'a [u8], len: u32) -> Frames<'a> {
        let (frames, planes) = (self.frames.view(bytes), self.planes.view(bytes));
        Frames::new(frames, planes, len as usize)
    }
}

/// Token streams: numbers in frames for their ends, and a section of bytes.
#[derive(Debug)]
pub(super) struct TokensLayout {
    ends: FramesLayout,
    bytes: Section<u8>,
}

impl TokensLayout {
    pub(super) fn view<'a>(&self, bytes: &'a [u8], texts: u32) -> TokenStreams<'a> {
        TokenStreams {
            ends: self.ends.view(bytes, texts),
            bytes: self.bytes.view(bytes),
        }
    }
}

/// Strings: a section of ends and one of bytes.
#[derive(Debug)]
pub(super) struct StringsLayout {
    ends: Section<u32>,
    bytes: Section<u8>,
}

impl StringsLayout {
    pub(super) fn view<'a>(&self, bytes: &'a [u8]) -> Strings<'a> {
        Strings::new(self.ends.view(bytes), self.bytes.view(bytes))
    }
}

/// A dictionary: its keys and their buckets.
#[derive(Debug)]
pub(super) struct DictionaryLayout {
    pub(super) keys: StringsLayout,
    bucket_starts: Section<u32>,
    bucket_entries: Section<u32>,
}

impl DictionaryLayout {
    pub(super) fn view<'a>(&self, bytes: &'a [u8]) -> Dictionary<'a> {
        Dictionary {
            keys: self.keys.view(bytes),
            buckets: Buckets {
                starts: self.bucket_starts.view(bytes),
                entries: self.bucket_entries.view(bytes),
            },
        }
    }
}

#[derive(Debug)]
pub(super) struct FacetLayout {
    pub(super) keys: DictionaryLayout,
    pub(super) labels: StringsLayout,
    pub(super) codes: Section<u8>,
    pub(super) first_posting: u32,
    /// The first posting of companies, where the value is the company's.
    pub(super) first_company_posting: Option<u32>,
}

#[derive(Debug)]
pub(super) struct TextLayout {
    pub(super) keys: DictionaryLayout,
    pub(super) order: Section<u32>,
    pub(super) tokens: TokensLayout,
    pub(super) first_posting: u32,
}

#[derive(Debug)]
pub(super) struct OrderedLayout {
    pub(super) codes: Section<u8>,
    pub(super) blocks: Section<BlockRange>,
}

/// The places of all sections, each verified against its checksum.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) rows: u32,
    pub(super) companies: u32,
    pub(super) field_postings: Vec<u32>,
    pub(super) ids: FramesLayout,
    pub(super) posting_entries: Section<PostingEntry>,
    pub(super) posting_rows: Section<u32>,
    pub(super) containers: Section<Container>,
    pub(super) arrays: Section<u16>,
    pub(super) bitsets: Section<BlockBits>,
    pub(super) facets: [FacetLayout; Facet::ALL.len()],
    pub(super) titles: TextLayout,
    pub(super) title_pairs: Section<u64>,
    pub(super) first_pair_posting: u32,
    pub(super) names: TextLayout,
    pub(super) days: OrderedLayout,
    pub(super) day_stretches: Section<BlockRange>,
    pub(super) day_order: Section<u16>,
    pub(super) day_table_ends: Section<u32>,
    pub(super) day_starts: Section<u16>,
    pub(super) day_values: Section<i32>,
    pub(super) amounts: OrderedLayout,
    pub(super) amount_values: Section<f64>,
    pub(super) company_keys: DictionaryLayout,
    pub(super) company_names: StringsLayout,
    pub(super) company_starts: Section<u32>,
    pub(super) company_rows: Section<u32>,
    pub(super) company_codes: Section<u8>,
    pub(super) company_records: Section<u64>,
    pub(super) signal_records: FramesLayout,
    pub(super) records: Section<u8>,
    /// Name and length of each section.
    pub(super) sizes: Vec<(String, u64)>,
}

impl Layout {
    /// Reads the table and verifies every section's checksum.
    pub(super) fn read(file: &[u8]) -> Result<Layout> {
        let table = format::read_table(file)?;
        check_counts(&table)?;
        let mut sections = Sections::verify(file, &table)?;
        let facet = |facet: Facet, sections: &mut Sections| {
            let field = Field::Facet(facet);
            Ok(FacetLayout {
                keys: sections.dictionary(field)?,
                labels: sections.labels(field)?,
                codes: sections.take(SectionKind::Codes, field)?,
                first_posting: table.field_postings[facet as usize],
                first_company_posting: company_field(facet)
                    .map(|place| table.field_postings[place]),
            })
        };
        let facets: Vec<FacetLayout> = Facet::ALL
            .iter()
            .map(|&f| facet(f, &mut sections))
            .collect::<Result<_>>()?;
        let none = Field::None;
        Ok(Layout {
            rows: table.rows,
            companies: table.companies,
            ids: sections.frames(SectionKind::Ids, SectionKind::IdPlanes, none)?,
            posting_entries: sections.take(SectionKind::Postings, none)?,
            posting_rows: sections.take(SectionKind::PostingRows, none)?,
            containers: sections.take(SectionKind::Containers, none)?,
            arrays: sections.take(SectionKind::Arrays, none)?,
            bitsets: sections.take(SectionKind::Bitsets, none)?,
            facets: facets
                .try_into()
                .map_err(|_| Error::corrupt("a segment has every facet once"))?,
            titles: sections.text(Field::Title, table.field_postings[TITLE_POSTINGS])?,
            title_pairs: sections.take(SectionKind::Pairs, Field::TitlePair)?,
            first_pair_posting: table.field_postings[PAIR_POSTINGS],
            names: sections.text(Field::Name, table.field_postings[NAME_POSTINGS])?,
            days: sections.ordered(Field::Date)?,
            day_stretches: sections.take(SectionKind::StretchRanges, Field::Date)?,
            day_order: sections.take(SectionKind::BlockOrder, Field::Date)?,
            day_table_ends: sections.take(SectionKind::OrderTableEnds, Field::Date)?,
            day_starts: sections.take(SectionKind::OrderStarts, Field::Date)?,
            day_values: sections.take(SectionKind::Days, Field::Date)?,
            amounts: sections.ordered(Field::Amount)?,
            amount_values: sections.take(SectionKind::Amounts, Field::Amount)?,
            company_keys: sections.dictionary(Field::CompanyKey)?,
            company_names: sections.labels(Field::CompanyName)?,
            company_starts: sections.take(SectionKind::CompanyStarts, Field::Company)?,
            company_rows: sections.take(SectionKind::CompanyRows, Field::Company)?,
            company_codes: sections.take(SectionKind::Codes, Field::Company)?,
            company_records: sections.take(SectionKind::CompanyRecords, none)?,
            signal_records: sections.frames(
                SectionKind::SignalRecords,
                SectionKind::SignalRecordPlanes,
                none,
            )?,
            records: sections.take(SectionKind::Records, none)?,
            sizes: section_sizes(&table),
            field_postings: table.field_postings,
        })
    }
}

fn check_counts(table: &Table) -> Result<()> {
    let postings = &table.field_postings;
    let well_formed = table.rows <= SEGMENT_ROWS_MAX
        && postings.len() == POSTING_FIELDS + 1
        && postings.is_sorted()
        && postings[0] == 0;
    match well_formed {
        true => Ok(()),
        false => Err(Error::corrupt(
            "the counts in the section table contradict each other",
        )),
    }
}

fn section_sizes(table: &Table) -> Vec<(String, u64)> {
    let name = |kind: SectionKind, field: FieldNumber| match field == Field::None.number() {
        true => format!("{kind:?}"),
        false => format!("{kind:?}[{field}]"),
    };
    table
        .sections
        .iter()
        .map(|entry| (name(entry.kind, entry.field), entry.length))
        .collect()
}

/// The verified sections that have not been given a place yet.
struct Sections(HashMap<(SectionKind, FieldNumber), Range<usize>>);

impl Sections {
    fn verify(file: &[u8], table: &Table) -> Result<Sections> {
        let mut sections = HashMap::new();
        for entry in &table.sections {
            let range = format::check_section(file, entry)?;
            if sections.insert((entry.kind, entry.field), range).is_some() {
                return Err(Error::corrupt(format!(
                    "section {:?} occurs twice",
                    entry.kind
                )));
            }
        }
        Ok(Sections(sections))
    }

    fn take<T: Pod>(&mut self, kind: SectionKind, field: Field) -> Result<Section<T>> {
        let range = self
            .0
            .remove(&(kind, field.number()))
            .ok_or_else(|| Error::corrupt(format!("section {kind:?} of {field:?} is missing")))?;
        if range.len() % size_of::<T>() != 0 {
            return Err(Error::corrupt(format!(
                "section {kind:?} of {field:?} has an odd length"
            )));
        }
        Ok(Section {
            range,
            values: PhantomData,
        })
    }

    fn strings(
        &mut self,
        ends: SectionKind,
        bytes: SectionKind,
        field: Field,
    ) -> Result<StringsLayout> {
        Ok(StringsLayout {
            ends: self.take(ends, field)?,
            bytes: self.take(bytes, field)?,
        })
    }

    fn frames(
        &mut self,
        frames: SectionKind,
        planes: SectionKind,
        field: Field,
    ) -> Result<FramesLayout> {
        Ok(FramesLayout {
            frames: self.take(frames, field)?,
            planes: self.take(planes, field)?,
        })
    }

    fn keys(&mut self, field: Field) -> Result<StringsLayout> {
        self.strings(SectionKind::KeyEnds, SectionKind::Keys, field)
    }

    fn labels(&mut self, field: Field) -> Result<StringsLayout> {
        self.strings(SectionKind::LabelEnds, SectionKind::Labels, field)
    }

    fn dictionary(&mut self, field: Field) -> Result<DictionaryLayout> {
        Ok(DictionaryLayout {
            keys: self.keys(field)?,
            bucket_starts: self.take(SectionKind::BucketStarts, field)?,
            bucket_entries: self.take(SectionKind::BucketEntries, field)?,
        })
    }

    fn text(&mut self, field: Field, first_posting: u32) -> Result<TextLayout> {
        Ok(TextLayout {
            keys: self.dictionary(field)?,
            order: self.take(SectionKind::KeyOrder, field)?,
            tokens: TokensLayout {
                ends: self.frames(SectionKind::TokenEnds, SectionKind::TokenEndPlanes, field)?,
                bytes: self.take(SectionKind::Tokens, field)?,
            },
            first_posting,
        })
    }

    fn ordered(&mut self, field: Field) -> Result<OrderedLayout> {
        Ok(OrderedLayout {
            codes: self.take(SectionKind::Codes, field)?,
            blocks: self.take(SectionKind::BlockRanges, field)?,
        })
    }
}
