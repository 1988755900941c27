//! Columns give back what was added, whatever came before it.

use super::*;
use crate::fixtures::Random;

#[test]
fn columns_give_back_what_was_added() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let mut signals = PendingSignals::default();
        let mut added = Vec::new();
        // Some runs stay with small labels and with what an index is built with.
        let [labels_max, commits_max] = [300, 3].map(|max| 1 + random.below(max));
        for record in 0..random.below(400) {
            let tokens = 0..random.below(4) as u32;
            signals.title_tokens.extend(tokens.clone());
            let last = commits_max.min(1 + record / 50);
            let mut facets = FacetLabels::default();
            for facet in Facet::ALL {
                if !facet.is_of_company() {
                    facets[facet as usize] = random.below(labels_max) as u32;
                }
            }
            let signal = || PendingSignal {
                id: SignalId::MAX,
                commits: Commits { first: 1, last },
                record,
                company: 7,
                day: (record % 3 > 0).then_some(record as i32 - 100),
                amount: (record % 5 == 0).then_some(record as f64),
                facets,
            };
            signals.push(signal()).expect("few tokens");
            added.push((signal(), tokens));
        }
        let titles: Vec<Range<usize>> = (0..added.len() as u32)
            .map(|at| signals.title(at))
            .collect();
        let day = signals.take_days();
        let labels = Facet::ALL.map(|facet| signals.take_labels(facet));
        for (arrival, (signal, tokens)) in (0..).zip(&added) {
            assert_eq!(signals.commits(arrival), signal.commits);
            assert_eq!(day(arrival), signal.day);
            let title = titles[arrival as usize].clone();
            assert!(
                signals.title_tokens[title]
                    .iter()
                    .copied()
                    .eq(tokens.clone())
            );
            for facet in Facet::ALL
                .into_iter()
                .filter(|facet| !facet.is_of_company())
            {
                let label = labels[facet as usize].get(arrival);
                assert_eq!(label, signal.facets[facet as usize]);
            }
        }
        let amounts = added.iter().zip(0..);
        let amounts = amounts.filter_map(|((signal, _), arrival)| Some((arrival, signal.amount?)));
        assert!(amounts.eq(signals.amounts.iter().copied()));
    }
}
