//! Waiting for an object store.

use tokio::runtime::Builder;

use crate::Failure;

/// Waits on this thread for what is done with an object store.
pub(crate) fn block_on<T, E: std::error::Error + 'static>(
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(work)?)
}
