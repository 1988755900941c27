//! A thread that goes on with one thing until it is dropped: following a store, loading shards.

use std::future::Future;
use std::io;
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

/// A thread at work, until this is dropped.
#[derive(Debug)]
pub(crate) struct Background {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Starts a thread with a runtime of its own: files are written and hashed there, which must
    /// hold nobody up.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn start(
        name: &str,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<Background> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    () = work => {}
                }
            });
        })?;
        Ok(Background {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Background {
    /// Gives up what is under way, and waits until the thread has ended.
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in the thread has been shown by then.
            let _ = thread.join();
        }
    }
}
