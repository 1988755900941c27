//! Random histories of changes, compared with the naive model after every commit.
//!
//! Every history also happens to an index in memory, which has to answer byte for byte alike. Both go back to earlier
//! states, and to those that they left for them, as an index does that is restored from backups or forked.
//!
//! `SIGNALDEX_HISTORIES` sets their number; a failure prints its seed, and `SIGNALDEX_SEED` starts
//! there.

use std::fs;
use std::sync::Arc;

use tempfile::TempDir;

use super::copies::{Copies, Followed};
use super::disk::{Disk, Unsynced};
use super::model::{Model, answers, builder, open, random_company, random_signal};
use crate::fixtures::Random;
use crate::index::memory::Memory;
use crate::index::{CommitReport, CompanyDeletion, Index, IndexBuilder, Writer};
use crate::signal::SignalId;
use crate::{Error, ErrorKind, Result};

/// Histories in the ordinary run.
const HISTORIES: u64 = 2_000;

/// Histories of real files in the ordinary run.
const FILE_HISTORIES: u64 = 50;

/// The most steps of a history.
const STEPS_MAX: u64 = 60;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|value| value.parse().ok())
        .unwrap_or(default)
}

#[test]
fn histories_agree_with_the_naive_model() {
    run_histories(HISTORIES, || Place::Disk(Disk::default()));
}

#[test]
fn histories_of_files_agree_with_the_naive_model() {
    run_histories(FILE_HISTORIES, || {
        Place::Directory(tempfile::tempdir().expect("a directory"))
    });
}

fn run_histories(count: u64, place: impl Fn() -> Place) {
    let first = setting("SIGNALDEX_SEED", 1);
    let steps = setting("SIGNALDEX_STEPS", STEPS_MAX);
    for seed in first..first + setting("SIGNALDEX_HISTORIES", count) {
        History::new(seed, place()).run(steps);
    }
}

/// Where the index of a history is kept.
enum Place {
    /// A simulated disk, which can crash.
    Disk(Disk),
    /// Files of the operating system.
    Directory(TempDir),
}

impl Place {
    /// A copy of all files.
    fn copied(&self) -> Place {
        match self {
            Place::Disk(disk) => Place::Disk(disk.copied()),
            Place::Directory(directory) => {
                let copy = tempfile::tempdir().expect("a directory");
                for entry in fs::read_dir(directory.path()).expect("a readable directory") {
                    let path = entry.expect("an entry").path();
                    let name = path.file_name().expect("a name");
                    fs::copy(&path, copy.path().join(name)).expect("a copy");
                }
                Place::Directory(copy)
            }
        }
    }
}

/// The most backups at a time.
const BACKUPS_MAX: usize = 3;

/// A state to go back to.
struct Backup {
    place: Place,
    memory: Memory,
    committed: Model,
    commits: Vec<u64>,
}

struct History {
    seed: u64,
    random: Random,
    place: Place,
    memory: Memory,
    stored: Subject,
    in_memory: Subject,
    /// What was committed, and what is to be committed next.
    committed: Model,
    pending: Model,
    /// The commits of the present state, each with a number of its own over all branches.
    commits: Vec<u64>,
    next_commit: u64,
    backups: Vec<Backup>,
}

/// An index and its writer.
struct Subject {
    index: Index,
    writer: Option<Writer>,
    copies: Copies,
}

impl Subject {
    fn new(index: Index) -> Subject {
        let writer = index.writer().expect("nobody else writes");
        Subject {
            index,
            writer: Some(writer),
            copies: Copies::default(),
        }
    }

    fn writer(&mut self) -> &mut Writer {
        self.writer
            .as_mut()
            .expect("a writer is open between steps")
    }

    /// Puts another index, or the same opened again, in the place of this one. The copies go on.
    fn replace(&mut self, index: Index) {
        self.writer = None;
        *self = Subject {
            copies: std::mem::take(&mut self.copies),
            ..Subject::new(index)
        };
    }
}

