//! What a corpus says about itself: ids, frequencies of terms, and a sample of its signals.

use std::collections::HashMap;

use signaldex::query::Facet;
use signaldex::{Found, Result, Snapshot, text};
use time::Date;

use super::random::mixed;

/// Signals sampled, about: enough that one in a hundred still has dozens in the sample.
const SAMPLES: u64 = 16_384;

/// Figures of a corpus, found by one scan.
pub(crate) struct Statistics {
    /// The ids of all signals, ascending.
    pub ids: Vec<u64>,
    /// The number of titles that have a term.
    frequencies: HashMap<String, u32>,
    /// Signals spread evenly over the corpus.
    samples: Vec<Sample>,
}

/// What queries can ask of one signal.
pub(crate) struct Sample {
    /// The terms of its title, in order.
    pub terms: Vec<String>,
    /// Its labels, one place a facet.
    pub labels: [Option<String>; Facet::ALL.len()],
    /// The slug of its company.
    pub company: String,
    /// Its date.
    pub date: Option<Date>,
    /// The amount of its funding.
    pub amount: Option<f64>,
}

impl Statistics {
    /// Scans a corpus of one segment, whose records come by ascending id.
    ///
    /// # Errors
    /// A record is corrupt.
    pub(crate) fn of(snapshot: &Snapshot) -> Result<Statistics> {
        let step = (snapshot.signal_count() / SAMPLES).max(1);
        let mut statistics = Statistics {
            ids: Vec::with_capacity(snapshot.signal_count() as usize),
            frequencies: HashMap::new(),
            samples: Vec::new(),
        };
        for found in snapshot.scan() {
            statistics.add(&found?, step);
        }
        Ok(statistics)
    }

    /// The number of signals.
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// The number of titles that have a term.
    pub(crate) fn frequency(&self, term: &str) -> usize {
        self.frequencies
            .get(term)
            .map_or(0, |&count| count as usize)
    }

    /// The sampled signals.
    pub(crate) fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// The terms that occur in `min` to `max` titles, in alphabetical order.
    pub(crate) fn terms_between(&self, min: usize, max: usize) -> Vec<&str> {
        let frequencies = self.frequencies.iter();
        let mut terms: Vec<&str> = frequencies
            .filter(|&(_, &count)| (min..=max).contains(&(count as usize)))
            .map(|(term, _)| term.as_str())
            .collect();
        terms.sort_unstable();
        terms
    }

    /// The first `letters` characters of terms, with the number of terms that begin so; those of most terms first.
    #[allow(dead_code, reason = "only benches of prefix words ask for them")]
    pub(crate) fn prefixes(&self, letters: usize) -> Vec<(&str, usize)> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for term in self.frequencies.keys() {
            let end = term.char_indices().nth(letters - 1);
            let prefix = end.map(|(start, last)| &term[..start + last.len_utf8()]);
            let is_latin = |prefix: &&str| prefix.bytes().all(|byte| byte.is_ascii_alphanumeric());
            if let Some(prefix) = prefix.filter(is_latin) {
                *counts.entry(prefix).or_default() += 1;
            }
        }
        let mut prefixes: Vec<(&str, usize)> = counts.into_iter().collect();
        prefixes.sort_unstable_by_key(|&(prefix, count)| (std::cmp::Reverse(count), prefix));
        prefixes
    }

    fn add(&mut self, found: &Found<'_>, step: u64) {
        let mut terms = text::terms(&found.signal.title);
        if mixed(self.ids.len() as u64).is_multiple_of(step) {
            self.samples.push(Sample::of(found, terms.clone()));
        }
        self.ids.push(found.signal.id.get());
        terms.sort_unstable();
        terms.dedup();
        for term in terms {
            *self.frequencies.entry(term).or_default() += 1;
        }
    }
}

impl Sample {
    fn of(found: &Found<'_>, terms: Vec<String>) -> Sample {
        let label = |facet: Facet| {
            let label = facet.label(&found.signal, &found.company);
            label.map(|label| label.into_owned())
        };
        Sample {
            terms,
            labels: Facet::ALL.map(label),
            company: found.company.slug.to_string(),
            date: found.signal.date,
            amount: found.signal.funding.as_ref().and_then(|f| f.amount),
        }
    }

    /// The label of a facet.
    pub(crate) fn label(&self, facet: Facet) -> Option<&str> {
        self.labels[facet as usize].as_deref()
    }
}
