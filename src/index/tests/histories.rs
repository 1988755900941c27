//! Random histories of changes, compared with the naive model after every commit.
//!
//! Every history also happens to an index in memory, which has to answer byte for byte alike.
//!
//! `SIGNALDEX_HISTORIES` sets their number; a failure prints its seed, and `SIGNALDEX_SEED` starts
//! there.

use tempfile::TempDir;

use super::copies::Copies;
use super::disk::{Disk, Unsynced};
use super::model::{Model, answers, builder, open, random_company, random_signal};
use crate::fixtures::Random;
use crate::index::{CommitReport, CompanyDeletion, Index, IndexBuilder, Writer};
use crate::signal::SignalId;
use crate::{Error, Result};

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

struct History {
    seed: u64,
    random: Random,
    place: Place,
    stored: Subject,
    in_memory: Subject,
    /// What was committed, and what is to be committed next.
    committed: Model,
    pending: Model,
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

    /// Drops the writer with its pending changes and opens another.
    fn reopen_writer(&mut self) {
        self.writer = None;
        self.writer = Some(self.index.writer().expect("nobody else writes"));
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
        History {
            seed,
            random,
            place,
            stored: Subject::new(index),
            in_memory: Subject::new(build(IndexBuilder::in_memory())),
            committed: Model::default(),
            pending: Model::default(),
        }
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
            let (copies, committed) = (&mut subject.copies, &self.committed);
            copies.follow(&snapshot, committed, all, &mut self.random, context);
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
        match self.random.below(20) {
            0..=6 => self.upsert_signal(context),
            7 | 8 => self.delete_signal(context),
            9..=11 => self.upsert_company(context),
            12 => self.delete_company(context),
            13..=16 => self.commit(context),
            17 => self.compact(context),
            18 => self.reopen(context),
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
            assert!(added.is_err_and(|error| error.is_invalid()), "{context}");
        }
    }

    fn delete_signal(&mut self, context: &str) {
        let id = SignalId::new(1 + self.random.below(60)).expect("a small number");
        let deleted = self.both(context, |writer| Ok(writer.delete_signal(id)));
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
            assert!(deleted.is_err_and(|error| error.is_invalid()), "{context}");
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
        self.check(context);
    }

    fn compact(&mut self, context: &str) {
        self.both(context, Writer::compact)
            .unwrap_or_else(|error| panic!("{context}: {error}"));
        for subject in [&self.stored, &self.in_memory] {
            let statistics = subject.index.snapshot().statistics();
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
        self.stored = Subject {
            copies: std::mem::take(&mut self.stored.copies),
            ..Subject::new(opened)
        };
        self.in_memory.reopen_writer();
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
