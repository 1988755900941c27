//! The page of usage: units by key and month, as a chart and as a table.

use std::collections::BTreeMap;

use askama::Template;
use axum::http::StatusCode;
use time::UtcDateTime;

use super::chart::{self, Bar, ChartSize, SERIES_MAX};
use super::figures;
use super::form::{Choice, Form};
use super::guard::Visit;
use super::layout::{self, PageLayout};
use super::overview::name_of;
use super::{Admin, Answer};
use crate::http::metering::{Counter, Counts, Month};
use crate::http::state::UsageLine;

/// Months that the chart shows: a year.
const MONTHS: usize = 12;
/// What the keys are called that have no colour of their own.
const OTHERS: &str = "all other keys";

const MONTH_NAMES: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

#[derive(Template)]
#[template(path = "usage.html", config = "src/http/admin/askama.toml")]
struct Page<'a> {
    layout: PageLayout<'a>,
    counters: Vec<Choice>,
    keys: Vec<Choice>,
    counter: &'static str,
    caption: String,
    is_empty: bool,
    wide: String,
    narrow: String,
    series: Vec<Series>,
    months: Vec<MonthTable>,
}

/// A key in the legend.
struct Series {
    name: String,
    total: String,
}

/// The lines of one month.
struct MonthTable {
    month: String,
    lines: Vec<Line>,
    totals: Vec<String>,
}

struct Line {
    name: String,
    key_id: String,
    counts: Vec<String>,
}

pub(super) fn show(admin: &Admin, visit: &Visit) -> Answer {
    let form = Form::parse(visit.query.as_bytes());
    let counter = Counter::ALL
        .into_iter()
        .find(|counter| counter.as_str() == form.value("counter"))
        .unwrap_or(Counter::Signals);
    let wanted_key = form.value("key");
    let all = admin.0.service.0.state.usage(None)?;
    let lines: Vec<&UsageLine> = all
        .iter()
        .filter(|line| wanted_key.is_empty() || line.key_id == wanted_key)
        .collect();
    let months = months_until(Month::of(UtcDateTime::now()));
    let ranked = ranked(&lines, &months, counter);
    let bars = bars(&lines, &months, counter, &ranked);
    let page = Page {
        layout: PageLayout::of(visit, "Usage"),
        counters: Counter::ALL
            .map(|known| Choice {
                value: known.as_str().to_owned(),
                label: name_of(known).to_owned(),
                is_chosen: known == counter,
            })
            .into(),
        keys: key_choices(&all, wanted_key),
        counter: name_of(counter),
        caption: format!("{} to {}", months[0], months[MONTHS - 1]),
        is_empty: ranked.is_empty(),
        wide: chart::draw(&bars, ChartSize::Wide)?,
        narrow: chart::draw(&bars, ChartSize::Narrow)?,
        series: series(&ranked),
        months: tables(&lines),
    };
    layout::render(StatusCode::OK, &page)
}

/// The months of a year that ends with this one.
fn months_until(last: Month) -> Vec<Month> {
    let mut months = vec![last];
    while months.len() < MONTHS {
        months.push(months[months.len() - 1].before());
    }
    months.reverse();
    months
}

/// The keys that used something in these months, with how much; the greatest first.
fn ranked<'a>(
    lines: &[&'a UsageLine],
    months: &[Month],
    counter: Counter,
) -> Vec<(&'a UsageLine, u64)> {
    let mut totals: BTreeMap<&str, (&UsageLine, u64)> = BTreeMap::new();
    for line in lines.iter().filter(|line| months.contains(&line.month)) {
        let total = &mut totals.entry(&line.key_id).or_insert((line, 0)).1;
        *total += line.counts[counter.index()];
    }
    let mut ranked: Vec<_> = totals
        .into_values()
        .filter(|(_, total)| *total > 0)
        .collect();
    ranked.sort_by_key(|(_, total)| std::cmp::Reverse(*total));
    ranked
}

