//! The real service of a history, in process: an index in a directory, a state on a file, a clock that the
//! history sets. It can be restarted, crash, and get a backup of its index back.

use std::fs;
use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderValue, Request, Response};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use signaldex::{Company, Index, IndexBuilder, Signal, SignalId, Writer};
use signaldex_server::{Counter, Limits, NewKey, Principal, Service, State, Today};
use tempfile::TempDir;
use time::UtcDateTime;
use tokio::runtime::Runtime;

use super::corpus::{CATEGORIES, COMPANIES, NAMES, TITLES, Writes};
use super::model::Usage;

/// Bytes after which a slice of an export ends.
const SLICE_BYTES: usize = 1 << 20;
/// The database of the state, and the log of what was committed since it was last written to.
const STATE_FILES: [&str; 2] = ["state.db", "state.db-wal"];

pub(super) struct Subject {
    directory: TempDir,
    clock: Arc<AtomicI64>,
    runtime: Runtime,
    key_id: String,
    authorization: String,
    /// Directories so far, each with a name of its own.
    directories: usize,
    index: PathBuf,
    state: PathBuf,
    backup: Option<PathBuf>,
    running: Option<Running>,
}

/// What ends with the process.
struct Running {
    writer: Writer,
    service: Service,
    routes: TowerToHyperService<axum::Router>,
    /// The state as another process has it open.
    state: State,
}

/// The answer to a request.
pub(super) struct Answered {
    pub(super) head: Response<()>,
    /// What was read of the body, and whether that was all of it.
    pub(super) body: Vec<u8>,
    pub(super) is_whole: bool,
}

impl Subject {
    /// A service over an index with both companies and no signals.
    pub(super) fn new(now: UtcDateTime) -> Subject {
        let directory = tempfile::tempdir().expect("a directory");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let mut subject = Subject {
            index: directory.path().join("index"),
            state: directory.path().join("state"),
            directory,
            clock: Arc::new(AtomicI64::new(now.unix_timestamp())),
            runtime: runtime.expect("a runtime"),
            key_id: String::new(),
            authorization: String::new(),
            directories: 0,
            backup: None,
            running: None,
        };
        let mut builder = IndexBuilder::in_directory(&subject.index).expect("a builder");
        for slug in COMPANIES {
            builder
                .add_company(&Company::new(slug, NAMES[0]))
                .expect("a company");
        }
        builder.finish().expect("an index");
        fs::create_dir(&subject.state).expect("a directory");
        let key = NewKey {
            rate: 1_000_000,
            burst: 1_000_000,
            ..NewKey::named("client")
        };
        let (record, secret) = subject.open_state().create_key(&key).expect("a key");
        subject.key_id = record.id;
        subject.authorization = format!("Bearer {}", secret.as_str());
        subject.start();
        subject
    }

    fn open_state(&self) -> State {
        let clock = Arc::clone(&self.clock);
        let state = State::open(self.state.join(STATE_FILES[0])).expect("a state");
        state.with_clock(move || {
            let seconds = clock.load(Ordering::Relaxed);
            UtcDateTime::from_unix_timestamp(seconds).expect("an instant")
        })
    }

    fn start(&mut self) {
        let index = Index::open(&self.index).expect("the index");
        let writer = index.writer().expect("the only writer");
        let service = Service::new(index, self.open_state(), Today::Clock, Limits::default());
        let service = service.expect("a service");
        self.running = Some(Running {
            writer,
            routes: TowerToHyperService::new(service.catch_all_router()),
            service,
            state: self.open_state(),
        });
    }

    fn running(&mut self) -> &mut Running {
        self.running.as_mut().expect("it runs between steps")
    }

    fn new_directory(&mut self) -> PathBuf {
        self.directories += 1;
        self.directory.path().join(self.directories.to_string())
    }

    pub(super) fn set_clock(&self, now: UtcDateTime) {
        self.clock.store(now.unix_timestamp(), Ordering::Relaxed);
    }

    pub(super) fn set_quota(&mut self, quota: Option<usize>) {
        let key_id = self.key_id.clone();
        let running = self.running();
        let quota = quota.map(|quota| quota as u64);
        let edited = running
            .state
            .edit_key(&key_id, |key| key.quotas.signals = quota);
        assert!(edited.expect("a state that can be written").is_some());
        running.service.follow();
    }

