//! The schema of segments: a table of all sections, their fields, and their numbers of elements.
//!
//! Writing, opening, verifying and the space statistics follow [`SECTIONS`], and a test compares it
//! with docs/format.md. A new section takes a kind and a row here, a call in
//! [`assemble`](super::assemble) that writes it, and a view in [`views`](super::views).

use std::fmt;

use serde::{Deserialize, Serialize};

use super::field::Field;
use super::format::Table;
use crate::encoding::frame_of_reference::FRAME_NUMBERS;
use crate::encoding::zone_map::fine_zone_count;
use crate::kernels::block::block_count;
use crate::query::Facet;
use crate::{Error, Result};

/// The kind of a section; [`SECTIONS`] describes each. The numbers are part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum SectionKind {
    FrameOfReference,
    Postings,
    PostingRows,
    Containers,
    Arrays,
    Bitsets,
    KeyEnds,
    Keys,
    LabelEnds,
    Labels,
    Codes,
    BlockZones,
    Days,
    Amounts,
    ExceptionBlocks,
    Tokens,
    CompanyStarts,
    CompanyRows,
    LinearFrames,
    Records,
    Pairs,
    HashIndexStarts,
    HashIndexEntries,
    Permutations,
    FineZones,
    PermutationEnds,
    PermutationStarts,
    SymbolStarts,
    Symbols,
    PackedFrames,
    PackedWords,
    Tombstones,
    Checkpoints,
    WordOrder,
    Integers,
    RowsByCode,
}

use SectionKind as Kind;

/// The sections of one kind.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) kind: SectionKind,
    /// The fields with such a section.
    pub(crate) fields: &'static [Field],
    /// Bytes of an element.
    pub(crate) width: usize,
    pub(crate) count: Count,
    /// The description of an element in docs/format.md.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the test of the document reads it")
    )]
    pub(crate) what: &'static str,
}

/// The number of elements of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    /// Any number; checked by the encoding.
    Any,
    /// One per row.
    Rows,
    /// One per block of 65,536 rows.
    Blocks,
    /// One per fine zone of 2,048 rows.
    FineZones,
    /// One per company, plus one.
    CompaniesAndOne,
    /// One per posting of all fields.
    Postings,
    /// One per value of the field: see [`Field::value_count`].
    Values,
    /// One per 64 numbers; fields of companies have a number per company, others per row.
    Frames,
}