fn bars(
    lines: &[&UsageLine],
    months: &[Month],
    counter: Counter,
    ranked: &[(&UsageLine, u64)],
) -> Vec<Bar> {
    let bar = |&month: &Month| {
        let mut parts = vec![0; SERIES_MAX];
        for line in lines.iter().filter(|line| line.month == month) {
            let is_same = |(known, _): &(&UsageLine, u64)| known.key_id == line.key_id;
            let rank = ranked.iter().position(is_same).unwrap_or(SERIES_MAX);
            parts[rank.min(SERIES_MAX - 1)] += line.counts[counter.index()];
        }
        Bar {
            label: MONTH_NAMES[month.in_year() - 1].to_owned(),
            parts,
        }
    };
    months.iter().map(bar).collect()
}

/// The legend: each key with a colour, and the rest together.
fn series(ranked: &[(&UsageLine, u64)]) -> Vec<Series> {
    let alone = if ranked.len() <= SERIES_MAX {
        ranked.len()
    } else {
        SERIES_MAX - 1
    };
    let mut series: Vec<Series> = ranked[..alone]
        .iter()
        .map(|(line, total)| Series {
            name: name(line),
            total: figures::grouped(*total),
        })
        .collect();
    if alone < ranked.len() {
        let rest = ranked[alone..].iter().map(|(_, total)| total).sum();
        series.push(Series {
            name: OTHERS.to_owned(),
            total: figures::grouped(rest),
        });
    }
    series
}

/// A table for each month, the latest first.
fn tables(lines: &[&UsageLine]) -> Vec<MonthTable> {
    let mut by_month: BTreeMap<Month, Vec<&UsageLine>> = BTreeMap::new();
    for line in lines {
        by_month.entry(line.month).or_default().push(line);
    }
    let texts = |counts: Counts| counts.map(figures::grouped).into();
    let table = |(month, lines): (Month, Vec<&UsageLine>)| {
        let mut totals = [0; Counter::ALL.len()];
        for line in &lines {
            for (total, count) in totals.iter_mut().zip(line.counts) {
                *total += count;
            }
        }
        let line = |line: &&UsageLine| Line {
            name: name(line),
            key_id: line.key_id.clone(),
            counts: texts(line.counts),
        };
        MonthTable {
            month: month.to_string(),
            lines: lines.iter().map(line).collect(),
            totals: texts(totals),
        }
    };
    by_month.into_iter().rev().map(table).collect()
}

fn key_choices(lines: &[UsageLine], wanted: &str) -> Vec<Choice> {
    let names: BTreeMap<&str, String> = lines
        .iter()
        .map(|line| (line.key_id.as_str(), name(line)))
        .collect();
    let choice = |(id, name): (&str, String)| Choice {
        label: format!("{name} ({id})"),
        is_chosen: id == wanted,
        value: id.to_owned(),
    };
    names.into_iter().map(choice).collect()
}

fn name(line: &UsageLine) -> String {
    match line.name.as_str() {
        "" => line.key_id.clone(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(key: &str, month: &str, signals: u64) -> UsageLine {
        UsageLine {
            key_id: key.to_owned(),
            name: String::new(),
            month: Month::parse(month).expect("a month"),
            counts: [signals, 0, 0, 0],
        }
    }

    #[test]
    fn a_year_ends_with_this_month() {
        let months = months_until(Month::parse("2026-03").expect("a month"));
        let texts: Vec<String> = months.iter().map(Month::to_string).collect();
        assert_eq!((texts.len(), texts[0].as_str()), (MONTHS, "2025-04"));
        assert_eq!(texts[8..], ["2025-12", "2026-01", "2026-02", "2026-03"]);
    }

    #[test]
    fn keys_beyond_the_colours_share_the_last_one() {
        let all: Vec<UsageLine> = (1..=8)
            .map(|number| line(&format!("key{number}"), "2026-11", number))
            .collect();
        let lines: Vec<&UsageLine> = all.iter().collect();
        let months = months_until(Month::parse("2026-11").expect("a month"));
        let ranked = ranked(&lines, &months, Counter::Signals);
        assert_eq!(ranked[0].0.key_id, "key8");
        let bars = bars(&lines, &months, Counter::Signals, &ranked);
        assert_eq!(bars[11].parts, [8, 7, 6, 5, 4, 3 + 2 + 1]);
        assert_eq!(bars[10].parts.iter().sum::<u64>(), 0);
        let series = series(&ranked);
        assert_eq!((series.len(), series[5].name.as_str()), (6, OTHERS));
        assert_eq!(series[5].total, "6");
    }
}
