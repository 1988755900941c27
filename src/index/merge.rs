//! Merges many small segments into few large ones, in the background.
//!
//! **Policy.** Segments are kept in the order of writing. The size of a segment is the number of its live
//! rows, its companies and the deletions that it remembers.
//!
//! A commit includes the segments right before it while they are small compared with what it writes
//! ([`choose_for_commit`]). So small commits at any rate leave one or two small segments at the end, with a
//! total size of at most 2,048. A commit copies at most sixteen times as much as it writes, or 128 rows.
//!
//! All earlier segments are merged in the background. A segment is merged with those after it as soon as they
//! have more than an eighth of its size, including its own deleted rows; a segment of a size up to 16,384 is
//! always merged with those after it. So when merges are done, each larger segment is more than eight times
//! as large as all after it together: there are at most seven at a size of 30 million, and at most an eighth
//! of the rows are deleted. A row is rewritten at most nine times while the index grows eightfold.
//!
//! **Concurrency.** A merge of the largest segments takes seconds. Segments committed meanwhile are merged
//! concurrently, by the same policy, so the number of segments does not grow with the number of commits.
//!
//! **Streams.** While commits of more than 2,048 signals follow each other within two seconds, segments are left
//! until eight can be merged at once, and a larger one until those after it have more than its size: each
//! row is then rewritten less often. There are some ten segments meanwhile. After two seconds
//! without such a commit all is as above.
//!
//! **Idle.** A writer that has had no commit for five seconds merges all segments into one if one row in 32
//! has changed: the index is then as fast as a new one. Dropping the writer cancels such a merge.
//!
//! **Limit.** If commits come faster than merges, a commit that leaves more than 64 segments merges the last
//! of them itself before it returns.

use std::collections::BTreeSet;
use std::ops::Range;

use roaring::RoaringBitmap;

use super::commit::Committer;
use super::directory::{FileBuilder, NewFiles};
use super::live::SegmentHandle;
use super::removals::Removed;
use crate::Result;
use crate::encoding::row::{CompanyNumber, Row};
use crate::segment::{Segment, encoder_for};

/// Minimum ratio between the size of a segment and that of all segments after it. Eight needs half the merge
/// work of sixteen; an additional segment costs a page less than a microsecond (`benches/updates.rs`).
const SHRINKAGE: u64 = 8;

/// Size up to which a segment is always merged with those after it, except the small ones that are left to
/// commits. A row is rewritten four more times on average, and an index of 200,000 has one segment less.
const SMALL_SIZE: u64 = SHRINKAGE * COMMIT_SIZE_MAX;

/// Size up to which commits merge the segments before them: copying that much takes two milliseconds, about as
/// long as a commit waits for the disk (`benches/updates.rs`). It is small in tests, so that their short
/// histories have both kinds of merges.
const COMMIT_SIZE_MAX: u64 = if cfg!(test) { 32 } else { 2048 };

/// How many segments are merged at once while large commits follow each other.
const STREAM_FAN_IN: usize = 8;

/// A commit includes a segment of up to this many times its own size. Commits of 50 signals and their companies
/// then leave a single small segment, those of one signal two (`benches/updates.rs`).
const COMMIT_GROWTH: u64 = 16;

/// Size up to which a commit always includes a segment: copying that much takes less time than creating and
/// syncing a file.
const COMMIT_SIZE_MIN: u64 = if cfg!(test) { 8 } else { 128 };

/// Maximum bytes of the segments that a commit includes, so that long records are not copied repeatedly.
const COMMIT_BYTES_MAX: u64 = 2 << 20;

/// An idle writer merges everything when the segments after the first, plus its deleted rows, are one row in
/// this many: each changed row then causes at most this many rows to be written, and to be fetched by
/// replicas. A short page takes three times as long with three segments (`benches/updates.rs`).
const IDLE_SHRINKAGE: u64 = 4 * SHRINKAGE;

