//! What the pace of charges has to reach, as ratios within turns.

use std::time::Duration;

use crate::pace::{MOST, Measured, STEPS, Turn};

/// One more connection has at least this part of the throughput; so has a change at many connections.
const RATIO_MIN: f64 = 0.95;
/// The median time at a number of connections is at most this many times that at [`BASE`].
const TIMES_MAX: [(usize, f64); 2] = [(8, 2.0), (16, 3.0)];
const BASE: usize = 4;
/// Where a change must not cost throughput.
const COMPARED: [usize; 2] = [64, MOST];

/// The processor time of a page is at most this many times that of a constant body, at a number of connections.
const PAGE_TIMES_MAX: [(usize, f64); 2] = [(16, 3.0), (64, 2.5)];

/// A goal with the median of what each turn measured.
pub(crate) struct Goal {
    pub(crate) name: String,
    pub(crate) bound: Bound,
    pub(crate) measured: f64,
}

pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    pub(crate) fn is_met(&self) -> bool {
        match self.bound {
            Bound::AtLeast(min) => self.measured >= min,
            Bound::AtMost(max) => self.measured <= max,
        }
    }
}

/// The goals of the last program, as far as the connections were measured; beside the first if there are two.
pub(crate) fn of(measured: &Measured) -> Vec<Goal> {
    let turns = |connections: usize| measured.get(&connections)?.programs.last();
    let ratio = |one: &[Turn], other: &[Turn], of: fn(&Turn) -> f64| {
        let ratios = one
            .iter()
            .zip(other)
            .map(|(one, other)| of(one) / of(other));
        median(ratios.collect())
    };
    let throughput: fn(&Turn) -> f64 = |turn| turn.per_second;
    let time: fn(&Turn) -> f64 = |turn| turn.p50.as_secs_f64();
    let steps = STEPS.into_iter().filter_map(|step| {
        Some(Goal {
            name: format!("throughput of {} over that of {step}", step + 1),
            bound: Bound::AtLeast(RATIO_MIN),
            measured: ratio(turns(step + 1)?, turns(step)?, throughput),
        })
    });
    let times = TIMES_MAX.into_iter().filter_map(|(connections, max)| {
        Some(Goal {
            name: format!("p50 of {connections} over that of {BASE}"),
            bound: Bound::AtMost(max),
            measured: ratio(turns(connections)?, turns(BASE)?, time),
        })
    });
    let compared = COMPARED.into_iter().filter_map(|connections| {
        let [before, .., after] = measured.get(&connections)?.programs.as_slice() else {
            return None;
        };
        Some(Goal {
            name: format!("throughput of {connections} over that before"),
            bound: Bound::AtLeast(RATIO_MIN),
            measured: ratio(after, before, throughput),
        })
    });
    steps.chain(times).chain(compared).collect()
}

/// The goals of pages of mixed queries.
pub(crate) fn of_pages(measured: &Measured) -> impl Iterator<Item = Goal> {
    PAGE_TIMES_MAX.into_iter().filter_map(|(connections, max)| {
        let level = measured.get(&connections)?;
        let turns = level.programs.last()?.iter().zip(&level.constant);
        let ratios = turns.map(|(page, constant)| page.cpu.div_duration_f64(constant.cpu));
        Some(Goal {
            name: format!("CPU of a page over that of a constant body, {connections} connections"),
            bound: Bound::AtMost(max),
            measured: median(ratios.collect()),
        })
    })
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The median of a time over turns.
pub(crate) fn median_time(turns: &[Turn], of: fn(&Turn) -> Duration) -> Duration {
    Duration::from_secs_f64(median(
        turns.iter().map(|turn| of(turn).as_secs_f64()).collect(),
    ))
}
