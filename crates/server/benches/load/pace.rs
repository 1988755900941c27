//! Programs compared over many numbers of connections, in alternating turns.
//!
//! Options, behind the corpus: `--program PATH` for each program, the one before a change first; `--turns N`
//! and `--turn SECONDS`; `--connections N,N`; `--only TEXT` for the kinds of requests whose names have the
//! text; `--check` to fail on the goals. The tables are ready to be pasted into a document.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::time::Duration;

use signaldex::{Index, Query, Snapshot, sample};

use crate::classes::{self, Statistics, random::Random};
use crate::client::{self, Outcome, Target};
use crate::program::Program;
use crate::{goals, table};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Queries of the mix.
const QUERIES: usize = 2_000;
/// The numbers of connections after which one more must not cost throughput.
pub(crate) const STEPS: [usize; 8] = [1, 4, 7, 8, 12, 16, 32, 64];
/// The most connections.
pub(crate) const MOST: usize = 256;
const PAGE_LENGTHS: [usize; 2] = [1, 50];
const ONE_QUERY: &str = "q=raises";

/// What was asked for.
pub(crate) struct Settings {
    programs: Vec<String>,
    turns: usize,
    turn_time: Duration,
    connections: Vec<usize>,
    only: String,
    is_check: bool,
}

/// What one turn of a program measured.
#[derive(Clone, Copy, Default)]
pub(crate) struct Turn {
    pub(crate) per_second: f64,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    /// Of the server, for each request.
    pub(crate) cpu: Duration,
}

/// The turns of each number of connections.
pub(crate) type Measured = BTreeMap<usize, Level>;

/// The turns of a number of connections.
#[derive(Default)]
pub(crate) struct Level {
    /// Of each program.
    pub(crate) programs: Vec<Vec<Turn>>,
    /// Of a constant body as long as the mean answer of the last program.
    pub(crate) constant: Vec<Turn>,
}

impl Settings {
    /// Takes the options from the arguments; none if no program is named.
    pub(crate) fn take(arguments: &mut Vec<String>) -> Result<Option<Settings>> {
        let steps = STEPS.iter().flat_map(|&step| [step, step + 1]);
        let mut settings = Settings {
            programs: Vec::new(),
            turns: 7,
            turn_time: Duration::from_secs(1),
            connections: steps.chain([MOST]).collect(),
            only: String::new(),
            is_check: false,
        };
        let mut given = std::mem::take(arguments).into_iter();
        while let Some(option) = given.next() {
            let mut value = || given.next().ok_or(format!("{option} needs a value"));
            match option.as_str() {
                "--program" => settings.programs.push(value()?),
                "--turns" => settings.turns = value()?.parse::<usize>()?.max(1),
                "--turn" => settings.turn_time = Duration::from_secs_f64(value()?.parse()?),
                "--connections" => {
                    let numbers = value()?;
                    let numbers = numbers.split(',').map(str::parse);
                    settings.connections = numbers.collect::<std::result::Result<_, _>>()?;
                }
                "--only" => settings.only = value()?,
                "--check" => settings.is_check = true,
                _ => arguments.push(option),
            }
        }
        settings.connections.sort_unstable();
        settings.connections.dedup();
        Ok((!settings.programs.is_empty()).then_some(settings))
    }
}

/// Measures the programs, prints the tables and the goals.
///
/// # Errors
/// A program does not start or a request fails; with `--check`, also a goal that is missed.
pub(crate) async fn measure(
    index: &Path,
    corpus: &Path,
    folder: &Path,
    settings: &Settings,
) -> Result<()> {
    let mix = mix(&Index::open(index)?.snapshot())?;
    let start = |(number, path): (usize, &String)| {
        Program::start(path, corpus, &folder.join(format!("program-{number}")))
    };
    let programs = settings.programs.iter().enumerate().map(start);
    let programs: Vec<Program> = programs.collect::<Result<_>>()?;
    let mut missed = 0;
    for length in PAGE_LENGTHS {
        let one = [ONE_QUERY.to_owned()];
        for (name, queries) in [("one query", &one[..]), ("mixed queries", &mix[..])] {
            let name = format!("{name}, pages of {length}");
            if !name.contains(&settings.only) {
                continue;
            }
            let paths: Vec<String> = queries
                .iter()
                .map(|query| format!("/api/v1/signals?limit={length}&{query}"))
                .map(|path| path.trim_end_matches('&').to_owned())
                .collect();
            let measured = compare(&programs, &paths, settings).await?;
            println!("\n### {name}\n\n{}", table::of(&measured));
            let mut goals = goals::of(&measured);
            if length > 1 && queries.len() > 1 {
                goals.extend(goals::of_pages(&measured));
            }
            println!("{}", table::of_goals(&goals));
            missed += goals.iter().filter(|goal| !goal.is_met()).count();
        }
    }
    if settings.is_check && missed > 0 {
        return Err(format!("{missed} goals are missed").into());
    }
    Ok(())
}

