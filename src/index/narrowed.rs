//! Narrowed snapshots: what a key with a filter sees of an index.
//!
//! The rows that a key does not see are deleted ones in its snapshot, and so are the companies without a row that it sees.
//! So every question is answered as if they did not exist. The feed of changes alone looks at what is stored: a signal
//! that has left what the key sees is a removal.

use std::sync::Arc;

use time::Date;

use super::Index;
use super::company_ranks::CompanyRanks;
use super::cost::sizes;
use super::live::SegmentHandle;
use super::narrowings::{KnownDeletions, NarrowedSnapshot, NarrowingKey};
use super::snapshot::Snapshot;
use crate::Result;
use crate::digest::Digest;
use crate::encoding::row_bits::RowBits;
use crate::plan::{Cost, cost};
use crate::query::{Filter, KeyFilter};
use crate::segment::Deleted;

/// How many times as much a row costs here as one of the comparisons that [`cost::of_rows`] counts.
const PASS_COST: Cost = 4;

impl Snapshot {
    /// The snapshot as a key with a filter sees it. It answers every question as a snapshot does that holds only the
    /// signals that [`KeyFilter::matches`] selects and the companies with such a signal. `today` is the day that the
    /// key's own `days` and `dateRanges` count from.
    ///
    /// Its [identity](Self::identity) and [revision](Self::revision) are its own, so that neither a [`Position`] nor an
    /// entity tag is taken for that of another key. Cursors are bound to the filter by
    /// [`QueryBuilder::for_key`](crate::query::QueryBuilder::for_key).
    ///
    /// ```
    /// use signaldex::query::KeyFilter;
    /// use signaldex::{Filter, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let filter = KeyFilter::parse(["country=Germany"], ["categories=hiring"])?;
    /// let narrowed = snapshot.narrowed(&filter, sample::AS_OF)?;
    /// let all = Filter::from_query_string("country=Germany")?;
    /// let hidden = Filter::from_query_string("country=Germany&categories=hiring")?;
    /// let count = |filter| snapshot.count(filter, sample::AS_OF);
    /// assert_eq!(narrowed.signal_count(), count(&all)? - count(&hidden)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A part of a file that the filter needs is damaged.
    ///
    /// Cost: at first that of a count for each filter and exception; then a look-up. The first question that counts
    /// companies takes some nanoseconds per signal that is seen. What is hidden of a segment is kept, within
    /// [a budget](Index::keep_narrowed_bytes), until the segment is merged.
    ///
    /// [`Position`]: crate::Position
    pub fn narrowed(&self, filter: &KeyFilter, today: Date) -> Result<Arc<Snapshot>> {
        let key = NarrowingKey::new(filter, today);
        let known = match self.narrowings.find(&key, self.revision) {
            Ok(ready) => return Ok(ready),
            Err(known) => known,
        };
        let segments = self.segments.iter();
        let segments = segments.map(|handle| narrow(self, handle, filter, today, &known));
        let narrowed = Snapshot {
            identity: self.identity.within(filter.fingerprint()),
            revision: Digest::of(&key.revision_of(self.revision)),
            segments: segments.collect::<Result<_>>()?,
            company_ranks: Arc::default(),
            earlier_ranks: known.ranks,
            narrowings: Arc::default(),
            ..self.clone()
        };
        let narrowed = Arc::new(narrowed);
        self.narrowings.keep(key, self.revision, &narrowed);
        Ok(narrowed)
    }

    /// An upper bound of the work of [`narrowed`](Self::narrowed), in the unit of [`cost`](Self::cost); 0 where it only has
    /// to be looked up.
    ///
    /// ```
    /// use signaldex::query::KeyFilter;
    /// use signaldex::sample;
    ///
    /// let index = sample::index()?;
    /// let (snapshot, filter) = (index.snapshot(), KeyFilter::parse(["country=Germany"], [])?);
    /// assert!(snapshot.narrowing_cost(&filter, sample::AS_OF) > 0);
    /// snapshot.narrowed(&filter, sample::AS_OF)?;
    /// assert_eq!(snapshot.narrowing_cost(&filter, sample::AS_OF), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn narrowing_cost(&self, filter: &KeyFilter, today: Date) -> Cost {
        let key = NarrowingKey::new(filter, today);
        match self.narrowings.find(&key, self.revision) {
            Ok(_) => 0,
            Err(known) => {
                let segments = self.segments.iter();
                segments.map(|it| cost_of(it, filter, &known)).sum()
            }
        }
    }
}

