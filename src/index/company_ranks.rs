//! Ranks of companies: one numbering of the live companies of a snapshot, in the order of slugs, over all segments.
//!
//! A company may be in several segments, under another number in each. Counts by company are added up by its number in
//! the snapshot, and sets of companies have a bit for each. The ranks of a snapshot follow from those of an earlier one and
//! the companies of the segments that are new.

use std::sync::{Arc, OnceLock, Weak};

use roaring::RoaringBitmap;
use smallvec::SmallVec;

use super::live::SegmentHandle;
use crate::Result;
use crate::encoding::row::CompanyNumber;
use crate::segment::{CompanyKeys, Segment};

/// The number of a company that is not live.
const NO_NUMBER: u32 = u32::MAX;

/// With more companies in new segments than this share of all, all are numbered anew.
const NEW_SHARE_MAX: usize = if cfg!(test) { 1 } else { 4 };

/// The index of the segment with the current record of a company, and its number there.
type RankedRecord = (u32, CompanyNumber);

/// No record.
const NO_RECORD: RankedRecord = (u32::MAX, CompanyNumber(0));

/// The numbers of the live companies of a snapshot, ascending with their slugs.
#[derive(Debug, Default)]
pub(crate) struct CompanyRanks {
    len: u32,
    /// By number; `None` if each is the company of this number in the first segment.
    records: Option<Box<[RankedRecord]>>,
    segments: Vec<RankedSegment>,
    /// Ascending: those without a row in the segment of their record, computed on demand.
    without_rows: OnceLock<Vec<u32>>,
}

/// The numbers of the companies of a segment.
#[derive(Clone, Debug)]
struct RankedSegment {
    /// Identifies the segment without keeping its file.
    segment: Weak<Segment>,
    /// `None` if its numbers are those of the snapshot.
    numbers: Option<Arc<[u32]>>,
}

impl RankedSegment {
    fn new(handle: &SegmentHandle, numbers: Vec<u32>, len: usize) -> RankedSegment {
        let are_same = numbers.len() == len && numbers.iter().copied().eq(0..len as u32);
        RankedSegment {
            segment: Arc::downgrade(&handle.segment),
            numbers: (!are_same).then(|| numbers.into()),
        }
    }

    fn is_of(&self, handle: &SegmentHandle) -> bool {
        // The address is not used again while there is a weak reference.
        Weak::as_ptr(&self.segment) == Arc::as_ptr(&handle.segment)
    }

    fn number(&self, company: CompanyNumber) -> Option<u32> {
        let Some(numbers) = &self.numbers else {
            return Some(company.0);
        };
        let number = numbers[company.index()];
        (number != NO_NUMBER).then_some(number)
    }
}

impl CompanyRanks {
    /// Numbers the live companies of segments, oldest first.
    ///
    /// # Errors
    /// The keys of companies of a file are damaged.
    ///
    /// Cost: nothing for one segment without deleted companies; else a comparison per company and segment, 8 bytes per
    /// company, and 4 per company of each segment.
    pub(super) fn of(segments: &[SegmentHandle]) -> Result<CompanyRanks> {
        if let [only] = segments
            && only.deleted_companies()?.is_empty()
        {
            only.segment.company_keys()?;
            let len = only.segment.company_count();
            let segment = Arc::downgrade(&only.segment);
            let numbers = None;
            return Ok(CompanyRanks {
                len,
                segments: vec![RankedSegment { segment, numbers }],
                ..CompanyRanks::default()
            });
        }
        let mut merge = SlugMerge::new(segments)?;
        // Invariant: the companies before `next` of each segment are numbered. Each iteration numbers a slug.
        while let Some(slug) = merge.slugs.iter().flatten().min().copied() {
            merge.number(slug);
        }
        Ok(CompanyRanks::listed(segments, merge.records, merge.numbers))
    }

    fn listed(
        segments: &[SegmentHandle],
        records: Vec<RankedRecord>,
        numbers: Vec<Vec<u32>>,
    ) -> CompanyRanks {
        let segments = segments.iter().zip(numbers);
        let segments =
            segments.map(|(handle, numbers)| RankedSegment::new(handle, numbers, records.len()));
        CompanyRanks {
            // There are fewer than a `u32` can count, since segments number theirs so.
            len: records.len() as u32,
            segments: segments.collect(),
            records: Some(records.into()),
            without_rows: OnceLock::new(),
        }
    }

