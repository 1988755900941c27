//! Files of a served index that another program overwrites, touches or replaces, as `rsync --inplace`, a backup by
//! hard links and a restored copy do.

use std::fs::{self, File, FileTimes, OpenOptions};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use signaldex::{Index, sample};
use signaldex_server::{Limits, Service, State, Today};

use crate::client::WAIT_MAX;
use crate::fixture::{Fixture, Settings};
use crate::index_files::{build, bytes, overwrite, segment};

/// The time within which an overwritten file is noticed.
const NOTICED_MAX: Duration = Duration::from_millis(500);

/// A folder with the indexes `alpha`, which is served, and `omega`, which differs in the title only.
struct Served {
    folder: tempfile::TempDir,
    fixture: Fixture,
}

impl Served {
    fn start() -> Served {
        let folder = tempfile::tempdir().expect("a directory");
        for title in ["alpha", "omega"] {
            build(&folder.path().join(title), title);
        }
        let index = Index::open(folder.path().join("alpha")).expect("the index");
        let fixture = Fixture::with(Settings {
            index: Some(index),
            ..Settings::default()
        });
        let served = Served { folder, fixture };
        let (of_alpha, of_omega) = (bytes(&served.segment()), bytes(&served.segment_of("omega")));
        assert_eq!(of_alpha.len(), of_omega.len());
        assert_ne!(of_alpha, of_omega);
        served
    }

