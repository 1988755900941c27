//! Estimates of the number of rows that a step matches.

use std::fmt;

/// An estimated number of rows with certain bounds.
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
    /// An exact number.
    pub(crate) fn exact(rows: u64) -> Estimate {
        Estimate {
            min: rows,
            expected: rows,
            max: rows,
        }
    }

    /// The union of several sources: at least the largest, at most all rows.
    pub(crate) fn union(parts: impl Iterator<Item = u64>, rows: u64) -> Estimate {
        let (largest, total) = parts.fold((0, 0), |(largest, total), part| {
            (u64::max(largest, part), total + part)
        });
        // The sources may overlap, so the sum is only an upper bound.
        let max = total.min(rows);
        Estimate {
            min: largest,
            expected: max,
            max,
        }
    }

    /// The union with several parts, at most all rows.
    pub(crate) fn or(self, parts: impl Iterator<Item = Estimate>, rows: u64) -> Estimate {
        parts.fold(self, |all, part| Estimate {
            min: all.min.max(part.min),
            expected: (all.expected + part.expected).min(rows),
            max: (all.max + part.max).min(rows),
        })
    }

    /// The rows with a phrase: at most those of its rarest word. Words of a phrase that users search for usually
    /// occur together, so half is assumed.
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
