//! What is kept of narrowed snapshots: the rows of each segment that a filter hides, within a budget of bytes.
//!
//! The snapshots of an index share them. A commit adds a segment and deletes rows of others, so a narrowed snapshot follows
//! from the one before.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use hashbrown::HashMap;
use time::Date;

use super::company_ranks::CompanyRanks;
use super::live::SegmentHandle;
use crate::digest::Digest;
use crate::query::dates::day_number;
use crate::query::{Fingerprint, KeyFilter};
use crate::segment::{Deleted, Segment};

/// Bytes that are kept by default.
const BYTES_MAX: u64 = 256 << 20;

/// Bytes counted for each segment and filter, beside its rows: mostly the counts of values.
const ENTRY_BYTES: u64 = 8_192;

/// What hidden rows depend on: the filter, and the day if it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct NarrowingKey {
    filter: Fingerprint,
    day: Option<Date>,
}

impl NarrowingKey {
    pub(super) fn new(filter: &KeyFilter, today: Date) -> NarrowingKey {
        NarrowingKey {
            filter: filter.fingerprint(),
            day: filter.depends_on_today().then_some(today),
        }
    }

    /// What the revision of a narrowed snapshot is a digest of.
    pub(super) fn revision_of(&self, revision: Digest) -> Vec<u8> {
        let day = self.day.map_or(i32::MIN, day_number);
        [
            revision.bytes().as_slice(),
            self.filter.as_bytes(),
            &day.to_le_bytes(),
        ]
        .concat()
    }
}

/// A narrowed snapshot, as far as it is known here: snapshots have the narrowed ones of their index.
pub(super) trait NarrowedSnapshot {
    /// Its segments.
    fn segments(&self) -> &[SegmentHandle];

    /// The numbers of companies that are known already.
    fn known_ranks(&self) -> Option<Arc<CompanyRanks>>;
}

/// The narrowed snapshots of an index.
#[derive(Debug)]
pub(super) struct Narrowings<S> {
    bytes_max: AtomicU64,
    kept: Mutex<KeptNarrowings<S>>,
}

#[derive(Debug)]
struct KeptNarrowings<S> {
    by_key: HashMap<NarrowingKey, KeptNarrowing<S>>,
    bytes: u64,
    uses: u64,
}

#[derive(Debug)]
struct KeptNarrowing<S> {
    /// The last one, with the revision of the snapshot that it is of; forgotten with it.
    ready: Option<(Digest, Arc<S>)>,
    known: KnownDeletions,
    bytes: u64,
    last_use: u64,
}

/// What is known of the segments of an earlier snapshot.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownDeletions {
    segments: Vec<(Weak<Segment>, Arc<Deleted>, Arc<Deleted>)>,
    pub(super) ranks: Option<Arc<CompanyRanks>>,
}

impl<S> Default for Narrowings<S> {
    fn default() -> Narrowings<S> {
        Narrowings {
            bytes_max: AtomicU64::new(BYTES_MAX),
            kept: Mutex::new(KeptNarrowings {
                by_key: HashMap::new(),
                bytes: 0,
                uses: 0,
            }),
        }
    }
}

impl<S: NarrowedSnapshot> Narrowings<S> {
    pub(super) fn set_bytes_max(&self, bytes: u64) {
        self.bytes_max.store(bytes, Ordering::Relaxed);
        self.lock().drop_beyond(bytes, None);
    }

    /// The narrowed snapshot of a revision, or what is known of an earlier one.
    pub(super) fn find(
        &self,
        key: &NarrowingKey,
        revision: Digest,
    ) -> Result<Arc<S>, KnownDeletions> {
        let mut kept = self.lock();
        kept.uses += 1;
        let uses = kept.uses;
        let Some(found) = kept.by_key.get_mut(key) else {
            return Err(KnownDeletions::default());
        };
        found.last_use = uses;
        match &found.ready {
            Some((of, ready)) if *of == revision => Ok(Arc::clone(ready)),
            Some((_, ready)) => Err(KnownDeletions::of(&**ready)),
            None => Err(found.known.clone()),
        }
    }

    /// Keeps a narrowed snapshot, if it fits into the budget.
    pub(super) fn keep(&self, key: NarrowingKey, revision: Digest, narrowed: &Arc<S>) {
        let (bytes, most) = (
            bytes_of(&**narrowed),
            self.bytes_max.load(Ordering::Relaxed),
        );
        // It would drop all others, and be dropped by the next one.
        if bytes > most {
            return;
        }
        let mut kept = self.lock();
        let last_use = kept.uses;
        let former = kept.by_key.insert(
            key,
            KeptNarrowing {
                ready: Some((revision, Arc::clone(narrowed))),
                known: KnownDeletions::default(),
                bytes,
                last_use,
            },
        );
        kept.bytes += bytes;
        kept.bytes -= former.map_or(0, |former| former.bytes);
        kept.drop_beyond(most, Some(&key));
    }

    /// Forgets the snapshots, so that they do not keep files that were merged, but not what they hide.
    pub(super) fn retire(&self) {
        for kept in self.lock().by_key.values_mut() {
            if let Some((_, ready)) = kept.ready.take() {
                kept.known = KnownDeletions::of(&*ready);
            }
        }
    }

    /// What is kept. A panic while it was locked leaves it usable: at worst its bytes are counted twice.
    fn lock(&self) -> MutexGuard<'_, KeptNarrowings<S>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> KeptNarrowings<S> {
    /// Drops those that were used longest ago, but for one, until the others fit.
    fn drop_beyond(&mut self, most: u64, but: Option<&NarrowingKey>) {
        // Each turn drops one.
        while self.bytes > most {
            let others = self.by_key.iter().filter(|(key, _)| Some(*key) != but);
            let oldest = others.min_by_key(|(_, kept)| kept.last_use);
            let Some(key) = oldest.map(|(key, _)| *key) else {
                return;
            };
            let dropped = self.by_key.remove(&key);
            self.bytes -= dropped.map_or(0, |dropped| dropped.bytes);
        }
    }
}

impl KnownDeletions {
    fn of(narrowed: &impl NarrowedSnapshot) -> KnownDeletions {
        let segments = narrowed.segments().iter().map(|handle| {
            let stored = Arc::clone(handle.stored_deletions());
            let segment = Arc::downgrade(&handle.segment);
            (segment, stored, Arc::clone(&handle.deleted))
        });
        KnownDeletions {
            segments: segments.collect(),
            ranks: narrowed.known_ranks(),
        }
    }

    /// What was stored of a segment, and what was hidden of it.
    pub(super) fn of_segment(
        &self,
        handle: &SegmentHandle,
    ) -> Option<(Arc<Deleted>, Arc<Deleted>)> {
        // The address is not used again while there is a weak reference.
        let is_of = |known: &Weak<Segment>| Weak::as_ptr(known) == Arc::as_ptr(&handle.segment);
        let mut segments = self.segments.iter();
        let (_, stored, hidden) = segments.find(|(segment, ..)| is_of(segment))?;
        Some((Arc::clone(stored), Arc::clone(hidden)))
    }
}

/// The bytes that a narrowed snapshot keeps.
fn bytes_of(narrowed: &impl NarrowedSnapshot) -> u64 {
    let segments = narrowed.segments().iter();
    let bytes = segments.map(|handle| ENTRY_BYTES + handle.deleted.memory_bytes(&handle.segment));
    bytes.sum()
}
