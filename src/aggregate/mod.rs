//! Aggregates: what an answer is, what it means, exact figures of amounts, and answers of parts that add up.
//!
//! ```text
//! AggregateQuery::of   the law: a plain loop over records
//! Aggregates           an answer: groups, in order, and totals
//! PartialAggregates    counters and amounts of one part of the signals, merged and finished to an answer
//! decimal              sums and quantiles of amounts as the decimal numbers that JSON shows
//! ```

mod answer;
mod decimal;
mod law;
mod measure;
mod partial;
mod ranking;

pub use answer::{AggregateGroup, AggregateTotals, Aggregates, AmountFigures, Figures, KeyValue};
pub(crate) use decimal::{hundredths, rounded_hundredths};
pub(crate) use measure::{measured_amounts, sum_of_bits};
pub(crate) use partial::check_groups;
pub(crate) use ranking::needs_sum;

pub use partial::{AmountCount, PartialAggregates, PartialGroup};
