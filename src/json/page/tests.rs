//! An answer written from records is a page serialised.

use proptest::prelude::*;
use time::macros::date;

use super::*;
use crate::json::write::tests::{company, signal};
use crate::json::{Data, SearchData, SignalItem};
use crate::query::Order;
use crate::{Company, IndexBuilder, Query, Signal, SignalId};

/// Adds the records, the company as the company of all signals, and writes all as an answer.
fn answer(company: &Company<'_>, signals: &[Signal<'_>], next_cursor: Option<&str>) -> Vec<u8> {
    let mut builder = IndexBuilder::in_memory();
    builder.add_company(company).expect("a valid company");
    for signal in signals {
        builder.add_signal(signal).expect("a valid signal");
    }
    let snapshot = builder.finish().expect("a whole index").snapshot();
    snapshot
        .verify()
        .expect("records are what they were written from");
    let query = Query::builder()
        .order(Order::OldestFirst)
        .build()
        .expect("a valid query");
    let page = snapshot
        .search(&query, date!(2026 - 06 - 30))
        .expect("a whole index");
    let answer = SearchAnswer::of_page(&snapshot, &page, Rendering::Whole).expect("whole records");
    assert_eq!(answer.len(), signals.len());
    for rendering in [Rendering::Whole, Rendering::Short] {
        check_items(&snapshot, &page, rendering);
    }
    answer.finish(next_cursor)
}

/// The visited items are those of the records, as many as are asked for.
fn check_items(snapshot: &Snapshot, page: &Page, rendering: Rendering) {
    let mut expected = Vec::new();
    let visited = snapshot.visit_records(page, |signal, company_name| {
        expected.push(search_item(signal, company_name, rendering));
        ControlFlow::Continue(())
    });
    visited.expect("whole records");
    for limit in 0..=page.len() + 1 {
        let mut items = Vec::new();
        let visited = visit_items(snapshot, page, limit, rendering, |item| {
            items.push(item.to_vec());
            ControlFlow::Continue(())
        });
        visited.expect("whole records");
        assert_eq!(items, expected[..limit.min(page.len())]);
    }
}

fn expected(company: &Company<'_>, signals: &[Signal<'_>], next_cursor: Option<&str>) -> String {
    let company_name = &company.name;
    let items: Vec<SignalItem<'_>> = signals
        .iter()
        .map(|signal| SignalItem {
            signal,
            company_name,
        })
        .collect();
    let data = SearchData {
        items: &items,
        next_cursor,
        count: None,
    };
    serde_json::to_string(&Data { data }).expect("a page can be written")
}

proptest! {
    #[test]
    fn an_answer_is_what_serde_writes(
        company in company(),
        mut signals in prop::collection::vec(signal(), 0..4),
        cursor in prop::option::of(any::<String>()),
    ) {
        for (signal, number) in signals.iter_mut().zip(1..) {
            signal.id = SignalId::new(number * 1_000_003).expect("a small number");
            signal.company_slug = company.slug.clone();
        }
        let expected = expected(&company, &signals, cursor.as_deref());
        let answer = answer(&company, &signals, cursor.as_deref());
        prop_assert_eq!(String::from_utf8(answer), Ok(expected));
    }
}
