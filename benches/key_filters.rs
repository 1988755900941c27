//! Answers to a key with a filter beside the same answers to a key without one that sends the filter itself.
//!
//! usage: `taskset -c 1 cargo bench --bench key_filters`
//!
//! For each class of queries: pages with their records, counts and facets of a snapshot that is narrowed by a facet's most
//! frequent value, over those of the whole snapshot under that filter as well. Classes that have such a filter themselves
//! take the other facets. Shows geometric means of the quotients and how much longer the mean answer takes, how long the
//! first use of a filter takes, which finds its signals, and the first count of their companies after it, beside counting
//! these companies for a key without a filter and the longest count of any query, and the record to write as
//! `benches/results/key-filters.json`. `benches/corpus` says over which corpus.

#[path = "classes/mod.rs"]
#[allow(dead_code, reason = "not all of the classes is used here")]
mod classes;
#[path = "corpus/mod.rs"]
mod corpus;

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use signaldex::query::{CompanyQuery, Facet, KeyFilter};
use signaldex::{Filter, IndexBuilder, Query, Snapshot, sample};

use classes::{Class, Statistics, Wanted};
use corpus::Source;

/// The facets by whose most frequent value keys see a part.
const FACETS: [Facet; 3] = [Facet::Country, Facet::Category, Facet::Industry];
/// Queries of a class.
const QUERIES: usize = 10;
/// Rounds of which the fastest counts, and calls of each.
const ROUNDS: usize = 9;
const CALLS: u32 = 6;
/// Uses of a filter of which the fastest counts.
const FIRST_USES: usize = 3;

/// What is written where something that cannot fail does.
const WHOLE: &str = "an index that was just built is whole";

/// What can go wrong ends the bench.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// A key that sees the signals with one value of a facet.
struct Key {
    facet: Facet,
    label: String,
    filter: KeyFilter,
    narrowed: Arc<Snapshot>,
}

/// The tasks, each with the times of its queries.
#[derive(Default)]
struct Tasks {
    page: Vec<Times>,
    count: Vec<Times>,
    facets: Vec<Times>,
}

/// The time of an answer to the key, and of the same one to a key that sends the filter along, in microseconds.
type Times = [f64; 2];

/// What the tasks of a class take.
type Means = [Option<Mean>; 3];

/// What an answer to the key takes beside the other one.
struct Mean {
    /// The geometric mean of the quotients.
    quotient: f64,
    /// How many microseconds more the mean answer takes.
    more: f64,
}

fn main() -> Result<()> {
    let index = Source::of_environment()?.build(IndexBuilder::in_memory())?;
    let snapshot = index.snapshot();
    let statistics = Statistics::of(&snapshot)?;
    let classes = classes::draw_each(&snapshot, &statistics, sample::AS_OF, QUERIES)?;
    let keys: Vec<Key> = FACETS.map(|facet| Key::of(&snapshot, facet)).into();
    for key in &keys {
        let seen = key.narrowed.signal_count();
        println!(
            "{}: {seen} of {} signals",
            key.filter,
            snapshot.signal_count()
        );
    }
    let (mut rows, mut longest_count) = (Vec::new(), 0.0);
    println!("| class | page | count | facets |\n|---|--:|--:|--:|");
    for class in classes.iter().filter(|class| !class.queries.is_empty()) {
        let tasks = Tasks::of(&snapshot, &keys, class);
        longest_count = tasks.longest_count().max(longest_count);
        let means = [&tasks.page, &tasks.count, &tasks.facets].map(|of| Mean::of(of));
        let cell = |mean: &Mean| format!("{:.2}", mean.quotient);
        let cells = means
            .each_ref()
            .map(|mean| mean.as_ref().map(cell).unwrap_or_default());
        println!("| {} | {} |", class.name, cells.join(" | "));
        rows.push((
            means,
            format!("[\"{}\", \"{}\"]", class.name, cells.join("\", \"")),
        ));
    }
    // Nothing is kept, so each use is a first one.
    index.keep_narrowed_bytes(0);
    let first = [
        first_use(&index, &keys),
        first_count_of_companies(&index, &keys),
        counting_companies(&snapshot, &keys),
    ];
    print_record(&rows, first, longest_count);
    Ok(())
}

