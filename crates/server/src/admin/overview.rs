//! The start page: today's requests, latencies and usage.

use std::ops::RangeInclusive;

use askama::Template;
use axum::http::StatusCode;
use time::UtcDateTime;

use super::dashboard::Admin;
use super::failed::PageResult;
use super::figures;
use super::form::FormData;
use super::layout::{self, Fact, PageLayout};
use super::series::SeriesSection;
use super::visit::Visit;
use crate::metering::{Counter, Counts, Month};
use crate::pages;
use crate::state::{BusyKey, QuotaAlert, REACHED_MAX, RequestTotal, SeriesStep, State, StateError};
use crate::time_histogram::TimeHistogram;
use crate::webhooks::SearchStatus;

/// Number of keys shown in the list of the most active ones.
const TOP_KEYS: usize = 5;
/// Number of quotas named that are used up or nearly so.
const QUOTAS_SHOWN: usize = 5;
/// Statuses of requests that were refused.
const REFUSED: RangeInclusive<u16> = 400..=499;
/// Statuses of requests that the service failed to answer.
const FAILED: RangeInclusive<u16> = 500..=599;

#[derive(Template)]
#[template(path = "overview.html", config = "src/admin/askama.toml")]
struct Overview<'a> {
    layout: PageLayout<'a>,
    facts: Vec<Fact>,
    quotas: QuotaBanner,
    /// The webhooks that do not go on by themselves: how many of a status, in words, and the status.
    stopped: Vec<(String, SearchStatus)>,
    series: SeriesSection,
    top_keys: Vec<TopKey>,
    month: String,
    used: Vec<Fact>,
    /// The first steps for a new service; `None` after the first answer this month.
    first_steps: Option<FirstSteps>,
    public_url: &'a str,
}

/// A key with its requests today.
struct TopKey {
    name: String,
    /// Empty for requests without a valid key.
    id: String,
    requests: u64,
    /// Answers of 4xx.
    refused: u64,
    /// Answers of 5xx.
    failed: u64,
}

impl TopKey {
    fn new(busy: BusyKey) -> TopKey {
        let (id, name) = match busy.key {
            Some((id, name)) => (id.clone(), figures::key_name(&id, &name)),
            None => (String::new(), "no valid key".to_owned()),
        };
        TopKey {
            name,
            id,
            requests: busy.requests,
            refused: busy.refused,
            failed: busy.failed,
        }
    }

    /// The figures of the row, as its columns have them.
    fn figures(&self) -> [String; 3] {
        [self.requests, self.refused, self.failed].map(figures::grouped)
    }
}

/// The quotas that are used up or nearly so.
struct QuotaBanner {
    lines: Vec<QuotaNotice>,
    /// How many more there are; empty if none.
    others: String,
    is_used_up: bool,
}

/// A quota of a key.
struct QuotaNotice {
    id: String,
    name: String,
    hint: String,
    text: String,
}

impl QuotaBanner {
    fn read(state: &State, now: UtcDateTime) -> Result<QuotaBanner, StateError> {
        let (reached, all) = state.reached_quotas(now, QUOTAS_SHOWN)?;
        let others = all - reached.len();
        Ok(QuotaBanner {
            is_used_up: reached.iter().any(|alert| alert.percent >= 100),
            lines: reached.into_iter().map(QuotaNotice::new).collect(),
            others: match others {
                0 => String::new(),
                _ if all >= REACHED_MAX as usize => {
                    format!("At least {}", figures::grouped(others as u64))
                }
                _ => figures::grouped(others as u64),
            },
        })
    }
}

impl QuotaNotice {
    fn new(alert: QuotaAlert) -> QuotaNotice {
        let what = if alert.percent >= 100 {
            "has used up its quota".to_owned()
        } else {
            let percent = figures::percent(alert.used, alert.quota);
            format!("has used {percent} % of its quota")
        };
        let [used, quota] = [alert.used, alert.quota].map(figures::grouped);
        let counter = name_of(alert.counter).to_lowercase();
        QuotaNotice {
            name: figures::key_name(&alert.key_id, &alert.name),
            id: alert.key_id,
            hint: alert.hint.unwrap_or_default(),
            text: format!("{what} of {counter}: {used} of {quota}"),
        }
    }
}

/// Which first steps are done.
struct FirstSteps {
    has_key: bool,
}

