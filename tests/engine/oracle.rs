//! The plain meaning of queries over a list of records: what the engine has to agree with.

use signaldex::query::{Order, Start};
use signaldex::{Company, Facets, Filter, Index, IndexBuilder, Query, Signal, SignalId};
use time::Date;

/// A signal and its company.
pub(crate) type Record = (Signal<'static>, Company<'static>);

/// All records of a corpus, signals with their companies, by ascending id.
pub(crate) struct Oracle {
    pub(crate) records: Vec<Record>,
}

impl Oracle {
    /// Every record of an index.
    pub(crate) fn of(index: &Index) -> Oracle {
        let snapshot = index.snapshot();
        let mut records: Vec<_> = snapshot
            .scan()
            .map(|found| found.expect("a record that was just written is whole"))
            .map(|found| (found.signal.into_owned(), found.company.into_owned()))
            .collect();
        records.sort_by_key(|(signal, _)| signal.id);
        Oracle { records }
    }

    /// The matches of a filter, by ascending id.
    pub(crate) fn matches(&self, filter: &Filter, today: Date) -> Vec<SignalId> {
        self.matching(filter, today)
            .map(|(signal, _)| signal.id)
            .collect()
    }

    /// Matches in an order, as its definition compares them.
    pub(crate) fn sorted(&self, matches: &[SignalId], order: Order) -> Vec<&Signal<'static>> {
        let mut ordered: Vec<_> = matches.iter().map(|&id| self.signal(id)).collect();
        ordered.sort_by(|a, b| order.compare(a, b));
        ordered
    }

    /// The page of a query, given its filter's matches, and whether there is a next one.
    pub(crate) fn page(&self, matches: &[SignalId], query: &Query) -> (Vec<SignalId>, bool) {
        let order = query.order();
        let ordered = self.sorted(matches, order);
        let skipped = match query.start() {
            Start::First => 0,
            Start::Page(number) => (usize::from(*number) - 1) * query.limit(),
            Start::After(cursor) => {
                let is_seen = |signal: &&Signal<'_>| {
                    order
                        .compare_keys(order.key_of(signal), cursor.last())
                        .is_le()
                };
                ordered.partition_point(is_seen)
            }
        };
        let rest: Vec<SignalId> = ordered.iter().skip(skipped).map(|s| s.id).collect();
        let has_more = rest.len() > query.limit();
        (rest.into_iter().take(query.limit()).collect(), has_more)
    }

    /// The signal with an id, which must exist.
    fn signal(&self, id: SignalId) -> &Signal<'static> {
        let found = self
            .records
            .binary_search_by_key(&id, |(signal, _)| signal.id);
        &self.records[found.expect("a known id")].0
    }

    /// The values of every facet, each among the matches of the filter without the facet's part.
    pub(crate) fn facets(&self, filter: &Filter, today: Date) -> Facets {
        let records = self
            .records
            .iter()
            .map(|(signal, company)| (signal, company));
        Facets::of(records, filter, today)
    }

    fn matching(&self, filter: &Filter, today: Date) -> impl Iterator<Item = &Record> {
        self.records
            .iter()
            .filter(move |(s, c)| filter.matches(s, c, today))
    }
}

/// An index in memory of these records.
pub(crate) fn index_of<'r>(
    companies: impl IntoIterator<Item = Company<'r>>,
    signals: impl IntoIterator<Item = Signal<'r>>,
) -> Index {
    let mut builder = IndexBuilder::in_memory();
    for company in companies {
        builder
            .add_company(&company)
            .expect("memory can be written to");
    }
    for signal in signals {
        builder
            .add_signal(&signal)
            .expect("memory can be written to");
    }
    builder.finish().expect("what was built is valid")
}
