//! Indexes of known content, and what tests ask of them.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use signaldex::replicate::{PublishOptions, Published, Replica, Store, publish};
use signaldex::{Company, Index, IndexBuilder, Query, Signal, SignalId, Snapshot};
use time::Date;
use time::macros::date;

pub(crate) const TODAY: Date = date!(2026 - 06 - 30);

/// Signals of a fresh index: enough that its segment is not merged with the changes after it.
pub(crate) const SIGNALS: u64 = 1_200;

pub(crate) fn signal(number: u64, version: &str) -> Signal<'static> {
    let id = SignalId::new(number).expect("an id");
    Signal::new(id, "acme", format!("Acme ships version {version}"))
}

/// An index whose signals all say the same version.
pub(crate) fn build(directory: &Path, version: &str) {
    let mut builder = IndexBuilder::in_directory(directory).expect("a new directory");
    let acme = Company::new("acme", "Acme");
    builder.add_company(&acme).expect("a valid company");
    for number in 1..=SIGNALS {
        builder.add_signal(&signal(number, version)).expect("added");
    }
    builder.finish().expect("an index");
}

/// Commits one more signal and the deletion of an old one: a new segment and new deletions.
pub(crate) fn change(directory: &Path, number: u64) {
    let index = Index::open(directory).expect("the index");
    let mut writer = index.writer().expect("nobody else writes");
    let added = signal(SIGNALS + number, "changed");
    writer.upsert_signal(&added).expect("a known company");
    let gone = SignalId::new(number).expect("an id");
    assert!(writer.delete_signal(gone).expect("a whole index"));
    writer.commit().expect("committed");
    writer.wait_for_merges();
}

/// All titles of a snapshot by id.
pub(crate) fn titles(snapshot: &Snapshot) -> Vec<(u64, String)> {
    let title = |item: &signaldex::Item<'_>| (item.signal.id.get(), item.signal.title.to_string());
    let mut titles = Vec::new();
    let mut query = Query::builder().limit(50).build().expect("a valid query");
    loop {
        let page = snapshot.search(&query, TODAY).expect("a whole index");
        let items = snapshot.records(&page).expect("whole records");
        titles.extend(items.iter().map(title));
        let Some(cursor) = page.next_cursor() else {
            return titles;
        };
        let next = Query::builder().limit(50).after(cursor).build();
        query = next.expect("a valid query");
    }
}

/// Makes everything below a folder older, as if that much time had passed.
pub(crate) fn age(folder: &Path, by: Duration) {
    // It is not there before the first publisher has come as far.
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            age(&path, by);
            continue;
        }
        // A publisher or a prune at work may have taken it away.
        let Ok(file) = File::options().append(true).open(&path) else {
            continue;
        };
        let written = file.metadata().and_then(|metadata| metadata.modified());
        let written = written.expect("a time of change");
        file.set_modified(written - by).expect("made older");
    }
}

/// The largest segment of a directory.
pub(crate) fn segment(directory: &Path) -> PathBuf {
    let entries = fs::read_dir(directory).expect("the directory");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let segments = paths.filter(|path| path.display().to_string().contains("segment-"));
    let length = |path: &PathBuf| fs::metadata(path).expect("a file").len();
    segments.max_by_key(length).expect("a segment")
}

/// Overwrites the largest segment of a copy in place with zeros, which changes neither its length nor its inode.
pub(crate) fn overwrite(cache: &Path) {
    // Files that are written within one tick of the file system's clock have the same times.
    std::thread::sleep(Duration::from_millis(20));
    let path = segment(cache);
    let length = fs::metadata(&path).expect("a file").len() as usize;
    let file = OpenOptions::new().write(true).open(path);
    file.expect("a file")
        .write_all(&vec![0; length])
        .expect("written");
}

/// A folder with an index in `index`, and a store in `store`.
pub(crate) struct Fixture {
    folder: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
}

impl Fixture {
    pub(crate) fn new() -> Fixture {
        let fixture = Fixture {
            folder: tempfile::tempdir().expect("a temporary directory"),
            runtime: runtime(),
        };
        build(&fixture.index(), "one");
        fixture
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.path("index")
    }

    pub(crate) fn store(&self) -> Store {
        Store::open(&self.path("store").display().to_string()).expect("a store")
    }

    pub(crate) fn publish(&self) -> Published {
        let options = PublishOptions::default();
        self.publish_with(options).expect("published")
    }

    pub(crate) fn publish_with(
        &self,
        options: PublishOptions,
    ) -> signaldex::replicate::ReplicaResult<Published> {
        self.runtime
            .block_on(publish(&self.index(), &self.store(), options))
    }

    pub(crate) fn open(&self, cache: &str) -> signaldex::replicate::ReplicaResult<Replica> {
        self.runtime
            .block_on(Replica::open(self.store(), &self.path(cache)))
    }

    pub(crate) fn sync(&self, replica: &mut Replica) -> signaldex::replicate::Progress {
        self.runtime.block_on(replica.sync())
    }

    /// What the published index holds.
    pub(crate) fn published(&self) -> Vec<(u64, String)> {
        titles(&Index::open(self.index()).expect("the index").snapshot())
    }

    /// The paths of a folder in the store, ascending.
    pub(crate) fn stored(&self, folder: &str) -> Vec<PathBuf> {
        let folder = self.path("store").join(folder);
        let entries = fs::read_dir(folder).expect("a readable folder");
        let paths = entries.map(|entry| entry.expect("a readable folder").path());
        paths.collect::<BTreeSet<_>>().into_iter().collect()
    }
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().expect("a runtime")
}
