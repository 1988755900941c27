//! The page of usage: units by key and month or day, quotas, and requests by endpoint and status.

mod download;
mod periods;
mod requests;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use askama::Template;
use axum::http::StatusCode;

pub(super) use download::{requests as download_requests, usage as download};

use self::periods::{Period, Slot, Usage};
use self::requests::Requests;
use super::chart::{self, Bar, ChartSize, SERIES_MAX};
use super::figures;
use super::form::{Choice, Form};
use super::guard::Visit;
use super::layout::{self, PageLayout};
use super::overview::{name_of, sum};
use super::{Admin, Answer};
use crate::http::keys::KeyRecord;
use crate::http::metering::{Counter, Counts, Month};
use crate::http::state::StateError;

/// The label of the keys without a colour of their own.
const OTHERS: &str = "all other keys";
/// A quota line is drawn if it is at most this many times as high as the highest bar. With a higher one, the
/// bars would be unreadable.
const QUOTA_HEIGHT_MAX: u64 = 4;

#[derive(Template)]
#[template(path = "usage.html", config = "src/http/admin/askama.toml")]
struct Page<'a> {
    layout: PageLayout<'a>,
    periods: Vec<Choice>,
    counters: Vec<Choice>,
    keys: Vec<Choice>,
    period: Period,
    key: &'a str,
    counter: &'static str,
    caption: String,
    is_empty: bool,
    wide: String,
    narrow: String,
    series: Vec<Series>,
    quotas: Vec<QuotaLine>,
    month: String,
    requests: Requests,
    tables: Vec<PeriodTable>,
}

/// A key in the legend.
struct Series {
    name: String,
    total: String,
}

/// The used part of a quota this month.
struct QuotaLine {
    name: String,
    counter: &'static str,
    used: String,
    quota: String,
    /// Percentage of the quota.
    share: u64,
}

/// The usage of one month or day.
struct PeriodTable {
    period: String,
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
    let mut counters = Counter::ALL.into_iter();
    let counter = counters.find(|counter| counter.as_str() == form.value("counter"));
    let counter = counter.unwrap_or(Counter::Signals);
    let (period, key) = (Period::of_name(form.value("by")), form.value("key"));
    let state = &admin.0.service.0.state;
    let now = state.now();
    let (slots, from) = period.slots(now.date());
    let all = period.usage(state, from)?;
    let is_wanted = |line: &&Usage| key.is_empty() || line.key_id == key;
    let lines: Vec<&Usage> = all.iter().filter(is_wanted).collect();
    let ranked = ranked(&lines, &slots, counter);
    let bars = bars(&lines, &slots, counter, &ranked);
    let records = state.keys()?;
    let quota = quota(&records, key, counter).filter(|_| period == Period::Month);
    let line = quota.filter(|&quota| is_within_reach(quota, &bars));
    admin.0.service.record_requests();
    let page = Page {
        layout: PageLayout::of(visit, "Usage"),
        periods: periods(period),
        counters: counter_choices(counter),
        keys: key_choices(&records, key),
        period,
        key,
        counter: name_of(counter),
        caption: caption(&slots, quota),
        is_empty: ranked.is_empty(),
        wide: chart::draw(&bars, ChartSize::Wide, line)?,
        narrow: chart::draw(&bars, ChartSize::Narrow, line)?,
        series: series(&ranked),
        quotas: quotas(admin, &records, key, Month::of(now))?,
        month: Month::of(now).to_string(),
        requests: Requests::of(&state.requests(from)?, key),
        tables: tables(&lines),
    };
    layout::render(StatusCode::OK, &page)
}

impl Page<'_> {
    /// The query string of the downloads.
    fn wanted(&self) -> String {
        let key =
            percent_encoding::utf8_percent_encode(self.key, percent_encoding::NON_ALPHANUMERIC);
        format!("by={}&key={key}", self.period.as_str())
    }
}

fn caption(slots: &[Slot], quota: Option<u64>) -> String {
    let ends = slots.first().zip(slots.last());
    let ends = ends.map(|(first, last)| format!("{} to {}", first.period, last.period));
    let ends = ends.unwrap_or_default();
    match quota {
        Some(quota) => format!("{ends}, quota {} a month", figures::grouped(quota)),
        None => ends,
    }
}

/// The quota of the selected key.
fn quota(keys: &[KeyRecord], wanted: &str, counter: Counter) -> Option<u64> {
    let key = keys.iter().find(|key| key.id == wanted)?;
    key.quota(counter)
}

fn is_within_reach(quota: u64, bars: &[Bar]) -> bool {
    let max = bars.iter().map(|bar| bar.parts.iter().sum()).max();
    quota <= max.unwrap_or(0_u64).saturating_mul(QUOTA_HEIGHT_MAX)
}

