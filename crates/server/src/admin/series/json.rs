//! `GET /series.json`: the series for programs, of all keys or of one.

use std::ops::Range;
use std::time::Duration;

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use serde::Serialize;
use time::UtcDateTime;
use time::format_description::well_known::Rfc3339;

use super::spans::instant;
use crate::admin::dashboard::Admin;
use crate::admin::failed::{Failed, PageResult};
use crate::admin::form::FormData;
use crate::admin::visit::Visit;
use crate::state::{SeriesLine, SeriesStep, State, StateError};

/// Steps of an answer: two days by minute.
const STEPS_MAX: i64 = 2 * 24 * 60;
/// Steps before `to` of an answer without `from`.
const STEPS_DEFAULT: i64 = 48;

/// What was asked for.
struct SeriesWanted {
    step: SeriesStep,
    minutes: Range<i64>,
    /// Number and id of the key.
    key: Option<(i64, String)>,
}

#[derive(Serialize)]
struct SeriesJson<'a> {
    step: &'static str,
    from: String,
    to: String,
    key: Option<&'a str>,
    points: Vec<PointJson<'a>>,
}

/// The figures of an endpoint in a step. Steps without requests have none.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PointJson<'a> {
    at: String,
    endpoint: &'a str,
    requests: u64,
    succeeded: u64,
    refused: u64,
    failed: u64,
    median_seconds: Option<f64>,
    p99_seconds: Option<f64>,
    units: u64,
}

#[derive(Serialize)]
struct SeriesFaults {
    errors: Vec<String>,
}

/// The series that a query string asks for.
pub(in crate::admin) fn show(admin: &Admin, visit: &Visit) -> PageResult {
    let service = &admin.0.service;
    service.record_requests();
    let state = &service.0.state;
    let form = FormData::parse(visit.query.as_bytes());
    let wanted = match wanted(state, &form)? {
        Ok(wanted) => wanted,
        Err(errors) => return answer(StatusCode::BAD_REQUEST, &SeriesFaults { errors }),
    };
    let key = wanted.key.as_ref();
    let lines = state.series(
        key.map(|(number, _)| *number),
        wanted.step,
        wanted.minutes.clone(),
    )?;
    let series = SeriesJson {
        step: wanted.step.as_str(),
        from: text(wanted.minutes.start),
        to: text(wanted.minutes.end),
        key: key.map(|(_, id)| id.as_str()),
        points: lines.iter().map(PointJson::of).collect(),
    };
    answer(StatusCode::OK, &series)
}

fn answer(status: StatusCode, body: &impl Serialize) -> PageResult {
    let body = serde_json::to_vec(body).map_err(|error| Failed::of(&error))?;
    Ok((status, [(CONTENT_TYPE, "application/json")], body).into_response())
}

/// Reads the query string, or tells every fault of it.
fn wanted(state: &State, form: &FormData) -> Result<Result<SeriesWanted, Vec<String>>, StateError> {
    let mut errors = Vec::new();
    let mut minute = |name: &str| match form.value(name) {
        "" => None,
        typed => {
            let minute = minute_of(typed);
            if minute.is_none() {
                errors.push(format!(
                    "{name}: not an instant; write it as 2026-06-30T14:00:00Z"
                ));
            }
            minute
        }
    };
    let (from, to) = (minute("from"), minute("to"));
    let key = match form.value("key") {
        "" => None,
        id => {
            let key = state.key(id)?;
            if key.is_none() {
                errors.push(
                    "key: there is no such key; `signaldex keys list` lists the ids".to_owned(),
                );
            }
            key.map(|key| (key.number, key.id))
        }
    };
    let step = step_of(form.value("step"), key.is_some(), &mut errors);
    let to = to.unwrap_or_else(|| state.now().unix_timestamp().div_euclid(60) + 1);
    let from = from.unwrap_or_else(|| to.saturating_sub(STEPS_DEFAULT * step.minutes()));
    let minutes = step.start_of(from)..to;
    if minutes.is_empty() {
        errors.push("from: not before to".to_owned());
    } else if (minutes.end - minutes.start) / step.minutes() > STEPS_MAX {
        errors.push(format!(
            "from: an answer has at most {STEPS_MAX} steps; ask for longer steps or a later from"
        ));
    }
    let wanted = SeriesWanted { step, minutes, key };
    Ok(if errors.is_empty() {
        Ok(wanted)
    } else {
        Err(errors)
    })
}

fn step_of(name: &str, is_of_key: bool, errors: &mut Vec<String>) -> SeriesStep {
    if name.is_empty() {
        return SeriesStep::Hour;
    }
    let mut steps = SeriesStep::ALL.into_iter();
    match steps.find(|step| step.as_str() == name) {
        Some(step) if step.days_kept(is_of_key) == 0 => {
            errors.push("step: a key has no series by minute; ask for hour or day".to_owned());
            step
        }
        Some(step) => step,
        None => {
            errors.push("step: one of minute, hour and day".to_owned());
            SeriesStep::Hour
        }
    }
}

fn minute_of(typed: &str) -> Option<i64> {
    let instant = UtcDateTime::parse(typed, &Rfc3339).ok()?;
    Some(instant.unix_timestamp().div_euclid(60))
}

fn text(minute: i64) -> String {
    instant(minute).format(&Rfc3339).unwrap_or_default()
}

impl PointJson<'_> {
    fn of(line: &SeriesLine) -> PointJson<'_> {
        let figures = &line.figures;
        let seconds = |percent| figures.times.percentile(percent);
        PointJson {
            at: text(line.start),
            endpoint: &line.endpoint,
            requests: figures.requests,
            succeeded: figures.succeeded,
            refused: figures.refused,
            failed: figures.failed,
            median_seconds: seconds(50).as_ref().map(Duration::as_secs_f64),
            p99_seconds: seconds(99).as_ref().map(Duration::as_secs_f64),
            units: figures.units,
        }
    }
}
