//! Splits a corpus: each company with all its signals goes to the index of one shard.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::generation::SHARDS_MAX;
use super::placement::shard_of;
use signaldex::json::Sink;
use signaldex::{Added, Company, Error, IndexBuilder, Result, Signal, SignalId};

/// Builds the indexes of all shards together, in the directories `0`, `1` and so on of one folder.
///
/// Memory: that of building one index of everything, plus about 30 bytes per signal.
#[derive(Debug)]
pub struct Splitter {
    builders: Vec<IndexBuilder>,
    /// The shard of each signal: a signal that is added again must go to the same shard.
    shards: HashMap<SignalId, u32>,
}

impl Splitter {
    /// Starts the indexes in a folder.
    ///
    /// # Errors
    /// [`Invalid`](signaldex::ErrorKind::Invalid) for no shards or more than 4,096; and as
    /// [`IndexBuilder::in_directory`].
    pub fn new(folder: &Path, shards: u32) -> Result<Splitter> {
        if !(1..=SHARDS_MAX).contains(&shards) {
            return Err(Error::invalid(format!(
                "shards: {shards} is not allowed; use 1 to {SHARDS_MAX}"
            )));
        }
        std::fs::create_dir_all(folder)
            .map_err(|error| Error::io("make the directory", error).at(folder))?;
        let begin = |shard| IndexBuilder::in_directory(shard_folder(folder, shard));
        Ok(Splitter {
            builders: (0..shards).map(begin).collect::<Result<_>>()?,
            shards: HashMap::new(),
        })
    }

    /// Writes all indexes. Returns the number of signals of each.
    ///
    /// # Errors
    /// As [`IndexBuilder::finish`].
    pub fn finish(self) -> Result<Vec<u64>> {
        let finish = |builder: IndexBuilder| Ok(builder.finish()?.snapshot().signal_count());
        self.builders.into_iter().map(finish).collect()
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

/// The directory of a shard's index.
pub(super) fn shard_folder(folder: &Path, shard: u32) -> PathBuf {
    folder.join(shard.to_string())
}
