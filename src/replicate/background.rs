//! A background thread that runs until dropped, for following a store or loading shards.

use std::future::Future;
use std::io;
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

/// A background thread, stopped on drop.
///
/// ```
/// use signaldex::replicate::Background;
///
/// let (told, heard) = std::sync::mpsc::channel();
/// let thread = Background::start("example", async move { told.send(7).unwrap_or_default() })?;
/// assert_eq!(heard.recv()?, 7);
/// drop(thread);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Background {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Starts a thread with a runtime of its own, because writing and hashing files blocks.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(
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
    /// Cancels the current work and waits until the thread has ended.
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has already been printed.
            let _ = thread.join();
        }
    }
}
