//! Random histories of changes, compared with the naive model after every commit.
//!
//! `SIGNALDEX_HISTORIES` sets their number; a failure prints its seed, and `SIGNALDEX_SEED` starts
//! there.

use super::disk::{Disk, Unsynced};
use super::model::{Model, Random, empty_index, open, random_company, random_signal};
use crate::index::{CompanyDeletion, Index, Writer};
use crate::signal::SignalId;

/// Histories in the ordinary run.
const HISTORIES: u64 = 2_000;

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
    let first = setting("SIGNALDEX_SEED", 1);
    let steps = setting("SIGNALDEX_STEPS", STEPS_MAX);
    for seed in first..first + setting("SIGNALDEX_HISTORIES", HISTORIES) {
        History::new(seed).run(steps);
    }
}

struct History {
    seed: u64,
    random: Random,
    disk: Disk,
    index: Index,
    writer: Option<Writer>,
    /// What was committed, and what is to be committed next.
    committed: Model,
    pending: Model,
}

impl History {
    fn new(seed: u64) -> History {
        let disk = Disk::default();
        let index = empty_index(&disk);
        let writer = index.writer().expect("nobody else writes");
        History {
            seed,
            random: Random(seed),
            disk,
            index,
            writer: Some(writer),
            committed: Model::default(),
            pending: Model::default(),
        }
    }

    fn run(mut self, steps: u64) {
        for step in 0..1 + self.random.below(steps) {
            let context = format!("seed {}, step {step}", self.seed);
            self.step(&context);
        }
    }

    fn writer(&mut self) -> &mut Writer {
        self.writer
            .as_mut()
            .expect("a writer is open between steps")
    }

    fn step(&mut self, context: &str) {
        match self.random.below(20) {
            0..=6 => self.upsert_signal(context),
            7 | 8 => self.delete_signal(context),
            9..=11 => self.upsert_company(),
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
        let added = self.writer().upsert_signal(&signal);
        if self.pending.companies.contains_key(&slug) {
            added.unwrap_or_else(|error| panic!("{context}: {error}"));
            self.pending.signals.insert(signal.id, signal);
        } else {
            assert!(added.is_err_and(|error| error.is_invalid()), "{context}");
        }
    }

    fn delete_signal(&mut self, context: &str) {
        let id = SignalId::new(1 + self.random.below(60)).expect("a small number");
        let existed = self
            .writer()
            .delete_signal(id)
            .expect("deleting does not fail");
        assert_eq!(
            existed,
            self.pending.signals.remove(&id).is_some(),
            "{context}"
        );
    }

    fn upsert_company(&mut self) {
        let company = random_company(&mut self.random);
        self.writer()
            .upsert_company(&company)
            .expect("the slug is not empty");
        self.pending
            .companies
            .insert(company.slug.to_string(), company);
    }

    fn delete_company(&mut self, context: &str) {
        let slug = format!("c{}", self.random.below(6));
        let deletion = self
            .random
            .pick(&[CompanyDeletion::Restrict, CompanyDeletion::Cascade]);
        let has_signals = self
            .pending
            .signals
            .values()
            .any(|signal| signal.company_slug == slug);
        let deleted = self.writer().delete_company(&slug, deletion);
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
        let before = self.index.snapshot();
        self.writer()
            .commit()
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
        self.writer()
            .compact()
            .unwrap_or_else(|error| panic!("{context}: {error}"));
        assert!(
            self.index.snapshot().statistics().segments <= 1,
            "{context}"
        );
        self.check(context);
    }

    /// Drops the writer with its pending changes and opens everything again.
    fn reopen(&mut self, context: &str) {
        self.writer().wait_for_merges();
        self.writer = None;
        self.open(context);
    }

    /// Cuts the disk off between commits, while a merge may be under way.
    fn crash(&mut self, context: &str) {
        self.disk.record();
        self.writer = None;
        let states = self.disk.recorded();
        let state = &states[self.random.below(states.len() as u64) as usize];
        let unsynced = self.random.pick(&Unsynced::ALL);
        let survivors = self.random.pick(&state.survivors());
        self.disk = state.crash(unsynced, survivors);
        self.open(context);
    }

    fn open(&mut self, context: &str) {
        self.index = open(&self.disk).unwrap_or_else(|error| panic!("{context}: {error}"));
        self.writer = Some(self.index.writer().expect("nobody else writes"));
        self.pending = self.committed.clone();
        self.check(context);
    }

    fn check(&mut self, context: &str) {
        let snapshot = self.index.snapshot();
        let held = Model::of(&snapshot).expect("a whole index");
        assert_eq!(held, self.committed, "{context}");
        self.committed.compare(&snapshot, &mut self.random, context);
        if self.random.below(8) == 0 {
            snapshot
                .verify()
                .unwrap_or_else(|error| panic!("{context}: {error}"));
        }
    }
}
