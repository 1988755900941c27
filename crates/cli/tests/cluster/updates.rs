//! Shards that take updates: routed, published in part, and served by the nodes.
//!
//! `SIGNALDEX_UPDATES` says how many random updates, `SIGNALDEX_SEED` which.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use signaldex::Index;

use crate::agreement::compare_queries;
use crate::fixture::{Cluster, Fixture, Shape, number, program, run};
use crate::random::Random;

const SHARDS: u32 = 7;

/// Random updates between two comparisons.
const ROUND: u64 = 10;

/// Every file below a folder, with its length.
fn files(folder: &Path) -> BTreeMap<PathBuf, u64> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        match fs::metadata(&path).expect("its metadata") {
            metadata if metadata.is_dir() => found.extend(files(&path)),
            metadata => drop(found.insert(path, metadata.len())),
        }
    }
    found
}

fn lines_of(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("a file");
    let parse = |line| serde_json::from_str(line).expect("JSON");
    text.lines().map(parse).collect()
}

fn write_lines(path: &Path, lines: impl IntoIterator<Item = impl ToString>) {
    let lines: Vec<String> = lines.into_iter().map(|line| line.to_string()).collect();
    fs::write(path, lines.join("\n")).expect("a written file");
}

fn outcome(command: &mut Command) -> (bool, String) {
    let Output { status, stderr, .. } = command.output().expect("the program runs");
    (
        status.success(),
        String::from_utf8_lossy(&stderr).into_owned(),
    )
}

/// Publishes the shards of a corpus again. Returns what the command said.
fn publish(fixture: &Fixture, shards: u32, options: &[&str]) -> String {
    let mut command = fixture.publishing("corpus", shards, "store");
    let (succeeded, told) = outcome(command.args(options));
    assert!(succeeded, "{told}");
    told
}

/// `update` of an index, or of shards and then published.
pub(crate) fn update(place: &[&str], arguments: &[String]) -> Command {
    let mut command = program();
    command.arg("update").args(place).args(arguments);
    command
}

/// Makes up updates of a corpus.
pub(crate) struct Updates {
    companies: Vec<Value>,
    signals: Vec<Value>,
    random: Random,
    folder: PathBuf,
}

impl Updates {
    pub(crate) fn of(fixture: &Fixture, corpus: &str) -> Updates {
        Updates {
            companies: lines_of(&fixture.path(corpus).join("companies.jsonl")),
            signals: lines_of(&fixture.path(corpus).join("signals.jsonl")),
            random: Random::new(number("SIGNALDEX_SEED", 1)),
            folder: fixture.path(corpus),
        }
    }

    /// Writes the files of the next update. Returns the options that name them.
    pub(crate) fn next(&mut self) -> Vec<String> {
        let mut companies = Vec::new();
        for _ in 0..self.random.below(3) {
            let mut company = self.random.pick(&self.companies).clone();
            company["country"] = json!(self.random.word(&["Germany", "Japan", "Chile"]));
            companies.push(company);
        }
        let mut signals = Vec::new();
        for _ in 0..1 + self.random.below(4) {
            let mut signal = self.random.pick(&self.signals).clone();
            // Half of them move to another company, and so mostly to another shard.
            if self.random.chance(50) {
                signal["companySlug"] = self.random.pick(&self.companies)["slug"].clone();
            }
            // Company and signal are both in the update, so that an earlier deletion of the company is no fault.
            let slug = signal["companySlug"].clone();
            let is_of_slug = |company: &&Value| company["slug"] == slug;
            companies.extend(self.companies.iter().find(is_of_slug).cloned());
            signals.push(signal);
        }
        let deleted = |signal: &Value| match &signal["id"] {
            Value::String(id) => id.clone(),
            id => id.to_string(),
        };
        let gone: Vec<String> = (0..self.random.below(3))
            .map(|_| deleted(self.random.pick(&self.signals)))
            .collect();
        let closed: Vec<&str> = (0..self.random.below(2))
            .filter_map(|_| self.random.pick(&self.companies)["slug"].as_str())
            .collect();
        let mut options = vec!["--with-signals".to_owned()];
        let files = [
            (
                "companies",
                companies.iter().map(Value::to_string).collect::<Vec<_>>(),
            ),
            ("signals", signals.iter().map(Value::to_string).collect()),
            ("delete-signals", gone),
            (
                "delete-companies",
                closed.into_iter().map(str::to_owned).collect(),
            ),
        ];
        for (name, lines) in files {
            let path = self.folder.join(format!("update-{name}.jsonl"));
            write_lines(&path, lines);
            options.extend([format!("--{name}"), path.to_string_lossy().into_owned()]);
        }
        options
    }
}

