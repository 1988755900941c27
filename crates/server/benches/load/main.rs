//! The service under load: searches with durable metering, against a constant body.
//!
//! usage: `cargo bench -p signaldex-server --bench load -- CORPUS [SECONDS] [plain]`
//!        `cargo bench -p signaldex-server --bench load -- CORPUS --program BEFORE --program AFTER --check`
//!
//! CORPUS is a folder with `companies.jsonl.zst` and `signals.jsonl.zst`; with `plain` its records are not
//! compressed. Client and server share the machine and its loopback.
//!
//! The first form: one server in this process answers, in turns, a search of 50 items that is charged
//! durably, and a constant body of the same size from memory; the ratio of both is the claim. Then, at half
//! the sustained rate, latencies from the scheduled moment of each request, while an updater commits a
//! batch each second. The second form compares programs with each other and with a constant body, over many numbers of
//! connections (`pace`).

#[path = "../../../../benches/classes/mod.rs"]
#[allow(dead_code, reason = "of the classes only their queries are used here")]
mod classes;
mod client;
mod goals;
mod pace;
mod program;
mod table;
mod updater;

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use axum::body::Bytes;
use axum::routing::get;
use signaldex::json::{Loader, OnInvalid};
use signaldex::{Index, IndexBuilder};
use signaldex_server::{Limits, NewKey, Server, ServerLimits, Service, State, Today};
use tokio::net::TcpListener;

use client::{Outcome, Target};

/// That of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Connections of the client.
const CONNECTIONS: usize = 256;
/// Turns of each kind, so that a disturbance hits both.
const TURNS: usize = 8;
/// How long one turn lasts.
const TURN_TIME: Duration = Duration::from_secs(3);
const SEARCH: &str = "/api/v1/signals?q=raises";
const CONSTANT: &str = "/constant";

fn main() -> Result<(), Box<dyn Error>> {
    // What cargo adds.
    let mut arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|text| text != "--bench")
        .collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    if let [option, bytes] = arguments.as_slice()
        && option == "--constant"
    {
        return runtime.block_on(serve_constant(bytes.parse()?));
    }
    let settings = pace::Settings::take(&mut arguments)?;
    let corpus = arguments.first().ok_or("usage: load CORPUS [SECONDS]")?;
    let corpus = Path::new(corpus);
    let seconds: u64 = arguments.get(1).map_or(Ok(60), |text| text.parse())?;
    let directory = tempfile::tempdir_in(".")?;
    let index = directory.path().join("index");
    let is_plain = arguments.iter().any(|argument| argument == "plain");
    build(corpus, &index, is_plain)?;
    if let Some(settings) = settings {
        return runtime.block_on(pace::measure(&index, corpus, directory.path(), &settings));
    }
    runtime.block_on(measure(
        &index,
        &directory.path().join("state.db"),
        Duration::from_secs(seconds),
    ))
}

fn build(corpus: &Path, index: &Path, is_plain: bool) -> Result<(), Box<dyn Error>> {
    let mut builder = IndexBuilder::in_directory(index)?.compress_records(!is_plain);
    let mut loader = Loader::new(OnInvalid::Stop);
    loader.companies(corpus.join("companies.jsonl.zst"), &mut builder)?;
    loader.signals(corpus.join("signals.jsonl.zst"), &mut builder)?;
    builder.finish()?;
    Ok(())
}

async fn measure(directory: &Path, state: &Path, time: Duration) -> Result<(), Box<dyn Error>> {
    let state = State::open(state)?;
    let (_, key) = state.create_key(&NewKey {
        rate: u32::MAX,
        burst: u32::MAX,
        ..NewKey::named("load")
    })?;
    let service = Service::new(
        Index::open(directory)?,
        state,
        Today::Clock,
        Limits::default(),
    )?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let target = |path: &str| Target::new(address, key.as_str(), &[path]);
    let searched = target(SEARCH);

    let length = body_length(&service, key.as_str()).await?;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = with_constant(&service, length);
    let running = tokio::spawn(server.run(listener, async {
        let _ = stopped.await;
    }));

    let rate = compare(&searched, &target(CONSTANT)).await;
    let updates = updater::start(directory)?;
    let outcome = client::at_rate(&searched, CONNECTIONS, rate / 2.0, time).await;
    let commits = updates.stop();
    report_latencies(outcome, rate / 2.0, time, commits);
    let _ = stop.send(());
    running.await??;
    Ok(())
}

/// Serves a constant body alone, and says where, as the program does.
async fn serve_constant(bytes: usize) -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let service = Service::new(
        signaldex::sample::index()?,
        State::open(directory.path().join("state.db"))?,
        Today::Clock,
        Limits::default(),
    )?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("http://{},", listener.local_addr()?);
    let server = with_constant(&service, bytes);
    Ok(server.run(listener, std::future::pending()).await?)
}

/// The service, which also answers a constant body of some bytes.
fn with_constant(service: &Service, bytes: usize) -> Server {
    let body = Bytes::from(vec![b'x'; bytes]);
    let routes = service
        .catch_all_router()
        .route(CONSTANT, get(move || std::future::ready(body.clone())));
    Server::new(service.clone(), ServerLimits::default()).routes(routes)
}

/// The length of the search's body, asked of the router itself.
async fn body_length(service: &Service, key: &str) -> Result<usize, Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let target = Target::new(listener.local_addr()?, key, &[SEARCH]);
    let server = Server::new(service.clone(), ServerLimits::default());
    let running = tokio::spawn(server.run(listener, std::future::pending()));
    let length = client::body_length(&target).await?;
    running.abort();
    Ok(length)
}

/// Prints the sustained rates of both targets and returns that of the first.
async fn compare(searched: &Target, constant: &Target) -> f64 {
    let (mut searches, mut constants, mut errors) = (0, 0, 0);
    for _ in 0..TURNS {
        for (target, count) in [(constant, &mut constants), (searched, &mut searches)] {
            let outcome = client::as_fast_as_possible(target, CONNECTIONS, TURN_TIME).await;
            *count += outcome.latencies.len();
            errors += outcome.errors;
        }
    }
    let time = TURN_TIME.as_secs_f64() * TURNS as f64;
    let (search_rate, constant_rate) = (searches as f64 / time, constants as f64 / time);
    println!("search of 50 items, charged durably: {search_rate:.0} requests/s");
    println!("constant body of the same size:      {constant_rate:.0} requests/s");
    println!(
        "ratio: {:.2}, errors: {errors}",
        search_rate / constant_rate
    );
    search_rate
}

fn report_latencies(mut outcome: Outcome, rate: f64, time: Duration, commits: u64) {
    outcome.latencies.sort_unstable();
    let at = |share: f64| {
        let place = (outcome.latencies.len() as f64 * share) as usize;
        let latency = outcome
            .latencies
            .get(place.min(outcome.latencies.len().saturating_sub(1)));
        latency.map_or(0.0, |latency| latency.as_secs_f64() * 1000.0)
    };
    println!(
        "at {rate:.0} requests/s for {} s with {commits} commits of an updater: p50 {:.1} ms, p99 {:.1} ms, \
         p99.9 {:.1} ms, {} answers, errors: {}",
        time.as_secs(),
        at(0.5),
        at(0.99),
        at(0.999),
        outcome.latencies.len(),
        outcome.errors
    );
}