pub(super) fn show(admin: &Admin, visit: &Visit) -> PageResult {
    let service = &admin.0.service;
    let now = service.0.state.now();
    service.record_requests();
    let requests = service.0.state.request_totals(now.date())?;
    let busiest = service.0.state.busiest_keys(now.date(), TOP_KEYS)?;
    let todays = service.0.state.day_total(now.date())?;
    let totals = service.0.state.month_total(Month::of(now))?;
    let active_keys = service.0.state.active_keys(now)?;
    let is_new = requests.is_empty() && totals.iter().all(|&total| total == 0);
    let times = times_of_today(&service.0.state, now)?;
    let form = FormData::parse(visit.query.as_bytes());
    let page = Overview {
        layout: PageLayout::of(visit, "Overview"),
        facts: facts(admin, (&requests, &times), active_keys),
        quotas: QuotaBanner::read(&service.0.state, now)?,
        stopped: stopped(&service.0.state)?,
        series: SeriesSection::read(&service.0.state, None, form.value("span"), "/?")?,
        top_keys: busiest.into_iter().map(TopKey::new).collect(),
        month: Month::of(now).to_string(),
        used: Counter::ALL
            .map(|counter| used(counter, totals, todays))
            .into(),
        first_steps: is_new.then_some(FirstSteps {
            has_key: active_keys > 0,
        }),
        public_url: &admin.0.settings.public_url,
    };
    layout::render(StatusCode::OK, &page)
}

/// Such as "2 webhooks are disabled", for each status that some have.
fn stopped(state: &State) -> Result<Vec<(String, SearchStatus)>, StateError> {
    let counts = state.stopped_webhooks()?.into_iter();
    let text = |(status, count): (SearchStatus, u64)| match count {
        0 => None,
        1 => Some((format!("1 webhook is {status}"), status)),
        _ => Some((
            format!("{} webhooks are {status}", figures::grouped(count)),
            status,
        )),
    };
    Ok(counts.filter_map(text).collect())
}

/// Times of the successes of today, of all processes that share the state.
fn times_of_today(state: &State, now: UtcDateTime) -> Result<TimeHistogram, StateError> {
    let now = now.unix_timestamp().div_euclid(60);
    let today = SeriesStep::Day.start_of(now);
    let mut times = TimeHistogram::default();
    for line in state.series(None, SeriesStep::Day, today..now + 1)? {
        times.merge(&line.figures.times);
    }
    Ok(times)
}

fn facts(
    admin: &Admin,
    (requests, times): (&[RequestTotal], &TimeHistogram),
    active_keys: u64,
) -> Vec<Fact> {
    let service = &admin.0.service.0;
    let health = match pages::error(service) {
        None => Fact::new("Health", "ready", "answers requests with a key"),
        Some(error) => Fact::new("Health", "not ready", error),
    };
    let time = |percent| {
        let time = times.percentile(percent);
        time.map_or("–".to_owned(), figures::duration)
    };
    let uptime = figures::uptime(service.activity.uptime());
    let keys = figures::grouped(active_keys);
    vec![
        health,
        requests_fact(requests),
        status_fact(
            requests,
            "Refused today",
            REFUSED,
            "faults of clients (4xx)",
        ),
        status_fact(
            requests,
            "Failed today",
            FAILED,
            "faults of the service (5xx)",
        ),
        Fact::new(
            "Median time",
            time(50),
            "to the first byte of a success (2xx), today",
        ),
        Fact::new(
            "99th percentile",
            time(99),
            "one success in 100 takes longer",
        ),
        Fact::new("Uptime", uptime, "of this process"),
        Fact::new("Active keys", keys, ""),
    ]
}

fn requests_fact(requests: &[RequestTotal]) -> Fact {
    let all: u64 = requests.iter().map(|line| line.requests).sum();
    Fact::new(
        "Requests today",
        figures::grouped(all),
        "to the API, since midnight UTC",
    )
}

fn status_fact(
    requests: &[RequestTotal],
    name: &'static str,
    statuses: RangeInclusive<u16>,
    note: &str,
) -> Fact {
    let lines = requests
        .iter()
        .filter(|line| statuses.contains(&line.status));
    let count = lines.map(|line| line.requests).sum();
    Fact::new(name, figures::grouped(count), note)
}

fn used(counter: Counter, totals: Counts, todays: Counts) -> Fact {
    let what = match counter {
        Counter::Signals => "returned by searches",
        Counter::Activities => "signal details",
        Counter::Companies => "companies found, company details, groups by company",
        Counter::FreeAnswers => "counts, filter options and aggregates; not billed",
    };
    let [total, today] = [totals, todays].map(|counts| figures::grouped(counts[counter.index()]));
    Fact::new(name_of(counter), total, format!("{what}; {today} today"))
}

/// The heading of a counter.
pub(super) const fn name_of(counter: Counter) -> &'static str {
    match counter {
        Counter::Signals => "Signals",
        Counter::Activities => "Activities",
        Counter::Companies => "Companies",
        Counter::FreeAnswers => "Free answers",
    }
}
