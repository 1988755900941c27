//! The feed of changes over HTTP: a client that follows it holds what a search finds, and pays for what
//! it is shown.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use signaldex::{Company, Index, IndexBuilder, Signal, SignalId};
use signaldex_server::{NewKey, Quotas};

use crate::client::Response;
use crate::fixture::{Fixture, Settings};

const NAME: (&str, &str) = ("idempotency-key", "changes-4711");

/// A service over an index in memory that the test changes.
pub(crate) fn service(key: NewKey) -> (Fixture, Index) {
    let index = Index::in_memory().expect("memory");
    let fixture = Fixture::with(Settings {
        key,
        index: Some(index.clone()),
        ..Settings::default()
    });
    (fixture, index)
}

pub(crate) fn commit(
    index: &Index,
    upserts: impl Iterator<Item = (u64, &'static str)>,
    deletions: &[u64],
) {
    let id_of = |id| SignalId::new(id).expect("an id");
    let mut writer = index.writer().expect("nobody else writes");
    let company = Company::new("acme", "Acme");
    if !index.snapshot().has_company("acme").expect("a whole index") {
        writer.upsert_company(&company).expect("a slug");
    }
    for (id, title) in upserts {
        let signal = Signal::new(id_of(id), "acme", title);
        writer.upsert_signal(&signal).expect("a known company");
    }
    for &id in deletions {
        writer.delete_signal(id_of(id)).expect("a whole index");
    }
    writer.commit().expect("committed");
}

fn poll(fixture: &Fixture, query: &str) -> Response {
    fixture.get(&format!("/api/v1/changes?{query}"))
}

fn next(answer: &Value) -> String {
    let next = answer["data"]["next"].as_str();
    next.expect("a position").to_owned()
}

/// A client's copy of what matches a query.
struct Copy {
    query: &'static str,
    items: BTreeMap<String, Value>,
    since: String,
    charged: u64,
}

impl Copy {
    fn new(fixture: &Fixture, query: &'static str) -> Copy {
        let start = poll(fixture, query).json();
        assert_eq!(start["data"]["changes"], Value::Array(Vec::new()));
        Copy {
            query,
            items: BTreeMap::new(),
            since: next(&start),
            charged: 0,
        }
    }

    /// Follows to the end, `limit` changes at a time.
    fn follow(&mut self, fixture: &Fixture, limit: usize) {
        loop {
            let query = format!("{}&since={}&limit={limit}", self.query, self.since);
            let response = poll(fixture, &query);
            assert_eq!(response.status, 200, "{response:?}");
            let answer = response.json();
            let changes = answer["data"]["changes"]
                .as_array()
                .expect("changes")
                .clone();
            assert!(changes.len() <= limit);
            let before = self.charged;
            for change in changes {
                self.apply(&change);
            }
            assert_eq!(response.charged(), self.charged - before);
            self.since = next(&answer);
            if answer["data"]["more"] == false {
                return;
            }
        }
    }

    fn apply(&mut self, change: &Value) {
        let id = |value: &Value| value["id"].as_str().expect("an id").to_owned();
        if change["op"] == "upsert" {
            let signal = &change["signal"];
            self.items.insert(id(signal), signal.clone());
            self.charged += 1;
        } else {
            assert_eq!(change["op"], "remove");
            self.items.remove(&id(change));
        }
    }

    /// Compares with what a search finds.
    fn check(&self, fixture: &Fixture) {
        let answer = fixture.search(self.query).json();
        let items = answer["data"]["items"].as_array().expect("items");
        let own: Vec<&Value> = self.items.values().collect();
        let mut found: Vec<&Value> = items.iter().collect();
        found.sort_by_key(|item| item["id"].as_str());
        assert_eq!(own, found);
    }
}

#[test]
fn a_copy_that_follows_is_what_a_search_finds() {
    let (fixture, index) = service(NewKey::named("copy"));
    let mut copies = ["", "q=hires", "exclude=hires"].map(|query| Copy::new(&fixture, query));
    let hires = |ids: std::ops::Range<u64>| ids.map(|id| (id, "Acme hires"));
    let moves = |ids: std::ops::Range<u64>| ids.map(|id| (id, "Acme moves"));
    commit(&index, hires(1..31), &[]);
    for limit in [1, 7, 50] {
        for copy in &mut copies {
            copy.follow(&fixture, limit);
            copy.check(&fixture);
        }
        commit(&index, moves(5..8), &[1, 2]);
        commit(&index, hires(7..9).chain(moves(40..44)), &[3, 29]);
        commit(&index, hires(1..3), &[40]);
    }
    for copy in &mut copies {
        copy.follow(&fixture, 3);
        copy.check(&fixture);
    }
}

#[test]
fn a_poll_without_changes_is_free_and_unmodified() {
    let (fixture, index) = service(NewKey::named("idle"));
    commit(&index, [(1, "Acme hires")].into_iter(), &[]);
    let since = next(&poll(&fixture, "").json());
    let answer = poll(&fixture, &format!("since={since}"));
    assert_eq!((answer.status, answer.charged()), (200, 0));
    assert_eq!(next(&answer.json()), since);
    let tag = answer.header("etag").expect("a tag").to_owned();
    let target = format!("/api/v1/changes?since={since}");
    let again = fixture.send("GET", &target, &[("if-none-match", &tag)]);
    assert_eq!((again.status, again.charged()), (304, 0));
    commit(&index, [(2, "Acme hires")].into_iter(), &[]);
    let head = fixture.send("HEAD", &target, &[]);
    assert_eq!((head.status, head.charged()), (200, 0));
    let changed = fixture.send("GET", &target, &[("if-none-match", &tag)]);
    assert_eq!((changed.status, changed.charged()), (200, 1));
}

#[test]
fn a_repeated_poll_is_charged_once() {
    let (fixture, index) = service(NewKey::named("repeated"));
    let since = next(&poll(&fixture, "").json());
    commit(&index, (1..5).map(|id| (id, "Acme hires")), &[]);
    let target = format!("/api/v1/changes?since={since}");
    let first = fixture.send("GET", &target, &[NAME]);
    assert_eq!((first.status, first.charged()), (200, 4));
    commit(&index, (5..9).map(|id| (id, "Acme hires")), &[]);
    let again = fixture.send("GET", &target, &[NAME]);
    assert_eq!((again.status, again.charged()), (200, 0));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(again.body, first.body);
    for other in [
        format!("{target}&limit=2"),
        "/api/v1/signals?limit=4".into(),
    ] {
        let other = fixture.send("GET", &other, &[NAME]);
        assert_eq!(other.status, 422);
    }
}

#[test]
fn a_quota_cuts_an_answer_and_nothing_is_lost() {
    let quotas = Quotas {
        signals: Some(3),
        ..Quotas::default()
    };
    let (fixture, index) = service(NewKey {
        quotas,
        ..NewKey::named("poor")
    });
    let since = next(&poll(&fixture, "").json());
    commit(&index, (1..6).map(|id| (id, "Acme hires")), &[]);
    let first = poll(&fixture, &format!("since={since}"));
    let answer = first.json();
    assert_eq!((first.status, first.charged()), (200, 3));
    assert_eq!(first.header("x-usage-remaining"), Some("0"));
    assert_eq!(answer["data"]["changes"].as_array().map(Vec::len), Some(3));
    assert_eq!(answer["data"]["more"], true);
    let refused = poll(&fixture, &format!("since={}", next(&answer)));
    assert_eq!(refused.status, 402);
    // What costs nothing is answered still.
    commit(&index, [].into_iter(), &[4, 5]);
    let rest = poll(&fixture, &format!("since={}", next(&answer))).json();
    assert_eq!(rest["data"]["more"], false);
}

#[test]
fn an_answer_passes_over_many_changes_that_do_not_match() {
    let (fixture, index) = service(NewKey::named("busy"));
    let since = next(&poll(&fixture, "q=hires").json());
    commit(&index, (1..40_000).map(|id| (id, "Acme moves")), &[]);
    let (mut since, mut polls) = (since, 0);
    loop {
        let answer = poll(&fixture, &format!("q=hires&since={since}")).json();
        assert_eq!(answer["data"]["changes"], Value::Array(Vec::new()));
        assert_ne!(next(&answer), since, "each poll gets further");
        (since, polls) = (next(&answer), polls + 1);
        if answer["data"]["more"] == false {
            break;
        }
    }
    assert!((2..10).contains(&polls), "{polls}");
}

#[test]
fn a_position_of_another_index_is_gone_and_one_ahead_is_invalid() {
    let (fixture, index) = service(NewKey::named("positions"));
    let (_, other) = service(NewKey::named("other"));
    let foreign = other.snapshot().position();
    let gone = poll(&fixture, &format!("since={foreign}"));
    assert_eq!(gone.status, 410);
    assert_eq!(gone.json()["code"], "position_expired");
    let position = index.snapshot().position().to_string();
    for damaged in [&position[..59], &position[1..], "", "%20", &"A".repeat(60)] {
        let refused = poll(&fixture, &format!("since={damaged}"));
        assert_eq!(refused.status, 400, "{damaged:?}");
        assert_eq!(refused.json()["errors"][0]["parameter"], "since");
        assert_eq!(refused.json()["errors"][0]["code"], "invalid_position");
    }
}

#[test]
fn a_position_that_a_restored_backup_lost_is_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    let (directory, backup) = (folder.path().join("index"), folder.path().join("backup"));
    let builder = IndexBuilder::in_directory(&directory).expect("an empty directory");
    let index = builder.finish().expect("an index");
    let fixture = Fixture::with(Settings {
        key: NewKey::named("restored"),
        index: Some(index.clone()),
        ..Settings::default()
    });
    let copy_over = |from: &Path, to: &Path| {
        let _ = fs::remove_dir_all(to);
        fs::create_dir(to).expect("a writable folder");
        for entry in fs::read_dir(from).expect("a readable folder") {
            let path = entry.expect("an entry").path();
            fs::copy(&path, to.join(path.file_name().expect("a name"))).expect("a copy");
        }
    };
    let before = next(&poll(&fixture, "").json());
    copy_over(&directory, &backup);
    commit(&index, (1..5).map(|id| (id, "Acme hires")), &[]);
    let half_way = next(&poll(&fixture, &format!("since={before}&limit=2")).json());
    let whole = next(&poll(&fixture, &format!("since={before}")).json());
    copy_over(&backup, &directory);
    index.refresh().expect("the backup");
    for lost in [&half_way, &whole] {
        let ahead = poll(&fixture, &format!("since={lost}"));
        assert_eq!(ahead.status, 400, "{ahead:?}");
        let detail = &ahead.json()["errors"][0]["message"];
        assert!(detail.to_string().contains("try again later"), "{detail}");
    }
    commit(&index, (1..3).map(|id| (id, "Acme moves")), &[]);
    for lost in [&half_way, &whole] {
        let gone = poll(&fixture, &format!("since={lost}"));
        assert_eq!((gone.status, gone.charged()), (410, 0), "{gone:?}");
        assert_eq!(gone.json()["code"], "position_expired");
    }
    let good = poll(&fixture, &format!("since={before}"));
    assert_eq!((good.status, good.charged()), (200, 2));
}