    pub(super) fn commit(&mut self, writes: &Writes) {
        let evidence = "x".repeat(SLICE_BYTES);
        let writer = &mut self.running().writer;
        for (&company, &name) in &writes.companies {
            let company = Company::new(COMPANIES[company], NAMES[name]);
            writer.upsert_company(&company).expect("a company");
        }
        for (&id, record) in &writes.signals {
            let id = SignalId::new(id).expect("an id");
            let Some(record) = record else {
                writer.delete_signal(id).expect("a whole index");
                continue;
            };
            let company = COMPANIES[record.company];
            let mut signal = Signal::new(id, company, TITLES[record.title]);
            signal.category = Some(CATEGORIES[record.category].into());
            signal.evidence = record.is_large.then(|| evidence.as_str().into());
            writer.upsert_signal(&signal).expect("a signal");
        }
        writer.commit().expect("a commit");
    }

    pub(super) fn merge(&mut self) {
        self.running().writer.compact().expect("one segment");
    }

    pub(super) fn back_up(&mut self) {
        self.running().writer.wait_for_merges();
        let backup = self.new_directory();
        copy_all(&self.index, &backup);
        self.backup = Some(backup);
    }

    /// Starts over the last backup, of which another copy stays.
    pub(super) fn restore(&mut self) {
        if let Some(backup) = self.backup.clone() {
            self.running = None;
            self.index = self.new_directory();
            copy_all(&backup, &self.index);
            self.start();
        }
    }

    /// Copies the state as a process that ends now would leave it.
    pub(super) fn copy_state(&mut self) -> PathBuf {
        let copy = self.new_directory();
        fs::create_dir(&copy).expect("a directory");
        for file in STATE_FILES {
            fs::copy(self.state.join(file), copy.join(file)).expect("a copy");
        }
        copy
    }

    /// Ends the service and starts it over a copy of its state.
    pub(super) fn crash(&mut self, state: PathBuf) {
        self.running = None;
        self.state = state;
        self.start();
    }

    /// Sends a request of the key, and reads at most `parts_max` parts of its body.
    pub(super) fn ask(&mut self, request: Request<Body>, parts_max: usize) -> Answered {
        let (mut head, body) = request.into_parts();
        let authorization = self.authorization.parse().expect("a header");
        head.headers.insert("authorization", authorization);
        self.send(Request::from_parts(head, body), parts_max)
    }

    /// Sends a request that is not metered.
    pub(super) fn ask_free(&mut self, mut request: Request<Body>) -> Answered {
        let auditor = Principal::new("auditor").rate(1_000_000, 1_000_000);
        request.extensions_mut().insert(auditor.unmetered());
        self.send(request, usize::MAX)
    }

    fn send(&mut self, mut request: Request<Body>, parts_max: usize) -> Answered {
        let host = HeaderValue::from_static("localhost");
        request.headers_mut().insert("host", host);
        let routes = self.running().routes.clone();
        self.runtime.block_on(async {
            let answer = routes.call(request).await;
            let answer = answer.unwrap_or_else(|never| match never {});
            let (head, body) = answer.into_parts();
            // A problem is read to its end, whatever its client would have read of the answer.
            let is_answer = head.status.is_success();
            let parts_max = if is_answer { parts_max } else { usize::MAX };
            let (body, is_whole) = read(body, parts_max).await;
            // An export goes on for a moment after its client has left.
            while tokio::runtime::Handle::current()
                .metrics()
                .num_alive_tasks()
                > 0
            {
                tokio::time::sleep(Duration::from_micros(20)).await;
            }
            Answered {
                head: Response::from_parts(head, ()),
                body,
                is_whole,
            }
        })
    }

    /// The usage of the key on record.
    pub(super) fn usage(&mut self) -> Usage {
        let service = self.running().service.clone();
        self.runtime.block_on(service.record_free_answers());
        let key_id = self.key_id.clone();
        let lines = self.running().state.usage(None).expect("usage");
        let lines = lines.into_iter().filter(|line| line.key_id == key_id);
        let counters = [Counter::Signals, Counter::FreeAnswers];
        lines
            .map(|line| {
                let units = |counter: Counter| line.counts[counter as usize] as usize;
                (line.month, counters.map(units))
            })
            .collect()
    }
}

async fn read(mut body: Body, parts_max: usize) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    for _ in 0..parts_max {
        let part = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await;
        let Some(part) = part else {
            return (bytes, true);
        };
        let part = part.expect("an answer that does not break off");
        bytes.extend(part.into_data().unwrap_or_else(|_| Bytes::new()));
    }
    (bytes, false)
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a directory");
    for entry in fs::read_dir(from).expect("files") {
        let entry = entry.expect("a file");
        fs::copy(entry.path(), to.join(entry.file_name())).expect("a copy");
    }
}
