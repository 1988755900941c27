//! Typed views of a segment's sections.
//!
//! Opening a segment creates all views. Creating the ones that a query needs each time, with the checks of a cast,
//! took a tenth of a short page (`benches/instructions`, rare term).

use bytemuck::Pod;
use hashbrown::HashMap;
use self_cell::self_cell;

use super::TextField;
use super::commits::CommitViews;
use super::companies::{CompanyKeys, RowsByCompany};
use super::company_attributes::{CityColumn, CompanyAttributes, NumberColumn};
use super::field::{
    Field, NAME_POSTINGS, PAIR_POSTINGS, POSTING_FIELDS, TITLE_POSTINGS, company_field,
};
use super::format::{self, FieldNumber, Table};
use super::schema::{self, SectionKind};
use super::value_counts::{VALUE_COUNTS, ValueCounts};
use crate::digest::Digest;
use crate::encoding::block_permutation::BlockPermutations;
use crate::encoding::bytes::Bytes;
use crate::encoding::column::Column;
use crate::encoding::dictionary::{Dictionary, Strings};
use crate::encoding::frame_of_reference::FrameOfReference;
use crate::encoding::framed_strings::FramedStrings;
use crate::encoding::hash_index::HashIndex;
use crate::encoding::linear_frames::LinearFrames;
use crate::encoding::nibbles::FacetColumn;
use crate::encoding::packed_numbers::PackedNumbers;
use crate::encoding::pairs::Pairs;
use crate::encoding::posting::{PostingId, Postings};
use crate::encoding::row::SEGMENT_ROWS_MAX;
use crate::encoding::rows_by_code::RowsByCode;
use crate::encoding::symbols::SymbolTable;
use crate::encoding::tokens::TokenStreams;
use crate::encoding::word_order::WordOrder;
use crate::encoding::zone_map::OrderedColumn;
use crate::query::Facet;
use crate::{Error, Result};

self_cell! {
    /// The bytes of a segment together with views of them.
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
    /// The sorted keys of values.
    pub(crate) keys: Dictionary<'a>,
    /// Whether different labels share a key.
    pub(crate) has_repeated_keys: bool,
    /// The labels of values.
    pub(crate) labels: Strings<'a>,
    /// The codes of rows: [`Segment::facet_column`](super::Segment::facet_column).
    pub(super) column: FacetColumn<'a>,
    pub(super) first_posting: u32,
    /// The first posting of companies, for facets of companies.
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

/// A view of a text field: the term at index `n` of the keys has number `n` and posting `first_posting + n`.
#[derive(Debug)]
pub(super) struct TextView<'a> {
    pub(super) keys: Dictionary<'a>,
    pub(super) tokens: TokenStreams<'a>,
    pub(super) first_posting: u32,
}

/// Views of all sections, with checked lengths. The content is checked before its first use: see
/// [`parts`](super::parts).
#[derive(Debug)]
pub(super) struct Views<'a> {
    pub(super) ids: FrameOfReference<'a>,
    pub(super) postings: Postings<'a>,
    pub(super) facets: [FacetView<'a>; Facet::ALL.len()],
    pub(super) titles: TextView<'a>,
    pub(super) title_pairs: Pairs<'a>,
    /// The words of titles by letters.
    pub(super) word_order: WordOrder<'a>,
    pub(super) names: TextView<'a>,
    pub(super) day_column: OrderedColumn<'a>,
    pub(super) days: &'a [i32],
    pub(super) amount_column: OrderedColumn<'a>,
    pub(super) amounts: &'a [f64],
    pub(super) rows_by_amount: RowsByCode<'a>,
    pub(super) company_keys: CompanyKeys<'a>,
    pub(super) company_names: FramedStrings<'a>,
    pub(super) company_attributes: CompanyAttributes<'a>,
    pub(super) rows_by_company: RowsByCompany<'a>,
    pub(super) company_column: Column<'a>,
    pub(super) company_records: LinearFrames<'a>,
    pub(super) signal_records: LinearFrames<'a>,
    pub(super) records: &'a [u8],
    pub(super) symbols: SymbolTable<'a>,
    pub(super) commits: CommitViews<'a>,
    pub(super) value_counts: ValueCounts<'a>,
    pub(super) table: Table,
    pub(super) table_digest: Digest,
    /// The checkpoints of all sections.
    pub(super) checkpoints: &'a [u32],
    /// The number of the first checkpoint of each section, in the order of the table.
    pub(super) first_chunks: Vec<usize>,
}