/// Rows between checks whether a merge has been cancelled.
const ROWS_BETWEEN_LOOKS: u32 = 4096;

/// Maximum number of segments after a commit.
const SEGMENTS_MAX: usize = 64;

/// Merges all segments into one. Cost: that of rebuilding the index.
pub(super) fn compact(core: &Committer) -> Result<()> {
    // A background merge may take segments first; the next attempt then finds fewer.
    loop {
        // Report an earlier failure of the writer even if there is nothing to merge.
        drop(core.lock()?);
        let snapshot = core.snapshot();
        let is_compact = match snapshot.segments.as_slice() {
            [] => true,
            [live] => !live.deleted.is_some(),
            _ => false,
        };
        if is_compact {
            return Ok(());
        }
        merge(core, &snapshot.segments, &|| false)?;
    }
}

/// Merges the last segments if there are too many. Cost: that of building half of the maximum number of
/// segments, the smallest ones.
pub(super) fn bound(core: &Committer) -> Result<()> {
    let snapshot = core.snapshot();
    if snapshot.segments.len() > SEGMENTS_MAX {
        merge(core, &snapshot.segments[SEGMENTS_MAX / 2..], &|| false)
    } else {
        Ok(())
    }
}

/// The number of last segments that a commit of this size includes.
pub(super) fn choose_for_commit(segments: &[SegmentHandle], written: u64) -> usize {
    let mut total = written;
    let is_taken = |live: &&SegmentHandle| {
        // The limit grows with the segments that have been taken.
        let limit = COMMIT_SIZE_MIN.max(COMMIT_GROWTH.saturating_mul(total));
        total += size(live);
        size(live) <= limit
    };
    let small = &segments[segments.len() - small_segments(segments)..];
    small.iter().rev().take_while(is_taken).count()
}

/// The number of last segments that are left to commits.
fn small_segments(segments: &[SegmentHandle]) -> usize {
    let (mut total, mut bytes) = (0, 0);
    let is_small = |live: &&SegmentHandle| {
        total += size(live);
        bytes += live.segment.file_size();
        total <= COMMIT_SIZE_MAX && bytes <= COMMIT_BYTES_MAX
    };
    segments.iter().rev().take_while(is_small).count()
}

/// The segments to merge next, if any: neighbours before those left to commits.
pub(super) fn choose(segments: &[SegmentHandle]) -> Option<Range<usize>> {
    choose_due(segments, |size, waste| {
        let is_small = size <= SMALL_SIZE && waste > 0;
        is_small || waste.saturating_mul(SHRINKAGE) > size
    })
}

/// The segments to merge next while large commits follow each other.
pub(super) fn choose_in_stream(segments: &[SegmentHandle]) -> Option<Range<usize>> {
    choose_due(segments, |size, waste| waste > size).filter(|due| due.len() >= STREAM_FAN_IN)
}

/// The first segment that is due, given its size and that of all after it with its own deleted rows, and all
/// segments after it, without those left to commits.
fn choose_due(
    segments: &[SegmentHandle],
    is_due: impl Fn(u64, u64) -> bool,
) -> Option<Range<usize>> {
    let segments = &segments[..segments.len() - small_segments(segments)];
    let mut newer: u64 = segments.iter().map(size).sum();
    let first = segments.iter().position(|live| {
        newer -= size(live);
        // Now `newer` is the size of all segments after this one.
        is_due(size(live), newer + live.deleted.row_count())
    })?;
    Some(first..segments.len())
}

/// Whether a commit of this size is large: later commits do not include its segment.
pub(super) fn is_large(written: u64) -> bool {
    written > COMMIT_SIZE_MAX
}

/// All segments, if an idle writer should merge them.
pub(super) fn choose_idle(segments: &[SegmentHandle]) -> Option<&[SegmentHandle]> {
    let (first, newer) = segments.split_first()?;
    let changed = newer.iter().map(size).sum::<u64>() + first.deleted.row_count();
    let is_due = changed.saturating_mul(IDLE_SHRINKAGE) > size(first);
    is_due.then_some(segments)
}

