//! The page of usage: units by key and month or day, quotas, and requests by endpoint and status.

mod download;
mod periods;
mod requests;
mod spans;

#[cfg(test)]
mod tests;

use askama::Template;
use axum::http::StatusCode;

pub(super) use download::{requests as download_requests, usage as download};

use self::periods::Period;
use self::requests::Requests;
use self::spans::{Span, SpanUsage, Whose};
use super::dashboard::Admin;
use super::failed::PageResult;
use super::figures;
use super::form::{FormData, SelectOption};
use super::key_choices::KeyChoices;
use super::layout::{self, PageLayout};
use super::overview::name_of;
use super::visit::Visit;
use crate::metering::{Counter, Counts, Month};
use crate::state::{KeyUsage, State, StateError};

/// Keys with a row of their own among those with the most usage.
const TOP_KEYS: usize = 5;
/// Rows of a table of keys. The downloads have all.
const ROWS_MAX: usize = 100;
/// Keys whose quotas are shown.
const QUOTA_KEYS_MAX: usize = 25;
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
    /// The counter as a value of the form.
    counter_name: &'static str,
    caption: String,
    by_period: Vec<Bar>,
    by_key: Vec<Bar>,
    quotas: Vec<QuotaLine>,
    month: String,
    requests: Requests,
    /// The usage by key in the chosen month or on the chosen day.
    table: PeriodTable,
    /// The names of the other months or days.
    others: Vec<String>,
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
    admin.0.service.record_requests();
    let keys = KeyChoices::read(state, key)?;
    let whose = match (&keys.chosen, key) {
        (Some(key), _) => Whose::Key(key),
        (None, "") => Whose::All,
        (None, _) => Whose::Nobody,
    };
    let spans = period.spans(now.date());
    let quota = keys.chosen.as_ref().and_then(|key| key.quota(counter));
    let quota = quota.filter(|_| period == Period::Month);
    let mut totals = Vec::new();
    for span in &spans {
        totals.push((span.to_string(), whose.total(state, span)?));
    }
    let chosen = spans
        .iter()
        .find(|span| span.to_string() == form.value("period"));
    let chosen = chosen.unwrap_or(&spans[0]);
    let from = spans.last().map_or(now.date(), Span::first_day);
    let requests = match whose {
        Whose::All => state.request_totals(from)?,
        Whose::Key(key) => state.requests_of(key.number, from..=now.date())?,
        Whose::Nobody => Vec::new(),
    };
    let table = whose.table(state, chosen, counter)?;
    let page = UsagePage {
        layout: PageLayout::of(visit, "Usage"),
        periods: periods(period),
        counters: counter_choices(counter),
        period,
        key,
        counter: name_of(counter),
        counter_name: counter.as_str(),
        caption: caption(&totals, quota),
        by_period: bars(by_period(&totals, counter)),
        by_key: bars(by_key(&table, counter)),
        quotas: quotas(state, whose, counter)?,
        month: Month::of(now).to_string(),
        requests: Requests::of(&requests),
        others: spans
            .iter()
            .map(Span::to_string)
            .filter(|name| *name != table.period)
            .collect(),
        table: PeriodTable::of(table),
        keys,
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

fn caption(totals: &[(String, Counts)], quota: Option<u64>) -> String {
    let ends = totals.last().zip(totals.first());
    let ends = ends.map(|((first, _), (last, _))| format!("{first} to {last}"));
    let ends = ends.unwrap_or_default();
    match quota {
        Some(quota) => format!("{ends}, quota {} a month", figures::grouped(quota)),
        None => ends,
    }
}

/// The quotas of the keys with the most usage this month, largest used part first.
fn quotas(state: &State, whose: Whose<'_>, by: Counter) -> Result<Vec<QuotaLine>, StateError> {
    let month = Month::of(state.now());
    let used = match whose {
        Whose::All => state.top_of_month(month, by, QUOTA_KEYS_MAX)?,
        Whose::Key(_) | Whose::Nobody => Vec::new(),
    };
    let mut keys = Vec::new();
    for line in used {
        let key = state.key(&line.key_id)?;
        keys.extend(key.map(|key| (key, line.counts)));
    }
    if let Whose::Key(key) = whose {
        keys.push((key.clone(), state.counts(key.number, month)?));
    }
    let mut lines = Vec::new();
    for (key, counts) in keys.iter().filter(|(key, _)| key.revoked_at.is_none()) {
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
fn by_period(totals: &[(String, Counts)], counter: Counter) -> Vec<(String, u64)> {
    let totals = totals.iter();
    let totals = totals.map(|(name, counts)| (name.clone(), counts[counter.index()]));
    let totals: Vec<(String, u64)> = totals.collect();
    if totals.iter().all(|(_, total)| *total == 0) {
        return Vec::new();
    }
    totals
}

/// The keys with the most usage in the chosen period, largest first, and all others as one.
fn by_key(table: &SpanUsage, counter: Counter) -> Vec<(String, u64)> {
    let of = |counts: &Counts| counts[counter.index()];
    let used = table.lines.iter().filter(|line| of(&line.counts) > 0);
    let named = used.map(|line| {
        (
            figures::key_name(&line.key_id, &line.name),
            of(&line.counts),
        )
    });
    let mut totals: Vec<(String, u64)> = named.collect();
    if totals.len() > TOP_KEYS + 1 {
        totals.truncate(TOP_KEYS);
        let shown = totals
            .iter()
            .fold(0, |sum: u64, (_, total)| sum.saturating_add(*total));
        let others = of(&table.total).saturating_sub(shown);
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

impl PeriodTable {
    fn of(usage: SpanUsage) -> PeriodTable {
        let texts = |counts: Counts| counts.map(figures::grouped).into();
        let others = usage.keys.saturating_sub(usage.lines.len() as u64);
        let line = |line: KeyUsage| UsageRow {
            name: figures::key_name(&line.key_id, &line.name),
            key_id: line.key_id,
            counts: texts(line.counts),
        };
        PeriodTable {
            period: usage.period,
            totals: texts(usage.total),
            lines: usage.lines.into_iter().map(line).collect(),
            others: match others {
                0 => String::new(),
                _ => figures::grouped(others),
            },
        }
    }
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