impl<'a> Views<'a> {
    /// Reads the table and creates views of all sections after checking their bounds and lengths.
    pub(super) fn read(file: &'a [u8]) -> Result<Views<'a>> {
        let (table, table_digest) = format::read_table(file)?;
        check_counts(&table)?;
        let sections = Sections::find(file, &table)?;
        let checkpoints = format::read_checkpoints(file, &table)?;
        let facets = Facet::ALL.map(|facet| sections.facet(facet));
        let facets: Vec<FacetView<'a>> = facets.into_iter().collect::<Result<_>>()?;
        let none = Field::None;
        Ok(Views {
            ids: sections.numbers(Field::Id, table.rows),
            postings: sections.postings(),
            facets: facets
                .try_into()
                .map_err(|_| Error::corrupt("a segment has every facet once"))?,
            titles: sections.text(TextField::Title),
            title_pairs: sections.pairs()?,
            word_order: WordOrder(sections.get(SectionKind::WordOrder, Field::Title)),
            names: sections.text(TextField::Name),
            day_column: sections.days()?,
            days: sections.get(SectionKind::Days, Field::Date),
            amount_column: sections.ordered(Field::Amount)?,
            amounts: sections.get(SectionKind::Amounts, Field::Amount),
            rows_by_amount: sections.rows_by_amount()?,
            company_keys: CompanyKeys(sections.dictionary(Field::CompanyKey)),
            company_names: FramedStrings {
                ends: sections.linear(Field::CompanyName)?,
                bytes: sections.get(SectionKind::Labels, Field::CompanyName),
            },
            company_attributes: sections.company_attributes()?,
            rows_by_company: RowsByCompany {
                starts: sections.get(SectionKind::CompanyStarts, Field::Company),
                rows: sections.get(SectionKind::CompanyRows, Field::Company),
            },
            company_column: sections.column(Field::Company)?,
            company_records: sections.linear(Field::CompanyRecord)?,
            signal_records: sections.linear(Field::SignalRecord)?,
            records: sections.get(SectionKind::Records, none),
            symbols: SymbolTable {
                starts: sections.get(SectionKind::SymbolStarts, none),
                bytes: sections.get(SectionKind::Symbols, none),
            },
            commits: CommitViews {
                first: sections.packed(Field::FirstCommit),
                last: sections.packed(Field::LastCommit),
                tombstones: sections.get(SectionKind::Tombstones, none),
            },
            value_counts: value_counts(file, &table)?,
            first_chunks: table.first_chunks(),
            checkpoints,
            table,
            table_digest,
        })
    }

    /// A text field.
    pub(super) fn text(&self, field: TextField) -> &TextView<'a> {
        match field {
            TextField::Title => &self.titles,
            TextField::Name => &self.names,
        }
    }

    /// The name and length of each section.
    pub(super) fn section_sizes(&self) -> impl Iterator<Item = (String, u64)> {
        let sections = self.table.sections.iter();
        let sections = sections.map(|entry| (section_name(entry.kind, entry.field), entry.length));
        let optional = self.table.optional.iter();
        let counts = optional.filter(|entry| entry.kind == VALUE_COUNTS);
        sections.chain(counts.map(|entry| ("ValueCounts".to_owned(), entry.length)))
    }
}

