//! White-box tests of `mcp/compact.rs`.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::options;
use signaldex::{Company, IndexBuilder, Signal, SignalId};

const URL_BYTES_MAX: usize = 250;

/// The answer of a search that found this signal.
fn compacted(signal: &Value) -> Value {
    let body = json!({"data": {"items": [signal], "nextCursor": null}}).to_string();
    let found = EndpointResult::Body(body.into_bytes());
    let answer = tool_answer(Tool::Search, &found, false, &[], None).expect("a page");
    serde_json::from_str(&answer).expect("JSON")
}

fn signal() -> Value {
    json!({
        "id": "7", "slug": "acme-7", "title": "Acme hires", "evidence": null, "category": "hiring",
        "date": "2026-06-12", "publishedAt": null, "updatedAt": null, "companySlug": "acme",
        "companyName": "Acme GmbH", "activityUrl": null, "authorName": null, "authorTitle": null,
        "authorUrl": null, "funding": null
    })
}

#[test]
fn a_short_signal_is_shown_without_what_it_lacks() {
    let expected = json!({"signals": [{
        "id": "7", "title": "Acme hires", "category": "hiring", "date": "2026-06-12",
        "companySlug": "acme", "companyName": "Acme GmbH"
    }]});
    assert_eq!(compacted(&signal()), expected);
}

#[test]
fn long_evidence_is_cut_and_says_so() {
    for (length, is_cut) in [(EVIDENCE_BYTES_MAX, false), (EVIDENCE_BYTES_MAX + 1, true)] {
        let mut signal = signal();
        signal["evidence"] = json!("e".repeat(length));
        let answer = compacted(&signal);
        let shown = answer["signals"][0]["evidence"].as_str().expect("a text");
        assert_eq!(shown.ends_with('…'), is_cut);
        assert!(shown.len() <= EVIDENCE_BYTES_MAX);
        assert_eq!(
            answer["signals"][0]["cut"],
            if is_cut {
                json!(["evidence"])
            } else {
                Value::Null
            }
        );
        assert_eq!(answer["note"].is_string(), is_cut);
    }
}

#[test]
fn addresses_are_whole_or_left_out() {
    for (length, is_shown) in [(URL_BYTES_MAX, true), (URL_BYTES_MAX + 1, false)] {
        let mut signal = signal();
        signal["activityUrl"] = json!("u".repeat(length));
        let shown = &compacted(&signal)["signals"][0];
        assert_eq!(shown["activityUrl"].is_string(), is_shown);
        assert_eq!(shown["cut"].is_array(), !is_shown);
    }
}

/// The options of an index whose companies are each in a country of its own, the first one twice.
fn options(countries: usize, names_lists: bool) -> String {
    let mut builder = IndexBuilder::in_memory();
    for number in 0..countries {
        let slug = format!("company-{number}");
        let mut company = Company::new(&*slug, "Acme");
        company.country = Some(format!("Country {number:04}").into());
        builder.add_company(&company).expect("added");
        let copies = if number == 0 { 2 } else { 1 };
        for copy in 0..copies {
            let id = SignalId::new((2 * number + copy + 1) as u64).expect("in range");
            let signal = Signal::new(id, &*slug, "Acme hires");
            builder.add_signal(&signal).expect("added");
        }
    }
    let index = builder.finish().expect("an index");
    let query = options::parse("facets=countries").expect("a query");
    let today = signaldex::sample::AS_OF;
    let counts = index
        .snapshot()
        .facets_of(&query.filter, today, &query.facets)
        .expect("counts");
    let found = EndpointResult::Options(Box::new(FoundOptions {
        counts,
        facets: query.facets,
    }));
    tool_answer(Tool::Options, &found, names_lists, &[], None).expect("options")
}

#[test]
fn lists_of_options_are_cut_where_they_are_long() {
    for (names_lists, max) in [(false, VALUES_MAX), (true, NAMED_VALUES_MAX)] {
        for (n, more) in [(max, json!({})), (max + 1, json!({"countries": 1}))] {
            let answer: Value = serde_json::from_str(&options(n, names_lists)).expect("JSON");
            let countries = answer["options"]["countries"].as_object();
            assert_eq!(countries.map(|list| list.len()), Some(max));
            assert_eq!(answer["more"], more);
        }
    }
}

#[test]
fn options_keep_their_order() {
    assert_eq!(
        options(2, true),
        r#"{"options":{"countries":{"Country 0000":2,"Country 0001":1}},"more":{}}"#
    );
}

fn text() -> impl Strategy<Value = String> {
    let letters = prop_oneof![
        Just('a'),
        Just('"'),
        Just('\u{1}'),
        Just('語'),
        Just('🦀'),
        any::<char>()
    ];
    (prop::collection::vec(letters, 1..8), 0_usize..400)
        .prop_map(|(letters, times)| letters.into_iter().collect::<String>().repeat(times))
}

proptest! {
    #[test]
    fn no_signal_exceeds_its_bound(texts in prop::collection::vec(text(), 9), amount in any::<f64>()) {
        let mut signal = signal();
        let names = [
            "title", "evidence", "category", "companySlug", "companyName", "activityUrl", "authorName",
            "authorTitle",
        ];
        for (name, text) in names.into_iter().zip(&texts) {
            signal[name] = json!(text);
        }
        signal["id"] = json!(u64::MAX.to_string());
        signal["funding"] = json!({"stage": texts[8], "amount": amount, "currency": "EUR"});
        let shown = &compacted(&signal)["signals"][0];
        prop_assert!(shown.to_string().len() <= SIGNAL_BYTES_MAX, "{}", shown.to_string().len());
        prop_assert_eq!(escaped_bytes(&texts[0]) + 2, json!(texts[0]).to_string().len());
    }
}
