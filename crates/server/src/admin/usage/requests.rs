//! Requests by endpoint and status.

use std::collections::{BTreeMap, BTreeSet};

use crate::admin::figures;
use crate::state::RequestTotal;

/// A table with a row per endpoint and a column per status.
pub(super) struct Requests {
    pub(super) statuses: Vec<u16>,
    pub(super) rows: Vec<EndpointRow>,
    pub(super) totals: Vec<String>,
    /// Requests refused for an exhausted quota (402), and for an exceeded rate (429).
    pub(super) over_quota: String,
    pub(super) over_rate: String,
}

pub(super) struct EndpointRow {
    pub(super) endpoint: String,
    /// Counts by status, and the total.
    pub(super) counts: Vec<String>,
}

impl Requests {
    /// The table of requests, of a key or of all.
    pub(super) fn of(lines: &[RequestTotal]) -> Requests {
        let statuses: BTreeSet<u16> = lines.iter().map(|line| line.status).collect();
        let statuses: Vec<u16> = statuses.into_iter().collect();
        let mut by_endpoint: BTreeMap<&str, BTreeMap<u16, u64>> = BTreeMap::new();
        let mut by_status: BTreeMap<u16, u64> = BTreeMap::new();
        for line in lines {
            let counts = by_endpoint.entry(&line.endpoint).or_default();
            *counts.entry(line.status).or_default() += line.requests;
            *by_status.entry(line.status).or_default() += line.requests;
        }
        let count = |counts: &BTreeMap<u16, u64>, status: u16| {
            figures::grouped(counts.get(&status).copied().unwrap_or(0))
        };
        let texts = |counts: &BTreeMap<u16, u64>| {
            let all = figures::grouped(counts.values().sum());
            let texts = statuses.iter().map(|&status| count(counts, status));
            texts.chain([all]).collect()
        };
        let rows = by_endpoint.iter().map(|(endpoint, counts)| EndpointRow {
            endpoint: (*endpoint).to_owned(),
            counts: texts(counts),
        });
        Requests {
            rows: rows.collect(),
            totals: texts(&by_status),
            over_quota: count(&by_status, 402),
            over_rate: count(&by_status, 429),
            statuses,
        }
    }
}
