//! A disk in memory that knows what was synced, can fail, and can be cut off at any step.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::SystemTime;

use crate::encoding::bytes::Bytes;
use crate::index::storage::{HELD, NewFile, Storage, View};
use crate::{Error, Result};

/// The disk. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Disk(Arc<Mutex<State>>);

/// What is on the disk, and what of it would survive.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    files: BTreeMap<u64, Content>,
    names: BTreeMap<String, u64>,
    /// The names that survive a crash for certain.
    synced_names: BTreeMap<String, u64>,
    /// Changes of names since then, in order.
    unsynced: Vec<Change>,
    next: u64,
    is_locked: bool,
    operations: u64,
    fault: Option<Fault>,
    /// The last operation that failed.
    failed: Option<Operation>,
    /// How often each file was viewed.
    views: BTreeMap<String, u64>,
    /// The state after each operation that changed something, while that is recorded.
    history: Option<Vec<State>>,
}

#[derive(Clone, Debug, Default)]
struct Content {
    bytes: Vec<u8>,
    synced: usize,
}

/// A change of one name. A rename is two of them.
#[derive(Clone, Debug)]
enum Change {
    Set(String, u64),
    Remove(String),
}

/// Which of the unsynced changes of names survive a crash: bit n for the n-th.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Survivors(u64);

/// Up to this many unsynced changes of names, every subset of them is tried.
const SUBSETS_OF_MAX: usize = 4;

/// What a disk is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Create,
    Write,
    Sync,
    Read,
    Rename,
    Remove,
    List,
    SyncNames,
}

/// An operation that fails.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    /// The number of the operation, from the one on at which the fault is set.
    pub(super) operation: u64,
    pub(super) kind: FaultKind,
    /// Whether all later ones fail as well.
    pub(super) lasts: bool,
}

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FaultKind {
    /// With this error of the operating system.
    Error(io::ErrorKind),
    /// A write takes half of the bytes.
    ShortWrite,
    /// There is no room: what needs some fails, the rest succeeds.
    Full,
    /// A thread that merges panics, as it would where the code is wrong; others succeed.
    MergePanic,
}

impl Operation {
    fn needs_room(self) -> bool {
        matches!(self, Operation::Create | Operation::Write | Operation::Sync)
    }
}

/// What becomes of bytes that were written and not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unsynced {
    Dropped,
    Kept,
    Zeroed,
    /// Kept up to a multiple of 512 bytes in the middle, then lost.
    Torn,
}

impl Unsynced {
    pub(super) const ALL: [Unsynced; 4] = [
        Unsynced::Dropped,
        Unsynced::Kept,
        Unsynced::Zeroed,
        Unsynced::Torn,
    ];
}

impl Disk {
    /// What is on the disk now, on another one.
    pub(super) fn copied(&self) -> Disk {
        Disk(Arc::new(Mutex::new(State {
            is_locked: false,
            ..self.state().clone()
        })))
    }

    /// Starts to keep the state after each operation.
    pub(super) fn record(&self) {
        let mut state = self.state();
        let first = State {
            history: None,
            ..state.clone()
        };
        state.history = Some(vec![first]);
    }

    /// The states that were kept.
    pub(super) fn recorded(&self) -> Vec<State> {
        self.state().history.take().unwrap_or_default()
    }

    /// Sets a fault; operations are counted from here.
    pub(super) fn fail(&self, fault: Option<Fault>) {
        let mut state = self.state();
        state.operations = 0;
        state.fault = fault;
        state.failed = None;
    }

    /// The operations since the last fault was set.
    pub(super) fn operations(&self) -> u64 {
        self.state().operations
    }

    /// The names of all files.
    pub(super) fn names(&self) -> Vec<String> {
        self.state().names.keys().cloned().collect()
    }

    /// The last operation that failed since a fault was set.
    pub(super) fn failed(&self) -> Option<Operation> {
        self.state().failed
    }

    /// How often each file has been viewed since the last call.
    pub(super) fn take_views(&self) -> BTreeMap<String, u64> {
        std::mem::take(&mut self.state().views)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0
            .lock()
            .expect("no test panics while it holds the disk")
    }

    /// Counts an operation and lets it fail where that is due.
    fn operate(&self, operation: Operation) -> io::Result<(MutexGuard<'_, State>, bool)> {
        let mut state = self.state();
        let number = state.operations;
        state.operations += 1;
        let due = state
            .fault
            .filter(|fault| number == fault.operation || (fault.lasts && number > fault.operation));
        match due.map(|fault| fault.kind) {
            Some(FaultKind::Error(kind)) => {
                state.failed = Some(operation);
                Err(kind.into())
            }
            Some(FaultKind::Full) if operation.needs_room() => {
                state.failed = Some(operation);
                Err(io::ErrorKind::StorageFull.into())
            }
            Some(FaultKind::Full) => Ok((state, false)),
            Some(FaultKind::ShortWrite) => Ok((state, true)),
            Some(FaultKind::MergePanic) if is_merge_thread() => {
                state.failed = Some(operation);
                drop(state);
                panic!("the disk was told to panic")
            }
            Some(FaultKind::MergePanic) => Ok((state, false)),
            None => Ok((state, false)),
        }
    }
}

fn is_merge_thread() -> bool {
    std::thread::current().name() == Some("signaldex-merge")
}