impl History {
    fn new(seed: u64, place: Place) -> History {
        let mut random = Random::new(seed);
        let remembered = *random.pick(&[4, 100_000]);
        let build = |builder: IndexBuilder| {
            let builder = builder.remember_deletions(remembered);
            builder.finish().expect("an empty index can be written")
        };
        let index = match &place {
            Place::Disk(disk) => build(builder(disk)),
            Place::Directory(directory) => {
                let builder = IndexBuilder::in_directory(directory.path());
                build(builder.expect("an empty directory can be written to"))
            }
        };
        let memory = Memory::default();
        let builder = IndexBuilder::in_storage(Arc::new(memory.clone()));
        let in_memory = build(builder.expect("memory can be written to"));
        let mut history = History {
            seed,
            random,
            place,
            memory,
            stored: Subject::new(index),
            in_memory: Subject::new(in_memory),
            committed: Model::default(),
            pending: Model::default(),
            commits: Vec::new(),
            next_commit: 0,
            backups: Vec::new(),
        };
        history.note_commits();
        history
    }

    fn run(mut self, steps: u64) {
        for step in 0..1 + self.random.below(steps) {
            let context = format!("seed {}, step {step}", self.seed);
            self.step(&context);
        }
        self.follow(true, &format!("seed {}, at last", self.seed));
    }

    /// Lets some copies follow, or all.
    fn follow(&mut self, all: bool, context: &str) {
        for subject in [&mut self.stored, &mut self.in_memory] {
            let snapshot = subject.index.snapshot();
            let followed = Followed {
                snapshot: &snapshot,
                committed: &self.committed,
                commits: &self.commits,
            };
            let copies = &mut subject.copies;
            copies.follow(&followed, all, &mut self.random, context);
        }
    }