    fn directory(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn segment(&self) -> PathBuf {
        self.segment_of("alpha")
    }

    fn segment_of(&self, name: &str) -> PathBuf {
        segment(&self.directory(name))
    }

    /// The title that is served, or the status of the refusal.
    fn title(&self) -> Result<String, u16> {
        let answer = self.fixture.get("/api/v1/signals/1");
        match answer.status {
            200 => Ok(answer.json()["data"]["title"]
                .as_str()
                .expect("text")
                .to_owned()),
            status => Err(status),
        }
    }

    /// Waits until this title is served. Meanwhile nothing is, or what was before.
    fn await_title(&self, wanted: &str) {
        let since = Instant::now();
        loop {
            match self.title() {
                Ok(title) if title == wanted => return,
                Ok(title) => assert_eq!(title, "alpha"),
                Err(status) => assert_eq!(status, 500),
            }
            assert!(since.elapsed() < WAIT_MAX, "{wanted} is not served");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the service has looked at its files, and refuses to read them. Nothing is asked before: a read of a
    /// mapped file that was truncated ends the process.
    fn await_refusal(&self) {
        let since = Instant::now();
        while !self.is_damaged() {
            assert!(since.elapsed() < WAIT_MAX, "the damage is not noticed");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(self.title(), Err(500));
    }

    fn is_damaged(&self) -> bool {
        let ready = self.fixture.get("/readyz");
        assert_eq!(ready.status, 200);
        ready.json().get("damaged").is_some()
    }
}

#[test]
fn a_file_overwritten_in_place_is_500_at_the_next_look_never_304_and_heals() {
    let served = Served::start();
    let tag = served.fixture.get("/api/v1/signals/1");
    let tag = tag.header("etag").expect("a tag").to_owned();
    let page_tag = served.fixture.search("limit=1");
    let page_tag = page_tag.header("etag").expect("a tag").to_owned();
    let before = bytes(&served.segment());
    overwrite(&served.segment(), &bytes(&served.segment_of("omega")));
    served.await_refusal();
    let until = Instant::now() + Duration::from_secs(2);
    while Instant::now() < until {
        for target in [
            "signals",
            "signals?page=1",
            "signals?countOnly=true",
            "signals?q=omega",
            "signals?country=Germany",
            "signals/1",
            "companies/acme",
            "filter-options",
            "aggregates",
            "companies",
            "companies?countOnly=true",
            "export",
            "changes",
        ] {
            let answer = served.fixture.get(&format!("/api/v1/{target}"));
            if answer.status == 400 || answer.status == 404 {
                continue;
            }
            assert_eq!((answer.status, answer.charged()), (500, 0), "{target}");
            let body = String::from_utf8_lossy(&answer.body).into_owned();
            assert!(
                !body.contains("omega") && !body.contains("segment-"),
                "{body}"
            );
        }
        for (target, tag) in [("signals/1", &tag), ("signals?limit=1", &page_tag)] {
            let target = format!("/api/v1/{target}");
            let headers = [("if-none-match", tag.as_str())];
            let answer = served.fixture.send("GET", &target, &headers);
            assert_eq!(answer.status, 500, "{target}");
        }
        assert!(served.is_damaged());
        std::thread::sleep(Duration::from_millis(100));
    }

    overwrite(&served.segment(), &before);
    served.await_title("alpha");
    assert!(!served.is_damaged());
    let headers = [("if-none-match", tag.as_str())];
    let answer = served.fixture.send("GET", "/api/v1/signals/1", &headers);
    assert_eq!(answer.status, 304);
}

#[test]
fn a_file_truncated_in_place_is_500_from_the_next_look_on_and_heals() {
    let served = Served::start();
    let before = bytes(&served.segment());
    for length in [0, 1, before.len() as u64 / 2, before.len() as u64 - 1] {
        let file = OpenOptions::new().write(true).open(served.segment());
        file.expect("a file").set_len(length).expect("truncated");
        served.await_refusal();
        assert_eq!(served.fixture.search("country=Germany").status, 500);
        assert!(served.is_damaged());
        overwrite(&served.segment(), &before);
        served.await_title("alpha");
        assert!(!served.is_damaged());
    }
}

#[test]
fn a_file_that_is_longer_than_the_manifest_says_is_500_until_it_is_not() {
    let served = Served::start();
    let length = bytes(&served.segment()).len() as u64;
    let file = OpenOptions::new().write(true).open(served.segment());
    let file = file.expect("a file");
    file.set_len(length + 1).expect("longer");
    served.await_refusal();
    file.set_len(length).expect("as before");
    served.await_title("alpha");
    assert!(!served.is_damaged());
}

#[test]
fn the_same_bytes_written_again_are_read_and_served_on() {
    let served = Served::start();
    let before = bytes(&served.segment());
    for _ in 0..3 {
        overwrite(&served.segment(), &before);
        std::thread::sleep(NOTICED_MAX);
        served.await_title("alpha");
        assert!(!served.is_damaged());
    }
}

#[test]
fn a_hard_link_interrupts_nothing() {
    let served = Served::start();
    fs::hard_link(served.segment(), served.directory("backup")).expect("a link");
    let until = Instant::now() + Duration::from_secs(2);
    while Instant::now() < until {
        assert_eq!(served.title().as_deref(), Ok("alpha"));
        assert!(!served.is_damaged());
    }
}

#[test]
fn other_bytes_under_the_old_time_of_change_are_found_by_reading_the_file_again() {
    let served = Served::start();
    let before = fs::metadata(served.segment()).expect("a file");
    overwrite(&served.segment(), &bytes(&served.segment_of("omega")));
    let times = FileTimes::new().set_modified(before.modified().expect("a time"));
    let file = OpenOptions::new().write(true).open(served.segment());
    file.and_then(|file: File| file.set_times(times))
        .expect("set");
    served.await_refusal();
    assert!(served.is_damaged());
}

/// As `rsync` without `--inplace` and any restore do: each file is complete when it gets its name.
#[test]
fn copies_of_another_index_that_are_renamed_into_place_are_loaded() {
    let served = Served::start();
    let tag = served.fixture.get("/api/v1/signals/1");
    let tag = tag.header("etag").expect("a tag").to_owned();
    for name in ["segment", "manifest"] {
        let entries = fs::read_dir(served.directory("omega")).expect("the directory");
        for entry in entries.map(|entry| entry.expect("an entry")) {
            let file = entry.file_name().into_string().expect("text");
            if file.starts_with(name) {
                let to = served.directory("alpha").join(&file);
                let beside = to.with_extension("next");
                fs::copy(entry.path(), &beside).expect("copied");
                fs::rename(&beside, &to).expect("renamed");
            }
        }
        // Until the manifest names them, the files in use are served on.
        if name == "segment" {
            std::thread::sleep(NOTICED_MAX);
            assert_eq!(served.title().as_deref(), Ok("alpha"));
        }
    }
    served.await_title("omega");
    assert!(!served.is_damaged());
    let headers = [("if-none-match", tag.as_str())];
    let answer = served.fixture.send("GET", "/api/v1/signals/1", &headers);
    assert_eq!(answer.status, 200);
}

/// As `rsync --inplace` does, in the order of the names: the manifest before the segment.
#[test]
fn another_index_that_is_written_over_the_served_one_is_loaded_once_it_is_whole() {
    let served = Served::start();
    let manifest = served.directory("omega").join("manifest");
    overwrite(
        &served.directory("alpha").join("manifest"),
        &bytes(&manifest),
    );
    std::thread::sleep(NOTICED_MAX);
    assert_eq!(served.title().as_deref(), Ok("alpha"));
    let omega = bytes(&served.segment_of("omega"));
    overwrite(&served.segment(), &omega[..omega.len() / 2]);
    served.await_refusal();
    overwrite(&served.segment(), &omega);
    served.await_title("omega");
    assert!(!served.is_damaged());
}

#[test]
fn a_whole_copy_renamed_into_the_place_of_a_damaged_file_is_loaded_without_a_restart() {
    let served = Served::start();
    let whole = bytes(&served.segment());
    overwrite(&served.segment(), &bytes(&served.segment_of("omega")));
    served.await_refusal();
    let beside = served.directory("copy");
    fs::write(&beside, whole).expect("written");
    fs::rename(beside, served.segment()).expect("renamed");
    served.await_title("alpha");
    assert!(!served.is_damaged());
}

#[test]
fn damage_that_a_request_met_ends_with_a_whole_copy() {
    let folder = tempfile::tempdir().expect("a directory");
    build(folder.path(), "alpha");
    let path = segment(folder.path());
    let whole = bytes(&path);
    let mut damaged = whole.clone();
    let title = whole.windows(5).position(|window| window == b"alpha");
    // The words of titles are damaged, which opening does not read.
    damaged[title.expect("the title")] ^= 1;
    fs::write(&path, &damaged).expect("written");
    let fixture = Fixture::with(Settings {
        index: Some(Index::open(folder.path()).expect("opened")),
        ..Settings::default()
    });
    assert_eq!(fixture.search("q=alpha").status, 500);
    assert_eq!(fixture.get("/readyz").json()["damaged"], true);
    let beside = folder.path().join("copy");
    fs::write(&beside, whole).expect("written");
    fs::rename(beside, path).expect("renamed");
    let since = Instant::now();
    while fixture.get("/readyz").json().get("damaged").is_some() {
        assert!(since.elapsed() < WAIT_MAX, "the copy is not loaded");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(fixture.search("q=alpha").items(), ["1"]);
}

#[test]
fn the_metric_says_so_while_a_file_is_damaged() {
    let folder = tempfile::tempdir().expect("a directory");
    let (alpha, omega) = (folder.path().join("alpha"), folder.path().join("omega"));
    build(&alpha, "alpha");
    build(&omega, "omega");
    let index = Index::open(&alpha).expect("the index");
    let state = State::open(folder.path().join("state.db")).expect("a state");
    let today = Today::Fixed(sample::AS_OF);
    let service = Service::new(index, state, today, Limits::default()).expect("a service");
    let metric = || {
        service.follow();
        let metrics = service.metrics();
        let mut lines = metrics.lines();
        let line = lines.find_map(|line| line.strip_prefix("signaldex_index_damaged "));
        line.map(str::to_owned)
    };
    assert_eq!(metric().as_deref(), Some("0"));
    let before = bytes(&segment(&alpha));
    overwrite(&segment(&alpha), &bytes(&segment(&omega)));
    assert_eq!(metric().as_deref(), Some("1"));
    overwrite(&segment(&alpha), &before);
    assert_eq!(metric().as_deref(), Some("0"));
}
