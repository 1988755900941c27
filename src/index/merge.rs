//! Merging: many small segments into few large ones, in the background.
//!
//! **Policy.** Segments are kept in the order of their writing. A segment's level is the number
//! of times that 1,024 rows can be multiplied by eight without exceeding its live rows. As soon
//! as eight segments at the end of the list have no more than some level, they are merged. So
//! there are at most seven segments a level, fewer than fifty at 100 million rows, and a row is
//! rewritten at most once a level, eight times at that size. A segment of which more than half is
//! deleted is rewritten by itself.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use roaring::RoaringBitmap;

use super::directory::FileBuilder;
use super::live::LiveSegment;
use super::snapshot::Snapshot;
use super::writer::WriterCore;
use crate::Result;
use crate::segment::Row;

/// How many segments are merged at a time, and how much larger each level is than the last.
const FANOUT: usize = 8;

/// The rows up to which a segment is of the lowest level.
const LOWEST_LEVEL_ROWS: u64 = 1024;

/// Merges all segments into one. Cost: that of building the index anew.
pub(super) fn compact(core: &WriterCore) -> Result<()> {
    // A merge in the background may take the segments first; then there are fewer the next time.
    loop {
        let snapshot = core.snapshot();
        let is_compact = match snapshot.segments.as_slice() {
            [] => true,
            [live] => !live.deleted.is_some(),
            _ => false,
        };
        if is_compact {
            return Ok(());
        }
        merge(core, 0..snapshot.segments.len())?;
    }
}

/// The segments to merge next, where there are any.
fn choose(snapshot: &Snapshot) -> Option<Range<usize>> {
    let segments = &snapshot.segments;
    let levels: Vec<u32> = segments
        .iter()
        .map(|live| level(live.live_rows()))
        .collect();
    for most in 0..=levels.iter().copied().max()? {
        let tail = levels
            .iter()
            .rev()
            .take_while(|&&level| level <= most)
            .count();
        if tail >= FANOUT {
            return Some(segments.len() - tail..segments.len());
        }
    }
    let is_mostly_deleted =
        |live: &LiveSegment| live.live_rows() * 2 < u64::from(live.segment.row_count());
    let place = segments.iter().position(is_mostly_deleted)?;
    Some(place..place + 1)
}

fn level(rows: u64) -> u32 {
    (rows / LOWEST_LEVEL_ROWS)
        .checked_ilog(FANOUT as u64)
        .map_or(0, |level| level + 1)
}

/// Merges neighbouring segments into one. Commits go on meanwhile; what they deleted of the
/// merged segments is deleted of the result before it is published.
fn merge(core: &WriterCore, chosen: Range<usize>) -> Result<()> {
    let before = core.snapshot();
    let inputs = &before.segments[chosen.clone()];
    let file = WriterCore::next_file(&mut *core.lock()?);
    let written = write_merged(core, file, inputs);
    let mut state = core.lock()?;
    let merged = written.map_err(|error| WriterCore::fail_on_io(&mut state, error))?;
    let now = core.snapshot();
    // Commits only append segments, so the inputs still stand where they stood, unless another
    // merge has taken them.
    let still = now.segments.get(chosen.clone()).filter(|current| {
        current
            .iter()
            .map(|live| live.number)
            .eq(inputs.iter().map(|live| live.number))
    });
    let Some(current) = still else { return Ok(()) };
    let (rows, companies) = deleted_since(&merged, inputs, current);
    let merged = match rows.is_empty() && companies.is_empty() {
        true => (merged, None),
        false => core.write_deleted(&mut state, &merged, &rows, &companies)?,
    };
    let lines = |live: &LiveSegment| (live.clone(), state.manifest.deleted_line(live.number));
    let mut segments: Vec<_> = now.segments[..chosen.start].iter().map(lines).collect();
    segments.push(merged);
    segments.extend(now.segments[chosen.end..].iter().map(lines));
    core.publish(&mut state, segments).map(drop)
}

fn write_merged(core: &WriterCore, file: u64, inputs: &[LiveSegment]) -> Result<LiveSegment> {
    let mut output = FileBuilder::create(&*core.storage, file)?;
    for live in inputs {
        // A later segment's record of a company takes the place of an earlier one's.
        for company in
            (0..live.segment.company_count()).filter(|&c| !live.deleted.contains_company(c))
        {
            output
                .builder
                .add_company(&live.segment.company(company)?)?;
        }
    }
    for live in inputs {
        for row in (0..live.segment.row_count())
            .map(Row)
            .filter(|&row| !live.deleted.contains(row))
        {
            output.builder.add_signal(&live.segment.signal(row)?)?;
        }
    }
    output.finish(&*core.storage)
}

/// The rows and companies of the merged segment that were deleted while it was written.
fn deleted_since(
    merged: &LiveSegment,
    inputs: &[LiveSegment],
    current: &[LiveSegment],
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
            let slug = input.segment.company_slugs().get(company as usize);
            companies.extend(merged.segment.company_by_slug(slug));
        }
    }
    (rows, companies.into_iter().collect())
}

/// The thread that merges whenever a commit has left something to merge.
#[derive(Debug)]
pub(super) struct MergeThread {
    wake: Option<Sender<Option<Sender<()>>>>,
    thread: Option<JoinHandle<()>>,
}

impl MergeThread {
    /// Starts the thread. It holds the writer's core only while it merges.
    pub(super) fn start(core: &Arc<WriterCore>) -> MergeThread {
        let (wake, woken) = mpsc::channel();
        let core = Arc::downgrade(core);
        let name = "signaldex-merge".to_owned();
        let thread = std::thread::Builder::new()
            .name(name)
            .spawn(move || run(&core, &woken));
        MergeThread {
            wake: Some(wake),
            thread: thread.ok(),
        }
    }

    /// Says that there may be something to merge.
    pub(super) fn wake(&self) {
        if let Some(wake) = &self.wake {
            // Where the thread is gone, segments stay unmerged and everything else goes on.
            let _ = wake.send(None);
        }
    }

    /// Waits until there is nothing to merge.
    pub(super) fn wait(&self) {
        let (done, is_done) = mpsc::channel();
        if let Some(wake) = &self.wake
            && wake.send(Some(done)).is_ok()
        {
            let _ = is_done.recv();
        }
    }
}

impl Drop for MergeThread {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            // The thread does not panic on anything it reads; were it to, there is nobody to tell.
            let _ = thread.join();
        }
    }
}

fn run(core: &Weak<WriterCore>, woken: &Receiver<Option<Sender<()>>>) {
    while let Ok(done) = woken.recv() {
        if let Some(core) = core.upgrade() {
            while let Some(chosen) = choose(&core.snapshot()) {
                // A failure is kept in the writer's state, and the next commit reports it.
                if merge(&core, chosen).is_err() {
                    break;
                }
            }
        }
        drop(done);
    }
}