/// All sections; the row of a kind is at the index of its number.
pub(crate) const SECTIONS: [Section; 36] = [
    row(
        Kind::FrameOfReference,
        &NUMBERS,
        144,
        Count::Frames,
        "a frame, see below: ends of token streams, by row and by company; ids by row, ascending",
    ),
    row(
        Kind::Postings,
        NO_FIELD,
        8,
        Count::Postings,
        "a posting, see below",
    ),
    row(
        Kind::PostingRows,
        NO_FIELD,
        4,
        Count::Any,
        "a row, of the postings that list them",
    ),
    row(
        Kind::Containers,
        NO_FIELD,
        8,
        Count::Any,
        "a container, see below",
    ),
    row(
        Kind::Arrays,
        NO_FIELD,
        2,
        Count::Any,
        "an offset in a block, of the containers that list them",
    ),
    row(
        Kind::Bitsets,
        NO_FIELD,
        8192,
        Count::Any,
        "a container as one bit a row",
    ),
    row(
        Kind::KeyEnds,
        &KEYED,
        4,
        Count::Values,
        "the end of a key of a dictionary. Keys of facets and of cities are sorted; those of texts are the \
         terms by number, those of companies the slugs by number, sorted, and after them the keys of names \
         by number",
    ),
    row(Kind::Keys, &KEYED, 1, Count::Any, "the bytes of the keys"),
    row(
        Kind::LabelEnds,
        FACET_FIELDS,
        4,
        Count::Values,
        "the end of a label, which is what is shown for a key",
    ),
    row(
        Kind::Labels,
        &LABELLED,
        1,
        Count::Any,
        "the bytes of the labels",
    ),
    row(
        Kind::Codes,
        &COLUMNS,
        1,
        Count::Any,
        "a column: the code of each row, or of each company, in 1, 2 or 4 bytes, as the number of values \
         needs. 0 is none; *n* is the value at index *n* − 1. A facet of at most 15 \
         values has a nibble column: two codes a byte, the lower half first; one without values \
         has no bytes",
    ),
    row(
        Kind::BlockZones,
        &[Field::Date, Field::Amount],
        8,
        Count::Blocks,
        "the zone map: the minimum and maximum code in the block",
    ),
    row(
        Kind::Days,
        &[Field::Date],
        4,
        Count::Any,
        "days since 1970-01-01, ascending: the values of the column",
    ),
    row(
        Kind::Amounts,
        &[Field::Amount],
        8,
        Count::Any,
        "an amount as a float, ascending: the values of the column",
    ),
    row(
        Kind::ExceptionBlocks,
        &NUMBERS,
        512,
        Count::Any,
        "an exception block, see below",
    ),
    row(Kind::Tokens, TEXTS, 1, Count::Any, "the token streams"),
    row(
        Kind::CompanyStarts,
        &[Field::Company],
        4,
        Count::CompaniesAndOne,
        "where the rows of a company start in kind 17, and the end of the last",
    ),
    row(
        Kind::CompanyRows,
        &[Field::Company],
        4,
        Count::Rows,
        "a row, company by company",
    ),
    row(
        Kind::LinearFrames,
        &LINEAR,
        8,
        Count::Any,
        "linear frames, see below: where the label of each company ends; where the record of each \
         row, or of each company, starts",
    ),
    row(
        Kind::Records,
        NO_FIELD,
        1,
        Count::Any,
        "the records, see below",
    ),
    row(
        Kind::Pairs,
        &[Field::TitlePair],
        4,
        Count::Any,
        "pairs of terms, ascending: the number of the second, then that of the first, in 2 bytes each \
         if all numbers fit, else in 4; the pair at index *n* has the field's *n*-th posting",
    ),
    row(
        Kind::HashIndexStarts,
        &DICTIONARIES,
        4,
        Count::Any,
        "the hash index of a dictionary: where a bucket starts in kind 22, and the end of \
         the last",
    ),
    row(
        Kind::HashIndexEntries,
        &DICTIONARIES,
        4,
        Count::Values,
        "the entry of a key, bucket by bucket",
    ),
    row(
        Kind::Permutations,
        &[Field::Date],
        2,
        Count::Any,
        "the sorted permutation of each block whose codes do not ascend, which is the offsets of its \
         rows by ascending code, then by ascending offset",
    ),
    row(
        Kind::FineZones,
        &[Field::Date],
        8,
        Count::FineZones,
        "the fine zone map: the minimum and maximum code in the zone",
    ),
    row(
        Kind::PermutationEnds,
        &[Field::Date],
        8,
        Count::Blocks,
        "where the block's permutation in kind 23 ends, and its table in kind 26, in entries, 4 bytes \
         each",
    ),
    row(
        Kind::PermutationStarts,
        &[Field::Date],
        2,
        Count::Any,
        "by block, and by code from the block's minimum to its maximum, how many of its \
         rows have a smaller code. A block whose minimum and maximum are 65,536 apart or \
         more has no table",
    ),
    row(
        Kind::SymbolStarts,
        NO_FIELD,
        4,
        Count::Any,
        "where a symbol starts in kind 28, and the end of the last; nothing where no record is \
         compressed",
    ),
    row(
        Kind::Symbols,
        NO_FIELD,
        1,
        Count::Any,
        "the symbols, and 16 zeros after them",
    ),
    row(
        Kind::PackedFrames,
        &COMMITS,
        16,
        Count::Any,
        "a packed frame, see below: the commit in which the signal of a row first appeared; the \
         one that last wrote it or its company. One frame where all are equal",
    ),
    row(
        Kind::PackedWords,
        &COMMITS,
        8,
        Count::Any,
        "the bits of packed frames, frame by frame",
    ),
    row(
        Kind::Tombstones,
        NO_FIELD,
        24,
        Count::Any,
        "a deleted signal, by ascending id: its id, the commit that deleted it, and the one in \
         which it first appeared",
    ),
    row(
        Kind::Checkpoints,
        NO_FIELD,
        4,
        Count::Any,
        "what the checksum of a section was after 16 KiB more of it, and at its end: section by \
         section in the order of the table, without those of kinds 19 and 32",
    ),
    row(
        Kind::WordOrder,
        &[Field::Title],
        4,
        Count::Values,
        "the number of a term, by ascending bytes of the terms",
    ),
    row(
        Kind::Integers,
        &[Field::FoundedYear, Field::Employees],
        8,
        Count::Any,
        "a number of companies, with a sign, ascending: the values of the column",
    ),
    row(
        Kind::RowsByCode,
        &[Field::Amount],
        4,
        Count::Any,
        "where the rows of each value start among those that follow, and the end of the last; then the rows \
         with a value, value by value, ascending",
    ),
];

