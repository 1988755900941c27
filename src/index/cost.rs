//! What a query of a snapshot may cost at most, found without visiting rows.

use time::Date;

use super::live::SegmentHandle;
use super::snapshot::Snapshot;
use crate::plan::{Cost, cost};
use crate::query::{Facet, Filter};

impl Snapshot {
    /// What it costs at most to visit all matches of a filter.
    ///
    /// Cost: an addition a word where that tells that it is at most `cheap`, which is then answered;
    /// else that of planning without sets of companies, which would visit rows.
    pub(crate) fn cost(&self, filter: &Filter, today: Date, cheap: Cost) -> Cost {
        let bound: Cost = self.rows().map(|rows| cost::bound(filter, rows)).sum();
        if bound <= cheap {
            return bound;
        }
        self.cost_of(filter, today, 0)
    }

    /// What it costs at most to count all facets; otherwise as [`cost`](Self::cost).
    pub(crate) fn facets_cost(&self, filter: &Filter, today: Date, cheap: Cost) -> Cost {
        let filtered: Vec<Facet> = Facet::ALL
            .into_iter()
            .filter(|&facet| !filter.value_keys(facet).is_empty())
            .collect();
        let runs = 1 + filtered.len() as u64;
        let bound: Cost = self
            .rows()
            .map(|rows| runs * cost::bound(filter, rows) + cost::tally_bound(rows))
            .sum();
        if bound <= cheap {
            return bound;
        }
        let free = Facet::ALL.len() - filtered.len();
        let lifted = filtered.iter();
        let lifted: Cost = lifted
            .map(|&facet| self.cost_of(&filter.without(facet), today, 1))
            .sum();
        self.cost_of(filter, today, free) + lifted
    }

    /// What it costs at most to visit all matches and to count some facets.
    fn cost_of(&self, filter: &Filter, today: Date, facets: usize) -> Cost {
        let request = self.request(filter, today);
        let segments = self.segments.iter();
        segments
            .map(|handle| handle.live().cost(&request, facets))
            .sum()
    }

    fn rows(&self) -> impl Iterator<Item = u64> {
        self.segments.iter().map(rows)
    }
}

fn rows(handle: &SegmentHandle) -> u64 {
    u64::from(handle.segment.row_count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Company, IndexBuilder, Signal, SignalId};

    const ROWS: u64 = 10_000;

    fn snapshot() -> std::sync::Arc<Snapshot> {
        let mut builder = IndexBuilder::in_memory();
        let company = Company::new("acme", "Acme");
        builder.add_company(&company).expect("a company");
        for number in 1..=ROWS {
            let title = if number % 100 == 0 {
                "a rare b c"
            } else {
                "a b and b c and c d"
            };
            let id = SignalId::new(number).expect("an id");
            let signal = Signal::new(id, "acme", title);
            builder.add_signal(&signal).expect("a signal");
        }
        builder.finish().expect("an index").snapshot()
    }

    fn cost(query: &str, cheap: Cost) -> Cost {
        let filter = Filter::parse(query).expect("a filter");
        let today = time::macros::date!(2026 - 11 - 22);
        snapshot().cost(&filter, today, cheap)
    }

    #[test]
    fn each_phrase_that_has_to_be_looked_for_costs_its_rows() {
        let one = cost("any=%22a+b+c%22", 0);
        let two = cost("any=%22a+b+c%22+%22b+c+d%22", 0);
        assert!((ROWS * 9 / 10..2 * ROWS).contains(&one), "{one}");
        assert!((2 * ROWS * 9 / 10..3 * ROWS).contains(&two), "{two}");
    }

    #[test]
    fn a_rare_word_or_a_word_that_is_nowhere_makes_a_query_cheap() {
        let narrowed = cost("any=%22a+b+c%22&all=rare", 0);
        assert!(narrowed < ROWS / 10, "{narrowed}");
        assert_eq!(cost("any=%22a+b+c%22&all=nowhere", 0), 0);
    }

    #[test]
    fn words_are_cheap_without_a_plan() {
        assert!(cost("q=a+b+c+-rare", 1_000) <= 1_000);
        assert!(cost("any=%22a+b+c%22", 1_000) > 1_000);
    }

    #[test]
    fn facets_cost_a_run_for_each_filter_of_their_own() {
        let today = time::macros::date!(2026 - 11 - 22);
        let facets = |query: &str| {
            let filter = Filter::parse(query).expect("a filter");
            snapshot().facets_cost(&filter, today, 0)
        };
        assert_eq!(facets(""), 0, "stored counts");
        assert!(facets("any=%22a+b+c%22") >= ROWS);
        assert!(facets("q=a") > facets("q=rare"));
    }
}