    /// The same as [`of`](Self::of), from the ranks of an earlier snapshot.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    ///
    /// Cost: a binary search for each company of a new segment; a pass over the numbers of the others, which are shared
    /// if no company came or went.
    pub(super) fn following(
        earlier: &CompanyRanks,
        segments: &[SegmentHandle],
    ) -> Result<CompanyRanks> {
        let kept: Vec<Option<&RankedSegment>> = segments
            .iter()
            .map(|handle| earlier.segments.iter().find(|known| known.is_of(handle)))
            .collect();
        let is_new = |(_, known): &(&SegmentHandle, &Option<&RankedSegment>)| known.is_none();
        let new = segments.iter().zip(&kept).filter(is_new);
        let new: u64 = new
            .map(|(handle, _)| u64::from(handle.segment.company_count()))
            .sum();
        if segments.len() < 2 || new as usize * NEW_SHARE_MAX > earlier.len as usize {
            return CompanyRanks::of(segments);
        }
        match RankUpdate::new(earlier, segments, &kept)? {
            Some(mut update) => {
                update.add_new(&kept);
                Ok(update.finish(&kept))
            }
            None => CompanyRanks::of(segments),
        }
    }

    /// The number of companies.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// The index of the segment with the current record of a company, and its number there.
    pub(crate) fn record(&self, number: u32) -> (usize, CompanyNumber) {
        match &self.records {
            None => (0, CompanyNumber(number)),
            Some(records) => {
                let (segment, company) = records[number as usize];
                (segment as usize, company)
            }
        }
    }

    /// The number of a company of a segment, if it is live.
    pub(crate) fn number(&self, segment: usize, company: CompanyNumber) -> Option<u32> {
        self.segments[segment].number(company)
    }

    /// As [`number`](Self::number), or [`len`](Self::len), which only damage leads to for the company of a live row.
    pub(crate) fn number_or_len(&self, segment: usize, company: CompanyNumber) -> u32 {
        self.number(segment, company).unwrap_or(self.len)
    }

    /// The number of a company of a segment, if that has its current record.
    pub(crate) fn number_of_record(&self, segment: usize, company: CompanyNumber) -> Option<u32> {
        let number = self.number(segment, company)?;
        (self.record(number) == (segment, company)).then_some(number)
    }

    /// The companies without a row in the segment of their record, ascending. Postings of companies by value and the words
    /// of names leave them out.
    ///
    /// # Errors
    /// The rows of companies are damaged.
    ///
    /// Cost: a pass over the companies, once.
    pub(crate) fn without_rows(&self, segments: &[SegmentHandle]) -> Result<&[u32]> {
        if let Some(known) = self.without_rows.get() {
            return Ok(known);
        }
        let mut without = Vec::new();
        for number in 0..self.len {
            let (segment, company) = self.record(number);
            if segments[segment].segment.company_rows(company)?.is_empty() {
                without.push(number);
            }
        }
        // Another thread may have found the same meanwhile.
        Ok(self.without_rows.get_or_init(|| without))
    }

    /// The numbers of the companies of a segment, greater than all others for those that are not live; `None` if they are
    /// those of the snapshot.
    pub(crate) fn numbers_of(&self, segment: usize) -> Option<&[u32]> {
        self.segments[segment].numbers.as_deref()
    }

    /// Whether the numbers of a segment are those of the snapshot.
    pub(crate) fn are_of_segment(&self, segment: usize) -> bool {
        self.segments[segment].numbers.is_none()
    }

    /// Whether all companies are those of the first segment, under its numbers.
    pub(crate) fn are_of_first(&self) -> bool {
        self.records.is_none()
    }
}

/// Slugs of several segments, merged in ascending order.
struct SlugMerge<'s> {
    segments: &'s [SegmentHandle],
    deleted: Vec<&'s RoaringBitmap>,
    keys: Vec<&'s CompanyKeys<'s>>,
    /// The next slug of each segment.
    slugs: Vec<Option<&'s str>>,
    next: Vec<u32>,
    numbers: Vec<Vec<u32>>,
    records: Vec<RankedRecord>,
}