/// The quotas of valid keys with the used part, largest share first.
fn quotas(
    admin: &Admin,
    keys: &[KeyRecord],
    wanted: &str,
    month: Month,
) -> Result<Vec<QuotaLine>, StateError> {
    let usage = admin.0.service.0.state.usage(Some(month))?;
    let mut lines = Vec::new();
    let is_wanted = |key: &&KeyRecord| wanted.is_empty() || key.id == wanted;
    for key in keys
        .iter()
        .filter(is_wanted)
        .filter(|key| key.revoked_at.is_none())
    {
        let counts = usage.iter().find(|line| line.key_id == key.id);
        let counts = counts.map_or(Counts::default(), |line| line.counts);
        for counter in Counter::ALL {
            let Some(quota) = key.quota(counter) else {
                continue;
            };
            let used = counts[counter.index()];
            lines.push(QuotaLine {
                name: figures::key_name(&key.id, &key.settings.name),
                counter: name_of(counter),
                used: figures::grouped(used),
                quota: figures::grouped(quota),
                share: (used.saturating_mul(100) / quota.max(1)).min(100),
            });
        }
    }
    lines.sort_by_key(|line| std::cmp::Reverse(line.share));
    Ok(lines)
}

/// The keys with usage in these slots, largest first.
fn ranked<'a>(lines: &[&'a Usage], slots: &[Slot], counter: Counter) -> Vec<(&'a Usage, u64)> {
    let mut totals: BTreeMap<&str, (&Usage, u64)> = BTreeMap::new();
    let is_shown = |line: &&&'a Usage| slots.iter().any(|slot| slot.period == line.period);
    for line in lines.iter().filter(is_shown) {
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

fn bars(lines: &[&Usage], slots: &[Slot], counter: Counter, ranked: &[(&Usage, u64)]) -> Vec<Bar> {
    let bar = |slot: &Slot| {
        let mut parts = vec![0; SERIES_MAX];
        for line in lines.iter().filter(|line| line.period == slot.period) {
            let is_same = |(known, _): &(&Usage, u64)| known.key_id == line.key_id;
            let rank = ranked.iter().position(is_same).unwrap_or(SERIES_MAX);
            parts[rank.min(SERIES_MAX - 1)] += line.counts[counter.index()];
        }
        Bar {
            label: slot.label.clone(),
            parts,
        }
    };
    slots.iter().map(bar).collect()
}

/// The legend: a colour per key, and one for all others.
fn series(ranked: &[(&Usage, u64)]) -> Vec<Series> {
    let alone = if ranked.len() <= SERIES_MAX {
        ranked.len()
    } else {
        SERIES_MAX - 1
    };
    let mut series: Vec<Series> = ranked[..alone]
        .iter()
        .map(|(line, total)| Series {
            name: figures::key_name(&line.key_id, &line.name),
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

/// A table per month or day, latest first.
fn tables(lines: &[&Usage]) -> Vec<PeriodTable> {
    let mut by_period: BTreeMap<&str, Vec<&Usage>> = BTreeMap::new();
    for line in lines {
        by_period.entry(&line.period).or_default().push(line);
    }
    let texts = |counts: Counts| counts.map(figures::grouped).into();
    let table = |(period, lines): (&str, Vec<&Usage>)| {
        let line = |line: &&Usage| Line {
            name: figures::key_name(&line.key_id, &line.name),
            key_id: line.key_id.clone(),
            counts: texts(line.counts),
        };
        PeriodTable {
            period: period.to_owned(),
            totals: texts(sum(lines.iter().map(|line| line.counts))),
            lines: lines.iter().map(line).collect(),
        }
    };
    by_period.into_iter().rev().map(table).collect()
}

fn periods(chosen: Period) -> Vec<Choice> {
    let choice = |period: Period| Choice {
        value: period.as_str().to_owned(),
        label: period.as_str().to_owned(),
        is_chosen: period == chosen,
    };
    Period::ALL.map(choice).into()
}

fn counter_choices(chosen: Counter) -> Vec<Choice> {
    let choice = |counter: Counter| Choice {
        value: counter.as_str().to_owned(),
        label: name_of(counter).to_owned(),
        is_chosen: counter == chosen,
    };
    Counter::ALL.map(choice).into()
}

/// Every key, newest first, including revoked ones, which still have usage to show.
fn key_choices(keys: &[KeyRecord], wanted: &str) -> Vec<Choice> {
    let choice = |key: &KeyRecord| {
        let name = figures::key_name(&key.id, &key.settings.name);
        let hint = key.hint.as_ref().unwrap_or(&key.id);
        Choice {
            label: format!("{name} ({hint})"),
            is_chosen: key.id == wanted,
            value: key.id.clone(),
        }
    };
    keys.iter().rev().map(choice).collect()
}