impl NarrowedSnapshot for Snapshot {
    fn segments(&self) -> &[SegmentHandle] {
        &self.segments
    }

    fn known_ranks(&self) -> Option<Arc<CompanyRanks>> {
        let ranks = self.company_ranks.get();
        ranks.or(self.earlier_ranks.as_ref()).cloned()
    }
}

impl Index {
    /// Sets how many bytes may be kept for [narrowed snapshots](Snapshot::narrowed), 256 MiB by default: about a bit to
    /// two for each signal and filter. Beyond them, the ones that were asked last stay, and others are computed again.
    ///
    /// ```
    /// let index = signaldex::sample::index()?;
    /// index.keep_narrowed_bytes(1 << 20);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn keep_narrowed_bytes(&self, bytes: u64) {
        self.snapshot().narrowings.set_bytes_max(bytes);
    }
}

/// A segment with everything deleted that the key does not see.
fn narrow(
    snapshot: &Snapshot,
    handle: &SegmentHandle,
    filter: &KeyFilter,
    today: Date,
    known: &KnownDeletions,
) -> Result<SegmentHandle> {
    let deleted = match known.of_segment(handle) {
        // No row has been deleted since, and rows never change.
        Some((stored, narrowed)) if has_same_rows(&stored, &handle.deleted) => narrowed,
        // Commits only delete rows of a segment, so what was hidden stays so.
        Some((stored, narrowed)) if stored.rows().is_subset(handle.deleted.rows()) => {
            let row_count = handle.segment.row_count();
            let mut visible = narrowed.row_bits(row_count);
            visible.invert();
            visible.subtract(&handle.deleted.row_bits(row_count));
            Arc::new(Deleted::showing(visible))
        }
        _ => {
            let visible = visible_rows(snapshot, handle, filter, today)?;
            Arc::new(Deleted::showing(visible))
        }
    };
    Ok(SegmentHandle {
        deleted,
        stored: Some(Arc::clone(handle.stored_deletions())),
        ..handle.clone()
    })
}

/// The work of [`narrow`] at most.
fn cost_of(handle: &SegmentHandle, filter: &KeyFilter, known: &KnownDeletions) -> Cost {
    let (rows, words) = sizes(handle);
    let pass = PASS_COST * cost::of_rows(rows);
    match known.of_segment(handle) {
        Some((stored, _)) if has_same_rows(&stored, &handle.deleted) => 0,
        Some((stored, _)) if stored.rows().is_subset(handle.deleted.rows()) => pass,
        _ => {
            let filters = filter.filters().iter().chain(filter.exceptions());
            let matched = filters.map(|filter| cost::bound(filter, rows, words) + pass);
            pass + matched.sum::<Cost>()
        }
    }
}

fn has_same_rows(one: &Arc<Deleted>, other: &Arc<Deleted>) -> bool {
    Arc::ptr_eq(one, other) || one.rows() == other.rows()
}

/// The rows of a segment that are not deleted and that a filter selects.
fn visible_rows(
    snapshot: &Snapshot,
    handle: &SegmentHandle,
    filter: &KeyFilter,
    today: Date,
) -> Result<RowBits> {
    let row_count = handle.segment.row_count();
    let add_matches = |filters: &[Filter], rows: &mut RowBits| {
        filters.iter().try_for_each(|filter| {
            let request = snapshot.request(filter, today);
            handle.live().add_matches_to(&request, rows)
        })
    };
    // Only live rows are matched, so deleted ones stay hidden whatever the filters say.
    let mut visible = RowBits::none(row_count);
    if filter.filters().is_empty() {
        visible = handle.deleted.row_bits(row_count);
        visible.invert();
    }
    add_matches(filter.filters(), &mut visible)?;
    if !filter.exceptions().is_empty() {
        // An exception wins over every filter, so the order of filters does not matter.
        let mut excepted = RowBits::none(row_count);
        add_matches(filter.exceptions(), &mut excepted)?;
        visible.subtract(&excepted);
    }
    Ok(visible)
}
