//! An updater that commits a batch each second, as another process would.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use signaldex::{Company, Index, Result, Signal, SignalId, Writer};

/// Signals of a batch.
const BATCH: u64 = 100;
/// The first id that the updater gives; above those of the corpus, so that first pages change.
const FIRST_ID: u64 = 9_000_000_000_000_000_000;

pub(crate) struct Updates {
    stopping: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

/// Starts committing to the index in a directory.
pub(crate) fn start(directory: &Path) -> Result<Updates> {
    let index = Index::open(directory)?;
    let mut writer = index.writer()?;
    let stopping = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&stopping);
    let thread = std::thread::spawn(move || {
        let mut commits = 0;
        while !stop.load(Ordering::Relaxed) {
            commit(&mut writer, commits).expect("a commit");
            commits += 1;
            std::thread::sleep(Duration::from_secs(1));
        }
        commits
    });
    Ok(Updates { stopping, thread })
}

impl Updates {
    /// Stops and says how many batches were committed.
    pub(crate) fn stop(self) -> u64 {
        self.stopping.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or(0)
    }
}

fn commit(writer: &mut Writer, number: u64) -> Result<()> {
    writer.upsert_company(&Company::new("updated-company", "Updated Company"))?;
    for place in 0..BATCH {
        let id = SignalId::new(FIRST_ID + number * BATCH + place).unwrap_or(SignalId::MAX);
        writer.upsert_signal(&Signal::new(
            id,
            "updated-company",
            "Updated Company raises Series A",
        ))?;
    }
    writer.commit()?;
    Ok(())
}
