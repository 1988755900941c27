//! Times: every engine asked the same queries of all classes, in one shuffled order.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::corpus::Built;
use crate::engine::{Engine, Prepared};
use crate::engines::Kind;
use crate::probe::Opened;
use crate::question::{Question, Questions, Start};

/// Passes at most.
const PASSES: usize = 25;
/// An engine that was measured for longer at a task makes no further pass.
const TIME: Duration = Duration::from_secs(10);

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
    /// The same, the query made within the time that is measured.
    PageMade,
    /// The ids of 50 from the middle.
    Middle,
    /// The first 50 with their records.
    Records,
    /// The number of matches.
    Count,
    /// The same, the query made within the time that is measured.
    CountMade,
    /// The number of matches for each value.
    Facets,
}

impl Task {
    /// Every task, in the order in which it is shown.
    pub const ALL: [Task; 7] = [
        Task::Page,
        Task::PageMade,
        Task::Middle,
        Task::Records,
        Task::Count,
        Task::CountMade,
        Task::Facets,
    ];

    /// The title of its table and plot.
    pub fn title(self) -> &'static str {
        match self {
            Task::Page => "page: the first 50 ids",
            Task::PageMade => "page: the first 50 ids, query made inside",
            Task::Middle => "page: 50 ids from the middle",
            Task::Records => "page: the first 50 with their records",
            Task::Count => "count",
            Task::CountMade => "count, query made inside",
            Task::Facets => "facets: the four of a search page",
        }
    }

    /// Whether the query is made within the time that is measured.
    pub fn makes_query(self) -> bool {
        matches!(self, Task::PageMade | Task::CountMade)
    }

    /// Whether it counts, which is not measured for classes that differ by their start alone.
    fn counts(self) -> bool {
        matches!(self, Task::Count | Task::CountMade | Task::Facets)
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
    let asked: Vec<Asked<'_>> = (classes.iter().enumerate())
        .flat_map(|(class, questions)| questions.questions.iter().map(move |q| (class, q)))
        .map(|(class, question)| Asked { class, question })
        .collect();
    let mut participants = Vec::new();
    for (kind, engine) in engines {
        let prepared = asked.iter().map(|asked| engine.prepare(asked.question));
        participants.push(Participant {
            kind: *kind,
            engine: &**engine,
            prepared: prepared.collect::<Result<_>>()?,
        });
    }
    let matches = counts(&mut participants[0])?;
    let mut measured: Vec<ClassTimes> = (classes.iter().enumerate())
        .map(|(number, class)| ClassTimes {
            class: class.class.into(),
            queries: class.questions.len(),
            matches: median(of_class(&asked, &matches, number)).unwrap_or(0),
            tasks: BTreeMap::new(),
        })
        .collect();
    for task in Task::ALL {
        let mut order: Vec<usize> = (0..asked.len())
            .filter(|&index| classes[asked[index].class].is_counted || !task.counts())
            .collect();
        shuffle(&mut order);
        for participant in participants.iter_mut().filter(|p| p.kind.can(task)) {
            eprintln!("measuring {}: {}", participant.kind.name(), task.title());
            let samples = participant.samples(task, &asked, &order)?;
            for (number, class) in measured.iter_mut().enumerate() {
                let of_class = of_class(&asked, &samples, number).flatten().copied();
                if let Some(times) = Times::of(of_class.collect()) {
                    class
                        .tasks
                        .entry(task)
                        .or_default()
                        .insert(participant.kind, times);
                }
            }
        }
    }
    measured.retain(|class| class.queries > 0);
    Ok(measured)
}

/// A question with the index of its class.
struct Asked<'e> {
    class: usize,
    question: &'e Question,
}

/// The values of a class's questions.
fn of_class<'a, T>(
    asked: &'a [Asked<'_>],
    values: &'a [T],
    class: usize,
) -> impl Iterator<Item = &'a T> {
    let pairs = asked.iter().zip(values);
    pairs
        .filter(move |(asked, _)| asked.class == class)
        .map(|(_, value)| value)
}

