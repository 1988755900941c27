//! How many rows a step is thought to match.

use std::fmt;

/// A number of rows, with the bounds that are known for certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Estimate {
    /// At least this many rows match.
    pub min: u64,
    /// The best guess.
    pub expected: u64,
    /// At most this many rows match.
    pub max: u64,
}

impl Estimate {
    /// A number that is known.
    pub(crate) fn exact(rows: u64) -> Estimate {
        Estimate {
            min: rows,
            expected: rows,
            max: rows,
        }
    }

    /// The rows of any of several sources: at least those of the largest, at most all.
    pub(crate) fn union(parts: impl Iterator<Item = u64>, rows: u64) -> Estimate {
        let (largest, total) = parts.fold((0, 0), |(largest, total), part| {
            (u64::max(largest, part), total + part)
        });
        let max = total.min(rows);
        Estimate {
            min: largest,
            expected: max,
            max,
        }
    }

    /// The rows of this or of any of several parts; at most all.
    pub(crate) fn or(self, parts: impl Iterator<Item = Estimate>, rows: u64) -> Estimate {
        parts.fold(self, |all, part| Estimate {
            min: all.min.max(part.min),
            expected: (all.expected + part.expected).min(rows),
            max: (all.max + part.max).min(rows),
        })
    }

    /// The rows that hold all words of a phrase next to each other: at most those of the rarest.
    /// Words of a phrase that is searched for usually do occur together, so half is guessed.
    pub(crate) fn phrase(rarest: u64) -> Estimate {
        Estimate {
            min: 0,
            expected: rarest / 2,
            max: rarest,
        }
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.min == self.max {
            write!(f, "{}", self.expected)
        } else {
            write!(f, "{} ({}..{})", self.expected, self.min, self.max)
        }
    }
}
