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
        Kind::TitleTerm | Kind::CompanyTerm | Kind::TitlePrefix => 1e-4,
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
    /// The words of titles, sorted, with the number of signals that have each.
    title_words: Vec<(Box<str>, u32)>,
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
            text::visit_forms(&signal.title, |form| see(Kind::TitleTerm, form.text));
            text::visit_name_forms(&company.name, |form| see(Kind::CompanyTerm, form.text));
            visit_values(&signal, &company, &|_| true, see);
            frequencies.count(seen);
        }
        let title_words = frequencies.values.of_kind(Kind::TitleTerm);
        let counted =
            title_words.map(|(word, key)| (word.into(), frequencies.counts[key as usize]));
        frequencies.title_words = counted.collect();
        frequencies.title_words.sort_unstable();
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
        if kind == Kind::TitlePrefix {
            return self.prefix_share(text);
        }
        match self.values.get(kind, text) {
            Some(key) => f64::from(self.counts[key as usize]) / f64::from(self.signals),
            None if self.signals == 0 && matches!(kind, Kind::Facet(_)) => UNKNOWN_FACET_SHARE,
            None => unseen_share(kind),
        }
    }

    /// An upper bound of the estimated share of signals with a word that begins so.
    fn prefix_share(&self, beginning: &str) -> f64 {
        let words = &self.title_words;
        let start = words.partition_point(|(word, _)| **word < *beginning);
        let words = words[start..].iter();
        let words = words.take_while(|(word, _)| word.starts_with(beginning));
        match words.map(|&(_, count)| f64::from(count)).sum::<f64>() {
            0.0 => unseen_share(Kind::TitlePrefix),
            count => count / f64::from(self.signals),
        }
    }
}