impl Key {
    /// The key of a facet's most frequent value.
    fn of(snapshot: &Snapshot, facet: Facet) -> Key {
        let facets = snapshot.facets_of(&Filter::default(), sample::AS_OF, &[facet]);
        let facets = facets.expect(WHOLE);
        let label = facets.values(facet).first().expect("a value").label();
        let wanted = Wanted {
            facets: vec![(facet, vec![label.to_owned()])],
            ..Wanted::default()
        };
        let text = wanted.query(sample::AS_OF).filter().to_string();
        let filter = KeyFilter::parse([text.as_str()], []).expect("a valid filter");
        Key {
            facet,
            label: label.to_owned(),
            narrowed: snapshot.narrowed(&filter, sample::AS_OF).expect(WHOLE),
            filter,
        }
    }

    /// A query that asks a key without a filter for what this one sees; none if it names the facet already.
    fn sent_along(&self, wanted: &Wanted) -> Option<Query> {
        if wanted.facets.iter().any(|(facet, _)| *facet == self.facet) {
            return None;
        }
        let mut wanted = wanted.clone();
        wanted.facets.push((self.facet, vec![self.label.clone()]));
        Some(wanted.query(sample::AS_OF))
    }
}

impl Tasks {
    fn of(snapshot: &Snapshot, keys: &[Key], class: &Class) -> Tasks {
        let mut tasks = Tasks::default();
        for wanted in &class.queries {
            for key in keys {
                if let Some(sent) = key.sent_along(wanted) {
                    let asked = wanted.query(sample::AS_OF);
                    tasks.add(key, snapshot, [&asked, &sent], class.is_counted);
                }
            }
        }
        tasks
    }

    /// The longest time of a count to the key without a filter, in microseconds: one that goes through many rows.
    fn longest_count(&self) -> f64 {
        let times = self.count.iter().map(|[_, other]| *other);
        times.fold(0.0, f64::max)
    }

    /// Measures a query to the key, and the one that sends the filter along.
    fn add(&mut self, key: &Key, snapshot: &Snapshot, queries: [&Query; 2], is_counted: bool) {
        let both = [(&*key.narrowed, queries[0]), (snapshot, queries[1])];
        let [found, expected] = both.map(|(of, query)| count(of, query));
        assert_eq!(found, expected, "{}: {}", key.filter, queries[0]);
        self.page.push(times(both, |of, query| {
            let page = of.search(query, sample::AS_OF).expect(WHOLE);
            black_box(of.records(&page)).expect(WHOLE);
        }));
        if is_counted {
            self.count.push(times(both, |of, query| {
                black_box(count(of, query));
            }));
            // The key's facet is left out, because a filter that is sent along is lifted there.
            let facets = Facet::ALL.into_iter().filter(|facet| *facet != key.facet);
            let facets: Vec<Facet> = facets.collect();
            self.facets.push(times(both, |of, query| {
                black_box(of.facets_of(query.filter(), sample::AS_OF, &facets)).expect(WHOLE);
            }));
        }
    }
}

fn count(of: &Snapshot, query: &Query) -> u64 {
    of.count(query.filter(), sample::AS_OF).expect(WHOLE)
}

/// The fastest times of both, which take turns.
fn times(both: [(&Snapshot, &Query); 2], ask: impl Fn(&Snapshot, &Query)) -> Times {
    let mut fastest = [Duration::MAX; 2];
    for _ in 0..ROUNDS {
        for (fastest, (of, query)) in fastest.iter_mut().zip(both) {
            let started = Instant::now();
            (0..CALLS).for_each(|_| ask(of, query));
            *fastest = started.elapsed().min(*fastest);
        }
    }
    fastest.map(|time| time.as_secs_f64() * 1e6 / f64::from(CALLS))
}

