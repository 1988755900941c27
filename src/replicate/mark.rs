//! The marker that a running prune sets for publishers and other prunes.

use std::time::{Instant, SystemTime};

use super::error::ReplicaResult as Result;
use super::store::{MARK_LIFE, Store, StoredFile};
use crate::Error;

/// A marker on a store, renewed while a prune is running.
pub(super) struct Mark<'s> {
    store: &'s Store,
    name: String,
    renewed: Instant,
}

impl<'s> Mark<'s> {
    /// Sets the marker. Also returns the store's current time.
    pub(super) async fn set(store: &'s Store) -> Result<(Mark<'s>, SystemTime)> {
        let number = getrandom::u64();
        let number = number.map_err(|error| Error::io("draw a random number", error.into()))?;
        let mark = Mark {
            store,
            name: format!("{number:016x}"),
            renewed: Instant::now(),
        };
        let now = store.mark(&mark.name).await?;
        let others = store.marks(Some(&mark.name), now).await?;
        if others.iter().any(|(_, counts)| *counts) {
            store.unmark(&mark.name).await?;
            return Err(Error::locked(
                "another prune is at work in this store, or one was killed less than ten minutes ago",
            )
            .into());
        }
        let dead: Vec<&StoredFile> = others.iter().map(|(mark, _)| mark).collect();
        store.remove(&dead).await?;
        Ok((mark, now))
    }

    /// Renews the marker before it expires.
    pub(super) async fn renew(&mut self) -> Result<()> {
        if self.renewed.elapsed() > MARK_LIFE / 2 {
            let late = std::io::ErrorKind::TimedOut.into();
            return Err(Error::io("go on: it took too long; prune again", late).into());
        }
        if self.renewed.elapsed() > MARK_LIFE / 20 {
            let now = Instant::now();
            self.store.mark(&self.name).await?;
            self.renewed = now;
        }
        Ok(())
    }

    /// Removes the marker.
    pub(super) async fn remove(self) -> Result<()> {
        self.store.unmark(&self.name).await
    }
}
