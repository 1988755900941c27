//! The order of results: what [`Order::compare`] says, and what the engine sorts by.

use std::cmp::{Ordering, Reverse};
use std::fmt;
use std::str::FromStr;

use crate::signal::{Signal, SignalId};

/// The order of a result.
///
/// Signals without the value come last in both directions, and equal values come by descending id.
///
/// ```
/// use signaldex::query::Order;
/// use signaldex::{Query, sample};
///
/// let query = Query::builder().keywords("raises").order(Order::LatestDate).limit(10).build()?;
/// let snapshot = sample::index()?.snapshot();
/// let page = snapshot.search(&query, sample::AS_OF)?;
/// let items = snapshot.records(&page)?;
/// assert!(items.is_sorted_by(|a, b| Order::LatestDate.compare(&a.signal, &b.signal).is_lt()));
/// assert_eq!(query.to_string(), "all=raises&limit=10&order=-date");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// `newest`: by descending id.
    #[default]
    NewestFirst,
    /// `oldest`: by ascending id.
    OldestFirst,
    /// `-date`: by descending date.
    LatestDate,
    /// `date`: by ascending date.
    EarliestDate,
    /// `-amount`: by descending amount of the funding. Amounts are compared as numbers, whatever their currency, so a
    /// query must have a `fundingCurrency`.
    LargestAmount,
    /// `amount`: by ascending amount; otherwise as [`LargestAmount`](Order::LargestAmount).
    SmallestAmount,
}

parse_error!(
    ParseOrderError,
    "The error for a text that is not an [`Order`].",
    "allowed are newest, oldest, -date, date, -amount, amount"
);

impl Order {
    /// Every order.
    pub const ALL: [Order; 6] = [
        Order::NewestFirst,
        Order::OldestFirst,
        Order::LatestDate,
        Order::EarliestDate,
        Order::LargestAmount,
        Order::SmallestAmount,
    ];

    /// The names of all orders, in the order of [`ALL`](Order::ALL).
    pub(super) const NAMES: [&'static str; 6] =
        ["newest", "oldest", "-date", "date", "-amount", "amount"];

    /// The name in a query string.
    ///
    /// ```
    /// use signaldex::query::Order;
    ///
    /// assert_eq!(Order::LargestAmount.as_str(), "-amount");
    /// assert_eq!("-amount".parse(), Ok(Order::LargestAmount));
    /// ```
    pub fn as_str(self) -> &'static str {
        Order::NAMES[self as usize]
    }

    /// Compares two signals: the definition of the order, with which every page and walk agrees. It is
    /// [`Equal`](Ordering::Equal) only for signals with the same id.
    ///
    /// ```
    /// use signaldex::query::Order;
    /// use signaldex::{Signal, SignalId};
    ///
    /// let older = Signal::new(SignalId::MIN, "acme", "Acme raises");
    /// let newer = Signal::new(SignalId::MAX, "acme", "Acme hires");
    /// assert!(Order::NewestFirst.compare(&newer, &older).is_lt());
    /// assert!(Order::EarliestDate.compare(&newer, &older).is_lt(), "neither has a date");
    /// ```
    pub fn compare(self, a: &Signal<'_>, b: &Signal<'_>) -> Ordering {
        let by_date = || (a.date, b.date);
        let by_amount = || (amount_of(a), amount_of(b));
        let by_value = match self {
            Order::NewestFirst => Ordering::Equal,
            Order::OldestFirst => a.id.cmp(&b.id),
            Order::LatestDate => missing_last(by_date(), |a, b| b.cmp(a)),
            Order::EarliestDate => missing_last(by_date(), |a, b| a.cmp(b)),
            Order::LargestAmount => missing_last(by_amount(), |a, b| as_numbers(*b, *a)),
            Order::SmallestAmount => missing_last(by_amount(), |a, b| as_numbers(*a, *b)),
        };
        by_value.then(Reverse(a.id).cmp(&Reverse(b.id)))
    }

    /// Whether the order is by amount, so that a query must have a currency.
    ///
    /// ```
    /// use signaldex::query::Order;
    ///
    /// let needing = Order::ALL.into_iter().filter(|order| order.needs_currency());
    /// assert!(needing.eq([Order::LargestAmount, Order::SmallestAmount]));
    /// ```
    pub fn needs_currency(self) -> bool {
        matches!(self, Order::LargestAmount | Order::SmallestAmount)
    }

    /// What the engine sorts by.
    pub(crate) fn sorting(self) -> Sorting {
        let by_value = |field, descending| Sorting::ByValue(ValueOrder { field, descending });
        match self {
            Order::NewestFirst => Sorting::ById(IdOrder::NewestFirst),
            Order::OldestFirst => Sorting::ById(IdOrder::OldestFirst),
            Order::LatestDate => by_value(SortField::Date, true),
            Order::EarliestDate => by_value(SortField::Date, false),
            Order::LargestAmount => by_value(SortField::Amount, true),
            Order::SmallestAmount => by_value(SortField::Amount, false),
        }
    }
}

/// The amount of a signal's funding.
pub(super) fn amount_of(signal: &Signal<'_>) -> Option<f64> {
    signal.funding.as_ref()?.amount
}

/// Compares amounts, which are never NaN. Negative zero equals zero.
fn as_numbers(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

fn missing_last<T>(
    (a, b): (Option<T>, Option<T>),
    compare: impl FnOnce(&T, &T) -> Ordering,
) -> Ordering {
    match (&a, &b) {
        (Some(a), Some(b)) => compare(a, b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Order {
    type Err = ParseOrderError;

    fn from_str(text: &str) -> Result<Order, ParseOrderError> {
        let known = Order::ALL.into_iter().find(|order| order.as_str() == text);
        known.ok_or(ParseOrderError)
    }
}

#[cfg(feature = "serde")]
serde_as_text!(Order);

/// What an [`Order`] sorts by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sorting {
    ById(IdOrder),
    ByValue(ValueOrder),
}

/// An order by id, which is the order of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum IdOrder {
    /// By descending id.
    #[default]
    NewestFirst,
    /// By ascending id.
    OldestFirst,
}

impl IdOrder {
    /// Whether an id comes before another.
    pub(crate) fn puts_first(self, id: SignalId, other: SignalId) -> bool {
        match self {
            IdOrder::OldestFirst => id < other,
            IdOrder::NewestFirst => id > other,
        }
    }
}

/// An order by value, then by descending id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValueOrder {
    pub(crate) field: SortField,
    pub(crate) descending: bool,
}

impl ValueOrder {
    /// A number that sorts the codes of a column: those that come first have smaller ones. The rank of a rank is the
    /// code.
    #[inline(always)]
    pub(crate) fn code_rank(self, code: u32) -> u32 {
        if self.descending { !code } else { code }
    }
}

/// The field of an order by value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SortField {
    Date,
    Amount,
}

#[cfg(test)]
pub(super) mod tests;
