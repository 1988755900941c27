//! Times: every engine asked the same, class by class, in turns.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::corpus::Built;
use crate::engine::{Engine, Prepared};
use crate::engines::Kind;
use crate::probe::Opened;
use crate::question::{Questions, Start};

/// Rounds at most: every engine answers all queries of a class once a round.
const ROUNDS: usize = 25;
/// Rounds at least.
const ROUNDS_MIN: usize = 1;
/// An engine that took longer for a task of a class takes part in no further round.
const TIME: Duration = Duration::from_secs(1);

/// All that is measured.
#[derive(Serialize, Deserialize)]
pub struct Results {
    /// What the corpus is.
    pub corpus: String,
    /// Its number of signals.
    pub signals: u64,
    /// The processor.
    pub machine: String,
    /// The day.
    pub date: String,
    /// What building took.
    pub builds: BTreeMap<Kind, Built>,
    /// What opening took.
    pub opens: BTreeMap<Kind, Opened>,
    /// Times by class.
    pub classes: Vec<ClassTimes>,
}

/// The times of a class.
#[derive(Serialize, Deserialize)]
pub struct ClassTimes {
    /// Its name.
    pub class: String,
    /// The number of its queries.
    pub queries: usize,
    /// The median number of matches.
    pub matches: u64,
    /// By task and engine.
    pub tasks: BTreeMap<Task, BTreeMap<Kind, Times>>,
}

/// What an engine is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Task {
    /// The ids of the first 50.
    Page,
    /// The ids of 50 from the middle.
    Middle,
    /// The first 50 with their records.
    Records,
    /// The number of matches.
    Count,
    /// The number of matches for each value.
    Facets,
}

impl Task {
    /// Every task, in the order in which it is shown.
    pub const ALL: [Task; 5] = [
        Task::Page,
        Task::Middle,
        Task::Records,
        Task::Count,
        Task::Facets,
    ];

    /// The title of its table and plot.
    pub fn title(self) -> &'static str {
        match self {
            Task::Page => "page: the first 50 ids",
            Task::Middle => "page: 50 ids from the middle",
            Task::Records => "page: the first 50 with their records",
            Task::Count => "count",
            Task::Facets => "facets",
        }
    }
}

/// Times of one engine in microseconds, over all queries of a class and all rounds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Times {
    /// Half of them are shorter.
    pub median: f64,
    /// All but one in a hundred are shorter.
    pub p99: f64,
}

/// Measures all classes.
pub fn classes(
    engines: &[(Kind, Box<dyn Engine>)],
    classes: &[Questions],
) -> Result<Vec<ClassTimes>> {
    let measured = classes.iter().filter(|class| !class.questions.is_empty());
    measured.map(|class| of_class(engines, class)).collect()
}

fn of_class(engines: &[(Kind, Box<dyn Engine>)], class: &Questions) -> Result<ClassTimes> {
    eprintln!("measuring: {}", class.class);
    let mut contestants = Vec::new();
    for (kind, engine) in engines {
        let prepared = class
            .questions
            .iter()
            .map(|question| engine.prepare(question));
        contestants.push(Contestant {
            kind: *kind,
            prepared: prepared.collect::<Result<_>>()?,
        });
    }
    let mut tasks = BTreeMap::new();
    for task in Task::ALL {
        let is_asked = class.is_counted || !matches!(task, Task::Count | Task::Facets);
        if is_asked {
            tasks.insert(task, of_task(&mut contestants, task)?);
        }
    }
    Ok(ClassTimes {
        class: class.class.into(),
        queries: class.questions.len(),
        matches: median_of_matches(&mut contestants[0])?,
        tasks,
    })
}

/// An engine with its questions of a class.
struct Contestant<'e> {
    kind: Kind,
    prepared: Vec<Box<dyn Prepared + 'e>>,
}

/// Measures a task in rounds: within one, every engine answers all queries in a row. A short pass
/// is made once before the measured one, so that no engine pays for the caches that another left;
/// in a long one that does not matter.
fn of_task(contestants: &mut [Contestant<'_>], task: Task) -> Result<BTreeMap<Kind, Times>> {
    /// A pass over a class's queries that is shorter is made twice.
    const SHORT: Duration = Duration::from_millis(20);
    let mut samples: BTreeMap<Kind, Vec<Duration>> = BTreeMap::new();
    for round in 0..ROUNDS {
        for contestant in contestants.iter_mut().filter(|c| c.kind.can(task)) {
            let samples = samples.entry(contestant.kind).or_default();
            let spent: Duration = samples.iter().sum();
            if round >= ROUNDS_MIN && spent > TIME {
                continue;
            }
            let is_short = spent < SHORT * round as u32;
            if round == 0 || is_short {
                contestant.pass(task)?;
            }
            samples.extend(contestant.pass(task)?);
        }
    }
    let times = samples.into_iter();
    Ok(times
        .map(|(kind, samples)| (kind, Times::of(samples)))
        .collect())
}

impl Contestant<'_> {
    /// Answers all queries once.
    fn pass(&mut self, task: Task) -> Result<Vec<Duration>> {
        let prepared = self.prepared.iter_mut();
        prepared
            .map(|prepared| timed(&mut **prepared, task))
            .collect()
    }
}

fn timed(prepared: &mut dyn Prepared, task: Task) -> Result<Duration> {
    let started = Instant::now();
    match task {
        Task::Page => drop(black_box(prepared.page(Start::First)?)),
        Task::Middle => drop(black_box(prepared.page(Start::Middle)?)),
        Task::Records => drop(black_box(prepared.records()?)),
        Task::Count => drop(black_box(prepared.count()?)),
        Task::Facets => drop(black_box(prepared.facets()?)),
    }
    Ok(started.elapsed())
}

impl Times {
    fn of(mut samples: Vec<Duration>) -> Times {
        samples.sort_unstable();
        let microseconds = |place: usize| samples[place].as_secs_f64() * 1e6;
        Times {
            median: microseconds(samples.len() / 2),
            p99: microseconds((samples.len() * 99).div_ceil(100) - 1),
        }
    }
}

fn median_of_matches(contestant: &mut Contestant<'_>) -> Result<u64> {
    let prepared = contestant.prepared.iter_mut();
    let mut counts: Vec<u64> = prepared.map(|p| p.count()).collect::<Result<_>>()?;
    counts.sort_unstable();
    Ok(counts[counts.len() / 2])
}

/// The processor, what its vectors and second-level cache are, and how busy the machine was: this run makes
/// a load of one.
pub fn machine() -> Result<String> {
    let processors = std::fs::read_to_string("/proc/cpuinfo")?;
    let of_first = |key: &str| {
        let line = processors.lines().find(|line| line.starts_with(key))?;
        line.split(": ").nth(1)
    };
    let name = of_first("model name").unwrap_or("unknown processor");
    let vectors = match of_first("flags").unwrap_or_default() {
        flags if flags.contains("avx512_vbmi2") => "AVX-512",
        flags if flags.contains("avx2") => "AVX2",
        _ => "no AVX2",
    };
    let cache = std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index2/size");
    let cache = cache.map_or("unknown".into(), |size| size.trim().replace('K', " KiB"));
    let loads = std::fs::read_to_string("/proc/loadavg")?;
    let load = loads.split(' ').nth(1).unwrap_or_default();
    Ok(format!(
        "{name} with {vectors}, second-level cache {cache}, load average {load} over the last five minutes \
         (this run makes 1)",
    ))
}

/// Today, in UTC.
pub fn today() -> String {
    time::OffsetDateTime::now_utc().date().to_string()
}
