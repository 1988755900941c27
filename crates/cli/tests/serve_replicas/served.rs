//! A replica behind the service: what `/readyz` and the metrics say, and that old snapshots go.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use signaldex::replicate::object_store::ObjectStore;
use signaldex::replicate::object_store::memory::InMemory;
use signaldex::replicate::object_store::throttle::{ThrottleConfig, ThrottledStore};
use signaldex::replicate::{Progress, PublishOptions, Replica, Store, publish};
use signaldex_server::{Following, Limits, NewKey, Server, ServerLimits, Service, State, Today};

use tokio::net::TcpListener;

use crate::fixture::{Fixture, TODAY, change, overwrite, runtime, titles};

fn report(service: &Service, progress: &Progress) {
    service.report_following(Following {
        newest: progress.newest,
        store_answered: progress.store_answered,
        error: progress
            .error
            .as_ref()
            .map(|error| error.reason().to_owned()),
        objects_fetched: progress.objects_fetched,
        bytes_fetched: progress.bytes_fetched,
    });
}

fn service(fixture: &Fixture, index: signaldex::Index) -> Service {
    let state = State::open(fixture.path("state.db")).expect("a state");
    Service::new(index, state, Today::Fixed(TODAY), Limits::default()).expect("a service")
}

fn metric(service: &Service, name: &str) -> u64 {
    let text = service.metrics();
    let line = text
        .lines()
        .find(|line| line.split(' ').next() == Some(name));
    let value = line.and_then(|line| line.split(' ').nth(1));
    let value = value.unwrap_or_else(|| panic!("no {name} in {text}"));
    value.parse().expect("a number")
}

fn answer_a_search(service: &Service, key: &str) {
    let request =
        format!("GET /api/v1/signals?limit=1 HTTP/1.1\r\nauthorization: Bearer {key}\r\n");
    let answer = answer(service, &request);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// Serves for as long as one request takes to be answered.
fn answer(service: &Service, request: &str) -> String {
    let request = request.to_owned();
    runtime().block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
        let address = listener.local_addr().expect("an address");
        let asked = tokio::task::spawn_blocking(move || ask(address, &request));
        let server = Server::new(service.clone(), ServerLimits::default());
        tokio::select! {
            ended = server.run(listener, std::future::pending()) => panic!("{ended:?}"),
            answer = asked => answer.expect("no panic"),
        }
    })
}

/// Serves until the process ends.
fn serve(service: &Service) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
    listener.set_nonblocking(true).expect("a socket");
    let address = listener.local_addr().expect("an address");
    let server = Server::new(service.clone(), ServerLimits::default());
    std::thread::spawn(move || {
        runtime().block_on(async {
            let listener = TcpListener::from_std(listener).expect("a listener");
            server.run(listener, std::future::pending()).await
        })
    });
    address
}

