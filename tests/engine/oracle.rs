//! The plain meaning of queries over a list of records: what the engine has to agree with.

use signaldex::query::{Order, Start};
use signaldex::{Company, Facet, FacetCount, Filter, Index, IndexBuilder, Query, Signal, SignalId};
use time::Date;

/// All records of a corpus, signals with their companies, by ascending id.
pub struct Oracle {
    pub records: Vec<(Signal<'static>, Company<'static>)>,
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
        let matching = self.records.iter().filter(|(s, c)| filter.matches(s, c, today));
        matching.map(|(signal, _)| signal.id).collect()
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

    /// The values of a facet among the matches of a filter without the facet's own part.
    pub fn facet(&self, filter: &Filter, facet: Facet, today: Date) -> Vec<FacetCount> {
        let lifted = filter.without(facet);
        let mut counts: Vec<(String, FacetCount)> = Vec::new();
        for (signal, company) in self.records.iter().filter(|(s, c)| lifted.matches(s, c, today)) {
            let Some(label) = facet.label(signal, company) else { continue };
            let key = facet.key(&label).into_owned();
            match counts.iter_mut().find(|(other, _)| *other == key) {
                Some((_, count)) => {
                    count.count += 1;
                    if *label < *count.label {
                        count.label = label.into_owned();
                    }
                }
                None => counts.push((key, FacetCount { label: label.into_owned(), count: 1 })),
            }
        }
        let mut counts: Vec<FacetCount> = counts.into_iter().map(|(_, count)| count).collect();
        counts.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.label.cmp(&b.label)));
        counts
    }
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
