//! Reads of the state by requests: on threads of their own, within the deadline of the request.

use std::sync::Arc;

use tokio::time::Instant;

use super::keyring::KnownKey;
use super::keys::KeyHash;
use super::problem::{Problem, ProblemCode};
use super::service::ServiceCore;
use super::state::{NotRead, StateError};

impl ServiceCore {
    /// Reads the state for a request that waits until a deadline.
    ///
    /// # Errors
    /// The state cannot be read, or not in time.
    pub(super) async fn read<T: Send + 'static>(
        self: &Arc<ServiceCore>,
        until: Instant,
        read: impl FnOnce(&ServiceCore) -> Result<T, StateError> + Send + 'static,
    ) -> Result<T, Problem> {
        let shared = Arc::clone(self);
        let result = self.readers.run(until, move || read(&shared)).await;
        let result = result.map_err(|reason| self.not_read(reason))?;
        result.map_err(|error| Problem::internal(&error))
    }

    /// Finds a key by its hash. Only an unknown one is looked up in the state.
    ///
    /// # Errors
    /// As [`read`](Shared::read).
    pub(super) async fn find_key(
        self: &Arc<ServiceCore>,
        hash: KeyHash,
        until: Instant,
    ) -> Result<Option<Arc<KnownKey>>, Problem> {
        if let Some(key) = self.keyring.known(&hash) {
            return Ok(Some(key));
        }
        let find = move |service: &ServiceCore| service.keyring.find(&hash, &service.state);
        self.read(until, find).await
    }

    /// Counts a read that did not take place, and returns what the client is told.
    pub(super) fn not_read(&self, reason: NotRead) -> Problem {
        self.metrics.state_reads_refused.inc();
        match reason {
            NotRead::QueueFull => {
                Problem::overloaded("Too many requests wait for the state to be read.")
            }
            NotRead::TimedOut => {
                Problem::overloaded("The state could not be read in time; nothing was charged.")
            }
            NotRead::Failed => Problem::new(
                ProblemCode::Internal,
                "The request could not be answered; it was not charged.",
            ),
        }
    }
}