impl Mean {
    fn of(times: &[Times]) -> Option<Mean> {
        let count = times.len() as f64;
        let logarithms = times.iter().map(|[key, other]| (key / other).ln());
        let more = times.iter().map(|[key, other]| key - other);
        (!times.is_empty()).then(|| Mean {
            quotient: (logarithms.sum::<f64>() / count).exp(),
            more: more.sum::<f64>() / count,
        })
    }
}

/// How long the first use of a filter takes, in milliseconds.
fn first_use(index: &signaldex::Index, keys: &[Key]) -> f64 {
    let snapshot = index.snapshot();
    let uses = keys.iter().map(|key| {
        fastest(|| drop(black_box(snapshot.narrowed(&key.filter, sample::AS_OF)).expect(WHOLE)))
    });
    uses.fold(0.0, f64::max)
}

/// How long the first count of all companies that a key sees takes, in milliseconds.
fn first_count_of_companies(index: &signaldex::Index, keys: &[Key]) -> f64 {
    let (snapshot, all) = (index.snapshot(), CompanyQuery::from_query_string(""));
    let all = all.expect("a query");
    let time = |key: &Key| {
        let narrowed = snapshot.narrowed(&key.filter, sample::AS_OF).expect(WHOLE);
        let started = Instant::now();
        let count = narrowed.count_companies(all.filter(), sample::AS_OF);
        black_box(count.expect(WHOLE));
        started.elapsed().as_secs_f64() * 1e3
    };
    let fastest = |key| {
        let times = (0..FIRST_USES).map(|_| time(key));
        times.fold(f64::INFINITY, f64::min)
    };
    keys.iter().map(fastest).fold(0.0, f64::max)
}

/// How long it takes to count the companies with a signal that a key sees, in milliseconds.
fn counting_companies(snapshot: &Snapshot, keys: &[Key]) -> f64 {
    let counts = keys.iter().map(|key| {
        let query = format!("has=({})", key.filter.filters()[0]);
        let query = CompanyQuery::from_query_string(&query).expect("a query");
        fastest(|| {
            let count = snapshot.count_companies(query.filter(), sample::AS_OF);
            black_box(count.expect(WHOLE));
        })
    });
    counts.fold(0.0, f64::max)
}

/// Milliseconds of the fastest call.
fn fastest(call: impl Fn()) -> f64 {
    let time = |_| {
        let started = Instant::now();
        call();
        started.elapsed().as_secs_f64() * 1e3
    };
    (0..FIRST_USES).map(time).fold(f64::INFINITY, f64::min)
}

/// The values and the table of the record.
fn print_record(
    rows: &[(Means, String)],
    [first_use, first_companies, count_companies]: [f64; 3],
    longest_count: f64,
) {
    let most = |task: usize, of: fn(&Mean) -> f64| {
        let means = rows.iter().filter_map(|(means, _)| means[task].as_ref());
        means.map(of).fold(0.0, f64::max)
    };
    println!("\n\"values\": {{");
    for (task, name) in ["page", "count", "facets"].into_iter().enumerate() {
        let quotient = most(task, |mean| mean.quotient);
        let more = most(task, |mean| mean.more);
        println!("  \"{name}\": \"{quotient:.2}\", \"{name}-more\": \"{more:.1} µs\",");
    }
    let longest_count = longest_count / 1e3;
    println!("  \"first-use\": \"{first_use:.2} ms\",");
    println!("  \"first-companies\": \"{first_companies:.2} ms\",");
    println!("  \"count-companies\": \"{count_companies:.2} ms\",");
    println!("  \"longest-count\": \"{longest_count:.1} ms\"\n}},");
    let rows: Vec<&str> = rows.iter().map(|(_, row)| row.as_str()).collect();
    println!("\"rows\": [\n  {}\n]", rows.join(",\n  "));
}
