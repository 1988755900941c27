//! The service over time: requests, times of successes and units by minute, hour, day or month, and by endpoint.

mod json;
mod spans;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub(super) use json::show as as_json;

use self::spans::SeriesSpan;
use super::figures;
use crate::keys::KeyRecord;
use crate::state::{SeriesFigures, SeriesLine, State, StateError};

/// A part of a page: the series of all keys or of one.
pub(super) struct SeriesSection {
    pub(super) spans: Vec<SpanLink>,
    /// The length of a step.
    pub(super) unit: &'static str,
    /// The steps, latest first.
    pub(super) rows: Vec<SeriesRow>,
    pub(super) endpoints: Vec<SeriesRow>,
    /// Whether there was any request.
    pub(super) is_used: bool,
}

/// A link to a span.
pub(super) struct SpanLink {
    pub(super) name: &'static str,
    pub(super) link: String,
    pub(super) is_shown: bool,
}

/// A step, or an endpoint.
pub(super) struct SeriesRow {
    pub(super) label: String,
    pub(super) requests: String,
    /// Percentage of the most requests.
    pub(super) share: u64,
    /// Answers of 2xx, 4xx and 5xx, median and 99th percentile, units.
    pub(super) cells: [String; 6],
    /// The same for the chart: seconds since 1970, requests, answers of 2xx, 4xx and 5xx, times in seconds, units.
    pub(super) plotted: String,
}

impl SeriesSection {
    /// The heads of [`SeriesRow::cells`].
    pub(super) const HEADS: [&'static str; 6] = [
        "Answered",
        "Refused",
        "Failed",
        "Median",
        "99th percentile",
        "Units",
    ];

    /// The series of all keys or of one in the span of a name, on the page of an address that ends with `?` or `&`.
    pub(super) fn read(
        state: &State,
        key: Option<&KeyRecord>,
        span: &str,
        page: &str,
    ) -> Result<SeriesSection, StateError> {
        let now = state.now().unix_timestamp().div_euclid(60);
        let span = SeriesSpan::of_name(span, key.is_some());
        let minutes = span.minutes(now);
        let lines = state.series(key.map(|key| key.number), span.step(), minutes)?;
        let links = SeriesSpan::all(key.is_some()).map(|known| SpanLink {
            name: known.label(),
            link: format!("{page}span={}#series-heading", known.as_str()),
            is_shown: known == span,
        });
        Ok(SeriesSection {
            spans: links.collect(),
            unit: span.unit(),
            rows: step_rows(span, now, &lines),
            endpoints: endpoint_rows(&lines),
            is_used: !lines.is_empty(),
        })
    }
}

/// Every step of a span, also those without requests.
fn step_rows(span: SeriesSpan, now: i64, lines: &[SeriesLine]) -> Vec<SeriesRow> {
    let starts = span.starts(now).into_iter();
    let mut steps: BTreeMap<i64, SeriesFigures> = starts
        .map(|start| (start, SeriesFigures::default()))
        .collect();
    for line in lines {
        if let Some((_, figures)) = steps.range_mut(..=line.start).next_back() {
            figures.merge(&line.figures);
        }
    }
    let most = steps.values().map(|figures| figures.requests).max();
    let row = |(start, figures): (i64, &SeriesFigures)| {
        SeriesRow::new(span.label_of(start), start, figures, most.unwrap_or(0))
    };
    let steps = steps.iter().rev();
    steps
        .map(|(start, figures)| row((*start, figures)))
        .collect()
}

/// The endpoints by name.
fn endpoint_rows(lines: &[SeriesLine]) -> Vec<SeriesRow> {
    let by_endpoint = sums(lines);
    let most = by_endpoint.values().map(|figures| figures.requests).max();
    let rows = by_endpoint.into_iter();
    rows.map(|(endpoint, figures)| {
        SeriesRow::new(endpoint.to_owned(), 0, &figures, most.unwrap_or(0))
    })
    .collect()
}

/// The sums of lines by endpoint.
fn sums(lines: &[SeriesLine]) -> BTreeMap<&str, SeriesFigures> {
    let mut sums: BTreeMap<&str, SeriesFigures> = BTreeMap::new();
    for line in lines {
        let sum = sums.entry(&line.endpoint).or_default();
        sum.merge(&line.figures);
    }
    sums
}

impl SeriesRow {
    fn new(label: String, start: i64, figures: &SeriesFigures, most: u64) -> SeriesRow {
        let times = [50, 99].map(|percent| figures.times.percentile(percent));
        let [median, p99] = times.map(|time| time.map_or("–".to_owned(), figures::duration));
        let seconds = times.map(|time| time.map_or(0.0, |time| time.as_secs_f64()));
        let SeriesFigures {
            requests,
            succeeded,
            refused,
            failed,
            units,
            ..
        } = figures;
        let [answered, refused_text, failed_text, units_text] =
            [*succeeded, *refused, *failed, *units].map(figures::grouped);
        SeriesRow {
            label,
            requests: figures::grouped(*requests),
            share: figures::percent(*requests, most),
            cells: [answered, refused_text, failed_text, median, p99, units_text],
            plotted: format!(
                "{},{requests},{succeeded},{refused},{failed},{},{},{units}",
                start * 60,
                seconds[0],
                seconds[1]
            ),
        }
    }
}
