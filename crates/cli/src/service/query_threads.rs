//! Threads that help the one that answers a query, for `--threads-per-query`.

use std::sync::Arc;

use rayon::{ThreadPool, ThreadPoolBuilder};
use signaldex::{Executor, Index};

use crate::Failure;

/// As for expensive queries: a tenth of the weight of the threads that answer cheap ones.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// Threads that help the one that asks.
struct Helpers(ThreadPool);

impl Executor for Helpers {
    fn run(&self, task: &(dyn Fn() + Sync)) {
        self.0.in_place_scope(|scope| {
            (0..self.0.current_num_threads()).for_each(|_| scope.spawn(|_| task()));
            task();
        });
    }
}

/// Lets queries of an index use up to `threads` threads.
///
/// # Errors
/// The threads cannot be started.
pub(super) fn share(index: &Index, threads: usize) -> Result<(), Failure> {
    if threads < 2 {
        return Ok(());
    }
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads - 1)
        .thread_name(|number| format!("helper-{number}"))
        .start_handler(|_| lower_priority())
        .build();
    let pool = pool.map_err(|error| {
        format!("the threads of --threads-per-query cannot be started: {error}; choose fewer")
    })?;
    Ok(index.set_executor(Arc::new(Helpers(pool)))?)
}

/// On Linux priorities are those of threads.
#[cfg(target_os = "linux")]
fn lower_priority() {
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::warn!(%error, "threads that help run at the priority of others");
    }
}

#[cfg(not(target_os = "linux"))]
fn lower_priority() {}