impl State {
    /// Which changes of names a crash may leave. Without a sync each may survive without the others
    /// (POSIX promises no order); of many, those in order up to one, all but one, and one alone.
    pub(super) fn survivors(&self) -> Vec<Survivors> {
        let count = self.unsynced.len();
        let all = (1_u64 << count) - 1;
        if count <= SUBSETS_OF_MAX {
            return (0..=all).map(Survivors).collect();
        }
        let of_each = |n: usize| [(1 << n) - 1, all & !(1 << n), 1 << n];
        let mut survivors: Vec<Survivors> = (0..count).flat_map(of_each).map(Survivors).collect();
        survivors.push(Survivors(all));
        survivors.sort_unstable();
        survivors.dedup();
        survivors
    }

    /// What may become of bytes that were not synced: one outcome where all were.
    pub(super) fn outcomes(&self) -> &'static [Unsynced] {
        let is_synced = |content: &Content| content.synced == content.bytes.len();
        if self.files.values().all(is_synced) {
            &[Unsynced::Kept]
        } else {
            &Unsynced::ALL
        }
    }

    /// The disk after a crash: with those of the unsynced changes of names that survive.
    pub(super) fn crash(&self, unsynced: Unsynced, survivors: Survivors) -> Disk {
        let mut names = self.synced_names.clone();
        for (n, change) in self.unsynced.iter().enumerate() {
            if survivors.0 >> n & 1 == 1 {
                apply(&mut names, change);
            }
        }
        let files = self
            .files
            .iter()
            .map(|(&file, content)| (file, content.crash(unsynced)));
        Disk(Arc::new(Mutex::new(State {
            files: files.collect(),
            synced_names: names.clone(),
            names,
            next: self.next,
            ..State::default()
        })))
    }

    fn change(&mut self, changes: impl IntoIterator<Item = Change>) {
        for change in changes {
            apply(&mut self.names, &change);
            self.unsynced.push(change);
        }
        self.keep();
    }

    fn keep(&mut self) {
        if let Some(mut history) = self.history.take() {
            history.push(self.clone());
            self.history = Some(history);
        }
    }
}

impl Content {
    fn crash(&self, unsynced: Unsynced) -> Content {
        let mut bytes = self.bytes.clone();
        match unsynced {
            Unsynced::Dropped => bytes.truncate(self.synced),
            Unsynced::Kept => {}
            Unsynced::Zeroed => bytes[self.synced..].fill(0),
            Unsynced::Torn => {
                let middle = self.synced + (bytes.len() - self.synced) / 2;
                bytes.truncate((middle / 512 * 512).max(self.synced));
            }
        }
        Content {
            synced: bytes.len(),
            bytes,
        }
    }
}

fn apply(names: &mut BTreeMap<String, u64>, change: &Change) {
    match change {
        Change::Set(name, file) => {
            names.insert(name.clone(), *file);
        }
        Change::Remove(name) => {
            names.remove(name);
        }
    }
}

impl Storage for Disk {
    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from("disk").join(name)
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn NewFile>> {
        let (mut state, _) = self.operate(Operation::Create)?;
        let file = state.next;
        state.next += 1;
        state.files.insert(file, Content::default());
        state.change([Change::Set(name.to_owned(), file)]);
        drop(state);
        Ok(Box::new(DiskFile {
            disk: self.clone(),
            file,
        }))
    }

    fn read(&self, name: &str, _bytes_max: u64) -> io::Result<Vec<u8>> {
        let (state, _) = self.operate(Operation::Read)?;
        let file = state.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(state.files[file].bytes.clone())
    }

    fn view(&self, name: &str) -> io::Result<View> {
        let bytes = self.read(name, u64::MAX)?;
        *self.state().views.entry(name.to_owned()).or_default() += 1;
        Ok(View {
            bytes: Bytes::copy(&bytes),
            file: None,
        })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (mut state, _) = self.operate(Operation::Rename)?;
        let file = *state.names.get(from).ok_or(io::ErrorKind::NotFound)?;
        state.change([
            Change::Set(to.to_owned(), file),
            Change::Remove(from.to_owned()),
        ]);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let (mut state, _) = self.operate(Operation::Remove)?;
        if !state.names.contains_key(name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        state.change([Change::Remove(name.to_owned())]);
        Ok(())
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let (state, _) = self.operate(Operation::List)?;
        Ok(state.names.keys().cloned().collect())
    }

    fn sync_names(&self) -> io::Result<()> {
        let (mut state, _) = self.operate(Operation::SyncNames)?;
        state.synced_names = state.names.clone();
        state.unsynced.clear();
        state.keep();
        Ok(())
    }

    fn changed_at(&self, _name: &str) -> Option<SystemTime> {
        None
    }

    fn lock(&self) -> Result<Box<dyn Debug + Send + Sync>> {
        let mut state = self.state();
        if std::mem::replace(&mut state.is_locked, true) {
            return Err(Error::locked(HELD));
        }
        Ok(Box::new(DiskLock(self.clone())))
    }
}

#[derive(Debug)]
struct DiskLock(Disk);

impl Drop for DiskLock {
    fn drop(&mut self) {
        self.0.state().is_locked = false;
    }
}

#[derive(Debug)]
struct DiskFile {
    disk: Disk,
    file: u64,
}

impl Write for DiskFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (mut state, is_short) = self.disk.operate(Operation::Write)?;
        let length = if is_short {
            bytes.len().div_ceil(2)
        } else {
            bytes.len()
        };
        if let Some(content) = state.files.get_mut(&self.file) {
            content.bytes.extend_from_slice(&bytes[..length]);
        }
        state.keep();
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl NewFile for DiskFile {
    fn sync(&mut self) -> io::Result<()> {
        let (mut state, _) = self.disk.operate(Operation::Sync)?;
        if let Some(content) = state.files.get_mut(&self.file) {
            content.synced = content.bytes.len();
        }
        state.keep();
        Ok(())
    }
}
