//! Added signals before their segment is finished: one column per field.
//!
//! Columns take half the memory of a list of structs, because most fields are empty or small, and each is dropped
//! when its sections have been written.

use std::ops::Range;

use super::commits::Commits;
use crate::query::Facet;
use crate::signal::SignalId;
use crate::{Error, Result};

/// The number of the label of each facet, plus one; 0 for none.
pub(super) type FacetLabels = [u32; Facet::ALL.len()];

/// A signal to add.
#[derive(Debug)]
pub(super) struct PendingSignal {
    pub(super) id: SignalId,
    pub(super) commits: Commits,
    pub(super) record: u64,
    pub(super) company: u32,
    pub(super) day: Option<i32>,
    pub(super) amount: Option<f64>,
    pub(super) facets: FacetLabels,
}

/// The added signals, in order of arrival.
#[derive(Debug, Default)]
pub(super) struct PendingSignals {
    pub(super) ids: Vec<SignalId>,
    commits: PendingCommits,
    pub(super) records: Vec<u64>,
    pub(super) companies: Vec<u32>,
    days: Vec<i32>,
    /// The amounts of signals that have one, by arrival.
    pub(super) amounts: Vec<(u32, f64)>,
    /// Labels by facet; those of company facets stay empty.
    labels: [LabelColumn; Facet::ALL.len()],
    /// The forms of all titles, title by title: primary ones, then alternates with their bit.
    pub(super) title_tokens: Vec<u32>,
    /// The end of each title's terms in `title_tokens`.
    title_ends: Vec<u32>,
}

/// The day of a signal without a date; no valid date has this value.
const NO_DAY: i32 = i32::MIN;

impl PendingSignals {
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Adds a signal, whose title has the tokens added since the last signal.
    ///
    /// # Errors
    /// The segment has too many tokens.
    pub(super) fn push(&mut self, signal: PendingSignal) -> Result<()> {
        let arrival = self.len();
        let title_end = u32::try_from(self.title_tokens.len())
            .map_err(|_| Error::full("the titles of a segment have at most 2³² terms"))?;
        self.title_ends.push(title_end);
        self.commits.push(arrival, signal.commits);
        self.records.push(signal.record);
        self.companies.push(signal.company);
        self.days.push(signal.day.unwrap_or(NO_DAY));
        let amount = signal.amount.map(|amount| (arrival as u32, amount));
        self.amounts.extend(amount);
        for facet in Facet::ALL {
            if !facet.is_of_company() {
                self.labels[facet as usize].push(signal.facets[facet as usize]);
            }
        }
        self.ids.push(signal.id);
        Ok(())
    }

    pub(super) fn commits(&self, arrival: u32) -> Commits {
        self.commits.get(arrival as usize)
    }

    /// Takes the days by arrival.
    pub(super) fn take_days(&mut self) -> impl Fn(u32) -> Option<i32> + use<> {
        let days = std::mem::take(&mut self.days);
        move |arrival| Some(days[arrival as usize]).filter(|&day| day != NO_DAY)
    }

    /// Takes the labels of a signal facet by arrival.
    pub(super) fn take_labels(&mut self, facet: Facet) -> LabelColumn {
        std::mem::take(&mut self.labels[facet as usize])
    }

    /// The range of a title's tokens.
    pub(super) fn title(&self, arrival: u32) -> Range<usize> {
        let arrival = arrival as usize;
        let before = arrival.checked_sub(1);
        let start = before.map_or(0, |before| self.title_ends[before]);
        start as usize..self.title_ends[arrival] as usize
    }
}

/// Commits by arrival.
#[derive(Debug, Default)]
struct PendingCommits {
    /// Empty while all are [`Commits::BUILT`].
    of_signals: Vec<Commits>,
}

impl PendingCommits {
    /// Adds those of a signal after `before` others.
    fn push(&mut self, before: usize, commits: Commits) {
        // The first signal with other commits: those before it have had the usual ones.
        if commits != Commits::BUILT && self.of_signals.is_empty() {
            self.of_signals.resize(before, Commits::BUILT);
        }
        if commits != Commits::BUILT || !self.of_signals.is_empty() {
            self.of_signals.push(commits);
        }
    }

    fn get(&self, arrival: usize) -> Commits {
        let commits = self.of_signals.get(arrival).copied();
        commits.unwrap_or(Commits::BUILT)
    }
}

/// Labels by arrival, each its number plus one, or 0 for none.
#[derive(Debug)]
pub(super) enum LabelColumn {
    /// While none is above 255.
    Bytes(Vec<u8>),
    Numbers(Vec<u32>),
}

impl Default for LabelColumn {
    fn default() -> LabelColumn {
        LabelColumn::Bytes(Vec::new())
    }
}

impl LabelColumn {
    fn push(&mut self, label: u32) {
        match self {
            LabelColumn::Numbers(labels) => labels.push(label),
            LabelColumn::Bytes(labels) => match u8::try_from(label) {
                Ok(label) => labels.push(label),
                // The first number above 255 widens the whole column.
                Err(_) => {
                    let labels = labels.iter().copied().map(u32::from);
                    *self = LabelColumn::Numbers(labels.chain([label]).collect());
                }
            },
        }
    }

    pub(super) fn get(&self, arrival: u32) -> u32 {
        match self {
            LabelColumn::Bytes(labels) => labels[arrival as usize].into(),
            LabelColumn::Numbers(labels) => labels[arrival as usize],
        }
    }
}

#[cfg(test)]
mod tests;