fn ask(address: SocketAddr, request: &str) -> String {
    let mut socket = TcpStream::connect(address).expect("a connection");
    let request = format!("{request}host: {address}\r\nconnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).expect("sent");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn a_snapshot_is_let_go_when_the_next_is_served_without_waiting_for_a_request() {
    let fixture = Fixture::new();
    fixture.publish();
    let mut replica = fixture.open("cache").expect("a copy");
    let state = State::open(fixture.path("state.db")).expect("a state");
    let (_, key) = state.create_key(&NewKey::named("test")).expect("a key");
    let service = Service::new(
        replica.index(),
        state,
        Today::Fixed(TODAY),
        Limits::default(),
    );
    let service = service.expect("a service");
    answer_a_search(&service, key.as_str());
    let old = Arc::downgrade(&replica.index().snapshot());
    change(&fixture.index(), 1);
    fixture.publish();
    let progress = fixture.sync(&mut replica);
    assert!(
        old.upgrade().is_some(),
        "what answered last is held for the next request"
    );
    report(&service, &progress);
    assert!(old.upgrade().is_none(), "the old snapshot is still held");
}

#[test]
fn metrics_tell_what_was_fetched_and_what_is_wrong() {
    let fixture = Fixture::new();
    fixture.publish();
    let mut replica = fixture.open("cache").expect("a copy");
    let service = service(&fixture, replica.index());
    report(&service, replica.opening());
    assert_eq!(metric(&service, "signaldex_followed_generation"), 1);
    assert_eq!(metric(&service, "signaldex_follow_failing"), 0);
    assert!(metric(&service, "signaldex_follow_reported_timestamp_seconds") > 1_700_000_000);
    assert_eq!(metric(&service, "signaldex_fetched_objects_total"), 1);
    let bytes = fs::metadata(&fixture.stored("objects")[0])
        .expect("a file")
        .len();
    assert_eq!(metric(&service, "signaldex_fetched_bytes_total"), bytes);

    change(&fixture.index(), 1);
    fixture.publish();
    let manifest = fixture.stored("manifests").pop().expect("a manifest");
    let whole = fs::read(&manifest).expect("read");
    fs::write(&manifest, &whole[..whole.len() - 1]).expect("written");
    report(&service, &fixture.sync(&mut replica));
    assert_eq!(metric(&service, "signaldex_followed_generation"), 2);
    assert_eq!(metric(&service, "signaldex_snapshot_generation"), 1);
    assert_eq!(metric(&service, "signaldex_follow_failing"), 1);
    assert_eq!(metric(&service, "signaldex_follow_errors_total"), 1);

    fs::write(&manifest, whole).expect("written");
    report(&service, &fixture.sync(&mut replica));
    assert_eq!(metric(&service, "signaldex_snapshot_generation"), 2);
    assert_eq!(metric(&service, "signaldex_follow_failing"), 0);
    assert_eq!(metric(&service, "signaldex_follow_errors_total"), 1);
}

#[test]
fn a_replica_follows_by_itself_and_goes_on_after_a_fault() {
    let fixture = Fixture::new();
    fixture.publish();
    let replica = fixture.open("cache").expect("a copy");
    let index = replica.index();
    let (tell, told) = std::sync::mpsc::channel();
    let follower = replica.follow(Duration::from_millis(10), move |progress| {
        let error = progress.error.as_ref().map(ToString::to_string);
        // The test may have seen enough.
        let _ = tell.send((progress.generation, error));
    });
    let follower = follower.expect("a thread");
    let await_generation = |generation| {
        let deadline = Instant::now() + Duration::from_secs(20);
        while index.snapshot().generation() < generation {
            assert!(
                Instant::now() < deadline,
                "generation {generation} is not served"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    change(&fixture.index(), 1);
    fixture.publish();
    await_generation(2);

    // A manifest that cannot be read is there before the next generation is.
    let broken = fixture.path("store/manifests/00000000000000000003");
    fs::write(broken, b"broken").expect("written");
    let is_error = |(_, error): &(u64, Option<String>)| error.is_some();
    let error = told.iter().find(is_error).expect("an error is told");
    assert_eq!(error.0, 2);
    change(&fixture.index(), 2);
    let options = PublishOptions {
        generation: Some(9),
        ..PublishOptions::default()
    };
    fixture.publish_with(options).expect("published");
    await_generation(9);
    drop(follower);
    // The lock is free again.
    fixture.open("cache").expect("the copy");
}

#[test]
fn a_store_that_hangs_holds_nobody_up() {
    let fixture = Fixture::new();
    let slow = Arc::new(ThrottledStore::new(
        InMemory::new(),
        ThrottleConfig::default(),
    ));
    let objects: Arc<dyn ObjectStore> = Arc::clone(&slow) as _;
    let store = Store::new(objects, "slow");
    let publish_now = || {
        let options = PublishOptions::default();
        let published = runtime().block_on(publish(&fixture.index(), &store, options));
        published.expect("published");
    };
    let open = || runtime().block_on(Replica::open(store.clone(), &fixture.path("cache")));
    publish_now();
    let replica = open().expect("a copy");
    let (index, expected) = (replica.index(), fixture.published());
    change(&fixture.index(), 1);
    publish_now();
    slow.config_mut(|config| config.wait_get_per_call = Duration::from_secs(3600));
    let follower = replica.follow(Duration::from_millis(1), |_| {});
    let follower = follower.expect("a thread");
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(titles(&index.snapshot()), expected);
    let started = Instant::now();
    drop(follower);
    assert!(
        started.elapsed() < Duration::from_secs(60),
        "stopping waits for the store"
    );
    slow.config_mut(|config| config.wait_get_per_call = Duration::ZERO);
    let replica = open().expect("the copy, whose lock is free");
    assert_eq!(titles(&replica.index().snapshot()), fixture.published());
}

/// A store in memory that answers after a time.
fn slow(objects: &Arc<InMemory>, wait: Duration) -> Store {
    let config = ThrottleConfig {
        wait_list_per_call: wait,
        ..ThrottleConfig::default()
    };
    let objects: Arc<dyn ObjectStore> = Arc::clone(objects) as Arc<dyn ObjectStore>;
    Store::new(
        Arc::new(ThrottledStore::new(objects, config)),
        "memory:///slow",
    )
}

#[test]
fn a_copy_is_served_at_once_while_the_store_hangs() {
    let fixture = Fixture::new();
    let objects = Arc::new(InMemory::new());
    let (quick, hanging) = (
        slow(&objects, Duration::ZERO),
        slow(&objects, Duration::from_secs(600)),
    );
    let runtime = runtime();
    let directory = fixture.index();
    let publish_now = || {
        let published = publish(&directory, &quick, PublishOptions::default());
        runtime.block_on(published).expect("published")
    };
    publish_now();
    let cache = fixture.path("cache");
    let none = Replica::open_copy(quick.clone(), &cache).expect("an empty directory");
    assert!(none.is_none());
    drop(
        runtime
            .block_on(Replica::open(quick.clone(), &cache))
            .expect("a copy"),
    );
    let started = Instant::now();
    let replica = Replica::open_copy(hanging, &cache)
        .expect("a copy")
        .expect("a copy");
    assert_eq!(titles(&replica.index().snapshot()), fixture.published());
    assert_eq!(replica.opening().generation, 1);
    let follower = replica.follow(Duration::from_millis(10), |_| ());
    drop(follower.expect("a thread"));
    assert!(
        started.elapsed() < Duration::from_secs(60),
        "nobody waits for the store"
    );

    // With a store that answers, the follower looks at once.
    change(&fixture.index(), 1);
    publish_now();
    let replica = Replica::open_copy(quick.clone(), &cache)
        .expect("a copy")
        .expect("a copy");
    let index = replica.index();
    let follower = replica.follow(Duration::from_secs(600), |_| ());
    let deadline = Instant::now() + Duration::from_secs(20);
    while index.snapshot().generation() < 2 {
        assert!(Instant::now() < deadline, "the follower looks at once");
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(follower);
}

#[test]
fn a_store_that_was_emptied_is_a_fault_at_the_next_look_and_heals() {
    let fixture = Fixture::new();
    fixture.publish();
    let mut replica = fixture.open("cache").expect("a copy");
    let service = service(&fixture, replica.index());
    assert!(fixture.sync(&mut replica).store_answered);
    let (store, elsewhere) = (fixture.path("store"), fixture.path("elsewhere"));
    fs::rename(&store, &elsewhere).expect("moved");
    let progress = fixture.sync(&mut replica);
    report(&service, &progress);
    assert!(!progress.store_answered);
    let error = progress.error.expect("a fault").to_string();
    assert!(error.contains("neither generation 1"), "{error}");
    assert_eq!(metric(&service, "signaldex_follow_failing"), 1);
    assert_eq!(titles(&replica.index().snapshot()), fixture.published());
    fs::rename(&elsewhere, &store).expect("moved back");
    let progress = fixture.sync(&mut replica);
    assert!(progress.store_answered && progress.error.is_none());
}

#[test]
fn a_damaged_object_is_fetched_again_with_growing_pauses_until_it_is_repaired() {
    let fixture = Fixture::new();
    fixture.publish();
    let replica = fixture.open("cache").expect("a copy");
    let index = replica.index();
    let before = fixture.stored("objects");
    change(&fixture.index(), 1);
    fixture.publish();
    let mut new = fixture.stored("objects");
    new.retain(|path| !before.contains(path));
    for object in &new {
        let mut bytes = fs::read(object).expect("read");
        bytes[0] ^= 1;
        fs::write(object, bytes).expect("damaged");
    }
    let (tell, told) = std::sync::mpsc::channel();
    let follower = replica.follow(Duration::from_millis(20), move |progress| {
        let error = progress
            .error
            .as_ref()
            .map(|error| error.reason().to_owned());
        // The test may have seen enough.
        let _ = tell.send(error);
    });
    let follower = follower.expect("a thread");
    std::thread::sleep(Duration::from_secs(2));
    let attempts: Vec<_> = told.try_iter().collect();
    // After 20, 40, 80 ms and so on, where 100 would be possible.
    assert!((2..=8).contains(&attempts.len()), "{attempts:?}");
    for error in attempts {
        let error = error.expect("it is damaged");
        let names = |path: &std::path::PathBuf| {
            let name = path.file_name().expect("a name").to_string_lossy();
            error.contains(&format!("objects/{name}"))
        };
        assert!(new.iter().any(names), "{error}");
    }
    let repair = PublishOptions {
        repair: true,
        ..PublishOptions::default()
    };
    fixture.publish_with(repair).expect("repaired");
    let deadline = Instant::now() + Duration::from_secs(20);
    while index.snapshot().generation() < 2 {
        assert!(Instant::now() < deadline, "the repaired object is loaded");
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(follower);
}

#[test]
fn a_replica_is_not_ready_until_its_copy_is_repaired() {
    let fixture = Fixture::new();
    fixture.publish();
    let mut replica = fixture.open("cache").expect("a copy");
    let service = service(&fixture, replica.index());
    report(&service, replica.opening());
    let address = serve(&service);
    assert_eq!(readiness(address), 200);
    let (store, elsewhere) = (fixture.path("store"), fixture.path("elsewhere"));
    fs::rename(&store, &elsewhere).expect("moved");
    overwrite(&fixture.path("cache"));
    service.follow();
    assert_eq!(readiness(address), 503);
    assert_eq!(metric(&service, "signaldex_index_damaged"), 1);
    let progress = fixture.sync(&mut replica);
    assert!(progress.error.is_some() && !progress.repaired);
    report(&service, &progress);
    assert_eq!(readiness(address), 503);

    fs::rename(&elsewhere, &store).expect("moved back");
    let progress = fixture.sync(&mut replica);
    assert!(progress.repaired, "{progress:?}");
    report(&service, &progress);
    assert_eq!(readiness(address), 200);
    assert_eq!(metric(&service, "signaldex_index_damaged"), 0);
    assert_eq!(titles(&replica.index().snapshot()), fixture.published());
}

fn readiness(address: SocketAddr) -> u16 {
    let answer = ask(address, "GET /readyz HTTP/1.1\r\n");
    let status = answer.split(' ').nth(1);
    status
        .and_then(|status| status.parse().ok())
        .expect("a status")
}
