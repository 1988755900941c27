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

use self::periods::{Period, PeriodUsage};
use self::requests::Requests;
use super::dashboard::Admin;
use super::failed::PageResult;
use super::figures;
use super::form::{FormData, SelectOption};
use super::key_choices::KeyChoices;
use super::layout::{self, PageLayout};
use super::overview::{name_of, sum};
use super::visit::Visit;
use crate::keys::KeyRecord;
use crate::metering::{Counter, Counts, Month};
use crate::state::{KeysWanted, State, StateError};

/// Keys with a row of their own among those with the most usage.
const TOP_KEYS: usize = 5;
/// Rows of a table of keys. The downloads have all.
const ROWS_MAX: usize = 100;
/// The label of the other keys.
const OTHERS: &str = "All other keys";

#[derive(Template)]
#[template(path = "usage.html", config = "src/admin/askama.toml")]
struct UsagePage<'a> {
    layout: PageLayout<'a>,
    periods: Vec<SelectOption>,
    counters: Vec<SelectOption>,
    keys: KeyChoices,
    period: Period,
    key: &'a str,
    counter: &'static str,
    caption: String,
    by_period: Vec<Bar>,
    by_key: Vec<Bar>,
    quotas: Vec<QuotaLine>,
    month: String,
    requests: Requests,
    tables: Vec<PeriodTable>,
}

/// A row of a table with bars.
struct Bar {
    label: String,
    total: String,
    /// Percentage of the longest bar.
    share: u64,
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
    lines: Vec<UsageRow>,
    totals: Vec<String>,
    /// How many keys are only in the download; empty if none.
    others: String,
}

struct UsageRow {
    name: String,
    key_id: String,
    counts: Vec<String>,
}

pub(super) fn show(admin: &Admin, visit: &Visit) -> PageResult {
    let form = FormData::parse(visit.query.as_bytes());
    let mut counters = Counter::ALL.into_iter();
    let counter = counters.find(|counter| counter.as_str() == form.value("counter"));
    let counter = counter.unwrap_or(Counter::Signals);
    let (period, key) = (Period::of_name(form.value("by")), form.value("key"));
    let state = &admin.0.service.0.state;
    let now = state.now();
    let (periods_shown, from) = period.shown(now.date());
    let all = period.usage(state, from)?;
    let is_wanted = |line: &&PeriodUsage| key.is_empty() || line.key_id == key;
    let lines: Vec<&PeriodUsage> = all.iter().filter(is_wanted).collect();
    let keys = KeyChoices::read(state, key)?;
    let quota = keys.chosen.as_ref().and_then(|key| key.quota(counter));
    let quota = quota.filter(|_| period == Period::Month);
    admin.0.service.record_requests();
    let page = UsagePage {
        layout: PageLayout::of(visit, "Usage"),
        periods: periods(period),
        counters: counter_choices(counter),
        keys,
        period,
        key,
        counter: name_of(counter),
        caption: caption(&periods_shown, quota),
        by_period: bars(by_period(&lines, &periods_shown, counter)),
        by_key: bars(by_key(&lines, &periods_shown, counter)),
        quotas: quotas(state, key, counter)?,
        month: Month::of(now).to_string(),
        requests: Requests::of(&state.requests(from)?, key),
        tables: tables(&lines, counter),
    };
    layout::render(StatusCode::OK, &page)
}

impl UsagePage<'_> {
    /// The query string of the downloads.
    fn wanted(&self) -> String {
        let key =
            percent_encoding::utf8_percent_encode(self.key, percent_encoding::NON_ALPHANUMERIC);
        format!("by={}&key={key}", self.period.as_str())
    }
}

fn caption(periods: &[String], quota: Option<u64>) -> String {
    let ends = periods.last().zip(periods.first());
    let ends = ends.map(|(first, last)| format!("{first} to {last}"));
    let ends = ends.unwrap_or_default();
    match quota {
        Some(quota) => format!("{ends}, quota {} a month", figures::grouped(quota)),
        None => ends,
    }
}

