//! Results as a table in Markdown.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::engines::Kind;
use crate::goals;
use crate::measure::{ClassTimes, Results, Task, Times};

/// The whole report.
pub fn table(results: &Results) -> String {
    let mut text = format!(
        "# Side by side: {}\n\n{}, {}. Times in microseconds on one core: median / p99 over all \
         queries of a class.\n",
        results.corpus, results.machine, results.date
    );
    whole(&mut text, results);
    text.push_str(&goals::section(results));
    for task in Task::ALL {
        of_task(&mut text, results, task);
    }
    text
}

/// What concerns an engine as a whole.
fn whole(text: &mut String, results: &Results) {
    text.push_str("\n| | build, s | on disk, MB | memory, MB | open + first page, ms |\n");
    text.push_str("|---|--:|--:|--:|--:|\n");
    const MEGABYTE: f64 = 1e6;
    for kind in Kind::ALL {
        let built = results.builds.get(&kind);
        let opened = results.opens.get(&kind);
        if built.is_none() && opened.is_none() {
            continue;
        }
        let line = format!(
            "| {} | {} | {} | {} | {} |\n",
            kind.name(),
            cell(built.map(|built| built.seconds)),
            cell(built.map(|built| built.bytes as f64 / MEGABYTE)),
            cell(opened.map(|opened| opened.memory as f64 / MEGABYTE)),
            cell(opened.map(|opened| opened.milliseconds)),
        );
        text.push_str(&line);
    }
}

/// The times of a task by class, and how much longer the best way of each engine takes.
fn of_task(text: &mut String, results: &Results, task: Task) {
    let kinds: Vec<Kind> = Kind::ALL
        .into_iter()
        .filter(|kind| kind.can(task))
        .collect();
    let families = families(&kinds);
    let names = kinds.iter().map(|kind| kind.name().to_owned());
    let ratios = families.iter().map(|&family| match family {
        LIMIT => "ours / limit".to_owned(),
        family => format!("{family} / ours"),
    });
    let header: Vec<String> = names.chain(ratios).collect();
    let _ = write!(
        text,
        "\n## {}\n\n| class | matches | {} |\n|---|--:{}|\n",
        task.title(),
        header.join(" | "),
        "|--:".repeat(header.len())
    );
    for class in &results.classes {
        if let Some(times) = class.tasks.get(&task) {
            text.push_str(&line(class, times, &kinds, &families));
        }
    }
    let means = families.iter().map(|family| {
        let ratios = results.classes.iter().filter_map(|class| {
            let times = class.tasks.get(&task)?;
            ratio(times, family)
        });
        format!("{:.1}", geometric_mean(ratios))
    });
    let means: Vec<String> = means.collect();
    if !means.is_empty() {
        let empty = " |".repeat(kinds.len() + 1);
        let _ = writeln!(text, "| geometric mean |{empty} {} |", means.join(" | "));
    }
}

fn line(
    class: &ClassTimes,
    times: &BTreeMap<Kind, Times>,
    kinds: &[Kind],
    families: &[&str],
) -> String {
    let of_kind = |kind: &Kind| match times.get(kind) {
        Some(times) => format!("{} / {}", figure(times.median), figure(times.p99)),
        None => "-".into(),
    };
    let of_family = |family: &&str| cell(ratio(times, family));
    let cells: Vec<String> = kinds
        .iter()
        .map(of_kind)
        .chain(families.iter().map(of_family))
        .collect();
    format!(
        "| {} | {} | {} |\n",
        class.class,
        class.matches,
        cells.join(" | ")
    )
}

/// The engines other than ours.
pub fn families(kinds: &[Kind]) -> Vec<&'static str> {
    let mut families: Vec<&str> = kinds.iter().map(|kind| kind.family()).collect();
    families.retain(|&family| family != Kind::Signaldex.family());
    families.dedup();
    families
}

/// The median of an engine's best way.
pub fn best(times: &BTreeMap<Kind, Times>, family: &str) -> Option<f64> {
    let of_family = times.iter().filter(|(kind, _)| kind.family() == family);
    of_family
        .map(|(_, times)| times.median)
        .min_by(f64::total_cmp)
}

/// The family of the limit, which is compared the other way round.
const LIMIT: &str = "limit";

/// How many times longer an engine's best way takes than ours, and ours than the limit.
fn ratio(times: &BTreeMap<Kind, Times>, family: &str) -> Option<f64> {
    let ours = times.get(&Kind::Signaldex)?.median;
    let other = best(times, family)?;
    Some(match family {
        LIMIT => ours / other,
        _ => other / ours,
    })
}

/// The mean of factors.
pub fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let logarithms: Vec<f64> = values.map(f64::ln).collect();
    (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp()
}

fn cell(value: Option<f64>) -> String {
    value.map_or("-".into(), figure)
}

/// A number with about three digits.
pub fn figure(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}
