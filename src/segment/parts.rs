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

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::field::{COMPANY_POSTINGS, Field};
use super::format::{self, CHUNK_BYTES};
use super::schema::{self, SectionKind};
use super::views::Views;
use super::{Segment, TextField};
use crate::encoding::posting::{Posting, PostingId, PostingSection};
use crate::query::Facet;
use crate::{Error, Result};

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
    /// Ids by row.
    Ids,
    /// Dates by row, their permutations and values.
    Dates,
    /// Amounts by row, and their values.
    Amounts,
    /// Slugs and folded names.
    CompanyKeys,
    /// Names for display.
    CompanyNames,
    /// The company of each row.
    CompanyColumn,
    /// The rows of each company.
    CompanyRows,
    /// Offsets of records, and the symbols of their texts.
    RecordStarts,
    /// Commits by row, and deletions.
    Commits,
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
            Ids,
            Dates,
            Amounts,
            CompanyKeys,
            CompanyNames,
            CompanyColumn,
            CompanyRows,
            RecordStarts,
            Commits,
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
            Part::FacetColumn(facet) => 16 + facet as u32,
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
    parts: AtomicU64,
    /// Pieces of sections with verified checksums.
    chunks: Checked,
    /// Postings, by number.
    postings: Checked,
}

impl Checks {
    /// Nothing is checked except what opening checks.
    pub(super) fn none(chunks: usize, postings: usize) -> Checks {
        Checks {
            parts: AtomicU64::new(0),
            chunks: Checked::none(chunks),
            postings: Checked::none(postings),
        }
    }

    /// Nothing counts as checked any more.
    pub(super) fn clear(&self) {
        self.parts.store(0, Ordering::Relaxed);
        self.chunks.clear();
        self.postings.clear();
    }

    /// Everything counts as checked, because this process has just written it.
    pub(super) fn all(chunks: usize, postings: usize) -> Checks {
        Checks {
            parts: AtomicU64::new(u64::MAX),
            chunks: Checked::all(chunks),
            postings: Checked::all(postings),
        }
    }
}

impl Segment {
    /// Checks the parts in `bits` that have not been checked.
    ///
    /// # Errors
    /// Damage; the error names the file and the section or the rule.
    #[inline(always)]
    pub(super) fn ensure(&self, bits: u64) -> Result<()> {
        if self.checks.parts.load(Ordering::Relaxed) & bits == bits {
            return Ok(());
        }
        self.check_parts(bits)
    }

    /// The views, after checking a part that has not been checked.
    ///
    /// # Errors
    /// As [`ensure`](Self::ensure).
    #[inline(always)]
    pub(super) fn checked(&self, part: Part) -> Result<&Views<'_>> {
        self.ensure(part.bit())?;
        Ok(self.views())
    }

    /// The rows of a posting.
    ///
    /// # Errors
    /// As [`ensure`](Self::ensure).
    #[inline(always)]
    pub(crate) fn posting(&self, id: PostingId) -> Result<Posting<'_>> {
        if !self.checks.postings.contains(id.0 as usize) {
            self.check_posting(id)?;
        }
        Ok(self.views().postings.get(id))
    }

    /// Checks everything except records that has not been checked.
    ///
    /// # Errors
    /// The first damage; the error names the file and the section or the rule.
    ///
    /// Cost: reads everything except records, about 0.1 s per gigabyte.
    pub(crate) fn check(&self) -> Result<()> {
        Part::all().try_for_each(|part| self.ensure(part.bit()))?;
        let postings = self.views().postings.entries.len() as u32;
        (0..postings)
            .map(PostingId)
            .try_for_each(|id| self.check_posting(id))
    }

    #[cold]
    #[inline(never)]
    fn check_parts(&self, bits: u64) -> Result<()> {
        self.ensure_trusted()?;
        for part in Part::all().filter(|part| part.bit() & bits != 0) {
            // Another thread may have checked the part meanwhile.
            if self.checks.parts.load(Ordering::Relaxed) & part.bit() != 0 {
                continue;
            }
            self.check_sections(part)
                .and_then(|()| self.validate_part(part))
                .map_err(|error| self.damaged(error))?;
            self.checks.parts.fetch_or(part.bit(), Ordering::Relaxed);
        }
        Ok(())
    }

    fn check_sections(&self, part: Part) -> Result<()> {
        let table = &self.views().table;
        let of_part = schema::sections()
            .filter(|(section, field)| Part::of(section.kind, *field) == Some(part));
        for (section, field) in of_part {
            let index = table.find(section.kind, field);
            self.check_bytes(index, 0..table.sections[index].length as usize)?;
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn check_posting(&self, id: PostingId) -> Result<()> {
        let number = id.0 as usize;
        // Another thread may have checked the posting meanwhile.
        if self.checks.postings.contains(number) {
            return Ok(());
        }
        self.ensure(Part::PostingEntries.bit())?;
        self.check_rows_of(number)
            .map_err(|error| self.damaged(error))?;
        self.checks.postings.insert(number);
        Ok(())
    }

    fn check_rows_of(&self, number: usize) -> Result<()> {
        let views = self.views();
        if number >= views.postings.entries.len() {
            return Err(Error::corrupt(format!("there is no posting {number}")));
        }
        views.postings.visit_bytes(number, |section, bytes| {
            let kind = match section {
                PostingSection::Rows => SectionKind::PostingRows,
                PostingSection::Containers => SectionKind::Containers,
                PostingSection::Arrays => SectionKind::Arrays,
                PostingSection::Bitsets => SectionKind::Bitsets,
            };
            self.check_bytes(views.table.find(kind, Field::None), bytes)
        })?;
        // Postings of companies come last; they list companies instead of rows.
        let of_companies = views.table.field_postings[COMPANY_POSTINGS] as usize;
        let numbers = if number < of_companies {
            self.row_count()
        } else {
            self.company_count()
        };
        views.postings.validate(number..number + 1, numbers)
    }

    /// Checks the pieces of a section that contain a range of bytes.
    fn check_bytes(&self, section: usize, bytes: Range<usize>) -> Result<()> {
        let views = self.views();
        let entry = &views.table.sections[section];
        let content = format::check_bounds(self.bytes.borrow_owner(), entry)?;
        let first = views.first_chunks[section];
        // The range may exceed the section, as that of a damaged posting does.
        let end = bytes.end.min(content.len()).div_ceil(CHUNK_BYTES);
        for chunk in bytes.start / CHUNK_BYTES..end {
            if self.checks.chunks.contains(first + chunk) {
                continue;
            }
            if !format::matches_checkpoint(content, &views.checkpoints[first..], chunk) {
                return Err(format::checksum_error(entry));
            }
            self.checks.chunks.insert(first + chunk);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
