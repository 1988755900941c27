//! Checks the parts of a segment before they are first used.

use std::ops::Range;
use std::sync::atomic::Ordering;

use super::field::{COMPANY_POSTINGS, Field};
use super::format::{self, CHUNK_BYTES};
use super::parts::Part;
use super::reader::Segment;
use super::schema::{self, SectionKind};
use super::views::Views;
use crate::encoding::posting::{Posting, PostingId, PostingSection};
use crate::{Error, Result};

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
            .try_for_each(|id| self.check_posting(id))?;
        let counts = 0..self.views().value_counts.len();
        counts
            .into_iter()
            .try_for_each(|index| self.check_value_counts(index))
    }

    /// Checks the value counts of a posting, whose entry has been checked.
    ///
    /// # Errors
    /// As [`ensure`](Self::ensure).
    pub(super) fn check_value_counts(&self, index: usize) -> Result<()> {
        if self.checks.value_counts.contains(index) {
            return Ok(());
        }
        self.ensure_trusted()?;
        let values = self.facet_sizes();
        let checked = self.views().value_counts.validate_counts(index, values);
        checked.map_err(|error| self.damaged(error))?;
        self.checks.value_counts.insert(index);
        Ok(())
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
