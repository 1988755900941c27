//! Splits a corpus: each company with all its signals goes to the index of one shard.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::generation::SHARDS_MAX;
use super::placement::shard_of;
use super::shard_folder::{ShardFolder, shard_directory};
use signaldex::json::Sink;
use signaldex::{Added, Company, Error, IndexBuilder, Result, Signal, SignalId};

/// Builds the indexes of all shards together, as a [`ShardFolder`].
///
/// Memory: that of building one index of everything, plus about 30 bytes per signal.
#[derive(Debug)]
pub struct Splitter {
    folder: PathBuf,
    builders: Vec<IndexBuilder>,
    /// The shard of each signal: a signal that is added again must go to the same shard.
    shards: HashMap<SignalId, u32>,
}

impl Splitter {
    /// Starts the indexes in a new or empty folder.
    ///
    /// # Errors
    /// [`Invalid`](signaldex::ErrorKind::Invalid) for no shards or more than 4,096, and for a folder that is not empty;
    /// and as [`IndexBuilder::in_directory`].
    pub fn new(folder: &Path, shards: u32) -> Result<Splitter> {
        if !(1..=SHARDS_MAX).contains(&shards) {
            return Err(Error::invalid(format!(
                "shards: {shards} is not allowed; use 1 to {SHARDS_MAX}"
            )));
        }
        std::fs::create_dir_all(folder)
            .map_err(|error| Error::io("make the directory", error).at(folder))?;
        ShardFolder::refuse_used(folder)?;
        let begin = |shard| IndexBuilder::in_directory(shard_directory(folder, shard));
        Ok(Splitter {
            folder: folder.to_owned(),
            builders: (0..shards).map(begin).collect::<Result<_>>()?,
            shards: HashMap::new(),
        })
    }

    /// Writes all indexes, and then the description of the folder. Returns the number of signals of each.
    ///
    /// # Errors
    /// As [`IndexBuilder::finish`]. The folder is not one of shards then.
    pub fn finish(self) -> Result<Vec<u64>> {
        let (mut counts, mut indexes) = (Vec::new(), Vec::new());
        for builder in self.builders {
            let snapshot = builder.finish()?.snapshot();
            counts.push(snapshot.signal_count());
            indexes.push(snapshot.identity());
        }
        ShardFolder::describe(&self.folder, &indexes)?;
        Ok(counts)
    }

    fn builder_of(&mut self, slug: &str) -> (u32, &mut IndexBuilder) {
        let shard = shard_of(slug, self.builders.len() as u32);
        (shard, &mut self.builders[shard as usize])
    }
}

impl Sink for Splitter {
    fn add_company(&mut self, company: &Company<'_>) -> Result<Added> {
        self.builder_of(&company.slug).1.add_company(company)
    }

    fn add_signal(&mut self, signal: &Signal<'_>) -> Result<Added> {
        let (shard, builder) = self.builder_of(&signal.company_slug);
        let added = builder.add_signal(signal)?;
        match self.shards.insert(signal.id, shard) {
            Some(earlier) if earlier != shard => Err(Error::invalid(format!(
                "id: {} occurs twice, under companies of different shards; each signal has one \
                 company",
                signal.id
            ))),
            _ => Ok(added),
        }
    }
}
