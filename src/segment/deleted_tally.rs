//! How many of a segment's deleted rows each posting and each company has.
//!
//! Postings are stored with their cardinalities, so that many counts need no look at rows. With this
//! tally the same holds behind deletions: a count is what is stored, less what is deleted of it.

use hashbrown::HashMap;
use roaring::RoaringBitmap;
use smallvec::SmallVec;

use super::{Segment, TextField};
use crate::encoding::pairs::is_frequent;
use crate::encoding::posting::PostingId;
use crate::encoding::row::{CompanyNumber, Row};
use crate::encoding::tokens::{self, TermNumber};
use crate::query::Facet;

/// With more deleted rows than this, none is made: it would take tens of milliseconds.
const ROWS_MAX: u64 = 1 << 14;

/// The number of deleted rows of each posting and company that has some.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeletedTally {
    postings: HashMap<PostingId, u32>,
    companies: HashMap<CompanyNumber, u32>,
}

impl DeletedTally {
    /// Counts deleted rows, unless they are too many. Cost: about a microsecond a row.
    pub(super) fn of(segment: &Segment, rows: &RoaringBitmap) -> Option<DeletedTally> {
        DeletedTally::default().with(segment, rows, &RoaringBitmap::new())
    }

    /// Counts more deleted rows, unless all together are too many: those of `rows` that are not among
    /// the ones already `counted`.
    pub(super) fn with(
        mut self,
        segment: &Segment,
        rows: &RoaringBitmap,
        counted: &RoaringBitmap,
    ) -> Option<DeletedTally> {
        if rows.len() > ROWS_MAX {
            return None;
        }
        for row in rows - counted {
            self.add(segment, Row(row));
        }
        Some(self)
    }

    /// The number of deleted rows of a posting of rows.
    pub(crate) fn of_posting(&self, posting: PostingId) -> u64 {
        self.postings.get(&posting).map_or(0, |&rows| rows.into())
    }

    /// The number of deleted rows of a company.
    pub(crate) fn of_company(&self, company: CompanyNumber) -> u64 {
        self.companies.get(&company).map_or(0, |&rows| rows.into())
    }

    /// Counts a row in all postings that it is in.
    fn add(&mut self, segment: &Segment, row: Row) {
        let company = segment.company_of(row);
        *self.companies.entry(company).or_default() += 1;
        for facet in Facet::ALL {
            let view = segment.facet(facet);
            let value = segment.facet_column(facet).get(row).checked_sub(1);
            self.count(value.map(|value| view.posting(value as usize)));
        }
        let title = terms_of(segment, TextField::Title, row.index());
        self.add_pairs(segment, &title);
        let name = terms_of(segment, TextField::Name, company.index());
        for (field, terms) in [(TextField::Title, title), (TextField::Name, name)] {
            for term in distinct(terms) {
                self.count(segment.posting_of(field, term));
            }
        }
    }

    /// Counts a row in the postings of pairs of words.
    fn add_pairs(&mut self, segment: &Segment, title: &[TermNumber]) {
        let is_frequent = |&term: &TermNumber| {
            let posting = segment.posting_of(TextField::Title, term);
            let rows = posting.map_or(0, |posting| segment.cardinality(posting));
            is_frequent(rows.into(), segment.row_count())
        };
        let neighbours = title.iter().zip(title.iter().skip(1));
        let pairs = neighbours.filter(|(first, second)| is_frequent(first) && is_frequent(second));
        let pairs = pairs.filter_map(|(&first, &second)| segment.title_pair(first, second));
        for pair in distinct(pairs.collect::<SmallVec<[PostingId; 24]>>()) {
            self.count(Some(pair));
        }
    }

    fn count(&mut self, posting: Option<PostingId>) {
        if let Some(posting) = posting {
            *self.postings.entry(posting).or_default() += 1;
        }
    }
}

/// The terms of a text in order, as far as its stream is well formed, which `verify` checks.
fn terms_of(segment: &Segment, field: TextField, text: usize) -> SmallVec<[TermNumber; 24]> {
    let stream = segment.tokens(field).get(text);
    tokens::decode(stream).map_while(Result::ok).collect()
}

/// Each of some values once.
fn distinct<T: Ord>(mut values: SmallVec<[T; 24]>) -> SmallVec<[T; 24]> {
    values.sort_unstable();
    values.dedup();
    values
}

#[cfg(all(test, feature = "synthetic"))]
mod tests;
