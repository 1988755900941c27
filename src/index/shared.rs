//! What an index, its clones and its writer share.

use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;

use super::snapshot::Snapshot;
use super::storage::Storage;

/// The state shared by an index, its clones and its writer.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) current: ArcSwap<Snapshot>,
    /// Held while files are read by [`Index::refresh`](super::Index::refresh), so that each is read once.
    pub(super) refreshing: Mutex<()>,
}

impl Shared {
    /// Publishes a snapshot unless it is already published.
    pub(super) fn publish_if_changed(&self, snapshot: Snapshot) {
        let current = self.current.load();
        if snapshot.revision() != current.revision() {
            self.current.store(Arc::new(snapshot.following(&current)));
        }
    }
}
