//! A simulated year: publishers and prunes that are killed at any point, side by side, and followers
//! that come and go. Time passes by making the store older.
//!
//! `SIGNALDEX_PUBLISHES=5000` publishes as often as in a year at 1.75 hours each.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use signaldex::Index;
use signaldex::replicate::Replica;

use crate::fixture::{Fixture, SIGNALS, age, build, signal, titles};

/// Between two publishes.
const STEP: Duration = Duration::from_secs(365 * 24 * 3600 / 5_000);
const KEPT: u64 = 3;
const FOLLOWERS: usize = 3;
/// An index that is published now and then, and otherwise forgotten.
const FORGOTTEN: &str = "forgotten";

struct Year {
    fixture: Fixture,
    random: u64,
    generation: u64,
    /// What each generation holds.
    contents: BTreeMap<u64, Vec<(u64, String)>>,
    followers: [Option<Replica>; FOLLOWERS],
    seen: Seen,
}

/// What happened.
#[derive(Debug, Default)]
struct Seen {
    killed_publishers: u64,
    killed_prunes: u64,
    prunes: u64,
    answers: u64,
    manifests_max: usize,
    bytes_max: u64,
}

impl Year {
    fn below(&mut self, bound: u64) -> u64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % bound
    }

    /// Kills a process after some of its time, or lets it end.
    fn perhaps_kill(&mut self, process: &mut Child, chance: u64) -> bool {
        if self.below(chance) != 0 {
            return false;
        }
        thread::sleep(Duration::from_millis(self.below(60)));
        process.kill().expect("killed");
        true
    }

    fn step(&mut self) {
        age(&self.fixture.path("store"), STEP);
        let directory = if self.below(40) == 0 {
            FORGOTTEN
        } else {
            "index"
        };
        if directory == "index" {
            self.change();
        }
        self.generation += 1;
        let directory = self.fixture.path(directory);
        let content = titles(&Index::open(&directory).expect("the index").snapshot());
        self.contents.insert(self.generation, content);
        let generation = self.generation.to_string();
        let mut command = program();
        command
            .arg("publish")
            .arg(&directory)
            .arg(self.fixture.path("store"));
        let mut publisher = spawn(command.args(["--generation", &generation]));
        let prune = (self.below(6) == 0).then(|| self.start_prune());
        let is_killed = self.perhaps_kill(&mut publisher, 4);
        if let Some(prune) = prune {
            self.end_prune(prune);
        }
        self.end_publisher(publisher, is_killed);
        self.follow();
    }

    /// Commits a new title of one signal.
    fn change(&mut self) {
        let number = 1 + self.below(SIGNALS);
        let title = format!("{}", self.generation + 1);
        let index = Index::open(self.fixture.index()).expect("the index");
        let mut writer = index.writer().expect("nobody else writes");
        writer
            .upsert_signal(&signal(number, &title))
            .expect("a known company");
        writer.commit().expect("committed");
        writer.wait_for_merges();
    }

    fn start_prune(&mut self) -> Child {
        thread::sleep(Duration::from_millis(self.below(30)));
        let mut command = program();
        command.arg("prune").arg(self.fixture.path("store"));
        spawn(command.args(["--delete", "--keep", &KEPT.to_string()]))
    }

    fn end_prune(&mut self, mut prune: Child) {
        let is_killed = self.perhaps_kill(&mut prune, 3);
        let output = prune.wait_with_output().expect("an end");
        if is_killed && !output.status.success() {
            self.seen.killed_prunes += 1;
            return;
        }
        assert!(output.status.success(), "{}", told(&output));
        self.seen.prunes += 1;
    }

    fn end_publisher(&mut self, mut publisher: Child, is_killed: bool) {
        // One that waits for a prune that was killed goes on when its mark is old.
        while publisher.try_wait().expect("a state").is_none() {
            thread::sleep(Duration::from_millis(5));
            let marks = self.fixture.path("store/pruning");
            if marks.exists() {
                age(&marks, Duration::from_secs(30));
            }
        }
        let output = publisher.wait_with_output().expect("an end");
        assert!(is_killed || output.status.success(), "{}", told(&output));
        self.seen.killed_publishers += u64::from(!output.status.success());
    }

    /// A follower comes, goes, restarts, or looks; what it shows is what was published.
    fn follow(&mut self) {
        let which = self.below(FOLLOWERS as u64) as usize;
        let cache = format!("cache-{which}");
        match self.below(12) {
            0 => {
                self.followers[which] = None;
                // It may never have come.
                let _ = fs::remove_dir_all(self.fixture.path(&cache));
            }
            1 => self.followers[which] = None,
            2..6 => {}
            _ => self.look(which, &cache),
        }
    }

    fn look(&mut self, which: usize, cache: &str) {
        let error = match &mut self.followers[which] {
            Some(replica) => self.fixture.sync(replica).error,
            None => match self.fixture.open(cache) {
                Ok(mut replica) => {
                    let again = self.fixture.sync(&mut replica).error;
                    self.followers[which] = Some(replica);
                    again
                }
                Err(error) => Some(error),
            },
        };
        let is_empty = self.seen.killed_publishers == self.generation;
        assert!(error.is_none() || is_empty, "{error:?}");
        let Some(replica) = &self.followers[which] else {
            return;
        };
        let snapshot = replica.index().snapshot();
        // A publisher that was killed may have left one unfinished.
        let mut manifests = self.fixture.stored("manifests");
        manifests.retain(|path| !path.display().to_string().contains('#'));
        let newest = manifests.pop().expect("a manifest");
        let newest = newest
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let newest: u64 = newest.parse().expect("a generation");
        assert_eq!(snapshot.generation(), newest);
        assert_eq!(titles(&snapshot), self.contents[&snapshot.generation()]);
        self.seen.answers += 1;
    }

    fn measure(&mut self) {
        let objects = self.fixture.path("store/objects");
        // It is not there before the first publisher has come as far.
        let Ok(entries) = fs::read_dir(objects) else {
            return;
        };
        let lengths = entries.map(|entry| entry.and_then(|entry| entry.metadata()));
        let bytes = lengths
            .map(|metadata| metadata.expect("a file").len())
            .sum();
        self.seen.bytes_max = self.seen.bytes_max.max(bytes);
        if self.fixture.path("store/manifests").exists() {
            let manifests = self.fixture.stored("manifests").len();
            self.seen.manifests_max = self.seen.manifests_max.max(manifests);
        }
    }
}

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_signaldex"))
}

