//! Lazy validation: a segment is divided into parts, each checked before its first use.
//!
//! Opening checks the table and small sections. All other sections belong to parts that are used together, such
//! as all sections of dates. The checksums of a part, and the rules that reading it relies on, are checked when a
//! query first needs it. The rows of postings are checked per posting, so that a page of one word does not read
//! those of a hundred thousand others. Records have their own checksums ([`record`](super::record)).
//! docs/format.md has the table.
//!
//! A reader gets at a view only through a function that checks it and returns a `Result`; what the view says cannot
//! fail. There are no locks: two threads that need a part at the same time both check it.

use std::sync::atomic::{AtomicU64, Ordering};

use super::field::{Field, TextField};
use super::schema::SectionKind;
use crate::query::Facet;

/// Sections that are checked together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Keys and labels of all facets, which are small and checked on opening.
    FacetValues,
    /// The column of a facet.
    FacetColumn(Facet),
    /// The entries of postings with their cardinalities.
    PostingEntries,
    /// The dictionary of a text field.
    Terms(TextField),
    /// The token streams of a text field.
    Tokens(TextField),
    /// Pairs of words in titles.
    Pairs,
    /// The words of titles by letters.
    WordOrder,
    /// Ids by row.
    Ids,
    /// Dates by row, their permutations and values.
    Dates,
    /// Amounts by row, and their values.
    Amounts,
    /// Slugs, and keys of names.
    CompanyKeys,
    /// Names for display.
    CompanyNames,
    /// City, founding year and number of employees of each company.
    CompanyAttributes,
    /// The company of each row.
    CompanyColumn,
    /// The rows of each company.
    CompanyRows,
    /// Offsets of records, and the symbols of their texts.
    RecordStarts,
    /// Commits by row, and deletions.
    Commits,
    /// The entries of value counts. The counts of each posting are checked before their first use.
    ValueCounts,
}

impl Part {
    /// All lazily checked parts.
    pub(super) fn all() -> impl Iterator<Item = Part> {
        use Part::*;
        let fields = [TextField::Title, TextField::Name];
        let texts = fields
            .into_iter()
            .flat_map(|field| [Terms(field), Tokens(field)]);
        let others = [
            FacetValues,
            PostingEntries,
            Pairs,
            WordOrder,
            Ids,
            Dates,
            Amounts,
            CompanyKeys,
            CompanyNames,
            CompanyAttributes,
            CompanyColumn,
            CompanyRows,
            RecordStarts,
            Commits,
            ValueCounts,
        ];
        let columns = Facet::ALL.into_iter().map(FacetColumn);
        texts.chain(others).chain(columns)
    }

    /// The part of a section; `None` for rows of postings, records, and sections checked on opening.
    pub(super) fn of(kind: SectionKind, field: Field) -> Option<Part> {
        use SectionKind as Kind;
        Some(match kind {
            Kind::Postings => Part::PostingEntries,
            Kind::PostingRows | Kind::Containers | Kind::Arrays | Kind::Bitsets => return None,
            Kind::Records | Kind::Checkpoints => return None,
            Kind::CompanyStarts | Kind::CompanyRows => Part::CompanyRows,
            Kind::SymbolStarts | Kind::Symbols => Part::RecordStarts,
            Kind::PackedFrames | Kind::PackedWords | Kind::Tombstones => Part::Commits,
            Kind::Tokens => Part::Tokens(text_field(field)?),
            Kind::WordOrder => Part::WordOrder,
            Kind::Codes => match field {
                Field::Facet(facet) => Part::FacetColumn(facet),
                Field::Company => Part::CompanyColumn,
                _ => Part::of_values(field)?,
            },
            Kind::FrameOfReference | Kind::ExceptionBlocks => match field {
                Field::Title | Field::Name => Part::Tokens(text_field(field)?),
                _ => Part::of_values(field)?,
            },
            _ => Part::of_values(field)?,
        })
    }

