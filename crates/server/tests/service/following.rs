//! A directory that another process updates, and stopping while requests are under way.

use std::time::{Duration, Instant};

use signaldex::{Company, Index, IndexBuilder, Signal, SignalId};
use signaldex_server::{Limits, NewKey, Server, ServerLimits, Service, State, Today};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::client;
use crate::fixture::{Fixture, Settings};

fn signal(number: u64) -> Signal<'static> {
    Signal::new(
        SignalId::new(number).expect("an id"),
        "acme",
        format!("Acme does thing {number}"),
    )
}

#[test]
fn an_updated_directory_is_served_without_a_failed_request() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut builder = IndexBuilder::in_directory(directory.path()).expect("a builder");
    builder
        .add_company(&Company::new("acme", "Acme"))
        .expect("added");
    builder.add_signal(&signal(1)).expect("added");
    builder.finish().expect("an index");
    let index = Index::open(directory.path()).expect("the index");
    let fixture = Fixture::with(Settings {
        index: Some(index),
        ..Settings::default()
    });
    let tag = fixture.search("").header("etag").map(str::to_owned);

    let other_process = Index::open(directory.path()).expect("the index");
    let mut writer = other_process.writer().expect("the writer");
    for number in 2..=5 {
        writer.upsert_signal(&signal(number)).expect("taken");
        writer.commit().expect("committed");
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let answer = fixture.search("limit=1");
            assert_eq!(answer.status, 200);
            if answer.items() == [number.to_string()] {
                break;
            }
            assert!(Instant::now() < deadline, "commit {number} is not served");
        }
    }
    assert_ne!(fixture.search("").header("etag").map(str::to_owned), tag);
}

#[test]
fn requests_under_way_are_finished_and_charged_before_the_server_stops() {
    let mut fixture = Fixture::start();
    let authorization = format!("Bearer {}", fixture.key.as_str());
    let (address, authorization) = (fixture.address, &authorization);
    let charged: u64 = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..32)
            .map(|_| {
                scope.spawn(move || {
                    let headers = [("authorization", authorization.as_str())];
                    client::try_request(address, "GET", "/api/v1/signals?limit=3", &headers)
                })
            })
            .collect();
        fixture.restart(signaldex::sample::index().expect("the sample corpus"));
        let answers = asking
            .into_iter()
            .filter_map(|thread| thread.join().expect("no panic"));
        answers.map(|answer| answer.charged()).sum()
    });
    fixture.note(charged);
}

/// Long enough for a few requests on a busy machine.
const DRAIN_TIME: Duration = Duration::from_secs(4);

#[test]
fn a_server_that_drains_answers_on_while_it_is_not_ready() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = State::open(directory.path().join("state.db")).expect("a state");
    let (_, key) = state.create_key(&NewKey::named("test")).expect("a key");
    let index = signaldex::sample::index().expect("the sample corpus");
    let service = Service::new(index, state, Today::Clock, Limits::default());
    let limits = ServerLimits {
        drain_time: DRAIN_TIME,
        ..ServerLimits::default()
    };
    let server = Server::new(service.expect("a service"), limits);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"));
    let listener = listener.expect("a listener");
    let address = listener.local_addr().expect("an address");
    let (stop, stopped) = oneshot::channel::<()>();
    let running = runtime.spawn(async move {
        let stopped = async {
            // A sender that is dropped stops the server, too.
            let _ = stopped.await;
        };
        server.run(listener, stopped).await
    });
    let ready = || client::request(address, "GET", "/readyz", &[]).status;
    let bearer = format!("Bearer {}", key.as_str());
    let headers = [("authorization", bearer.as_str())];
    let search = || client::request(address, "GET", "/api/v1/signals?limit=1", &headers).status;
    assert_eq!((ready(), search()), (200, 200));
    stop.send(()).expect("it runs");
    let told = Instant::now();
    // A server that has ended refuses the connection, which fails the test.
    while ready() == 200 {}
    assert_eq!((ready(), search()), (503, 200));
    runtime.block_on(running).expect("no panic").expect("ended");
    assert!(told.elapsed() >= DRAIN_TIME);
    assert!(client::try_request(address, "GET", "/readyz", &[]).is_none());
}
