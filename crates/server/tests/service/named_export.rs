//! Exports under an `Idempotency-Key`: exactly the signals that were charged under it are free.

use std::collections::{HashMap, HashSet};

use signaldex::Index;

use crate::changes::{commit, service};
use crate::client::{self, Response};
use crate::export::{Numbers, export, id_of, lines, metered};
use crate::fixture::{Fixture, Settings};

const NAME: &str = "export-4711";

/// An export under a name, whose charge is noted.
struct Download {
    answer: Response,
    ids: Vec<u64>,
    charged: u64,
}

fn download(fixture: &Fixture, query: &str, name: &str) -> Download {
    let before = fixture.recorded();
    let answer = export(fixture, query, &[("idempotency-key", name)]);
    let charged = fixture.recorded() - before;
    fixture.note(charged);
    let ids = if answer.status == 200 {
        lines(&answer.body).into_iter().map(id_of).collect()
    } else {
        Vec::new()
    };
    Download {
        answer,
        ids,
        charged,
    }
}

fn exporting(
    signals: impl Iterator<Item = (u64, &'static str)>,
    quota: Option<u64>,
) -> (Fixture, Index) {
    let (fixture, index) = service(metered(quota));
    commit(&index, signals, &[]);
    (fixture, index)
}

fn hiring(ids: impl Iterator<Item = u64>) -> impl Iterator<Item = (u64, &'static str)> {
    ids.map(|id| (id, "Acme hires"))
}

#[test]
fn signals_committed_between_paid_ones_are_charged() {
    let (fixture, index) = exporting(hiring([1, 1_000_000].into_iter()), None);
    let first = download(&fixture, "", NAME);
    assert_eq!((first.ids.len(), first.charged), (2, 2));
    commit(&index, hiring((1..=500).map(|number| 1000 * number)), &[]);
    let second = download(&fixture, "", NAME);
    assert_eq!((second.ids.len(), second.charged), (502, 500));
    let third = download(&fixture, "", NAME);
    assert_eq!((third.ids.len(), third.charged), (502, 0));
}

#[test]
fn old_signals_that_begin_to_match_between_paid_ones_are_charged() {
    let titled = |id| {
        if id % 2 == 0 {
            "Acme moves"
        } else {
            "Acme hires"
        }
    };
    let (fixture, index) = exporting((1..=3000).map(|id| (id, titled(id))), None);
    let first = download(&fixture, "q=hires", NAME);
    assert_eq!((first.ids.len(), first.charged), (1500, 1500));
    commit(&index, hiring((100..=198).step_by(2)), &[]);
    let second = download(&fixture, "q=hires", NAME);
    assert_eq!((second.ids.len(), second.charged), (1550, 50));
}

#[test]
fn a_paid_signal_stays_free_when_it_changes() {
    let (fixture, index) = exporting(hiring(1..=2500), None);
    assert_eq!(download(&fixture, "q=hires", NAME).charged, 2500);
    let changed = (1..=2500).map(|id| (id, "Acme hires again"));
    commit(&index, changed, &[7, 2000]);
    let again = download(&fixture, "q=hires", NAME);
    assert_eq!((again.ids.len(), again.charged), (2498, 0));
    // A deleted signal that comes back has the id that was paid.
    commit(&index, hiring([7].into_iter()), &[]);
    let again = download(&fixture, "q=hires", NAME);
    assert_eq!((again.ids.len(), again.charged), (2499, 0));
}

#[test]
fn the_price_before_the_first_byte_is_that_of_the_unpaid_signals() {
    for (quota, status) in [(501, 402), (502, 200)] {
        let (fixture, index) = exporting(hiring([1, 1_000_000].into_iter()), Some(quota));
        assert_eq!(download(&fixture, "", NAME).charged, 2);
        commit(&index, hiring((1..=500).map(|number| 1000 * number)), &[]);
        let second = download(&fixture, "", NAME);
        assert_eq!(second.answer.status, status, "a quota of {quota}");
        assert_eq!(second.charged, if status == 200 { 500 } else { 0 });
        if status == 402 {
            let detail = second.answer.json()["detail"].to_string();
            assert!(detail.contains("499"), "{detail}");
        }
        // What is left of the quota is enough for as many.
        let rest = download(&fixture, "maxItems=500", NAME);
        assert_eq!((rest.answer.status, rest.ids.len()), (200, 500));
    }
}

#[test]
fn the_price_of_more_signals_than_are_counted_at_once_is_exact() {
    let signals = 150_000;
    let (fixture, _) = exporting(hiring(1..=signals), Some(signals));
    let first = download(&fixture, "maxItems=100000", NAME);
    assert_eq!(first.charged, 100_000);
    let whole = download(&fixture, "", NAME);
    assert_eq!((whole.answer.status, whole.charged), (200, 50_000));
    assert_eq!(whole.ids.len() as u64, signals);
    let again = download(&fixture, "", NAME);
    assert_eq!((again.answer.status, again.charged), (200, 0));
}

#[test]
fn an_export_may_be_paid_in_any_number_of_pieces() {
    let (fixture, _) = exporting(hiring(1..=2400), None);
    for piece in 1..=1100 {
        let query = format!("after={}&maxItems=1", 2 * piece + 1);
        assert_eq!(download(&fixture, &query, NAME).charged, 1, "{piece}");
    }
    let whole = download(&fixture, "", NAME);
    assert_eq!((whole.ids.len(), whole.charged), (2400, 1300));
}

#[test]
fn two_processes_charge_each_signal_of_a_name_once() {
    let (fixture, index) = exporting(hiring(1..=50), None);
    let other = fixture.start_other_with(Settings {
        index: Some(index.clone()),
        ..Settings::default()
    });
    let authorization = format!("Bearer {}", fixture.key.as_str());
    let headers = [
        ("authorization", authorization.as_str()),
        ("idempotency-key", NAME),
    ];
    let mut paid = HashSet::new();
    for query in ["maxItems=10", "after=30&maxItems=10", "after=45", ""] {
        for address in [fixture.address, other] {
            let target = format!("/api/v1/export?{query}");
            let answer = client::request(address, "GET", &target, &headers);
            let new = lines(&answer.body).into_iter().map(id_of);
            let new = new.filter(|id| paid.insert(*id)).count() as u64;
            fixture.note(new);
            assert_eq!(fixture.recorded(), paid.len() as u64, "{query}");
        }
    }
    assert_eq!(paid.len(), 50);
}

/// Whatever is committed, exported, broken off and resumed: each signal is charged once under each name.
#[test]
fn any_history_charges_each_signal_once_under_each_name() {
    const QUERIES: [&str; 3] = ["", "q=hires", "q=moves"];
    let (fixture, index) = exporting(hiring([5000].into_iter()), None);
    let mut numbers = Numbers(45);
    let mut paid: HashMap<String, HashSet<u64>> = HashMap::new();
    for step in 0..400 {
        if numbers.below(3) == 0 {
            let upserts: Vec<_> = (0..numbers.below(60))
                .map(|_| {
                    (
                        numbers.below(10_000) + 1,
                        ["Acme hires", "Acme moves"][numbers.below(2) as usize],
                    )
                })
                .collect();
            let deleted: Vec<u64> = (0..numbers.below(20))
                .map(|_| numbers.below(10_000) + 1)
                .collect();
            commit(&index, upserts.into_iter(), &deleted);
            continue;
        }
        let query = QUERIES[numbers.below(3) as usize];
        let name = format!("download-{}-{query}", numbers.below(3));
        let mut asked = query.to_owned();
        if numbers.below(2) == 0 {
            asked.push_str(&format!("&after={}", numbers.below(10_000) + 1));
        }
        if numbers.below(2) == 0 {
            asked.push_str(&format!("&maxItems={}", numbers.below(300) + 1));
        }
        let got = download(&fixture, asked.trim_start_matches('&'), &name);
        assert_eq!(got.answer.status, 200, "{asked}: {:?}", got.answer);
        let known = paid.entry(name).or_default();
        let new = got.ids.iter().filter(|id| known.insert(**id)).count() as u64;
        assert_eq!(got.charged, new, "step {step}: {asked}");
    }
}