/// The guide to changes, which has a client in Python.
const GUIDE: &str = include_str!("../../../../docs/changes.md");

/// What the client's copy holds, as JSON.
const DUMP: &str = "import json, sqlite3, sys\n\
    rows = sqlite3.connect(sys.argv[1]).execute('select signal from signals order by cast(id as integer)')\n\
    print(json.dumps([json.loads(signal) for (signal,) in rows]))";

fn python(fixture: &Fixture, program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("python3");
    command.args(["-c", program]).args(arguments);
    command.env("SIGNALDEX_URL", format!("http://{}", fixture.address));
    command.env("SIGNALDEX_KEY", fixture.key.as_str());
    command
}

#[test]
#[ignore = "needs Python"]
fn the_client_of_the_guide_survives_being_killed_anywhere() {
    let (fixture, index) = service(NewKey {
        rate: 100_000,
        burst: 100_000,
        ..NewKey::named("client")
    });
    let (_, program) = GUIDE.split_once("```python\n").expect("a client");
    let (program, _) = program.split_once("```").expect("its end");
    let program = program.replace("time.sleep(1)", "time.sleep(0.01)");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("copy.db");
    let path = path.to_str().expect("a path");
    let start = || -> Child {
        let mut command = python(&fixture, &program, &[path, "q=hires&limit=3"]);
        command.spawn().expect("Python can be started")
    };
    for round in 0..40_u64 {
        let mut client = start();
        for step in 0..8 {
            let first = (round * 31 + step * 17) % 400;
            let titles = ["Acme hires", "Acme moves"];
            let title = titles[((round + step) % 3 / 2) as usize];
            commit(
                &index,
                (first + 1..first + 6).map(|id| (id, title)),
                &[first + 3],
            );
            thread::sleep(Duration::from_millis((round * 7 + step * 3) % 25));
        }
        client.kill().expect("it runs");
        client.wait().expect("it has ended");
    }
    let snapshot = index.snapshot();
    let filter = signaldex::Filter::from_query_string("q=hires").expect("a filter");
    let today = time::macros::date!(2026 - 06 - 30);
    let matches = snapshot.matches(&filter, today, signaldex::query::Order::OldestFirst);
    let expected: Vec<String> = matches
        .map(|item| item.expect("a record").signal.id.to_string())
        .collect();
    let mut client = start();
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let output = python(&fixture, DUMP, &[path])
            .output()
            .expect("Python runs");
        let copy: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let ids: Vec<&str> = copy.iter().filter_map(|item| item["id"].as_str()).collect();
        if ids == expected {
            break;
        }
        assert!(Instant::now() < deadline, "{ids:?} {expected:?}");
        thread::sleep(Duration::from_millis(50));
    }
    client.kill().expect("it runs");
    client.wait().expect("it has ended");
    fixture.note(fixture.recorded());
}