/// A fixed order in which neighbours differ, so that no query profits from the one before.
fn shuffle(order: &mut [usize]) {
    let mut state: u64 = 0x9E37_79B9_7F4A_7C15;
    for last in (1..order.len()).rev() {
        // Multiplier and increment of Knuth's MMIX.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        order.swap(last, (state >> 33) as usize % (last + 1));
    }
}

/// An engine with all questions.
struct Participant<'e> {
    kind: Kind,
    engine: &'e dyn Engine,
    prepared: Vec<Box<dyn Prepared + 'e>>,
}

impl Participant<'_> {
    /// The times of a task for each question: one pass over all of them that is not measured, and
    /// then as many as fit into the time.
    fn samples(
        &mut self,
        task: Task,
        asked: &[Asked<'_>],
        order: &[usize],
    ) -> Result<Vec<Vec<Duration>>> {
        let started = Instant::now();
        self.pass(task, asked, order)?;
        while started.elapsed() < self.kind.warm_up() {
            self.pass(task, asked, order)?;
        }
        let mut samples = vec![Vec::new(); asked.len()];
        let mut spent = Duration::ZERO;
        for _ in 0..PASSES {
            for (&index, time) in order.iter().zip(self.pass(task, asked, order)?) {
                samples[index].push(time);
                spent += time;
            }
            if spent > TIME {
                break;
            }
        }
        Ok(samples)
    }

    /// Answers the questions once, in an order.
    fn pass(&mut self, task: Task, asked: &[Asked<'_>], order: &[usize]) -> Result<Vec<Duration>> {
        let questions: Vec<&Question> = order.iter().map(|&index| asked[index].question).collect();
        if let Some(times) = self.engine.pass(task, &questions) {
            return times;
        }
        let numbered = order.iter().zip(questions);
        numbered
            .map(|(&index, question)| {
                if task.makes_query() {
                    timed_with_making(self.engine, question, task)
                } else {
                    timed(&mut *self.prepared[index], task)
                }
            })
            .collect()
    }
}

fn timed_with_making(engine: &dyn Engine, question: &Question, task: Task) -> Result<Duration> {
    let started = Instant::now();
    let mut prepared = engine.prepare(question)?;
    answer(&mut *prepared, task)?;
    drop(prepared);
    Ok(started.elapsed())
}

fn timed(prepared: &mut dyn Prepared, task: Task) -> Result<Duration> {
    let started = Instant::now();
    answer(prepared, task)?;
    Ok(started.elapsed())
}

fn answer(prepared: &mut dyn Prepared, task: Task) -> Result<()> {
    match task {
        Task::Page | Task::PageMade => drop(black_box(prepared.page(Start::First)?)),
        Task::Middle => drop(black_box(prepared.page(Start::Middle)?)),
        Task::Records => drop(black_box(prepared.records()?)),
        Task::Count | Task::CountMade => drop(black_box(prepared.count()?)),
        Task::Facets => drop(black_box(prepared.facets()?)),
    }
    Ok(())
}

impl Times {
    /// Of some samples, unless there are none.
    pub fn of(mut samples: Vec<Duration>) -> Option<Times> {
        samples.sort_unstable();
        let microseconds = |index: usize| samples[index].as_secs_f64() * 1e6;
        (!samples.is_empty()).then(|| Times {
            median: microseconds(samples.len() / 2),
            p99: microseconds((samples.len() * 99).div_ceil(100) - 1),
        })
    }
}

/// The number of matches of each question.
fn counts(participant: &mut Participant<'_>) -> Result<Vec<u64>> {
    participant
        .prepared
        .iter_mut()
        .map(|prepared| prepared.count())
        .collect()
}

fn median<'a>(values: impl Iterator<Item = &'a u64>) -> Option<u64> {
    let mut values: Vec<u64> = values.copied().collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied()
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