/// The view of the optional section of value counts.
fn value_counts<'a>(file: &'a [u8], table: &Table) -> Result<ValueCounts<'a>> {
    let mut sections = table.optional.iter();
    let Some(entry) = sections.find(|entry| entry.kind == VALUE_COUNTS) else {
        return Ok(ValueCounts::none());
    };
    if sections.any(|entry| entry.kind == VALUE_COUNTS) {
        return Err(Error::corrupt("section ValueCounts occurs twice"));
    }
    ValueCounts::new(format::check_bounds(file, entry)?)
}

/// The name of a section in reports.
pub(super) fn section_name(kind: SectionKind, field: FieldNumber) -> String {
    if field == Field::None.number() {
        format!("{kind:?}")
    } else {
        format!("{kind:?}[{field}]")
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

/// Checks that a file has the sections of the schema with the right lengths.
struct Sections<'a, 't> {
    bytes: HashMap<(SectionKind, FieldNumber), &'a [u8]>,
    table: &'t Table,
}

impl<'a, 't> Sections<'a, 't> {
    fn find(file: &'a [u8], table: &'t Table) -> Result<Sections<'a, 't>> {
        let mut sections = HashMap::with_capacity(table.sections.len());
        for entry in &table.sections {
            let section = format::check_bounds(file, entry)?;
            if sections
                .insert((entry.kind, entry.field), section)
                .is_some()
            {
                let kind = entry.kind;
                return Err(Error::corrupt(format!("section {kind:?} occurs twice")));
            }
        }
        // Sections of later releases must be in bounds, too, but are not read.
        for entry in &table.optional {
            format::check_bounds(file, entry)?;
        }
        for (section, field) in schema::sections() {
            let kind = section.kind;
            let bytes = sections.get(&(kind, field.number())).ok_or_else(|| {
                Error::corrupt(format!("section {kind:?} of {field:?} is missing"))
            })?;
            section.check_length(field, bytes.len(), table)?;
        }
        // All sections of the schema have been found, so any other one has the wrong field.
        if sections.len() > schema::sections().count() {
            return Err(Error::corrupt("a section is of a field that has none"));
        }
        Ok(Sections {
            bytes: sections,
            table,
        })
    }

    /// A view of a section of the schema with elements of type `T`.
    fn get<T: Pod>(&self, kind: SectionKind, field: Field) -> &'a [T] {
        let bytes = self.bytes.get(&(kind, field.number()));
        // Sections are aligned and contain whole elements.
        bytemuck::cast_slice(bytes.expect("the schema has every section that is viewed"))
    }

    fn strings(&self, [ends, bytes]: [SectionKind; 2], field: Field) -> Strings<'a> {
        Strings::new(self.get(ends, field), self.get(bytes, field))
    }

    fn numbers(&self, field: Field, len: u32) -> FrameOfReference<'a> {
        FrameOfReference {
            frames: self.get(SectionKind::FrameOfReference, field),
            exceptions: self.get(SectionKind::ExceptionBlocks, field),
            len: len as usize,
        }
    }

    fn linear(&self, field: Field) -> Result<LinearFrames<'a>> {
        let kind = SectionKind::LinearFrames;
        let len = schema::linear_frames_len(field, self.table);
        LinearFrames::new(self.get(kind, field), len).ok_or_else(|| {
            Error::corrupt(format!(
                "section {kind:?} of {field:?} is too short for {len} numbers"
            ))
        })
    }

    fn pairs(&self) -> Result<Pairs<'a>> {
        let (kind, field) = (SectionKind::Pairs, Field::TitlePair);
        let len = self.table.posting_count(PAIR_POSTINGS);
        let first_posting = self.table.field_postings[PAIR_POSTINGS];
        Pairs::new(self.get(kind, field), len as usize, first_posting).ok_or_else(|| {
            Error::corrupt(format!(
                "section {kind:?} is of another length than {len} pairs"
            ))
        })
    }

    fn packed(&self, field: Field) -> PackedNumbers<'a> {
        PackedNumbers {
            frames: self.get(SectionKind::PackedFrames, field),
            words: self.get(SectionKind::PackedWords, field),
            len: self.table.rows as usize,
        }
    }

    fn postings(&self) -> Postings<'a> {
        let none = Field::None;
        Postings {
            entries: self.get(SectionKind::Postings, none),
            rows: self.get(SectionKind::PostingRows, none),
            containers: self.get(SectionKind::Containers, none),
            arrays: self.get(SectionKind::Arrays, none),
            bitsets: self.get(SectionKind::Bitsets, none),
        }
    }

    fn dictionary(&self, field: Field) -> Dictionary<'a> {
        Dictionary {
            keys: self.strings([SectionKind::KeyEnds, SectionKind::Keys], field),
            index: HashIndex {
                starts: self.get(SectionKind::HashIndexStarts, field),
                entries: self.get(SectionKind::HashIndexEntries, field),
            },
        }
    }

    fn facet(&self, facet: Facet) -> Result<FacetView<'a>> {
        let field = Field::Facet(facet);
        let first_postings = &self.table.field_postings;
        let keys = self.dictionary(field);
        let codes = self.get(SectionKind::Codes, field);
        Ok(FacetView {
            labels: self.strings([SectionKind::LabelEnds, SectionKind::Labels], field),
            column: FacetColumn::new(codes, self.table.rows, keys.len())?,
            has_repeated_keys: keys.keys.has_repeats(),
            keys,
            first_posting: first_postings[facet as usize],
            first_company_posting: company_field(facet).map(|index| first_postings[index]),
        })
    }

    fn text(&self, field: TextField) -> TextView<'a> {
        let (texts, postings) = match field {
            TextField::Title => (self.table.rows, TITLE_POSTINGS),
            TextField::Name => (self.table.companies, NAME_POSTINGS),
        };
        let field = Field::from(field);
        TextView {
            keys: self.dictionary(field),
            tokens: TokenStreams {
                ends: self.numbers(field, texts),
                bytes: self.get(SectionKind::Tokens, field),
            },
            first_posting: self.table.field_postings[postings],
        }
    }

    fn column(&self, field: Field) -> Result<Column<'a>> {
        Column::new(self.get(SectionKind::Codes, field), self.table.rows)
    }

    fn company_attributes(&self) -> Result<CompanyAttributes<'a>> {
        let codes = |field| Column::new(self.get(SectionKind::Codes, field), self.table.companies);
        let numbers = |field| {
            Ok(NumberColumn {
                codes: codes(field)?,
                numbers: self.get(SectionKind::Integers, field),
            })
        };
        Ok(CompanyAttributes {
            cities: CityColumn {
                codes: codes(Field::City)?,
                keys: self.strings([SectionKind::KeyEnds, SectionKind::Keys], Field::City),
            },
            founded: numbers(Field::FoundedYear)?,
            employees: numbers(Field::Employees)?,
        })
    }

    fn ordered(&self, field: Field) -> Result<OrderedColumn<'a>> {
        Ok(OrderedColumn {
            column: self.column(field)?,
            blocks: self.get(SectionKind::BlockZones, field),
            fine_zones: None,
            orders: None,
        })
    }

    fn rows_by_amount(&self) -> Result<RowsByCode<'a>> {
        let amounts: &[f64] = self.get(SectionKind::Amounts, Field::Amount);
        RowsByCode::new(
            self.get(SectionKind::RowsByCode, Field::Amount),
            amounts.len(),
        )
    }

    fn days(&self) -> Result<OrderedColumn<'a>> {
        let field = Field::Date;
        Ok(OrderedColumn {
            fine_zones: Some(self.get(SectionKind::FineZones, field)),
            orders: Some(BlockPermutations {
                rows: self.table.rows,
                offsets: self.get(SectionKind::Permutations, field),
                ends: self.get(SectionKind::PermutationEnds, field),
                starts: self.get(SectionKind::PermutationStarts, field),
            }),
            ..self.ordered(field)?
        })
    }
}
