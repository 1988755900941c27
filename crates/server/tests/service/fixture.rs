//! A server for one test, and the ledger that holds it to what it says it charged.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;

use signaldex::Index;
use signaldex::sample;
use signaldex_server::{
    AllowedOrigin, ApiKey, Counter, Limits, NewKey, Server, ServerLimits, Service, State, Today,
};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::client::{self, Response};

/// A running server.
pub(crate) struct Fixture {
    pub(crate) address: SocketAddr,
    pub(crate) key: ApiKey,
    directory: TempDir,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Further services over the same state, as other processes would run them.
    others: RefCell<Vec<Running>>,
    /// Units that answers said were charged.
    charged: Cell<u64>,
}

/// Where a server listens, what stops it, and its thread.
type Running = (SocketAddr, oneshot::Sender<()>, JoinHandle<()>);

/// What a test wants other than the default.
pub(crate) struct Settings {
    pub(crate) key: NewKey,
    pub(crate) limits: Limits,
    pub(crate) server: ServerLimits,
    pub(crate) index: Option<Index>,
    pub(crate) today: Today,
    /// Origins whose pages may read answers.
    pub(crate) origins: Vec<AllowedOrigin>,
    /// The routes of a host, in which it mounts those of the service.
    pub(crate) host: Option<fn(&Service) -> axum::Router>,
}

impl Default for Settings {
    fn default() -> Settings {
        let key = NewKey {
            rate: 100_000,
            burst: 100_000,
            ..NewKey::named("test")
        };
        let server = ServerLimits {
            header_time: Duration::from_secs(1),
            ..ServerLimits::default()
        };
        Settings {
            key,
            limits: Limits::default(),
            server,
            index: None,
            today: Today::Fixed(sample::AS_OF),
            origins: Vec::new(),
            host: None,
        }
    }
}

impl Fixture {
    pub(crate) fn start() -> Fixture {
        Fixture::with(Settings::default())
    }

    pub(crate) fn with(settings: Settings) -> Fixture {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("state.db");
        let (_, key) = State::open(&path)
            .and_then(|state| state.create_key(&settings.key))
            .expect("a key");
        let (address, stop, thread) = start(path, settings);
        Fixture {
            address,
            key,
            directory,
            stop: Some(stop),
            thread: Some(thread),
            others: RefCell::default(),
            charged: Cell::new(0),
        }
    }

    /// Starts another service over the same state and says where it listens.
    pub(crate) fn start_other(&self) -> SocketAddr {
        self.start_other_with(Settings::default())
    }

    /// As [`start_other`](Self::start_other), with settings. The key is the fixture's.
    pub(crate) fn start_other_with(&self, settings: Settings) -> SocketAddr {
        let other = start(self.state_path(), settings);
        let address = other.0;
        self.others.borrow_mut().push(other);
        address
    }

    /// Searches at an address as the fixture's key does, and notes what was charged.
    pub(crate) fn search_at(&self, address: SocketAddr, query: &str) -> Response {
        let authorization = format!("Bearer {}", self.key.as_str());
        let headers = [("authorization", authorization.as_str())];
        let target = format!("/api/v1/signals?{query}");
        let response = client::request(address, "GET", &target, &headers);
        self.note(response.charged());
        response
    }

    pub(crate) fn state_path(&self) -> PathBuf {
        self.directory.path().join("state.db")
    }

    pub(crate) fn state(&self) -> State {
        State::open(self.state_path()).expect("the state")
    }

    /// Another key of the same service.
    pub(crate) fn other_key(&self, new: &NewKey) -> ApiKey {
        self.state().create_key(new).expect("a key").1
    }

    pub(crate) fn get(&self, target: &str) -> Response {
        self.send("GET", target, &[])
    }

    pub(crate) fn search(&self, query: &str) -> Response {
        self.get(&format!("/api/v1/signals?{query}"))
    }

    pub(crate) fn send(&self, method: &str, target: &str, headers: &[(&str, &str)]) -> Response {
        let authorization = format!("Bearer {}", self.key.as_str());
        let headers = [&[("authorization", authorization.as_str())], headers].concat();
        self.send_as_is(method, target, &headers)
    }

