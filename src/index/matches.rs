//! Every match of a filter, found page by page.

use std::vec;

use time::Date;

use super::Snapshot;
use crate::Result;
use crate::query::{Filter, Order, Query, Start};
use crate::signal::{Item, SignalId};

/// Signals that are found at a time: enough that finding where to continue costs nothing beside
/// reading them, few enough to bound the memory.
const SLICE: usize = 1000;

impl Snapshot {
    /// Every match of a filter in an order, from the signal after `after` on; `None` begins with the
    /// first. `after` need not match, nor exist.
    ///
    /// The iterator is lazy: it holds at most 1,000 signals, and a caller that stops early has paid for
    /// no more. It ends after an error.
    ///
    /// ```
    /// use signaldex::query::Order;
    /// use signaldex::{Company, Filter, IndexBuilder, Signal, SignalId};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut builder = IndexBuilder::in_memory();
    /// builder.add_company(&Company::new("acme", "Acme"))?;
    /// for id in 1..=120 {
    ///     let id = SignalId::new(id).expect("an id");
    ///     builder.add_signal(&Signal::new(id, "acme", "Acme hires"))?;
    /// }
    /// let snapshot = builder.finish()?.snapshot();
    /// let today = time::macros::date!(2026 - 06 - 30);
    /// let filter = Filter::parse("q=hires")?;
    /// let all = snapshot.matches(&filter, Order::OldestFirst, today, None);
    /// assert_eq!(all.count(), 120);
    /// let after = SignalId::new(100);
    /// let rest = snapshot.matches(&filter, Order::OldestFirst, today, after);
    /// assert_eq!(rest.count(), 20);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Cost: that of [`search`](Self::search) for each thousand signals, and of
    /// [`records`](Self::records).
    pub fn matches(
        &self,
        filter: &Filter,
        order: Order,
        today: Date,
        after: Option<SignalId>,
    ) -> Matches<'_> {
        let query = Query::of_filter(filter.clone(), order, SLICE);
        let cursor = after.map(|id| query.cursor_after(id, today));
        Matches {
            snapshot: self,
            query,
            today,
            next: Some(cursor.map_or(Start::First, Start::After)),
            slice: Vec::new().into_iter(),
        }
    }
}

/// Every match of a filter; made by [`Snapshot::matches`].
pub struct Matches<'s> {
    snapshot: &'s Snapshot,
    query: Query,
    today: Date,
    /// Where the slice after this one starts; `None` where there is none.
    next: Option<Start>,
    slice: vec::IntoIter<Item<'s>>,
}

impl<'s> Matches<'s> {
    fn load(&mut self, start: Start) -> Result<()> {
        let query = self.query.part(start, SLICE);
        let page = self.snapshot.search(&query, self.today);
        self.slice = self.snapshot.records(&page)?.into_iter();
        self.next = page.next_cursor().cloned().map(Start::After);
        Ok(())
    }
}

impl<'s> Iterator for Matches<'s> {
    type Item = Result<Item<'s>>;

    fn next(&mut self) -> Option<Result<Item<'s>>> {
        if let Some(item) = self.slice.next() {
            return Some(Ok(item));
        }
        // The slice is used up, and a page without signals has none after it.
        let start = self.next.take()?;
        if let Err(error) = self.load(start) {
            return Some(Err(error));
        }
        self.slice.next().map(Ok)
    }
}
