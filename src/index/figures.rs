//! Figures of a snapshot: numbers of records, and bytes by section.

use super::identity::IndexId;
use super::snapshot::Snapshot;
use crate::Result;

/// Statistics of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[non_exhaustive]
pub struct IndexStatistics {
    /// The identity of the index.
    pub identity: IndexId,
    /// The generation of the snapshot.
    pub generation: u64,
    /// Live signals.
    pub signals: u64,
    /// Deleted or replaced rows that still take space.
    pub deleted_rows: u64,
    /// Live companies.
    pub companies: u64,
    /// Segments.
    pub segments: u64,
    /// Bytes of all segment files.
    pub bytes: u64,
    /// Bytes by section, over all segments, largest first.
    pub sections: Vec<(String, u64)>,
}

impl Snapshot {
    /// The number of live signals. Cost: one addition per segment.
    ///
    /// ```
    /// let snapshot = signaldex::sample::index()?.snapshot();
    /// assert_eq!(snapshot.signal_count(), 2000);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn signal_count(&self) -> u64 {
        self.segments
            .iter()
            .map(|handle| handle.live().live_rows())
            .sum()
    }

    /// The number of live companies. Cost: a look-up per company if there is more than one segment.
    ///
    /// ```
    /// let snapshot = signaldex::sample::index()?.snapshot();
    /// assert_eq!(snapshot.company_count()?, 300);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// The keys of companies of a file are damaged.
    pub fn company_count(&self) -> Result<u64> {
        Ok(self.live_companies()?.count() as u64)
    }

    /// Bytes of all segment files, as in [`statistics`](Self::statistics).
    ///
    /// ```
    /// let snapshot = signaldex::sample::index()?.snapshot();
    /// assert_eq!(snapshot.file_bytes(), snapshot.statistics()?.bytes);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// Cost: one addition per segment.
    pub fn file_bytes(&self) -> u64 {
        let files = self.segments.iter();
        files.map(|live| live.segment.file_size()).sum()
    }

    /// Statistics of segments, rows and bytes.
    ///
    /// ```
    /// let statistics = signaldex::sample::index()?.snapshot().statistics()?;
    /// assert_eq!((statistics.signals, statistics.segments), (2000, 1));
    /// let (section, bytes) = &statistics.sections[0];
    /// println!("the largest section, {section}, takes {bytes} of {} bytes", statistics.bytes);
    /// assert!(*bytes < statistics.bytes);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`company_count`](Self::company_count).
    ///
    /// Cost: that of [`company_count`](Self::company_count), and an addition per section of each segment.
    pub fn statistics(&self) -> Result<IndexStatistics> {
        let segments = self.segments.iter();
        let mut sections = added_up(segments.flat_map(|live| live.segment.section_sizes()));
        sections.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Ok(IndexStatistics {
            identity: self.identity(),
            generation: self.generation(),
            signals: self.signal_count(),
            deleted_rows: self
                .segments
                .iter()
                .map(|live| live.deleted.row_count())
                .sum(),
            companies: self.company_count()?,
            segments: self.segments.len() as u64,
            bytes: self.file_bytes(),
            sections,
        })
    }
}

/// The sums of what has one name, in the order in which names come first.
fn added_up(named: impl Iterator<Item = (String, u64)>) -> Vec<(String, u64)> {
    let mut sums: Vec<(String, u64)> = Vec::new();
    for (name, number) in named {
        // There are few names, so searching them one by one suffices.
        match sums.iter_mut().find(|(other, _)| *other == name) {
            Some((_, sum)) => *sum += number,
            None => sums.push((name, number)),
        }
    }
    sums
}