fn spawn(command: &mut Command) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().expect("the program runs")
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn number(variable: &str, otherwise: u64) -> u64 {
    let given = std::env::var(variable).ok();
    given.map_or(otherwise, |given| given.parse().expect("a number"))
}

#[test]
fn a_year_of_publishes_prunes_and_kills_shows_nothing_wrong_and_stays_small() {
    let fixture = Fixture::new();
    build(&fixture.path(FORGOTTEN), "forgotten");
    let publishes = number("SIGNALDEX_PUBLISHES", 80);
    let mut year = Year {
        fixture,
        random: number("SIGNALDEX_SEED", 28),
        generation: 0,
        contents: BTreeMap::new(),
        followers: [None, None, None],
        seen: Seen::default(),
    };
    for _ in 0..publishes {
        year.step();
        year.measure();
    }
    let seen = &year.seen;
    println!("{publishes} publishes: {seen:?}");
    assert!(seen.killed_publishers > 0 && seen.prunes > 0 && seen.answers > 0);
    // A day of generations, those until the next prune that is not killed, and the kept ones.
    assert!(seen.manifests_max < 100, "{seen:?}");
    let index = fs::read_dir(year.fixture.index()).expect("readable");
    let bytes: u64 = index
        .map(|entry| {
            entry
                .and_then(|entry| entry.metadata())
                .expect("a file")
                .len()
        })
        .sum();
    assert!(
        seen.bytes_max < 20 * bytes,
        "{seen:?}, the index has {bytes} bytes"
    );
}
