//! The values that occur in searches, with their frequencies.

use super::frequencies::Frequencies;
use super::keys::{Key, Keys, Kind};

#[derive(Clone, Debug, Default)]
pub(super) struct Vocabulary {
    pub(super) keys: Keys,
    pub(super) frequencies: Frequencies,
    /// By key.
    shares: Vec<f64>,
}

impl Vocabulary {
    pub(super) fn new(frequencies: Frequencies) -> Vocabulary {
        Vocabulary {
            frequencies,
            ..Vocabulary::default()
        }
    }

    /// The number of a value, assigned if it has none.
    pub(super) fn add(&mut self, kind: Kind, text: &str) -> Key {
        let key = self.keys.add(kind, text);
        if self.shares.len() < self.keys.count() {
            self.shares.push(self.frequencies.share(kind, text));
        }
        key
    }

    /// An upper bound of the share of signals with at least one of these values.
    pub(super) fn share(&self, keys: &[Key]) -> f64 {
        keys.iter().map(|&key| self.shares[key as usize]).sum()
    }

    /// The rarest of these values.
    pub(super) fn rarest(&self, keys: &[Key]) -> Option<Key> {
        let share = |key: &Key| self.shares[*key as usize];
        keys.iter()
            .copied()
            .min_by(|one, other| share(one).total_cmp(&share(other)))
    }
}