/// Queries of every class in random order, the same for each run.
fn mix(snapshot: &Snapshot) -> Result<Vec<String>> {
    let statistics = Statistics::of(snapshot)?;
    // More than an even share, because some classes have few different queries.
    const OF_CLASS: usize = 160;
    let classes = classes::draw_each(snapshot, &statistics, sample::AS_OF, OF_CLASS)?;
    let queries = classes.iter().flat_map(|class| &class.queries);
    let mut queries: Vec<String> = queries
        .map(|wanted| without_limit(&wanted.query(sample::AS_OF)))
        .collect();
    let mut random = Random::named("load");
    for place in (1..queries.len()).rev() {
        queries.swap(place, random.below(place + 1));
    }
    queries.truncate(QUERIES);
    println!(
        "{} mixed queries of {} classes",
        queries.len(),
        classes.len()
    );
    Ok(queries)
}

/// The text of a query, whose length of pages the paths choose.
fn without_limit(query: &Query) -> String {
    let text = query.to_string();
    let rest = text.split('&').filter(|part| !part.starts_with("limit="));
    rest.collect::<Vec<_>>().join("&")
}

async fn compare(programs: &[Program], paths: &[String], settings: &Settings) -> Result<Measured> {
    let target = |program: &Program| Target::new(program.address, &program.key, paths);
    let targets: Vec<Target> = programs.iter().map(target).collect();
    let last = targets.last().ok_or("no program")?;
    let constant = Program::constant(mean_length(last).await?)?;
    let constant_target = Target::new(constant.address, &constant.key, &[crate::CONSTANT]);
    let mut measured = Measured::new();
    // The turn before the first warms caches up.
    for turn in 0..=settings.turns {
        for &connections in &settings.connections {
            // Every other turn in reverse, so that none always comes after the other.
            let mut order: Vec<usize> = (0..=programs.len()).collect();
            if turn % 2 == 1 {
                order.reverse();
            }
            for number in order {
                let program = programs.get(number).unwrap_or(&constant);
                let target = targets.get(number).unwrap_or(&constant_target);
                let result = take_turn(program, target, connections, settings.turn_time).await?;
                let level = measured.entry(connections).or_default();
                level.programs.resize(programs.len(), Vec::new());
                let turns = level.programs.get_mut(number);
                if turn > 0 {
                    turns.unwrap_or(&mut level.constant).push(result);
                }
            }
        }
        eprintln!("turn {turn} of {}", settings.turns);
    }
    Ok(measured)
}

/// The mean length of the bodies of a target.
async fn mean_length(target: &Target) -> Result<usize> {
    let outcome = client::as_fast_as_possible(target, 1, Duration::from_secs(1)).await;
    let length = outcome.bytes.checked_div(outcome.latencies.len());
    length.ok_or_else(|| "nothing is answered".into())
}

async fn take_turn(
    program: &Program,
    target: &Target,
    connections: usize,
    time: Duration,
) -> Result<Turn> {
    let before = program.cpu_time()?;
    let outcome = client::as_fast_as_possible(target, connections, time).await;
    let cpu = program.cpu_time()? - before;
    let Outcome {
        mut latencies,
        errors,
        ..
    } = outcome;
    if errors > 0 || latencies.is_empty() {
        return Err(format!("{errors} errors at {connections} connections").into());
    }
    latencies.sort_unstable();
    let at = |share: usize| latencies[(latencies.len() - 1) * share / 100];
    Ok(Turn {
        per_second: latencies.len() as f64 / time.as_secs_f64(),
        p50: at(50),
        p99: at(99),
        cpu: cpu.div_f64(latencies.len() as f64),
    })
}
