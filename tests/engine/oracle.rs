//! The plain meaning of queries over a list of records: what the engine has to agree with.

use std::collections::BTreeMap;

use signaldex::query::{Order, Start};
use signaldex::{Company, Facet, FacetCount, Filter, Index, IndexBuilder, Query, Signal, SignalId};
use time::Date;

/// A signal and its company.
pub type Record = (Signal<'static>, Company<'static>);

/// All records of a corpus, signals with their companies, by ascending id.
pub struct Oracle {
    pub records: Vec<Record>,
}

impl Oracle {
    /// Every record of an index.
    pub fn of(index: &Index) -> Oracle {
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
    pub fn matches(&self, filter: &Filter, today: Date) -> Vec<SignalId> {
        self.matching(filter, today).map(|(signal, _)| signal.id).collect()
    }

    /// The page of a query, given its filter's matches, and whether there is a next one.
    pub fn page(matches: &[SignalId], query: &Query) -> (Vec<SignalId>, bool) {
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
    pub fn facets(&self, filter: &Filter, today: Date) -> Vec<(Facet, Vec<FacetCount>)> {
        let unlifted: Vec<&Record> = self.matching(filter, today).collect();
        let counts = |facet: Facet| {
            let lifted = filter.without(facet);
            match lifted == *filter {
                true => count_values(facet, unlifted.iter().copied()),
                false => count_values(facet, self.matching(&lifted, today)),
            }
        };
        Facet::ALL.into_iter().map(|facet| (facet, counts(facet))).collect()
    }

    fn matching(&self, filter: &Filter, today: Date) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(move |(s, c)| filter.matches(s, c, today))
    }
}

fn count_values<'r>(facet: Facet, records: impl Iterator<Item = &'r Record>) -> Vec<FacetCount> {
    let mut by_key: BTreeMap<String, FacetCount> = BTreeMap::new();
    for (signal, company) in records {
        let Some(label) = facet.label(signal, company) else { continue };
        let label = label.into_owned();
        let first = FacetCount { label: label.clone(), count: 0 };
        let value = by_key.entry(facet.key(&label).into_owned()).or_insert(first);
        value.count += 1;
        value.label = value.label.clone().min(label);
    }
    let mut counts: Vec<FacetCount> = by_key.into_values().collect();
    counts.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.label.cmp(&b.label)));
    counts
}

/// An index in memory of these records.
pub fn index_of<'r>(
    companies: impl IntoIterator<Item = Company<'r>>,
    signals: impl IntoIterator<Item = Signal<'r>>,
) -> Index {
    let mut builder = IndexBuilder::in_memory().expect("memory can be written to");
    for company in companies {
        builder.add_company(&company).expect("memory can be written to");
    }
    for signal in signals {
        builder.add_signal(&signal).expect("memory can be written to");
    }
    builder.finish().expect("what was built is valid")
}
