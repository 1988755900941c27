//! Estimates the frequencies of values from a sample of signals.

use time::Date;

use super::document::visit_values;
use super::keys::{Key, Keys, Kind};
use crate::index::Snapshot;
use crate::query::{Filter, Order};
use crate::{Result, text};

/// Signals in a sample. A value that is not in it occurs in at most about one signal in a thousand, and then
/// its exact frequency hardly matters.
const SAMPLE_SIGNALS: usize = 2000;

/// Assumed share of signals with a value that is not in the sample. Slugs and ids are rarer than words, and
/// words are rarer than values of facets.
const fn unseen_share(kind: Kind) -> f64 {
    match kind {
        Kind::Id => 1e-8,
        Kind::CompanySlug | Kind::CompanyName => 1e-6,
        Kind::TitleTerm | Kind::CompanyTerm => 1e-4,
        Kind::Facet(_) => 1e-3,
    }
}

/// Assumed share of signals with a value of a facet, without a sample.
const UNKNOWN_FACET_SHARE: f64 = 0.1;

/// The frequencies of values among the newest signals of an index.
#[derive(Clone, Debug, Default)]
pub(super) struct Frequencies {
    values: Keys,
    counts: Vec<u32>,
    signals: u32,
}

impl Frequencies {
    /// Samples the newest signals, which are most similar to future ones.
    pub(super) fn sample(snapshot: &Snapshot, today: Date) -> Result<Frequencies> {
        let mut frequencies = Frequencies::default();
        let everything = Filter::default();
        let newest = snapshot.matches(&everything, today, Order::NewestFirst);
        for item in newest.take(SAMPLE_SIGNALS) {
            let signal = item?.signal;
            let Some(company) = snapshot.company_record(&signal.company_slug)? else {
                continue;
            };
            let mut seen = Vec::new();
            let mut see = |kind, text: &str| seen.push(frequencies.values.add(kind, text));
            text::analyze(&signal.title, |term| see(Kind::TitleTerm, term));
            text::analyze(&company.name, |term| see(Kind::CompanyTerm, term));
            visit_values(&signal, &company, &|_| true, see);
            frequencies.count(seen);
        }
        Ok(frequencies)
    }

    /// Counts the distinct values of a signal.
    fn count(&mut self, mut seen: Vec<Key>) {
        self.signals += 1;
        self.counts.resize(self.values.count(), 0);
        seen.sort_unstable();
        seen.dedup();
        for key in seen {
            self.counts[key as usize] += 1;
        }
    }

    /// The estimated share of signals with a value.
    pub(super) fn share(&self, kind: Kind, text: &str) -> f64 {
        match self.values.get(kind, text) {
            Some(key) => f64::from(self.counts[key as usize]) / f64::from(self.signals),
            None if self.signals == 0 && matches!(kind, Kind::Facet(_)) => UNKNOWN_FACET_SHARE,
            None => unseen_share(kind),
        }
    }
}
