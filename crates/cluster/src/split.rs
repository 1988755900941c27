//! Splits a corpus: each company with all its signals goes to the index of one shard.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::error::ClusterResult;
use super::generation::SHARDS_MAX;
use super::placement::shard_of;
use super::shard_folder::{FolderLock, ShardFolder, shard_directory};
use signaldex::json::Sink;
use signaldex::{Company, Error, IndexBuilder, Result, Signal, SignalId};

/// Builds the indexes of all shards together, as a [`ShardFolder`].
///
/// Memory: that of building one index of everything, plus about 30 bytes per signal.
#[derive(Debug)]
pub struct Splitter {
    folder: PathBuf,
    builders: Vec<IndexBuilder>,
    /// The shard of each signal: a signal that is added again must go to the same shard.
    shards: HashMap<SignalId, u32>,
    is_new: bool,
    is_finished: bool,
    _lock: FolderLock,
}

impl Splitter {
    /// Starts the indexes in a new or empty folder, or one in which building shards was interrupted.
    ///
    /// # Errors
    /// [`Invalid`](signaldex::ErrorKind::Invalid) for no shards or more than 4,096, and for a folder that is not empty;
    /// [`Locked`](signaldex::ErrorKind::Locked) while another process builds there; and as [`IndexBuilder::in_directory`].
    pub fn new(folder: &Path, shards: u32) -> ClusterResult<Splitter> {
        if !(1..=SHARDS_MAX).contains(&shards) {
            return Err(Error::invalid(format!(
                "shards: {shards} is not allowed; use 1 to {SHARDS_MAX}"
            ))
            .into());
        }
        let is_new = !folder.exists();
        std::fs::create_dir_all(folder)
            .map_err(|error| Error::io("make the directory", error).at(folder))?;
        let mut splitter = Splitter {
            _lock: ShardFolder::begin(folder)?,
            folder: folder.to_owned(),
            builders: Vec::new(),
            shards: HashMap::new(),
            is_new,
            is_finished: false,
        };
        for shard in 0..shards {
            let builder = IndexBuilder::in_directory(shard_directory(folder, shard))?;
            splitter.builders.push(builder);
        }
        Ok(splitter)
    }

    /// Writes all indexes, and then the description of the folder. Returns the number of signals of each.
    ///
    /// # Errors
    /// As [`IndexBuilder::finish`]. The folder is not one of shards then.
    pub fn finish(mut self) -> ClusterResult<Vec<u64>> {
        let (mut counts, mut indexes) = (Vec::new(), Vec::new());
        for builder in std::mem::take(&mut self.builders) {
            let snapshot = builder.finish()?.snapshot();
            counts.push(snapshot.signal_count());
            indexes.push(snapshot.identity());
        }
        ShardFolder::describe(&self.folder, &indexes)?;
        self.is_finished = true;
        Ok(counts)
    }

    fn builder_of(&mut self, slug: &str) -> (u32, &mut IndexBuilder) {
        let shard = shard_of(slug, self.builders.len() as u32);
        (shard, &mut self.builders[shard as usize])
    }
}

impl Drop for Splitter {
    fn drop(&mut self) {
        if !self.is_finished {
            self.builders.clear();
            ShardFolder::abandon(&self.folder, self.is_new);
        }
    }
}

impl Sink for Splitter {
    fn has_company(&mut self, slug: &str) -> Result<bool> {
        let (_, builder) = self.builder_of(slug);
        Ok(IndexBuilder::has_company(builder, slug))
    }

    fn add_company(&mut self, company: &Company<'_>) -> Result<bool> {
        self.builder_of(&company.slug).1.add_company(company)
    }

    fn add_signal(&mut self, signal: &Signal<'_>) -> Result<bool> {
        let (shard, builder) = self.builder_of(&signal.company_slug);
        let is_replaced = builder.add_signal(signal)?;
        match self.shards.insert(signal.id, shard) {
            Some(earlier) if earlier != shard => Err(Error::invalid(format!(
                "id: {} occurs twice, under companies of different shards; each signal has one \
                 company",
                signal.id
            ))),
            _ => Ok(is_replaced),
        }
    }
}