/// The quotas of the valid keys with the most usage this month, largest used part first.
fn quotas(state: &State, wanted: &str, counter: Counter) -> Result<Vec<QuotaLine>, StateError> {
    let found = state.key_page(&KeysWanted {
        find: wanted,
        sort: counter.as_str(),
        is_descending: true,
        ..KeysWanted::first(ROWS_MAX as u64, state.now())
    })?;
    let mut lines = Vec::new();
    let is_shown =
        |key: &KeyRecord| key.revoked_at.is_none() && (wanted.is_empty() || key.id == wanted);
    for (key, counts) in found.keys.iter().filter(|(key, _)| is_shown(key)) {
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
                share: figures::percent(used, quota),
            });
        }
    }
    lines.sort_by_key(|line| std::cmp::Reverse(line.share));
    Ok(lines)
}

/// The usage of each period; none if there is none in all of them.
fn by_period(lines: &[&PeriodUsage], periods: &[String], counter: Counter) -> Vec<(String, u64)> {
    let mut totals: Vec<(String, u64)> = periods.iter().map(|name| (name.clone(), 0)).collect();
    for line in lines {
        if let Some((_, total)) = totals.iter_mut().find(|(name, _)| *name == line.period) {
            *total = total.saturating_add(line.counts[counter.index()]);
        }
    }
    if totals.iter().all(|(_, total)| *total == 0) {
        totals.clear();
    }
    totals
}

/// The keys with the most usage in these periods, largest first, and all others as one.
fn by_key(lines: &[&PeriodUsage], periods: &[String], counter: Counter) -> Vec<(String, u64)> {
    let mut totals: BTreeMap<&str, (String, u64)> = BTreeMap::new();
    for line in lines.iter().filter(|line| periods.contains(&line.period)) {
        let name = || (figures::key_name(&line.key_id, &line.name), 0);
        let total = &mut totals.entry(&line.key_id).or_insert_with(name).1;
        *total = total.saturating_add(line.counts[counter.index()]);
    }
    let mut totals: Vec<_> = totals
        .into_values()
        .filter(|(_, total)| *total > 0)
        .collect();
    totals.sort_by_key(|(_, total)| std::cmp::Reverse(*total));
    if totals.len() > TOP_KEYS + 1 {
        let others = totals.split_off(TOP_KEYS).into_iter();
        let others = others.fold(0, |sum: u64, (_, total)| sum.saturating_add(total));
        totals.push((OTHERS.to_owned(), others));
    }
    totals
}

fn bars(totals: Vec<(String, u64)>) -> Vec<Bar> {
    let max = totals
        .iter()
        .map(|(_, total)| *total)
        .max()
        .unwrap_or(0)
        .max(1);
    let bar = |(label, total): (String, u64)| Bar {
        label,
        total: figures::grouped(total),
        share: figures::percent(total, max),
    };
    totals.into_iter().map(bar).collect()
}

/// A table per month or day, latest first, of the keys with the most usage.
fn tables(lines: &[&PeriodUsage], counter: Counter) -> Vec<PeriodTable> {
    let mut by_period: BTreeMap<&str, Vec<&PeriodUsage>> = BTreeMap::new();
    for line in lines {
        by_period.entry(&line.period).or_default().push(line);
    }
    let texts = |counts: Counts| counts.map(figures::grouped).into();
    let table = |(period, mut lines): (&str, Vec<&PeriodUsage>)| {
        let totals = texts(sum(lines.iter().map(|line| line.counts)));
        lines.sort_by_key(|line| std::cmp::Reverse(line.counts[counter.index()]));
        let others = lines.len().saturating_sub(ROWS_MAX);
        lines.truncate(ROWS_MAX);
        let line = |line: &&PeriodUsage| UsageRow {
            name: figures::key_name(&line.key_id, &line.name),
            key_id: line.key_id.clone(),
            counts: texts(line.counts),
        };
        PeriodTable {
            period: period.to_owned(),
            totals,
            lines: lines.iter().map(line).collect(),
            others: match others {
                0 => String::new(),
                _ => figures::grouped(others as u64),
            },
        }
    };
    by_period.into_iter().rev().map(table).collect()
}

fn periods(chosen: Period) -> Vec<SelectOption> {
    let choice = |period: Period| SelectOption {
        value: period.as_str().to_owned(),
        label: period.as_str().to_owned(),
        is_chosen: period == chosen,
    };
    Period::ALL.map(choice).into()
}

fn counter_choices(chosen: Counter) -> Vec<SelectOption> {
    let choice = |counter: Counter| SelectOption {
        value: counter.as_str().to_owned(),
        label: name_of(counter).to_owned(),
        is_chosen: counter == chosen,
    };
    Counter::ALL.map(choice).into()
}