#[test]
fn nodes_answer_as_one_index_that_took_the_same_updates() {
    let fixture = Fixture::new();
    fixture.generate("corpus", 800, 61);
    fixture.publish("corpus", SHARDS, "store");
    let whole = fixture.serve_whole("corpus");
    let cluster = Cluster::start(&fixture, "cluster", "store", Shape::with_replicas(2));
    let mut updates = Updates::of(&fixture, "corpus");
    let (parts, store) = (fixture.parts("corpus", SHARDS), fixture.path("store"));
    let (parts, store) = (parts.to_string_lossy(), store.to_string_lossy());
    let rounds = number("SIGNALDEX_UPDATES", 20).div_ceil(ROUND);
    let (mut asked, mut moved) = (0, 0);
    for round in 0..rounds {
        for turn in 1..=ROUND {
            let options = updates.next();
            let place = fixture.whole("corpus").to_string_lossy().into_owned();
            run(&mut update(&[&place], &options));
            let mut command = update(&["--shards", &parts], &options);
            if turn == ROUND {
                command.args(["--publish", &store]);
            }
            let (succeeded, told) = outcome(&mut command);
            assert!(succeeded, "{told}");
            moved += u64::from(!told.contains("0 signals moved"));
        }
        run(program().args(["verify", "--shards", &parts]));
        cluster.await_ready(&format!("\"generation\":{}", round + 2));
        let index = fixture.index("corpus");
        let expected = index.snapshot().signal_count();
        let counted = |answer: &Value| answer["data"]["count"] == json!(expected);
        let deadline = Instant::now() + Duration::from_secs(60);
        while !counted(&whole.get("/api/v1/signals?countOnly=true").json()) {
            assert!(Instant::now() < deadline, "the index is not followed");
            thread::sleep(Duration::from_millis(20));
        }
        asked += compare_queries(&whole, &cluster, &index, round, 30);
    }
    assert!(moved > 0, "no signal moved to another shard");
    println!(
        "{} updates, {moved} of them moved signals; {asked} answers, all the same",
        rounds * ROUND
    );
}

/// The first line of a corpus's signals, with another title.
fn changed_signal(fixture: &Fixture) -> PathBuf {
    let mut signal = lines_of(&fixture.path("corpus").join("signals.jsonl")).swap_remove(0);
    signal["title"] = json!("Zanzibar opens an office");
    let path = fixture.path("changed.jsonl");
    write_lines(&path, [signal]);
    path
}

#[test]
fn one_signal_sends_four_small_files_and_is_served_in_two_seconds() {
    const MANY: u32 = 64;
    let fixture = Fixture::new();
    fixture.generate("corpus", 2_000, 62);
    fixture.publish("corpus", MANY, "store");
    let cluster = Cluster::start(&fixture, "cluster", "store", Shape::with_replicas(2));
    let before = files(&fixture.path("store"));
    let changed = changed_signal(&fixture);
    let mut command = program();
    command
        .args(["update", "--shards"])
        .arg(fixture.parts("corpus", MANY));
    command.arg("--signals").arg(changed);
    run(command.arg("--publish").arg(fixture.path("store")));
    let published = Instant::now();
    for node in &cluster.nodes {
        node.await_ready("\"generation\":2");
        let answer = node.get("/api/v1/signals?q=zanzibar&countOnly=true");
        assert_eq!(answer.json()["data"]["count"], 1, "{answer:?}");
    }
    let served = published.elapsed();
    let mut after = files(&fixture.path("store"));
    after.retain(|path, _| !before.contains_key(path));
    let bytes: u64 = after.values().sum();
    println!(
        "{} files of {bytes} bytes, served by all nodes after {served:?}",
        after.len()
    );
    assert!(after.len() <= 4 && bytes <= 64_000, "{after:?}");
    assert!(served < Duration::from_secs(2), "{served:?}");
}

#[test]
fn what_has_not_changed_is_not_published() {
    let fixture = Fixture::new();
    fixture.generate("corpus", 200, 63);
    assert!(
        publish(&fixture, 3, &[]).contains("generation 1 is published: 200 signals in 3 shards")
    );
    let before = files(&fixture.path("store"));
    let again = publish(&fixture, 3, &[]);
    assert!(
        again.contains("generation 1 is published already"),
        "{again}"
    );
    assert_eq!(files(&fixture.path("store")), before);
    // A damaged object is replaced, under the same generation.
    let is_object = |path: &&PathBuf| path.to_string_lossy().contains("/objects/");
    let object = before.keys().find(is_object).expect("an object");
    let sound = fs::read(object).expect("its bytes");
    fs::write(object, &sound[..sound.len() / 2]).expect("damage");
    let repaired = publish(&fixture, 3, &["--repair"]);
    assert!(
        repaired.contains("generation 1 is published: "),
        "{repaired}"
    );
    assert!(repaired.contains("3 of them sent"), "{repaired}");
    assert_eq!(fs::read(object).expect("its bytes"), sound);
    assert_eq!(files(&fixture.path("store")), before);
}