const NO_FIELD: &[Field] = &[Field::None];
const TEXTS: &[Field] = &[Field::Title, Field::Name];
const COMMITS: [Field; 2] = [Field::FirstCommit, Field::LastCommit];
const NUMBERS: [Field; 3] = [Field::Title, Field::Name, Field::Id];
const LINEAR: [Field; 3] = [
    Field::CompanyName,
    Field::SignalRecord,
    Field::CompanyRecord,
];
const DICTIONARIES: [Field; FACETS + 3] =
    facets_and(&[Field::Title, Field::Name, Field::CompanyKey]);
/// Those whose keys are found by a hash index, and cities, which are few.
const KEYED: [Field; FACETS + 4] =
    facets_and(&[Field::Title, Field::Name, Field::CompanyKey, Field::City]);
const FACET_FIELDS: &[Field] = &facets_and::<FACETS>(&[]);
const LABELLED: [Field; FACETS + 1] = facets_and(&[Field::CompanyName]);
const COLUMNS: [Field; FACETS + 6] = facets_and(&[
    Field::Date,
    Field::Amount,
    Field::Company,
    Field::City,
    Field::FoundedYear,
    Field::Employees,
]);

const FACETS: usize = Facet::ALL.len();

/// The facets, and other fields after them.
const fn facets_and<const N: usize>(others: &[Field]) -> [Field; N] {
    let mut fields = [Field::None; N];
    let mut index = 0;
    // Invariant: the fields before the index are set.
    while index < N {
        fields[index] = if index < FACETS {
            Field::Facet(Facet::ALL[index])
        } else {
            others[index - FACETS]
        };
        index += 1;
    }
    fields
}

const fn row(
    kind: Kind,
    fields: &'static [Field],
    width: usize,
    count: Count,
    what: &'static str,
) -> Section {
    Section {
        kind,
        fields,
        width,
        count,
        what,
    }
}

// Kinds index this table by their number.
const _: () = {
    let mut number = 0;
    while number < SECTIONS.len() {
        assert!(SECTIONS[number].kind as usize == number);
        number += 1;
    }
};

/// All sections of a segment with their kind and field.
pub(crate) fn sections() -> impl Iterator<Item = (&'static Section, Field)> {
    const TABLE: &[Section] = &SECTIONS;
    let of_kind =
        |section: &'static Section| section.fields.iter().map(move |&field| (section, field));
    TABLE.iter().flat_map(of_kind)
}

impl SectionKind {
    /// Whether pieces of the section have checkpoints; records have checksums of their own.
    pub(super) fn has_checkpoints(self) -> bool {
        !matches!(self, SectionKind::Records | SectionKind::Checkpoints)
    }
}

/// The number of linear frames' numbers of a field.
pub(super) fn linear_frames_len(field: Field, table: &Table) -> usize {
    let len = match field {
        Field::SignalRecord => table.rows,
        _ => table.companies,
    };
    len as usize
}

impl Section {
    /// Checks the length of a section in bytes.
    pub(super) fn check_length(&self, field: Field, bytes: usize, table: &Table) -> Result<()> {
        let expected = self.count.of(field, table);
        let elements = bytes as u64 / self.width as u64;
        if bytes.is_multiple_of(self.width) && expected.is_none_or(|expected| elements == expected)
        {
            return Ok(());
        }
        let Section { kind, width, .. } = self;
        let expected =
            expected.map_or_else(String::new, |count| format!("; there should be {count}"));
        Err(Error::corrupt(format!(
            "section {kind:?} of {field:?} has {bytes} bytes, {width} an element{expected}"
        )))
    }
}

impl Count {
    fn of(self, field: Field, table: &Table) -> Option<u64> {
        let (rows, companies) = (table.rows, u64::from(table.companies));
        match self {
            Count::Any => None,
            Count::Rows => Some(rows.into()),
            Count::Blocks => Some(block_count(rows).into()),
            Count::FineZones => Some(fine_zone_count(rows).into()),
            Count::CompaniesAndOne => Some(companies + 1),
            Count::Postings => table.field_postings.last().map(|&postings| postings.into()),
            Count::Values => field.value_count(table),
            Count::Frames => {
                let numbers = match field {
                    Field::Name => companies,
                    _ => rows.into(),
                };
                Some(numbers.div_ceil(FRAME_NUMBERS as u64))
            }
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Count::Any => "any",
            Count::Rows => "rows",
            Count::Blocks => "blocks",
            Count::FineZones => "fine zones",
            Count::CompaniesAndOne => "companies + 1",
            Count::Postings => "postings",
            Count::Values => "values",
            Count::Frames => "frames",
        })
    }
}

#[cfg(test)]
mod tests;
