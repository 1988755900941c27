//! Where the middle of an answer is.

use signaldex::query::Order;
use signaldex::{Query, Result, Snapshot};
use time::Date;

use super::{Statistics, Wanted};

impl Statistics {
    /// How many signals have this id or a newer one.
    pub(crate) fn rank_below(&self, id: u64) -> usize {
        self.ids.len() - self.ids.partition_point(|&other| other < id)
    }

    /// The id of the last of the `rank` newest signals; none where these are none or more than all.
    pub(crate) fn id_before(&self, rank: usize) -> Option<u64> {
        let place = self.ids.len().checked_sub(rank)?;
        self.ids.get(place).copied()
    }
}

impl Wanted {
    /// The query for the page behind the `rank` newest signals.
    pub(crate) fn query_from(&self, rank: usize, statistics: &Statistics, today: Date) -> Query {
        match statistics.id_before(rank) {
            Some(id) => self.query_before(id, today),
            None => self.query(today),
        }
    }

    /// How many signals are newer than the place half way between the newest match and the oldest;
    /// half of all where nothing matches.
    ///
    /// # Errors
    /// A record of the corpus is corrupt.
    pub(crate) fn middle_rank(
        &self,
        snapshot: &Snapshot,
        statistics: &Statistics,
        today: Date,
    ) -> Result<usize> {
        let one_oldest = self.builder().order(Order::OldestFirst).limit(1);
        let oldest = snapshot.search(&super::wanted::built(one_oldest), today)?;
        let newest = snapshot.search(&self.query(today), today)?;
        Ok(match (newest.ids().next(), oldest.ids().next()) {
            (Some(newest), Some(oldest)) => {
                let rank = |id: u64| statistics.rank_below(id);
                (rank(newest.get()) + rank(oldest.get())) / 2
            }
            _ => statistics.len() / 2,
        })
    }
}