#[test]
fn shards_that_break_a_rule_are_not_published() {
    let fixture = Fixture::new();
    fixture.generate("corpus", 300, 64);
    publish(&fixture, 4, &[]);
    let parts = fixture.parts("corpus", 4);
    let indexes: Vec<Index> = (0..4)
        .map(|shard| Index::open(parts.join(shard.to_string())).expect("a shard"))
        .collect();
    let records = |shard: usize| {
        let snapshot = indexes[shard].snapshot();
        let found = snapshot.scan().next().expect("a signal").expect("a record");
        found.into_owned()
    };
    let (first, second) = (records(0), records(1));
    // The signal of one shard under a company of another: the id is live in both.
    let mut copy = first.signal.clone();
    copy.company_slug = second.signal.company_slug.clone();
    let mut writer = indexes[1].writer().expect("a writer");
    writer.upsert_signal(&copy).expect("a pending signal");
    writer.commit().expect("a commit");
    drop(writer);
    let refusal = |fixture: &Fixture| {
        let (succeeded, told) = outcome(&mut fixture.publishing("corpus", 4, "store"));
        assert!(!succeeded, "{told}");
        let (verified, also) = outcome(program().args(["verify", "--shards"]).arg(&parts));
        assert!(!verified, "{also}");
        told
    };
    let told = refusal(&fixture);
    let named = format!("the signal {} is in two shards: in shard ", first.signal.id);
    assert!(told.contains(&named), "{told}");
    assert!(
        told.contains("shard 0") && told.contains("shard 1"),
        "{told}"
    );
    // The update that the error names fixes it.
    let signal = json!({"id": copy.id.to_string(), "slug": "moved", "companySlug": copy.company_slug, "title": "moved"});
    write_lines(&fixture.path("again.jsonl"), [signal]);
    let mut fix = program();
    fix.args(["update", "--shards"])
        .arg(&parts)
        .arg("--signals");
    run(fix.arg(fixture.path("again.jsonl")));
    assert!(publish(&fixture, 4, &[]).contains("generation 2 is published"));
    // A company of another shard.
    let mut writer = indexes[2].writer().expect("a writer");
    writer
        .upsert_company(&first.company)
        .expect("a pending company");
    writer.commit().expect("a commit");
    drop(writer);
    let told = refusal(&fixture);
    let named = format!(
        "the company {:?} is in shard 2 and belongs in shard 0",
        first.company.slug
    );
    assert!(told.contains(&named), "{told}");
}

#[test]
fn a_check_of_an_update_finds_its_faults_and_changes_nothing() {
    let fixture = Fixture::new();
    fixture.generate("corpus", 100, 66);
    publish(&fixture, 3, &[]);
    let parts = fixture.parts("corpus", 3);
    let before = files(&parts);
    let changes = fixture.path("changes.jsonl");
    let company = lines_of(&fixture.path("corpus").join("companies.jsonl"))[0]["slug"].clone();
    let signal = |id: u64, company: &Value| json!({"id": id.to_string(), "slug": "s", "title": "A title", "companySlug": company});
    let check = |signals: &[Value]| {
        write_lines(&changes, signals);
        let mut command = program();
        command.arg("update").arg("--shards").arg(&parts);
        command.arg("--signals").arg(&changes);
        let (succeeded, told) = outcome(command.arg("--check"));
        assert_eq!(files(&parts), before, "{told}");
        (succeeded, told)
    };
    let known = signal(900_001, &company);
    let (succeeded, told) = check(std::slice::from_ref(&known));
    assert!(succeeded && told.contains("nothing is changed"), "{told}");
    let (succeeded, told) = check(&[known, signal(900_002, &json!("unknown-company"))]);
    assert!(!succeeded && told.contains("unknown-company"), "{told}");
}

#[test]
fn a_folder_that_lacks_a_shard_is_refused() {
    let fixture = Fixture::new();
    fixture.generate("corpus", 100, 65);
    publish(&fixture, 7, &[]);
    let parts = fixture.parts("corpus", 7);
    // Shards are built into an empty folder.
    let mut again = program();
    again.arg("shard");
    for file in ["companies", "signals"] {
        let path = fixture.path("corpus").join(format!("{file}.jsonl"));
        again.arg(format!("--{file}")).arg(path);
    }
    let (succeeded, told) = outcome(again.arg("--out").arg(&parts));
    assert!(
        !succeeded && told.contains("the folder is not empty"),
        "{told}"
    );
    fs::rename(parts.join("3"), fixture.path("aside")).expect("moved");
    for arguments in [&["verify", "--shards"][..], &["compact", "--shards"]] {
        let (succeeded, told) = outcome(program().args(arguments).arg(&parts));
        assert!(
            !succeeded && told.contains("shard 3 of 7 is missing"),
            "{told}"
        );
    }
    let (succeeded, told) = outcome(&mut fixture.publishing("corpus", 7, "store"));
    assert!(
        !succeeded && told.contains("shard 3 of 7 is missing"),
        "{told}"
    );
    fs::rename(fixture.path("aside"), parts.join("3")).expect("moved back");
    run(program().args(["compact", "--shards"]).arg(&parts));
    fs::remove_file(parts.join("shards.json")).expect("removed");
    let (succeeded, told) = outcome(program().args(["verify", "--shards"]).arg(&parts));
    assert!(
        !succeeded && told.contains("shards.json is missing"),
        "{told}"
    );
}
