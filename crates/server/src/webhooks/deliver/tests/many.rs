//! Many searches: those whose endpoints hang, and those that a commit does not match.

use std::time::{Duration, Instant};

use tokio::net::TcpListener;

use super::{World, key, options};

/// Searches as another one, each with an endpoint at an address of its own.
const SEARCHES: &str = "
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
    INSERT INTO saved_searches (id, key, name, query, only_new, removals, first_position, created_at)
    SELECT 'copy' || i, key, 'copy ' || i, '{query}', 0, 0, 'start', 0
    FROM n, saved_searches ORDER BY i;
    INSERT INTO webhooks (search, url, host, secret, status, is_current, position, attempts, due_at, answers)
    SELECT number, 'http://' || address || ':{port}/', address, secret, 'active', {current}, NULL, 0,
        CASE WHEN {current} THEN NULL ELSE 0 END, 0
    FROM webhooks, (SELECT number, '127.1.' || (number / 250) || '.' || (1 + number % 250) AS address
                    FROM saved_searches WHERE id LIKE 'copy%');
";

/// Adds copies of the only search.
fn copy(world: &World, count: u32, query: &str, port: u16, current: bool) {
    let sql = SEARCHES
        .replace("{count}", &count.to_string())
        .replace("{query}", query)
        .replace("{port}", &port.to_string())
        .replace("{current}", &u8::from(current).to_string());
    let mut connection = world.connection();
    let change = connection.transaction().expect("a transaction");
    change.execute_batch(&sql).expect("searches");
    change.commit().expect("committed");
}

/// Waits for an event, and returns how long it took.
async fn event(world: &World) -> Duration {
    let started = Instant::now();
    while world.receiver.take().is_empty() {
        assert!(started.elapsed() < Duration::from_secs(30), "no event");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    started.elapsed()
}

#[tokio::test]
async fn beside_a_thousand_endpoints_that_hang_one_that_answers_has_its_match_in_two_seconds() {
    let world = World::new().await;
    world.search(key(), "q=acme", |_| {});
    let process = world.process();
    let delivery = process
        .service
        .deliver_webhooks(options())
        .expect("a thread");
    while world.state().searches(None).expect("searches")[0]
        .first_position
        .is_none()
    {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    world.commit(&[(1, "Acme hires")], &[]);
    event(&world).await;
    let listener = TcpListener::bind("0.0.0.0:0").await.expect("a listener");
    let port = listener.local_addr().expect("an address").port();
    let hanging = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            held.push(stream);
        }
    });
    copy(&world, 1_000, "", port, false);
    let under_way = "signaldex_webhook_attempts_under_way 32";
    while !process.service.metrics().contains(under_way) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    world.commit(&[(2, "Acme moves")], &[]);
    let took = event(&world).await;
    assert!(took < Duration::from_secs(2), "{took:?}");
    drop(delivery);
    hanging.abort();
}

#[tokio::test]
#[ignore = "prints what a commit of one signal takes beside 100,000 searches; run it with --release"]
async fn a_commit_of_one_signal_is_queued_for_a_hundred_thousand_searches() {
    let world = World::new().await;
    world.search(key(), "q=acme", |_| {});
    let mut process = world.process();
    process.settle().await;
    world.commit(&[(1, "Acme hires")], &[]);
    process.settle().await;
    copy(&world, 99_999, "q=acme+nothing", 1, true);
    let started = Instant::now();
    process.deliverer.watch().expect("the searches");
    println!("read in {:?}", started.elapsed());
    for id in 2..8 {
        world.commit(&[(id, "Acme moves")], &[]);
        let started = Instant::now();
        process.deliverer.follow_feed().expect("queued");
        println!("queued in {:?}", started.elapsed());
    }
}

#[tokio::test]
#[ignore = "prints what following one change after another takes; run it with --release"]
async fn a_thousand_changes_are_followed_beside_many_searches() {
    for others in [1, 20_000] {
        let world = World::new().await;
        world.search(key(), "q=acme", |_| {});
        let mut process = world.process();
        process.settle().await;
        copy(&world, others, "q=acme+nothing", 1, true);
        process.deliverer.watch().expect("the searches");
        let (before, started) = (resident_kib(), Instant::now());
        for number in 0..1_000 {
            let name = format!("hook {number}");
            world.search(key(), "q=acme+hires", |new| new.settings.name = name);
            process.deliverer.step(&mut process.turns).await;
        }
        let (after, took) = (resident_kib(), started.elapsed() / 1_000);
        println!("{others} others: {before} KiB, then {after}; {took:?} a change");
    }
}

/// The memory of this process that is resident.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let value = line.and_then(|line| line.split_whitespace().nth(1));
    value.expect("a value").parse().expect("a number")
}
