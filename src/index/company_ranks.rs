//! Ranks of companies: one numbering of the live companies of a snapshot, in the order of slugs, over all segments.
//!
//! A company may be in several segments, under another number in each. Counts by company are added up by its number in
//! the snapshot, and sets of companies have a bit for each.

use smallvec::SmallVec;

use super::live::SegmentHandle;
use crate::Result;
use crate::encoding::row::CompanyNumber;
use crate::segment::CompanyKeys;

/// The number of a company that is not live.
const NO_NUMBER: u32 = u32::MAX;

/// The numbers of the live companies of a snapshot, ascending with their slugs.
#[derive(Debug)]
pub(crate) struct CompanyRanks {
    /// By number: the index of the segment that has the current record, and the company's number there.
    records: Vec<(u32, CompanyNumber)>,
    /// By segment; `None` if its numbers are those of the snapshot.
    by_segment: Vec<Option<Box<[u32]>>>,
    /// Ascending: those without a row in the segment of their record. Postings of companies by value and the words of names
    /// leave them out.
    without_rows: Vec<u32>,
}

impl CompanyRanks {
    /// Numbers the live companies of segments, oldest first.
    ///
    /// # Errors
    /// The keys of companies of a file, or their rows, are damaged.
    ///
    /// Cost: a comparison per company and segment; 8 bytes per company, and 4 per company of each of several segments.
    pub(super) fn of(segments: &[SegmentHandle]) -> Result<CompanyRanks> {
        let mut ranks = CompanyRanks::numbered(segments)?;
        for (number, &(segment, company)) in ranks.records.iter().enumerate() {
            let rows = segments[segment as usize].segment.company_rows(company)?;
            if rows.is_empty() {
                ranks.without_rows.push(number as u32);
            }
        }
        Ok(ranks)
    }

    fn numbered(segments: &[SegmentHandle]) -> Result<CompanyRanks> {
        if let [only] = segments
            && only.deleted.companies().is_empty()
        {
            let records = only.segment.companies().map(|company| (0, company));
            return Ok(CompanyRanks {
                records: records.collect(),
                by_segment: vec![None],
                without_rows: Vec::new(),
            });
        }
        let keys = segments.iter().map(|live| live.segment.company_keys());
        let keys: Vec<&CompanyKeys<'_>> = keys.collect::<Result<_>>()?;
        let counts = segments.iter().map(|live| live.segment.company_count());
        let mut merge = SlugMerge {
            segments,
            slugs: keys
                .iter()
                .zip(counts.clone())
                .map(|(keys, count)| slug_of(keys, 0, count))
                .collect(),
            numbers: counts
                .map(|count| vec![NO_NUMBER; count as usize].into())
                .collect(),
            records: Vec::new(),
            next: vec![0; segments.len()],
        };
        // Invariant: the companies before `next` of each segment are numbered. Each iteration numbers a slug.
        while let Some(slug) = merge.slugs.iter().flatten().min().copied() {
            merge.number(slug, &keys);
        }
        Ok(CompanyRanks {
            records: merge.records,
            by_segment: merge.numbers.into_iter().map(Some).collect(),
            without_rows: Vec::new(),
        })
    }

    /// The number of companies.
    pub(crate) fn len(&self) -> u32 {
        // There are fewer than a `u32` can count, since segments number theirs so.
        self.records.len() as u32
    }

    /// The index of the segment with the current record of a company, and its number there.
    pub(crate) fn record(&self, number: u32) -> (usize, CompanyNumber) {
        let (segment, company) = self.records[number as usize];
        (segment as usize, company)
    }

    /// The number of a company of a segment, if it is live.
    pub(crate) fn number(&self, segment: usize, company: CompanyNumber) -> Option<u32> {
        let number = match &self.by_segment[segment] {
            None => company.0,
            Some(numbers) => numbers[company.index()],
        };
        (number != NO_NUMBER).then_some(number)
    }

    /// The number of a company of a segment, if that has its current record.
    pub(crate) fn number_of_record(&self, segment: usize, company: CompanyNumber) -> Option<u32> {
        let number = self.number(segment, company)?;
        (self.record(number) == (segment, company)).then_some(number)
    }

    /// The companies without a row in the segment of their record.
    pub(crate) fn without_rows(&self) -> &[u32] {
        &self.without_rows
    }

    /// Whether the segment of a company's record has a row of it.
    pub(crate) fn has_rows(&self, number: u32) -> bool {
        self.without_rows.binary_search(&number).is_err()
    }

    /// Whether the numbers of a segment are those of the snapshot.
    pub(crate) fn are_of_segment(&self, segment: usize) -> bool {
        self.by_segment[segment].is_none()
    }
}

/// Slugs of several segments, merged in ascending order.
struct SlugMerge<'s> {
    segments: &'s [SegmentHandle],
    /// The next slug of each segment.
    slugs: Vec<Option<&'s str>>,
    next: Vec<u32>,
    numbers: Vec<Box<[u32]>>,
    records: Vec<(u32, CompanyNumber)>,
}

impl<'s> SlugMerge<'s> {
    /// Numbers the company with a slug, if it is live, in all segments that have it, and goes on to the next slugs.
    fn number(&mut self, slug: &'s str, keys: &[&CompanyKeys<'s>]) {
        let number = self.records.len() as u32;
        let having: SmallVec<[usize; 8]> = (0..self.segments.len())
            .filter(|&segment| self.slugs[segment] == Some(slug))
            .collect();
        // The newest segment in which it is not deleted has the current record.
        let live = having.iter().rev().copied().find(|&segment| {
            let company = CompanyNumber(self.next[segment]);
            !self.segments[segment].deleted.contains_company(company)
        });
        if let Some(segment) = live {
            let company = CompanyNumber(self.next[segment]);
            self.records.push((segment as u32, company));
        }
        for segment in having {
            let next = &mut self.next[segment];
            if live.is_some() {
                self.numbers[segment][*next as usize] = number;
            }
            *next += 1;
            let count = self.segments[segment].segment.company_count();
            self.slugs[segment] = slug_of(keys[segment], *next, count);
        }
    }
}

/// The slug of a company of a segment with `count` companies, if there is one.
fn slug_of<'a>(keys: &CompanyKeys<'a>, company: u32, count: u32) -> Option<&'a str> {
    (company < count).then(|| keys.slug(CompanyNumber(company)))
}