    /// Sends a request without the fixture's key.
    pub(crate) fn send_as_is(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
    ) -> Response {
        let response = client::request(self.address, method, target, headers);
        self.check(method, target, &response);
        self.charged.set(self.charged.get() + response.charged());
        response
    }

    /// Posts a body with the fixture's key.
    pub(crate) fn post(&self, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        let authorization = format!("Bearer {}", self.key.as_str());
        let headers = [&[("authorization", authorization.as_str())], headers].concat();
        let response = client::post(self.address, target, &headers, body);
        assert!(response.header("x-request-id").is_some(), "{target}");
        self.note(response.charged());
        response
    }

    /// Notes units that answers charged which the fixture did not read itself.
    pub(crate) fn note(&self, units: u64) {
        self.charged.set(self.charged.get() + units);
    }

    /// What has been recorded, over all keys and billed counters.
    pub(crate) fn recorded(&self) -> u64 {
        let usage = self.state().usage(None).expect("usage");
        let billed = Counter::ALL
            .into_iter()
            .filter(|counter| counter.is_billed());
        let billed: Vec<usize> = billed.map(|counter| counter as usize).collect();
        let lines = usage.iter();
        lines
            .flat_map(|line| billed.iter().map(|&counter| line.counts[counter]))
            .sum()
    }

    /// What no answer may break: only a GET answered 200 with content charges, by the item.
    fn check(&self, method: &str, target: &str, response: &Response) {
        let charged = response.charged();
        if method != "GET"
            || response.status != 200
            || response.header("idempotency-replayed").is_some()
        {
            assert_eq!(charged, 0, "{method} {target}");
        }
        // The tests of compression read compressed items themselves.
        let is_plain = response.header("content-encoding").is_none();
        let pages = ["/api/v1/signals?", "/api/v1/companies?"];
        let is_page = pages.iter().any(|page| target.starts_with(page)) && method == "GET";
        if is_page && is_plain && response.status == 200 {
            let is_free = response.header("idempotency-replayed").is_some();
            let items = if is_free {
                0
            } else {
                response.items().len() as u64
            };
            assert_eq!(charged, items, "{target}");
        }
        assert!(
            response.header("x-request-id").is_some(),
            "{method} {target}"
        );
    }

    /// Stops the server and starts another one over the same state and another index.
    pub(crate) fn restart(&mut self, index: Index) {
        self.restart_with(Settings {
            index: Some(index),
            ..Settings::default()
        });
    }

    /// As [`restart`](Self::restart), with settings. The key is the fixture's.
    pub(crate) fn restart_with(&mut self, settings: Settings) {
        self.stop();
        let (address, stop, thread) = start(self.state_path(), settings);
        (self.address, self.stop, self.thread) = (address, Some(stop), Some(thread));
    }

    fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server stops without failing");
        }
        for (_, stop, thread) in self.others.take() {
            let _ = stop.send(());
            thread
                .join()
                .expect("the other server stops without failing");
        }
    }
}

impl Drop for Fixture {
    /// Closes the ledger of the test.
    fn drop(&mut self) {
        self.stop();
        if !std::thread::panicking() {
            assert_eq!(
                self.recorded(),
                self.charged.get(),
                "units recorded, and units that answers said"
            );
        }
    }
}

fn start(path: PathBuf, settings: Settings) -> Running {
    let (stop, stopped) = oneshot::channel();
    let (tell_address, address) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let index = settings
            .index
            .unwrap_or_else(|| sample::index().expect("the sample corpus"));
        let state = State::open(path).expect("a state");
        let service =
            Service::new(index, state, settings.today, settings.limits).expect("a service");
        if !settings.origins.is_empty() {
            service.allow_origins(settings.origins);
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build();
        runtime.expect("a runtime").block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
            tell_address
                .send(listener.local_addr().expect("an address"))
                .expect("the test waits");
            let stop = async {
                let _ = stopped.await;
            };
            let routes = settings.host.map(|host| host(&service));
            let server = Server::new(service, settings.server);
            let server = match routes {
                Some(routes) => server.routes(routes),
                None => server,
            };
            server.run(listener, stop).await.expect("the server runs");
        });
    });
    (address.recv().expect("an address"), stop, thread)
}
