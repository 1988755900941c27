//! Commits that write some signals of an index again, all over it.

use std::error::Error;

use signaldex::query::Order;
use signaldex::{Filter, Index, Snapshot, sample};

/// Which signals are written again, so that they are all over the index.
pub(crate) const UPDATED_ONE_IN: usize = 80;

/// Writes signals of a snapshot again, a number of them in each commit.
pub(crate) fn write_again(
    index: &Index,
    fresh: &Snapshot,
    commits: [usize; 2],
) -> Result<(), Box<dyn Error>> {
    let all = fresh.matches(&Filter::default(), sample::AS_OF, Order::NewestFirst);
    let mut ids = all.ids().step_by(UPDATED_ONE_IN);
    let mut writer = index.writer()?;
    for updates in commits {
        for id in ids.by_ref().take(updates) {
            let found = fresh.signal(id?)?.ok_or("a listed signal is there")?;
            writer.upsert_signal(&found.signal)?;
        }
        writer.commit()?;
        writer.wait_for_merges();
    }
    Ok(())
}