impl<'s> SlugMerge<'s> {
    fn new(segments: &'s [SegmentHandle]) -> Result<SlugMerge<'s>> {
        let keys: Vec<&CompanyKeys<'_>> = segments
            .iter()
            .map(|live| live.segment.company_keys())
            .collect::<Result<_>>()?;
        let counts = segments.iter().map(|live| live.segment.company_count());
        let first = keys.iter().zip(counts.clone());
        Ok(SlugMerge {
            slugs: first.map(|(keys, count)| slug_of(keys, 0, count)).collect(),
            numbers: counts
                .map(|count| vec![NO_NUMBER; count as usize])
                .collect(),
            records: Vec::new(),
            next: vec![0; segments.len()],
            segments,
            deleted: deleted_of(segments)?,
            keys,
        })
    }

    /// Numbers the company with a slug, if it is live, in all segments that have it, and goes on to the next slugs.
    fn number(&mut self, slug: &'s str) {
        let number = self.records.len() as u32;
        let having: SmallVec<[usize; 8]> = (0..self.segments.len())
            .filter(|&segment| self.slugs[segment] == Some(slug))
            .collect();
        // The newest segment in which it is not deleted has the current record.
        let live = having
            .iter()
            .rev()
            .copied()
            .find(|&segment| !self.deleted[segment].contains(self.next[segment]));
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
            self.slugs[segment] = slug_of(self.keys[segment], *next, count);
        }
    }
}

/// The deleted companies of each segment.
fn deleted_of(segments: &[SegmentHandle]) -> Result<Vec<&RoaringBitmap>> {
    segments
        .iter()
        .map(SegmentHandle::deleted_companies)
        .collect()
}

/// The slug of a company of a segment with `count` companies, if there is one.
fn slug_of<'a>(keys: &CompanyKeys<'a>, company: u32, count: u32) -> Option<&'a str> {
    (company < count).then(|| keys.slug(CompanyNumber(company)))
}

/// Ranks that follow from earlier ones.
struct RankUpdate<'s> {
    segments: &'s [SegmentHandle],
    deleted: Vec<&'s RoaringBitmap>,
    keys: Vec<&'s CompanyKeys<'s>>,
    /// By earlier number: the current record among the kept segments, then among all; [`NO_RECORD`] if there is none.
    records: Vec<RankedRecord>,
    /// The earlier numbers that have a record in a kept segment.
    live: Vec<u32>,
    /// Companies that are new, with the number of live ones before them: ascending by slug.
    inserted: Vec<(&'s str, u32, RankedRecord)>,
    /// By new segment: for each company, an earlier number, or an index in `inserted` after all of these.
    numbers: Vec<Vec<u32>>,
}

