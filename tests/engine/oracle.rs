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

    /// The page of a query, given its filter's matches, and whether there is a next one.
    pub(crate) fn page(matches: &[SignalId], query: &Query) -> (Vec<SignalId>, bool) {
        let mut ordered = matches.to_vec();
        if query.order() == Order::NewestFirst {
            ordered.reverse();
        }
        let skipped = match query.start() {
            Start::First => 0,
            Start::Page(number) => (usize::from(*number) - 1) * query.limit(),
            Start::After(cursor) => {
                let is_behind = |id: &SignalId| match query.order() {
                    Order::NewestFirst => *id < cursor.last_id(),
                    Order::OldestFirst => *id > cursor.last_id(),
                };
                ordered.iter().position(is_behind).unwrap_or(ordered.len())
            }
        };
        let rest: Vec<SignalId> = ordered.into_iter().skip(skipped).collect();
        let has_more = rest.len() > query.limit();
        (rest.into_iter().take(query.limit()).collect(), has_more)
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