    /// Does the same to both indexes; they have to say the same.
    fn both<T: PartialEq + std::fmt::Debug>(
        &mut self,
        context: &str,
        change: impl Fn(&mut Writer) -> Result<T>,
    ) -> Result<T> {
        let stored = change(self.stored.writer());
        let in_memory = change(self.in_memory.writer());
        let said = |outcome: &Result<T>| match outcome {
            Ok(value) => format!("{value:?}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(said(&stored), said(&in_memory), "{context}");
        stored
    }

    fn step(&mut self, context: &str) {
        match self.random.below(22) {
            0..=6 => self.upsert_signal(context),
            7 | 8 => self.delete_signal(context),
            9..=11 => self.upsert_company(context),
            12 => self.delete_company(context),
            13..=16 => self.commit(context),
            17 => self.compact(context),
            18 => self.reopen(context),
            19 => self.back_up(),
            20 => self.restore(context),
            _ => self.crash(context),
        }
    }

    fn upsert_signal(&mut self, context: &str) {
        let slug = format!("c{}", self.random.below(6));
        let signal = random_signal(&mut self.random, &slug);
        let added = self.both(context, |writer| writer.upsert_signal(&signal));
        if self.pending.companies.contains_key(&slug) {
            added.unwrap_or_else(|error| panic!("{context}: {error}"));
            self.pending.signals.insert(signal.id, signal);
        } else {
            assert!(
                added.is_err_and(|error| error.kind() == ErrorKind::UnknownCompany),
                "{context}"
            );
        }
    }

    fn delete_signal(&mut self, context: &str) {
        let id = SignalId::new(1 + self.random.below(60)).expect("a small number");
        let deleted = self.both(context, |writer| writer.delete_signal(id));
        let existed = deleted.expect("it is only noted");
        assert_eq!(
            existed,
            self.pending.signals.remove(&id).is_some(),
            "{context}"
        );
    }

    fn upsert_company(&mut self, context: &str) {
        let company = random_company(&mut self.random);
        self.both(context, |writer| writer.upsert_company(&company))
            .expect("the slug is not empty");
        self.pending
            .companies
            .insert(company.slug.to_string(), company);
    }

    fn delete_company(&mut self, context: &str) {
        let slug = format!("c{}", self.random.below(6));
        let deletions = [CompanyDeletion::Restrict, CompanyDeletion::Cascade];
        let deletion = *self.random.pick(&deletions);
        let has_signals = self
            .pending
            .signals
            .values()
            .any(|signal| signal.company_slug == slug);
        let deleted = self.both(context, |writer| writer.delete_company(&slug, deletion));
        if deletion == CompanyDeletion::Restrict && has_signals {
            assert!(
                deleted.is_err_and(|error| error.kind() == ErrorKind::Invalid),
                "{context}"
            );
            return;
        }
        let existed = deleted.unwrap_or_else(|error| panic!("{context}: {error}"));
        assert_eq!(
            existed,
            self.pending.companies.remove(&slug).is_some(),
            "{context}"
        );
        self.pending
            .signals
            .retain(|_, signal| signal.company_slug != slug);
    }

    fn commit(&mut self, context: &str) {
        let before = self.stored.index.snapshot();
        // Merges take generations of their own, whenever their threads get to it.
        let counts = |report| CommitReport {
            generation: 0,
            ..report
        };
        self.both(context, |writer| writer.commit().map(counts))
            .unwrap_or_else(|error| panic!("{context}: {error}"));
        let old = Model::of(&before).expect("an old snapshot stays whole");
        assert_eq!(
            old, self.committed,
            "an old snapshot stays as it was, {context}"
        );
        self.committed = self.pending.clone();
        self.note_commits();
        self.check(context);
    }

    /// Numbers the commits that are new.
    fn note_commits(&mut self) {
        let last_commit = self.stored.index.snapshot().history.last_commit;
        while (self.commits.len() as u64) < last_commit {
            self.commits.push(self.next_commit);
            self.next_commit += 1;
        }
    }

    fn back_up(&mut self) {
        // Files are copied one after another, and a merge must not remove some meanwhile.
        self.stored.writer().wait_for_merges();
        if self.backups.len() == BACKUPS_MAX {
            self.backups.remove(0);
        }
        self.backups.push(Backup {
            place: self.place.copied(),
            memory: self.memory.copied(),
            committed: self.committed.clone(),
            commits: self.commits.clone(),
        });
    }

    /// Goes back to a backup, half of the time after a backup of the present state.
    fn restore(&mut self, context: &str) {
        if self.random.below(2) == 0 {
            self.back_up();
        }
        if self.backups.is_empty() {
            return;
        }
        let taken = self.random.below(self.backups.len() as u64) as usize;
        let backup = &self.backups[taken];
        self.stored.writer = None;
        self.in_memory.writer = None;
        self.place = backup.place.copied();
        self.memory = backup.memory.copied();
        self.committed = backup.committed.clone();
        self.commits = backup.commits.clone();
        self.open(context);
    }

    fn compact(&mut self, context: &str) {
        self.both(context, Writer::compact)
            .unwrap_or_else(|error| panic!("{context}: {error}"));
        for subject in [&self.stored, &self.in_memory] {
            let statistics = subject
                .index
                .snapshot()
                .statistics()
                .expect("a whole index");
            assert!(statistics.segments <= 1, "{context}");
        }
        self.check(context);
    }

    /// Drops the writer with its pending changes and opens everything again.
    fn reopen(&mut self, context: &str) {
        self.stored.writer().wait_for_merges();
        self.stored.writer = None;
        self.open(context);
    }

    /// Cuts the disk off between commits, while a merge may be under way. Files of the operating
    /// system are only closed.
    fn crash(&mut self, context: &str) {
        if let Place::Disk(disk) = &self.place {
            disk.record();
            self.stored.writer = None;
            let states = disk.recorded();
            let state = &states[self.random.below(states.len() as u64) as usize];
            let unsynced = *self.random.pick(&Unsynced::ALL);
            let survivors = *self.random.pick(&state.survivors());
            self.place = Place::Disk(state.crash(unsynced, survivors));
        }
        self.stored.writer = None;
        self.open(context);
    }

    fn open(&mut self, context: &str) {
        let opened: Result<Index, Error> = match &self.place {
            Place::Disk(disk) => open(disk),
            Place::Directory(directory) => Index::open(directory.path()),
        };
        let opened = opened.unwrap_or_else(|error| panic!("{context}: {error}"));
        self.stored.replace(opened);
        let in_memory = Index::from_storage(Arc::new(self.memory.clone()));
        self.in_memory.replace(in_memory.expect("a whole index"));
        self.pending = self.committed.clone();
        self.check(context);
    }

    fn check(&mut self, context: &str) {
        let snapshot = self.stored.index.snapshot();
        let held = Model::of(&snapshot).expect("a whole index");
        assert_eq!(held, self.committed, "{context}");
        let in_memory = self.in_memory.index.snapshot();
        let mut random = self.random.clone();
        self.committed.compare(&snapshot, &mut self.random, context);
        self.committed.compare(&in_memory, &mut random, context);
        let mut random = self.random.clone();
        assert_eq!(
            answers(&snapshot, &mut random.clone()),
            answers(&in_memory, &mut random),
            "{context}"
        );
        self.follow(false, context);
        if self.random.below(8) == 0 {
            for snapshot in [snapshot, in_memory] {
                let verified = snapshot.verify();
                verified.unwrap_or_else(|error| panic!("{context}: {error}"));
            }
        }
    }
}
