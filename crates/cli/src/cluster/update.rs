//! `signaldex update --shards`, `verify --shards` and `compact --shards`.

use signaldex::replicate::{PublishOptions, Store};
use signaldex::{CompanyDeletion, SignalId};
use signaldex_cluster::{ShardFolder, ShardUpdate};

use super::shard::publish;
use crate::Failure;
use crate::input::LoadTarget;
use crate::stderr::{companies, counted, say, signals};
use crate::update::{Files, Updated};

impl Updated for ShardUpdate {
    fn delete_signal(&mut self, id: SignalId) -> signaldex::Result<bool> {
        ShardUpdate::delete_signal(self, id)
    }

    fn delete_company(&mut self, slug: &str, deletion: CompanyDeletion) -> signaldex::Result<bool> {
        ShardUpdate::delete_company(self, slug, deletion)
    }
}

/// Updates all shards of a folder, and publishes them where a store is given.
pub(crate) fn update_shards(
    folder: &ShardFolder,
    files: &Files,
    store: Option<&str>,
) -> Result<(), Failure> {
    // A wrong address of the store is found before anything changes.
    let store = store.map(Store::open).transpose()?;
    let mut update = ShardUpdate::begin(folder)?;
    let to_delete = files.deleted_with_signals()?;
    update.will_delete(to_delete.iter().map(String::as_str));
    let loaded = files.apply(&mut update, LoadTarget::Shards)?;
    if files.is_check() {
        // Without a commit the shards are as they were.
        say(format_args!("{loaded}; nothing is changed"));
        return Ok(());
    }
    let report = update.commit()?;
    say(format_args!(
        "{loaded}; {} moved to another shard; deleted {} and {}; {} of {} changed",
        signals(report.signals_moved),
        signals(report.signals_deleted),
        companies(report.companies_deleted),
        report.shards_changed,
        counted(folder.count(), "shard", "shards"),
    ));
    match store {
        Some(store) => publish(folder.path(), &store, PublishOptions::default()),
        None => Ok(()),
    }
}

/// Checks every rule of all shards, and those between them.
pub(crate) fn verify_shards(folder: &ShardFolder) -> Result<(), Failure> {
    let found = folder.verify()?;
    say(format_args!(
        "{} in {}: every rule holds",
        signals(found),
        counted(folder.count(), "shard", "shards")
    ));
    Ok(())
}

/// Merges the segments of each shard.
pub(crate) fn compact_shards(folder: &ShardFolder) -> Result<(), Failure> {
    folder.compact()?;
    say(format_args!(
        "{} have one segment each",
        counted(folder.count(), "shard", "shards")
    ));
    Ok(())
}
