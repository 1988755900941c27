//! Merging: many small segments into few large ones, in the background.
//!
//! **Policy.** Segments are kept in the order of their writing. The size of one is the number of
//! its live rows, its companies and the deletions that it remembers. A segment is merged with all that come after it as soon as these
//! have more than an eighth of its size, its own deleted rows included; one of a size up to 1,024
//! is merged with whatever comes after it. So when merges are done, each segment is more than
//! eight times as large as all after it together: there are at most six at a size of 30 million,
//! and at most an eighth of the rows are deleted. A row is rewritten at most nine times while the
//! index grows eightfold.
//!
//! **Beside each other.** A merge of the largest segments takes seconds. What is committed meanwhile is
//! merged beside it, by the same policy, so that a query never meets one segment a commit.
//!
//! **Idle.** A writer that has had no commit for five seconds merges all segments into one where one
//! row in 32 has changed: queries then meet an index as if built anew. Dropping the
//! writer gives such a merge up.
//!
//! **Bounds.** Where commits come faster than merges, a commit that leaves more than 64 segments
//! merges the last of them itself before it returns.

use std::collections::BTreeSet;
use std::ops::Range;

use roaring::RoaringBitmap;

use super::commit::Committer;
use super::directory::{FileBuilder, NewFiles};
use super::live::SegmentHandle;
use crate::Result;
use crate::encoding::row::{CompanyNumber, Row};
use crate::segment::{Segment, Tombstone, catch_damage, encoder_for};

/// How many times the rows after it a segment has. Eight halves the work of merging against
/// sixteen; a segment more costs a page less than a microsecond (`benches/updates.rs`).
const SHRINKAGE: u64 = 8;

/// The size up to which a segment is always merged with what comes after it: as much is built in
/// the time that a commit waits for the disk.
const SMALL_SIZE: u64 = 1024;

/// An idle writer merges everything as soon as all after the first segment, and what is deleted of
/// it, are one row in this many: a changed row then costs at most this many to be written, and
/// to be fetched by replicas. Three segments cost a short page three times what one does
/// (`benches/updates.rs`).
const IDLE_SHRINKAGE: u64 = 4 * SHRINKAGE;

/// After this many rows a merge looks whether it should go on.
const ROWS_BETWEEN_LOOKS: u32 = 4096;

/// The most segments that a commit leaves.
const SEGMENTS_MAX: usize = 64;

