//! The number of deleted rows of each posting and company of a segment.
//!
//! Postings have stored cardinalities, so many counts need not visit rows. With this tally, that also holds for
//! segments with deletions: a count is the stored cardinality minus the deleted rows.

use hashbrown::HashMap;
use roaring::RoaringBitmap;
use smallvec::SmallVec;

use super::{Segment, TextField};
use crate::Result;
use crate::encoding::pairs::is_frequent;
use crate::encoding::posting::PostingId;
use crate::encoding::row::{CompanyNumber, Row};
use crate::encoding::tokens::{self, TermNumber};
use crate::query::Facet;

/// Maximum number of deleted rows for a tally; more would take tens of milliseconds.
const ROWS_MAX: u64 = 1 << 14;

/// The non-zero numbers of deleted rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeletedTally {
    postings: HashMap<PostingId, u32>,
    companies: HashMap<CompanyNumber, u32>,
}

impl DeletedTally {
    /// Counts deleted rows, unless there are too many. Cost: about a microsecond per row.
    ///
    /// # Errors
    /// The parts of the segment that rows are counted by are damaged.
    pub(super) fn of(segment: &Segment, rows: &RoaringBitmap) -> Result<Option<DeletedTally>> {
        DeletedTally::default().with(segment, rows, &RoaringBitmap::new())
    }

    /// Extends the tally to `rows`, unless there are too many. Rows in `counted` are already included.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub(super) fn with(
        mut self,
        segment: &Segment,
        rows: &RoaringBitmap,
        counted: &RoaringBitmap,
    ) -> Result<Option<DeletedTally>> {
        if rows.len() > ROWS_MAX {
            return Ok(None);
        }
        for row in rows - counted {
            self.add(segment, Row(row))?;
        }
        Ok(Some(self))
    }

    /// The number of deleted rows of a posting of rows.
    pub(crate) fn of_posting(&self, posting: PostingId) -> u64 {
        self.postings.get(&posting).map_or(0, |&rows| rows.into())
    }

    /// The number of deleted rows of a company.
    pub(crate) fn of_company(&self, company: CompanyNumber) -> u64 {
        self.companies.get(&company).map_or(0, |&rows| rows.into())
    }

    /// Counts a row in all its postings.
    fn add(&mut self, segment: &Segment, row: Row) -> Result<()> {
        let company = segment.company_of(row)?;
        *self.companies.entry(company).or_default() += 1;
        for facet in Facet::ALL {
            let view = segment.facet(facet);
            let value = segment.facet_column(facet)?.get(row).checked_sub(1);
            self.count(value.map(|value| view.posting(value as usize)));
        }
        let title = terms_of(segment, TextField::Title, row.index())?;
        self.add_pairs(segment, &title)?;
        let name = terms_of(segment, TextField::Name, company.index())?;
        for (field, terms) in [(TextField::Title, title), (TextField::Name, name)] {
            // A row counts once per term, however often the term occurs.
            let numbers = terms.iter().map(|term| tokens::split(term.0).0);
            for number in distinct(numbers.collect::<SmallVec<[u32; 24]>>()) {
                self.count(segment.posting_of(field, TermNumber(number)));
            }
        }
        Ok(())
    }

    /// Counts a row in the postings of pairs of words.
    fn add_pairs(&mut self, segment: &Segment, title: &[TermNumber]) -> Result<()> {
        let (entries, stored) = (segment.posting_entries()?, segment.title_pairs()?);
        // An alternate, as which a number has no posting, is not frequent.
        let is_frequent = |&term: &TermNumber| {
            let posting = segment.posting_of(TextField::Title, term);
            let rows = posting.map_or(0, |posting| entries.cardinality(posting));
            is_frequent(rows.into(), segment.row_count())
        };
        let neighbours = title.iter().zip(title.iter().skip(1));
        // Only pairs of frequent words are stored, so others are not looked up.
        let pairs = neighbours.filter(|(first, second)| is_frequent(first) && is_frequent(second));
        let pairs = pairs.filter_map(|(&first, &second)| stored.find(first, second));
        for pair in distinct(pairs.collect::<SmallVec<[PostingId; 24]>>()) {
            self.count(Some(pair));
        }
        Ok(())
    }

    fn count(&mut self, posting: Option<PostingId>) {
        if let Some(posting) = posting {
            *self.postings.entry(posting).or_default() += 1;
        }
    }
}

/// The forms of a text in order, up to the first malformed one; `verify` reports malformed streams.
fn terms_of(
    segment: &Segment,
    field: TextField,
    text: usize,
) -> Result<SmallVec<[TermNumber; 24]>> {
    let streams = segment.tokens(field)?;
    let terms = tokens::decode(streams.get(text));
    Ok(terms.map_while(Result::ok).collect())
}

/// Removes duplicates.
fn distinct<T: Ord>(mut values: SmallVec<[T; 24]>) -> SmallVec<[T; 24]> {
    values.sort_unstable();
    values.dedup();
    values
}

#[cfg(test)]
mod tests;