fn size(live: &SegmentHandle) -> u64 {
    let deletions = live.segment.tombstone_count() as u64;
    live.live().live_rows() + u64::from(live.segment.company_count()) + deletions
}

/// Merges neighbouring segments of a snapshot into one. Commits may happen meanwhile; their deletions are applied
/// to the result before it is published. If a commit or another merge has taken some of the segments, or this
/// merge is cancelled, nothing changes.
pub(super) fn merge(
    core: &Committer,
    inputs: &[SegmentHandle],
    is_given_up: &dyn Fn() -> bool,
) -> Result<()> {
    let mut new_files = NewFiles::new(&core.storage);
    let Some(_claim) = core.claim(inputs)? else {
        return Ok(());
    };
    let encoder = if core.lock()?.manifest.compresses_records {
        let segments: Vec<&Segment> = inputs.iter().map(|live| &*live.segment).collect();
        let snapshot = core.snapshot();
        let all = snapshot.segments.iter().map(|live| &*live.segment);
        encoder_for(&segments, all.max_by_key(|segment| segment.row_count()))?
    } else {
        None
    };
    let output = {
        let next_file = &mut core.lock()?.manifest.next_file;
        FileBuilder::create(&mut new_files, next_file, encoder)?
    };
    // No lock is held while the segment is written, so that commits go on.
    let written = write_merged(core, output, inputs, is_given_up);
    let mut state = core.lock()?;
    let merged = written.map_err(|error| Committer::fail_on_io(&mut state, error))?;
    let Some(merged) = merged else {
        return Ok(());
    };
    // Commits and other merges may have changed the segments meanwhile.
    let now = core.snapshot();
    let Some(chosen) = find(inputs, &now.segments) else {
        return Ok(());
    };
    let (rows, companies) = deleted_since(&merged, inputs, &now.segments[chosen.clone()])?;
    let merged = if rows.is_empty() && companies.is_empty() {
        (merged, None)
    } else {
        let writing = (&mut *state, &mut new_files);
        Committer::write_deleted(writing, &merged, &rows, &companies)?
    };
    let lines = |live: &SegmentHandle| (live.clone(), state.manifest.deleted_line(live.number));
    let mut segments: Vec<_> = now.segments[..chosen.start].iter().map(lines).collect();
    segments.push(merged);
    segments.extend(now.segments[chosen.end..].iter().map(lines));
    let commits = (state.manifest.history, now.chain.clone());
    let published = core.publish(&mut state, new_files, segments, commits);
    published.map(drop)
}

/// The current range of segments. Commits append and replace the last ones, and merges replace neighbours, so
/// the segments are still neighbours unless some have been taken.
pub(super) fn find(inputs: &[SegmentHandle], now: &[SegmentHandle]) -> Option<Range<usize>> {
    let numbers = |segments: &[SegmentHandle]| -> Vec<u64> {
        segments.iter().map(|live| live.number).collect()
    };
    let (wanted, now) = (numbers(inputs), numbers(now));
    let start = now
        .iter()
        .position(|number| wanted.first() == Some(number))?;
    let end = start + wanted.len();
    (now.get(start..end)? == wanted).then_some(start..end)
}

/// The segments after those claimed by running merges, given the number of the last claimed one.
pub(super) fn unclaimed(segments: &[SegmentHandle], last_claimed: Option<u64>) -> &[SegmentHandle] {
    let is_claimed = |live: &SegmentHandle| last_claimed.is_some_and(|last| live.number <= last);
    &segments[segments.partition_point(is_claimed)..]
}

