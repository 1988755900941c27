//! How signaldex alone grows: ten times the signals, beside how what any count has to do grows, and two
//! threads instead of one.

use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use signaldex::{Query, Snapshot, sample};

use crate::corpus::Corpus;
use crate::engines::Kind;
use crate::measure::{self, ClassTimes, Task};
use crate::report::{figure, geometric_mean};
use crate::{Result, labelled, probe, results_folder};

/// How long each number of threads answers queries.
const TIME: Duration = Duration::from_secs(5);

/// Measures a corpus of n signals beside one of ten times as many, and writes the table.
pub fn run(signals: u64, label: Option<&str>) -> Result<()> {
    let sizes = [signals, 10 * signals];
    let mut text = format!(
        "# Alone: {} and {} generated signals\n\n{}, {}. Medians over all queries of a class, in \
         microseconds.\n",
        sizes[0],
        sizes[1],
        measure::machine()?,
        measure::today()
    );
    let mut measured = Vec::new();
    for size in sizes {
        let corpus = Corpus::generated(size);
        corpus.build_without_peers()?;
        measured.push(classes(&corpus)?);
        describe(&mut text, &corpus, size)?;
    }
    for task in [Task::Page, Task::Middle, Task::Count] {
        compare(&mut text, task, &measured[0], &measured[1]);
    }
    two_threads(&mut text, &Corpus::generated(signals))?;
    println!("{text}");
    let name = labelled("alone", label);
    std::fs::write(results_folder().join(format!("{name}.md")), text)?;
    Ok(())
}

fn classes(corpus: &Corpus) -> Result<Vec<ClassTimes>> {
    let asked = corpus.questions()?;
    let engines = corpus.open(&[Kind::Signaldex, Kind::Limit], &asked.dictionary)?;
    measure::classes(&engines, &asked.classes)
}

/// What the index takes, and opening it in a process of its own.
fn describe(text: &mut String, corpus: &Corpus, signals: u64) -> Result<()> {
    let statistics = corpus.snapshot()?.statistics()?;
    // Linear frames of fields 20 and 23 are the offsets of records (`docs/format.md`).
    let of_records = |name: &str| {
        let is_offset = name.ends_with("[20]") || name.ends_with("[23]");
        name == "Records" || (is_offset && name.starts_with("Linear"))
    };
    let records = statistics
        .sections
        .iter()
        .filter(|(name, _)| of_records(name));
    let without: u64 = statistics.bytes - records.map(|(_, bytes)| bytes).sum::<u64>();
    let opened = probe::own(signals)?;
    let per_signal = |bytes: u64| bytes as f64 / signals as f64;
    writeln!(
        text,
        "\n{signals} signals: {:.0} bytes a signal, {:.1} without records and their offsets; open \
         with a first page {} ms; {:.1} bytes a signal in memory once everything was asked.",
        per_signal(statistics.bytes),
        per_signal(without),
        figure(opened.milliseconds),
        per_signal(opened.memory),
    )?;
    Ok(())
}

fn compare(text: &mut String, task: Task, small: &[ClassTimes], large: &[ClassTimes]) {
    let kinds: &[Kind] = match task {
        Task::Count => &[Kind::Signaldex, Kind::Limit],
        _ => &[Kind::Signaldex],
    };
    let others = kinds.len() - 1;
    let titles = " limit | of ten times as many | factor |".repeat(others);
    let rule = "--:|--:|--:|".repeat(others);
    let _ = writeln!(
        text,
        "\n## {}\n\n| class | matches | median | of ten times as many | matches | factor |{titles}\n\
         |---|--:|--:|--:|--:|--:|{rule}",
        task.title()
    );
    let mut factors = vec![Vec::new(); kinds.len()];
    for (small, large) in small.iter().zip(large) {
        let medians = |kind: &Kind| {
            let median = |class: &ClassTimes| Some(class.tasks.get(&task)?[kind].median);
            Some((median(small)?, median(large)?))
        };
        let Some(medians) = kinds.iter().map(medians).collect::<Option<Vec<_>>>() else {
            continue;
        };
        for (factors, (of_small, of_large)) in factors.iter_mut().zip(&medians) {
            factors.push(of_large / of_small);
        }
        let (of_small, of_large) = medians[0];
        let _ = write!(
            text,
            "| {} | {} | {} | {} | {} | {:.2} |",
            small.class,
            small.matches,
            figure(of_small),
            figure(of_large),
            large.matches,
            of_large / of_small,
        );
        for (of_small, of_large) in &medians[1..] {
            let (small, large) = (figure(*of_small), figure(*of_large));
            let _ = write!(text, " {small} | {large} | {:.2} |", of_large / of_small);
        }
        text.push('\n');
    }
    let means = factors
        .iter()
        .map(|factors| geometric_mean(factors.iter().copied()));
    let means: Vec<String> = means.map(|mean| format!("{mean:.2} |")).collect();
    let _ = writeln!(text, "| geometric mean | | | | | {}", means.join(" | | "));
}

/// Pages and counts of all classes a second, by one thread and by two.
fn two_threads(text: &mut String, corpus: &Corpus) -> Result<()> {
    let snapshot = corpus.snapshot()?;
    let classes = corpus.questions()?.classes;
    let questions = classes.into_iter().flat_map(|class| class.questions);
    let queries: Vec<Query> = questions.map(|question| question.first).collect();
    answers(&snapshot, &queries, 1);
    let mut ratios = Vec::new();
    // In turns, so that what else goes on in the machine falls on both.
    for _ in 0..3 {
        let [one, two] = [1, 2].map(|threads| answers(&snapshot, &queries, threads));
        ratios.push((two / one, one, two));
    }
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (ratio, one, two) = ratios[1];
    writeln!(
        text,
        "\n## Two threads\n\nPages and counts of all classes in turn: {one:.0} a second on one thread, \
         {two:.0} on two: {ratio:.2} times as many (the middle of three).",
    )?;
    Ok(())
}

/// Answers a second by n threads.
fn answers(snapshot: &Arc<Snapshot>, queries: &[Query], threads: usize) -> f64 {
    let started = Instant::now();
    let answered: u64 = std::thread::scope(|scope| {
        let work = |_| scope.spawn(|| answer_for_a_while(snapshot, queries));
        let threads: Vec<_> = (0..threads).map(work).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or(0))
            .sum()
    });
    answered as f64 / started.elapsed().as_secs_f64()
}

fn answer_for_a_while(snapshot: &Snapshot, queries: &[Query]) -> u64 {
    let (started, mut answered) = (Instant::now(), 0);
    while started.elapsed() < TIME {
        for query in queries {
            let page = snapshot
                .search(query, sample::AS_OF)
                .expect("a whole index");
            let count = snapshot.count(query.filter(), sample::AS_OF);
            let count = count.expect("a whole index");
            std::hint::black_box((page, count));
            answered += 2;
        }
    }
    answered
}