impl<'s> RankUpdate<'s> {
    /// `None` if a company has come back that an earlier snapshot had deleted.
    fn new(
        earlier: &CompanyRanks,
        segments: &'s [SegmentHandle],
        kept: &[Option<&RankedSegment>],
    ) -> Result<Option<RankUpdate<'s>>> {
        let keys = segments.iter().map(|live| live.segment.company_keys());
        let keys: Vec<&CompanyKeys<'_>> = keys.collect::<Result<_>>()?;
        let all_deleted = deleted_of(segments)?;
        let mut records = vec![NO_RECORD; earlier.len as usize];
        for (index, (handle, known)) in (0..).zip(segments.iter().zip(kept)) {
            let Some(known) = known else { continue };
            let deleted = all_deleted[index as usize];
            let has_deleted = !deleted.is_empty();
            for company in handle.segment.companies() {
                if has_deleted && deleted.contains(company.0) {
                    continue;
                }
                let Some(number) = known.number(company) else {
                    return Ok(None);
                };
                // The newest segment comes last.
                records[number as usize] = (index, company);
            }
        }
        let numbers = 0..earlier.len;
        let live = numbers.filter(|&number| records[number as usize] != NO_RECORD);
        Ok(Some(RankUpdate {
            segments,
            deleted: all_deleted,
            keys,
            live: live.collect(),
            records,
            inserted: Vec::new(),
            numbers: vec![Vec::new(); segments.len()],
        }))
    }

    /// Looks up the companies of new segments.
    fn add_new(&mut self, kept: &[Option<&RankedSegment>]) {
        for (index, known) in kept.iter().enumerate() {
            if known.is_none() {
                self.add_segment(index);
            }
        }
        // A slug that is new in several segments is one company, of the newest record.
        self.inserted
            .sort_by(|(a, _, one), (b, _, other)| a.cmp(b).then(other.0.cmp(&one.0)));
        self.inserted.dedup_by_key(|(slug, ..)| *slug);
    }

    fn add_segment(&mut self, index: usize) {
        let handle = &self.segments[index];
        for company in handle.segment.companies() {
            let slug = self.keys[index].slug(company);
            let found = self
                .live
                .binary_search_by(|&number| self.slug(number).cmp(slug));
            let record = (index as u32, company);
            let is_live = !self.deleted[index].contains(company.0);
            self.numbers[index].push(found.map_or(NO_NUMBER, |at| self.live[at]));
            match found {
                Ok(at) if is_live => {
                    let number = self.live[at];
                    // The slug of the earlier record is that of the new one.
                    let current = &mut self.records[number as usize];
                    if current.0 < record.0 {
                        *current = record;
                    }
                }
                Err(at) if is_live => self.inserted.push((slug, at as u32, record)),
                _ => {}
            }
        }
    }

    /// The slug of an earlier number that has a record.
    fn slug(&self, number: u32) -> &'s str {
        let (segment, company) = self.records[number as usize];
        self.keys[segment as usize].slug(company)
    }

    fn finish(self, kept: &[Option<&RankedSegment>]) -> CompanyRanks {
        if self.inserted.is_empty() && self.live.len() == self.records.len() {
            return self.with_shared_numbers(kept);
        }
        let mut records = Vec::with_capacity(self.live.len() + self.inserted.len());
        let mut by_earlier = vec![NO_NUMBER; self.records.len()];
        let mut inserted = self.inserted.iter().peekable();
        // Invariant: the companies before this one are numbered, and `inserted` has the rest of the new ones.
        for (position, &number) in (0..).zip(&self.live) {
            while let Some((.., record)) = inserted.next_if(|(_, before, _)| *before <= position) {
                records.push(*record);
            }
            by_earlier[number as usize] = records.len() as u32;
            records.push(self.records[number as usize]);
        }
        records.extend(inserted.map(|(.., record)| *record));
        let mut numbers = self.numbers_of(kept, &by_earlier);
        self.number_inserted(&records, &mut numbers);
        CompanyRanks::listed(self.segments, records, numbers)
    }

    /// No company has come or gone: the numbers of kept segments are as they were.
    fn with_shared_numbers(self, kept: &[Option<&RankedSegment>]) -> CompanyRanks {
        let len = self.records.len();
        let numbered = self.segments.iter().zip(self.numbers).zip(kept);
        let segments = numbered.map(|((handle, numbers), known)| match known {
            Some(known) => (*known).clone(),
            None => RankedSegment::new(handle, numbers, len),
        });
        CompanyRanks {
            len: len as u32,
            segments: segments.collect(),
            records: Some(self.records.into()),
            without_rows: OnceLock::new(),
        }
    }

    /// The numbers of each segment, where they follow from earlier ones.
    fn numbers_of(&self, kept: &[Option<&RankedSegment>], by_earlier: &[u32]) -> Vec<Vec<u32>> {
        let renumbered =
            |earlier: Option<u32>| earlier.map_or(NO_NUMBER, |number| by_earlier[number as usize]);
        let segments = self.segments.iter().zip(kept).zip(&self.numbers);
        let numbers = segments.map(|((handle, known), numbers)| match known {
            Some(known) => {
                let companies = handle.segment.companies();
                companies
                    .map(|company| renumbered(known.number(company)))
                    .collect()
            }
            None => {
                let known = |number: u32| (number != NO_NUMBER).then_some(number);
                numbers
                    .iter()
                    .map(|&number| renumbered(known(number)))
                    .collect()
            }
        });
        numbers.collect()
    }

    /// Sets the numbers of inserted companies in each new segment that has them.
    fn number_inserted(&self, records: &[RankedRecord], numbers: &mut [Vec<u32>]) {
        let new = (0..self.segments.len()).filter(|&index| !self.numbers[index].is_empty());
        for index in new {
            let unknown = self.segments[index].segment.companies();
            for company in unknown.filter(|it| self.numbers[index][it.index()] == NO_NUMBER) {
                let slug = self.keys[index].slug(company);
                let found = records.binary_search_by(|&(segment, company)| {
                    self.keys[segment as usize].slug(company).cmp(slug)
                });
                if let Ok(number) = found {
                    numbers[index][company.index()] = number as u32;
                }
            }
        }
    }
}