/// Writes the merged segment; `None` if the merge was cancelled.
fn write_merged(
    core: &Committer,
    mut output: FileBuilder,
    inputs: &[SegmentHandle],
    is_given_up: &dyn Fn() -> bool,
) -> Result<Option<SegmentHandle>> {
    let none = Removed::default();
    let inputs: Vec<MergeInput<'_>> = inputs
        .iter()
        .map(|live| MergeInput {
            live,
            removed: &none,
        })
        .collect();
    if !copy(&mut output, &inputs, is_given_up)? {
        return Ok(None);
    }
    let remembered_from = core.lock()?.manifest.history.remembered_from();
    copy_tombstones(&mut output, &inputs, remembered_from)?;
    output.finish(&*core.storage).map(Some)
}

/// A segment to merge, with rows that a commit removes from it.
#[derive(Clone, Copy)]
pub(super) struct MergeInput<'a> {
    pub(super) live: &'a SegmentHandle,
    pub(super) removed: &'a Removed,
}

impl<'a> MergeInput<'a> {
    fn companies(self) -> Result<impl Iterator<Item = CompanyNumber> + 'a> {
        let (companies, deleted) = (
            self.live.segment.companies(),
            self.live.deleted_companies()?,
        );
        Ok(companies.filter(move |&company| {
            !deleted.contains(company.0) && !self.removed.companies.contains(company.0)
        }))
    }

    fn rows(self) -> impl Iterator<Item = Row> + 'a {
        let rows = self.live.segment.rows();
        rows.filter(move |&row| {
            !self.live.deleted.contains(row) && !self.removed.rows.contains(row.0)
        })
    }
}

/// Copies the live rows of segments. Returns `false` if cancelled.
pub(super) fn copy(
    output: &mut FileBuilder,
    inputs: &[MergeInput<'_>],
    is_given_up: &dyn Fn() -> bool,
) -> Result<bool> {
    let mut sources = Vec::with_capacity(inputs.len());
    for &input in inputs {
        let source = output.builder.copy_source(&input.live.segment)?;
        sources.push((input, source));
    }
    // All companies before the first signal, because a signal needs its company.
    for (input, source) in &mut sources {
        // A later segment's record of a company replaces an earlier one's.
        for company in input.companies()? {
            output.builder.copy_company(source, company)?;
        }
    }
    for (input, mut source) in sources {
        for row in input.rows() {
            if row.0.is_multiple_of(ROWS_BETWEEN_LOOKS) && is_given_up() {
                return Ok(false);
            }
            output.builder.copy_signal(&mut source, row)?;
        }
    }
    Ok(true)
}

/// Copies the remembered deletions of segments since a commit.
pub(super) fn copy_tombstones(
    output: &mut FileBuilder,
    inputs: &[MergeInput<'_>],
    remembered_from: u64,
) -> Result<()> {
    for input in inputs {
        let all = input.live.segment.tombstones()?.iter();
        for &tombstone in all.filter(|tombstone| tombstone.commit >= remembered_from) {
            output.builder.add_tombstone(tombstone);
        }
    }
    Ok(())
}

/// The rows and companies of the merged segment that were deleted while it was being written.
fn deleted_since(
    merged: &SegmentHandle,
    inputs: &[SegmentHandle],
    current: &[SegmentHandle],
) -> Result<(RoaringBitmap, RoaringBitmap)> {
    let mut rows = RoaringBitmap::new();
    let mut companies = BTreeSet::new();
    for (input, current) in inputs.iter().zip(current) {
        // Deletions are never taken back, so the difference is what was deleted meanwhile.
        for row in current.deleted.rows() - input.deleted.rows() {
            let id = input.segment.id(Row(row))?;
            rows.extend(merged.segment.row(id)?.map(|row| row.0));
        }
        for company in current.deleted_companies()? - input.deleted_companies()? {
            let slug = input.segment.company_keys()?.slug(CompanyNumber(company));
            let company = merged.segment.company_keys()?.by_slug(slug);
            companies.extend(company.map(|company| company.0));
        }
    }
    Ok((rows, companies.into_iter().collect()))
}
