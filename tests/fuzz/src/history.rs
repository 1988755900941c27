//! An index with a history: a snapshot after each commit, and what a copy of it holds there.

use std::collections::BTreeMap;
use std::sync::Arc;

use signaldex::query::Order;
use signaldex::{Filter, Index, IndexBuilder, Item, SignalId, Snapshot, Writer};
use signaldex_synthetic::Corpus;

use crate::examination::TODAY;

/// Commits for which deletions are remembered: fewer than there are, so that positions expire.
pub const REMEMBERED_COMMITS: usize = 5;

/// Commits after the first snapshot.
const COMMITS: usize = 12;

/// Signals that are ever written.
const SIGNALS: u64 = 40;

/// Filters that copies are made of.
const FILTERS: [&str; 4] = [
    "",
    "any=series hires raises",
    "size=1-49",
    "dateFrom=2026-01-01",
];

/// The signals that a copy holds.
pub type Held = BTreeMap<SignalId, Item<'static>>;

/// A filter, and what matches it in each snapshot.
pub struct Followed {
    /// The filter.
    pub filter: Filter,
    /// What matches, by snapshot.
    pub held: Vec<Held>,
}

/// The snapshots of one index, oldest first.
pub struct History {
    /// One a commit.
    pub snapshots: Vec<Arc<Snapshot>>,
    /// Filters to follow.
    pub followed: Vec<Followed>,
}

impl History {
    /// Writes the history.
    pub fn write() -> History {
        let corpus = Corpus::new(SIGNALS, 7).expect("a size within bounds");
        let index = built(corpus);
        let mut writer = index.writer().expect("a free lock");
        let mut snapshots = vec![index.snapshot()];
        for number in 0..COMMITS {
            change(&mut writer, corpus, number);
            writer.commit().expect("memory");
            // Merges move rows, which positions must survive.
            if number % 4 == 3 {
                writer.compact().expect("memory");
            }
            snapshots.push(index.snapshot());
        }
        let followed = FILTERS.map(|text| Followed::of(text, &snapshots));
        History {
            snapshots,
            followed: followed.into(),
        }
    }
}

impl Followed {
    fn of(text: &str, snapshots: &[Arc<Snapshot>]) -> Followed {
        let filter = Filter::from_query_string(text).expect("a valid filter");
        let held = snapshots.iter();
        let held = held.map(|snapshot| held_in(snapshot, &filter)).collect();
        Followed { filter, held }
    }
}

fn held_in(snapshot: &Snapshot, filter: &Filter) -> Held {
    let items = snapshot.matches(filter, TODAY, Order::NewestFirst);
    items
        .map(|item| item.expect("a record that was just written").into_owned())
        .map(|item| (item.signal.id, item))
        .collect()
}

/// All companies, and every second signal.
fn built(corpus: Corpus) -> Index {
    let remembered = REMEMBERED_COMMITS as u64;
    let mut builder = IndexBuilder::in_memory().remember_deletions(remembered);
    for company in corpus.companies() {
        builder.add_company(&company).expect("memory");
    }
    for signal in corpus.signals().step_by(2) {
        builder.add_signal(&signal).expect("memory");
    }
    builder.finish().expect("what was built is valid")
}

/// Adds, changes and deletes some signals each; every third commit changes a company with its signals.
fn change(writer: &mut Writer, corpus: Corpus, number: usize) {
    for (position, mut signal) in corpus.signals().enumerate() {
        match (position * 7 + number * 5) % 11 {
            0 => writer.upsert_signal(&signal).expect("a known company"),
            1 => {
                signal.title = format!("Acme hires {number}").into();
                writer.upsert_signal(&signal).expect("a known company");
            }
            2 => drop(writer.delete_signal(signal.id).expect("memory")),
            _ => {}
        }
    }
    if number.is_multiple_of(3) {
        let mut company = corpus.companies().next().expect("a company");
        company.name = format!("Acme {number}").into();
        company.employees = [Some(10), Some(1000)][number % 2];
        writer.upsert_company(&company).expect("a valid company");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_filter_gains_and_loses_signals() {
        let history = History::write();
        assert_eq!(history.snapshots.len(), COMMITS + 1);
        for followed in &history.followed {
            let pairs = followed.held.windows(2);
            let gained = |pair: &[Held]| pair[1].keys().any(|id| !pair[0].contains_key(id));
            let lost = |pair: &[Held]| pair[0].keys().any(|id| !pair[1].contains_key(id));
            assert!(pairs.clone().filter(|pair| gained(pair)).count() > COMMITS / 3);
            assert!(pairs.filter(|pair| lost(pair)).count() > COMMITS / 3);
        }
    }
}
