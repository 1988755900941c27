//! The mark by which a prune tells publishers and other prunes that it is at work.

use std::time::{Instant, SystemTime};

use super::store::{MARK_LIFE, Store, Stored};
use crate::{Error, Result};

/// A mark on a store, renewed for as long as a prune is at work.
pub(super) struct Mark<'s> {
    store: &'s Store,
    name: String,
    renewed: Instant,
}

impl<'s> Mark<'s> {
    /// Marks a store, and says what time it is there.
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
            return Err(Error::being_pruned());
        }
        let dead: Vec<&Stored> = others.iter().map(|(mark, _)| mark).collect();
        store.remove(&dead).await?;
        Ok((mark, now))
    }

    /// Renews the mark before it could be taken for that of a dead prune.
    pub(super) async fn renew(&mut self) -> Result<()> {
        if self.renewed.elapsed() > MARK_LIFE / 2 {
            let late = std::io::ErrorKind::TimedOut.into();
            return Err(Error::io("go on: it took too long; prune again", late));
        }
        if self.renewed.elapsed() > MARK_LIFE / 20 {
            let now = Instant::now();
            self.store.mark(&self.name).await?;
            self.renewed = now;
        }
        Ok(())
    }

    /// Takes the mark away.
    pub(super) async fn remove(self) -> Result<()> {
        self.store.unmark(&self.name).await
    }
}
