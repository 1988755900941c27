//! The order of results, and how the text form of queries writes it.

use crate::signal::SignalId;

/// The pair for oldest first, which is not a parameter of the API; newest first has no pair.
pub(super) const OLDEST_FIRST: &str = "order=oldest";

/// The order of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub enum Order {
    /// By descending id.
    #[default]
    NewestFirst,
    /// By ascending id.
    OldestFirst,
}

impl Order {
    /// Whether an id comes before another.
    pub(crate) fn puts_first(self, id: SignalId, other: SignalId) -> bool {
        match self {
            Order::OldestFirst => id < other,
            Order::NewestFirst => id > other,
        }
    }
}

/// The order given by a pair, if it is the pair of the order.
pub(super) fn order_of(pair: &str) -> Option<Order> {
    (pair == OLDEST_FIRST).then_some(Order::OldestFirst)
}