    /// The part of a field's values.
    fn of_values(field: Field) -> Option<Part> {
        match field {
            Field::Facet(_) => Some(Part::FacetValues),
            Field::Title | Field::Name => text_field(field).map(Part::Terms),
            Field::CompanyKey => Some(Part::CompanyKeys),
            Field::CompanyName => Some(Part::CompanyNames),
            Field::City | Field::FoundedYear | Field::Employees => Some(Part::CompanyAttributes),
            Field::Date => Some(Part::Dates),
            Field::Amount => Some(Part::Amounts),
            Field::TitlePair => Some(Part::Pairs),
            Field::Id => Some(Part::Ids),
            Field::SignalRecord | Field::CompanyRecord => Some(Part::RecordStarts),
            Field::FirstCommit | Field::LastCommit => Some(Part::Commits),
            Field::Company | Field::None => None,
        }
    }

    /// The bit of the part in a set.
    pub(super) const fn bit(self) -> u64 {
        let number = match self {
            Part::FacetValues => 0,
            Part::PostingEntries => 1,
            Part::Terms(TextField::Title) => 2,
            Part::Terms(TextField::Name) => 3,
            Part::Tokens(TextField::Title) => 4,
            Part::Tokens(TextField::Name) => 5,
            Part::Pairs => 6,
            Part::Ids => 7,
            Part::Dates => 8,
            Part::Amounts => 9,
            Part::CompanyKeys => 10,
            Part::CompanyNames => 11,
            Part::CompanyColumn => 12,
            Part::CompanyRows => 13,
            Part::RecordStarts => 14,
            Part::Commits => 15,
            Part::WordOrder => 16,
            Part::CompanyAttributes => 17,
            Part::ValueCounts => 18,
            Part::FacetColumn(facet) => 19 + facet as u32,
        };
        1 << number
    }
}

fn text_field(field: Field) -> Option<TextField> {
    match field {
        Field::Title => Some(TextField::Title),
        Field::Name => Some(TextField::Name),
        _ => None,
    }
}

/// A set of items that this process has checked. It is cleared if the file is overwritten ([`trust`](super::trust)).
#[derive(Debug)]
pub(super) struct Checked(Box<[AtomicU64]>);

impl Checked {
    /// An empty set for `n` items.
    pub(super) fn none(n: usize) -> Checked {
        Checked::filled(n, 0)
    }

    /// A full set of `n` items.
    pub(super) fn all(n: usize) -> Checked {
        Checked::filled(n, u64::MAX)
    }

    fn filled(n: usize, word: u64) -> Checked {
        let words = (0..n.div_ceil(64)).map(|_| AtomicU64::new(word));
        Checked(words.collect())
    }

    /// Whether an item is in the set.
    #[inline(always)]
    pub(super) fn contains(&self, number: usize) -> bool {
        // The data is immutable, so a bit needs no ordering with other memory accesses.
        let word = self.0.get(number / 64);
        word.is_some_and(|word| word.load(Ordering::Relaxed) & 1 << (number % 64) != 0)
    }

    /// Removes all items.
    pub(super) fn clear(&self) {
        for word in &self.0 {
            word.store(0, Ordering::Relaxed);
        }
    }

    /// Adds an item.
    pub(super) fn insert(&self, number: usize) {
        self.0[number / 64].fetch_or(1 << (number % 64), Ordering::Relaxed);
    }
}

/// The checked parts of a segment.
#[derive(Debug)]
pub(super) struct Checks {
    /// The set of [`Part`]s.
    pub(super) parts: AtomicU64,
    /// Pieces of sections with verified checksums.
    pub(super) chunks: Checked,
    /// Postings, by number.
    pub(super) postings: Checked,
    /// Value counts, by the index of their entry.
    pub(super) value_counts: Checked,
}

impl Checks {
    /// Nothing is checked except what opening checks.
    pub(super) fn none([chunks, postings, value_counts]: [usize; 3]) -> Checks {
        Checks {
            parts: AtomicU64::new(0),
            chunks: Checked::none(chunks),
            postings: Checked::none(postings),
            value_counts: Checked::none(value_counts),
        }
    }

    /// Nothing counts as checked any more.
    pub(super) fn clear(&self) {
        self.parts.store(0, Ordering::Relaxed);
        self.chunks.clear();
        self.postings.clear();
        self.value_counts.clear();
    }

    /// Everything counts as checked, because this process has just written it.
    pub(super) fn all([chunks, postings, value_counts]: [usize; 3]) -> Checks {
        Checks {
            parts: AtomicU64::new(u64::MAX),
            chunks: Checked::all(chunks),
            postings: Checked::all(postings),
            value_counts: Checked::all(value_counts),
        }
    }
}

#[cfg(test)]
mod tests;