/// Merges all segments into one. Cost: that of building the index anew.
pub(super) fn compact(core: &Committer) -> Result<()> {
    // A merge in the background may take the segments first; then there are fewer the next time.
    loop {
        // A writer that has failed says so even where there is nothing left to merge.
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

/// Merges the last segments where there are too many. Cost: that of building half of the most
/// that there may be, which are the smallest.
pub(super) fn bound(core: &Committer) -> Result<()> {
    let snapshot = core.snapshot();
    if snapshot.segments.len() > SEGMENTS_MAX {
        merge(core, &snapshot.segments[SEGMENTS_MAX / 2..], &|| false)
    } else {
        Ok(())
    }
}

/// The segments to merge next among the last ones of an index, where there are any.
pub(super) fn choose(segments: &[SegmentHandle]) -> Option<&[SegmentHandle]> {
    let mut newer: u64 = segments.iter().map(size).sum();
    let is_due = |live: &SegmentHandle| {
        newer -= size(live);
        let waste = newer + live.deleted.row_count();
        let is_small = size(live) <= SMALL_SIZE && waste > 0;
        is_small || waste.saturating_mul(SHRINKAGE) > size(live)
    };
    let first = segments.iter().position(is_due)?;
    Some(&segments[first..])
}

/// Everything, where an idle writer should merge it.
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

/// Merges neighbouring segments of a snapshot into one. Commits go on meanwhile; what they deleted
/// of the merged segments is deleted of the result before it is published. Where another merge has
/// taken some of them since, or this one is given up, nothing changes.
pub(super) fn merge(
    core: &Committer,
    inputs: &[SegmentHandle],
    is_given_up: &dyn Fn() -> bool,
) -> Result<()> {
    catch_damage(|| write_merge(core, inputs, is_given_up))?
}

fn write_merge(
    core: &Committer,
    inputs: &[SegmentHandle],
    is_given_up: &dyn Fn() -> bool,
) -> Result<()> {
    let mut new_files = NewFiles::new(&core.storage);
    let encoder = if core.lock()?.manifest.compresses_records {
        let segments: Vec<&Segment> = inputs.iter().map(|live| &*live.segment).collect();
        encoder_for(&segments)?
    } else {
        None
    };
    let output = {
        let next_file = &mut core.lock()?.manifest.next_file;
        FileBuilder::create(&mut new_files, next_file, encoder)?
    };
    let written = write_merged(core, output, inputs, is_given_up);
    let mut state = core.lock()?;
    let merged = written.map_err(|error| Committer::fail_on_io(&mut state, error))?;
    let Some(merged) = merged else {
        return Ok(());
    };
    let now = core.snapshot();
    let Some(chosen) = find(inputs, &now.segments) else {
        return Ok(());
    };
    let (rows, companies) = deleted_since(&merged, inputs, &now.segments[chosen.clone()]);
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
    let history = state.manifest.history;
    let published = core.publish(&mut state, new_files, segments, history);
    published.map(drop)
}

/// Where segments stand now. Commits only append, and a merge puts one in place of several: so
/// they stand together, or another merge has taken them.
fn find(inputs: &[SegmentHandle], now: &[SegmentHandle]) -> Option<Range<usize>> {
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

/// Writes the merged segment; none where that was given up.
fn write_merged(
    core: &Committer,
    mut output: FileBuilder,
    inputs: &[SegmentHandle],
    is_given_up: &dyn Fn() -> bool,
) -> Result<Option<SegmentHandle>> {
    let mut sources: Vec<_> = inputs
        .iter()
        .map(|live| (live, output.builder.copy_source(&live.segment)))
        .collect();
    for (live, source) in &mut sources {
        // A later segment's record of a company replaces an earlier one's.
        let companies = live.segment.companies();
        for company in companies.filter(|&company| !live.deleted.contains_company(company)) {
            output.builder.copy_company(source, company)?;
        }
    }
    for (live, mut source) in sources {
        let rows = live.segment.rows();
        for row in rows.filter(|&row| !live.deleted.contains(row)) {
            if row.0.is_multiple_of(ROWS_BETWEEN_LOOKS) && is_given_up() {
                return Ok(None);
            }
            output.builder.copy_signal(&mut source, row)?;
        }
    }
    for tombstone in remembered_tombstones(core, inputs)? {
        output.builder.add_tombstone(tombstone);
    }
    output.finish(&*core.storage).map(Some)
}

/// The deletions of merged segments that are still remembered.
fn remembered_tombstones(
    core: &Committer,
    inputs: &[SegmentHandle],
) -> Result<impl Iterator<Item = Tombstone>> {
    let from = core.lock()?.manifest.history.remembered_from();
    let all = inputs.iter().flat_map(|live| live.segment.tombstones());
    Ok(all
        .copied()
        .filter(move |tombstone| tombstone.commit >= from))
}

/// The rows and companies of the merged segment that were deleted while it was written.
fn deleted_since(
    merged: &SegmentHandle,
    inputs: &[SegmentHandle],
    current: &[SegmentHandle],
) -> (RoaringBitmap, RoaringBitmap) {
    let mut rows = RoaringBitmap::new();
    let mut companies = BTreeSet::new();
    for (input, current) in inputs.iter().zip(current) {
        for row in current.deleted.rows() - input.deleted.rows() {
            rows.extend(
                merged
                    .segment
                    .row(input.segment.id(Row(row)))
                    .map(|row| row.0),
            );
        }
        for company in current.deleted.companies() - input.deleted.companies() {
            let slug = input.segment.company_keys().slug(CompanyNumber(company));
            let company = merged.segment.company_keys().by_slug(slug);
            companies.extend(company.map(|company| company.0));
        }
    }
    (rows, companies.into_iter().collect())
}
