//! Clients of a simulated cluster, and the law of their answers: each is that of one index, of the generation that it is from,
//! or a refusal, in bounded time.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use super::process::{DEADLINE, Process};
use super::world::World;
use crate::fixtures::{Generation, Random, SIGNALS, TODAY};
use signaldex::json::{Rendering, SearchAnswer};
use signaldex::query::Order;
use signaldex::{Filter, Query, SignalId};
use signaldex_server::corpus::{Corpus as _, CorpusView, ExportFormat, ExportRequest, Unanswered};

/// The longest pause of a client, in milliseconds.
const PAUSE_MAX: u64 = 300;

/// A page asks for its rows twice, each time within the deadline, and may wait for its turn.
const ANSWER_TIME_MAX: Duration = DEADLINE
    .saturating_mul(2)
    .saturating_add(Duration::from_secs(1));

/// Between two slices of an export.
const SLICE_PAUSE: Duration = Duration::from_millis(80);

const FILTERS: [&str; 5] = ["", "q=hires", "q=raises", "q=acme", "company=company-3"];

/// What a client is told.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Told {
    Right(String),
    Refused(String),
    Wrong(String),
}

/// A question of a client.
#[derive(Clone, Debug)]
enum Asked {
    Count(&'static str),
    Page(&'static str, usize),
    Signal(u64),
    Company(String),
    /// In slices of this many signals.
    Export(&'static str, u64),
}

/// Asks one running node after the other. Ends with the first wrong answer.
pub(super) async fn ask_on(world: Arc<World>, client: usize) -> String {
    let mut random = world.random(&format!("client {client}"));
    loop {
        sleep(Duration::from_millis(1 + random.below(PAUSE_MAX))).await;
        let running = world.running();
        if running.is_empty() {
            continue;
        }
        let node = *random.pick(&running);
        if let Some(Told::Wrong(wrong)) = ask(&world, node, &mut random).await {
            return format!("client {client}: {wrong}");
        }
    }
}

/// Asks a node; `None` where its process ended meanwhile.
pub(super) async fn ask(world: &Arc<World>, node: usize, random: &mut Random) -> Option<Told> {
    told(world, node, Asked::draw(random)).await
}

/// As [`ask`], without exports, which take their time.
pub(super) async fn ask_shortly(
    world: &Arc<World>,
    node: usize,
    random: &mut Random,
) -> Option<Told> {
    let asked = match Asked::draw(random) {
        Asked::Export(filter, _) => Asked::Count(filter),
        other => other,
    };
    told(world, node, asked).await
}

/// Exports all signals from a node, slowly.
pub(super) async fn export_all(world: Arc<World>, node: usize) -> Option<Told> {
    told(&world, node, Asked::Export("", 1)).await
}

async fn told(world: &Arc<World>, node: usize, asked: Asked) -> Option<Told> {
    let process = world.process(node)?;
    let begun = Instant::now();
    let (tell, told) = oneshot::channel();
    let (answering, own_world, own) = (Arc::clone(&process), Arc::clone(world), asked.clone());
    process.run(async move {
        // Nobody waits where the node has been killed.
        let _ = tell.send(own.ask(&own_world, &answering).await);
    });
    let told = told.await.ok()?;
    let told = match told {
        Told::Right(_) | Told::Refused(_)
            if begun.elapsed() > asked.time_max() && !world.was_stopped_since(node, begun) =>
        {
            Told::Wrong(format!("it took {:?}", begun.elapsed()))
        }
        told => told,
    };
    world.log(format_args!("node {node} {asked:?}: {told:?}"));
    match told {
        Told::Wrong(wrong) => Some(Told::Wrong(format!("node {node}, {asked:?}: {wrong}"))),
        told => Some(told),
    }
}

impl Asked {
    fn draw(random: &mut Random) -> Asked {
        let filter = random.word(&FILTERS);
        match random.below(10) {
            0..=2 => Asked::Count(filter),
            3..=5 => Asked::Page(filter, 1 + random.below(12_usize)),
            6 => Asked::Page(filter, 1 + random.below(40_usize)),
            7 => Asked::Signal(1 + random.below(SIGNALS)),
            8 => Asked::Company(format!("company-{}", random.below(9))),
            _ => Asked::Export(filter, 1 + random.below(6)),
        }
    }

    fn time_max(&self) -> Duration {
        match self {
            // Pauses between its slices.
            Asked::Export(..) => Duration::MAX,
            _ => ANSWER_TIME_MAX,
        }
    }

    async fn ask(&self, world: &World, process: &Process) -> Told {
        let view = process.members.view();
        let Some(generation) = world.generation(view.generation) else {
            return Told::Refused("no generation yet".to_owned());
        };
        let answered = match self {
            Asked::Count(filter) => count(process, view, &generation, filter).await,
            Asked::Page(filter, limit) => page(process, view, &generation, filter, *limit).await,
            Asked::Signal(id) => signal(process, view, &generation, *id).await,
            Asked::Company(slug) => company(process, view, &generation, slug).await,
            Asked::Export(filter, slice) => {
                export(process, view, &generation, filter, *slice).await
            }
        };
        let number = generation.number();
        match answered {
            Ok(Ok(answer)) => Told::Right(format!("generation {number}: {answer}")),
            Ok(Err(wrong)) => Told::Wrong(format!("generation {number}: {wrong}")),
            Err(Unanswered::Unavailable(detail)) => Told::Refused(detail),
            Err(Unanswered::Failed(error)) => Told::Wrong(format!("it failed: {error}")),
        }
    }
}

/// An answer that is right, or how it is wrong; or none.
type Checked = Result<Result<String, String>, Unanswered>;

fn checked<T: PartialEq + std::fmt::Debug>(answer: &T, expected: &T, shown: String) -> Checked {
    Ok(if answer == expected {
        Ok(shown)
    } else {
        Err(format!("{answer:?} instead of {expected:?}"))
    })
}

fn filter_of(text: &str) -> Filter {
    Filter::from_query_string(text).expect("a filter")
}

async fn count(
    process: &Process,
    view: Arc<CorpusView>,
    generation: &Generation,
    text: &str,
) -> Checked {
    let filter = filter_of(text);
    let expected = generation.matches(&filter).len() as u64;
    let coordinator = Arc::clone(&process.coordinator);
    let answer = coordinator.count(view, filter, TODAY).await?;
    checked(&answer, &expected, answer.to_string())
}

/// All pages of a walk.
async fn page(
    process: &Process,
    view: Arc<CorpusView>,
    generation: &Generation,
    text: &str,
    limit: usize,
) -> Checked {
    let filter = filter_of(text);
    let expected: Vec<(u64, Vec<u8>)> = generation.matches(&filter).into_iter().rev().collect();
    let query = format!("{text}&limit={limit}");
    let query = Query::from_query_string(query.trim_start_matches('&')).expect("a query");
    let coordinator = Arc::clone(&process.coordinator);
    let answer = coordinator
        .page(view, Arc::new(query), TODAY, Rendering::Whole)
        .await?;
    let mut written = SearchAnswer::with_capacity(limit, Rendering::Whole);
    for (_, item) in expected.iter().take(limit) {
        written.push_written(item);
    }
    let ids: Vec<u64> = answer.keys.iter().map(|key| key.id().get()).collect();
    let expected_ids: Vec<u64> = expected.iter().take(limit).map(|(id, _)| *id).collect();
    let shown = format!("{ids:?}");
    let answer = (ids, answer.next_cursor.is_some(), text_of(answer.answer));
    let has_more = expected.len() > limit;
    checked(&answer, &(expected_ids, has_more, text_of(written)), shown)
}

fn text_of(answer: SearchAnswer) -> String {
    String::from_utf8_lossy(&answer.finish(None)).into_owned()
}

async fn signal(
    process: &Process,
    view: Arc<CorpusView>,
    generation: &Generation,
    id: u64,
) -> Checked {
    let expected = generation.matches(&Filter::default()).contains_key(&id);
    let id = SignalId::new(id).expect("an id");
    let coordinator = Arc::clone(&process.coordinator);
    let answer = coordinator.signal(view, id).await?;
    checked(&answer.is_some(), &expected, expected.to_string())
}

async fn company(
    process: &Process,
    view: Arc<CorpusView>,
    generation: &Generation,
    slug: &str,
) -> Checked {
    let mut shards = generation.snapshots.iter();
    let expected = shards.any(|shard| shard.has_company(slug).expect("a look-up"));
    let coordinator = Arc::clone(&process.coordinator);
    let answer = coordinator.company(view, slug.to_owned()).await?;
    checked(&answer.is_some(), &expected, expected.to_string())
}

/// An export in small slices, while generations are published.
async fn export(
    process: &Process,
    view: Arc<CorpusView>,
    generation: &Generation,
    text: &str,
    slice: u64,
) -> Checked {
    let filter = filter_of(text);
    let matches = generation.matches(&filter);
    let expected: Vec<u64> = matches.into_keys().rev().collect();
    let coordinator = Arc::clone(&process.coordinator);
    let _lease = coordinator.keep(&view)?;
    let mut ids = Vec::new();
    let mut next = Some(ExportRequest {
        filter,
        order: Order::NewestFirst,
        format: ExportFormat::Ndjson,
        after: None,
        items_max: u64::MAX,
    });
    while let Some(request) = next {
        let slice = ExportRequest {
            items_max: slice,
            ..request.clone()
        };
        let coordinator = Arc::clone(&process.coordinator);
        let slice = coordinator.export(Arc::clone(&view), slice, TODAY).await?;
        next = request.after_keys(&slice.keys);
        ids.extend(slice.keys.iter().map(|key| key.id().get()));
        sleep(SLICE_PAUSE).await;
    }
    let shown = format!("{} signals", ids.len());
    checked(&ids, &expected, shown)
}
