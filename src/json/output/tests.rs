//! The exact bytes of responses.

use serde_json::json;
use time::macros::{date, utc_datetime};

use super::*;
use crate::json::item::ItemMember;
use crate::signal::{Currency, Funding, FundingView, Hiring, SignalId};

fn written(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("responses can be written")
}

fn bare_signal() -> Signal<'static> {
    Signal::new(SignalId::MAX, "acme", "Acme raises \"Series A\"")
}

fn full_signal() -> Signal<'static> {
    Signal {
        slug: "acme-raises".into(),
        evidence: Some("Said so.\n".into()),
        category: Some("funding".into()),
        date: Some(date!(0999 - 01 - 02)),
        published_at: Some(utc_datetime!(2026-06-30 01:02:03)),
        updated_at: Some(utc_datetime!(2026-06-30 01:02:03.04)),
        activity_url: Some("https://example.com/a".into()),
        author_name: Some("Ada".into()),
        author_title: Some("CEO".into()),
        author_url: Some("https://example.com/ada".into()),
        funding: Some(Funding {
            stage: Some("Series A".into()),
            amount: Some(4e6),
            currency: Currency::new("USD"),
        }),
        hiring: Some(Hiring {
            seniority: Some("senior".into()),
            ..Hiring::default()
        }),
        ..bare_signal()
    }
}

fn full_company() -> Company<'static> {
    Company {
        about: Some("We make anvils.".into()),
        tagline: Some("Anvils".into()),
        logo_url: Some("https://example.com/logo".into()),
        country: Some("Germany".into()),
        city: Some("Köln".into()),
        employees: Some(50),
        industry: Some("metal".into()),
        founded_year: Some(1999),
        linkedin_url: Some("https://example.com/linkedin".into()),
        updated_at: Some(utc_datetime!(2026-06-30 00:00)),
        ..Company::new("acme", "Acme GmbH")
    }
}

const BARE_ITEM: &str = r#"{"id":"9999999999999999999","slug":"9999999999999999999","title":"Acme raises \"Series A\"","evidence":null,"category":null,"date":null,"publishedAt":null,"updatedAt":null,"companySlug":"acme","companyName":"Acme GmbH","activityUrl":null,"authorName":null,"authorTitle":null,"authorUrl":null,"funding":null}"#;

const FULL_ITEM: &str = r#"{"id":"9999999999999999999","slug":"acme-raises","title":"Acme raises \"Series A\"","evidence":"Said so.\n","category":"funding","date":"0999-01-02","publishedAt":"2026-06-30T01:02:03Z","updatedAt":"2026-06-30T01:02:03.04Z","companySlug":"acme","companyName":"Acme GmbH","activityUrl":"https://example.com/a","authorName":"Ada","authorTitle":"CEO","authorUrl":"https://example.com/ada","funding":{"stage":"Series A","amount":4000000,"currency":"USD"}}"#;

#[test]
fn an_item_has_every_field_but_hiring_and_company() {
    let company = full_company();
    for (signal, expected) in [(bare_signal(), BARE_ITEM), (full_signal(), FULL_ITEM)] {
        assert_eq!(
            written(&SignalItem {
                signal: &signal,
                company_name: &company.name
            }),
            expected
        );
    }
}

#[test]
fn a_detail_is_an_item_with_the_company() {
    let table = [
        (
            Company::new("acme", "Acme GmbH"),
            r#"{"about":null,"tagline":null,"logoUrl":null,"country":null,"city":null,"employees":null,"industry":null,"foundedYear":null,"linkedinUrl":null}"#,
        ),
        (
            full_company(),
            r#"{"about":"We make anvils.","tagline":"Anvils","logoUrl":"https://example.com/logo","country":"Germany","city":"Köln","employees":50,"industry":"metal","foundedYear":1999,"linkedinUrl":"https://example.com/linkedin"}"#,
        ),
    ];
    let signal = full_signal();
    for (company, expected) in table {
        let item = FULL_ITEM.strip_suffix('}').expect("an item is an object");
        let expected = format!(r#"{{"data":{item},"company":{expected}}}}}"#);
        let detail = SignalDetail {
            signal: &signal,
            company: &company,
        };
        assert_eq!(written(&Data { data: detail }), expected);
    }
}

#[test]
fn a_company_has_its_figures_and_its_description() {
    let full = CompanyProfile {
        company: full_company(),
        signal_count: 3,
        latest_signal_date: Some(date!(2026 - 06 - 29)),
    };
    let expected = r#"{"slug":"acme","name":"Acme GmbH","about":"We make anvils.","tagline":"Anvils","logoUrl":"https://example.com/logo","country":"Germany","city":"Köln","employees":50,"industry":"metal","foundedYear":1999,"linkedinUrl":"https://example.com/linkedin","signalCount":3,"latestSignalDate":"2026-06-29","updatedAt":"2026-06-30T00:00:00Z"}"#;
    assert_eq!(written(&CompanyDetail { profile: &full }), expected);
    let bare = CompanyProfile {
        company: Company::new("acme", "Acme GmbH"),
        signal_count: 0,
        latest_signal_date: None,
    };
    let expected = r#"{"slug":"acme","name":"Acme GmbH","about":null,"tagline":null,"logoUrl":null,"country":null,"city":null,"employees":null,"industry":null,"foundedYear":null,"linkedinUrl":null,"signalCount":0,"latestSignalDate":null,"updatedAt":null}"#;
    assert_eq!(written(&CompanyDetail { profile: &bare }), expected);
}

#[test]
fn a_search_has_a_cursor_always_and_a_count_where_asked_for() {
    let (signal, company) = (bare_signal(), full_company());
    let items = [SignalItem {
        signal: &signal,
        company_name: &company.name,
    }; 2];
    let page = SearchData {
        items: &items,
        next_cursor: Some("abc"),
        count: None,
    };
    let expected =
        format!(r#"{{"data":{{"items":[{BARE_ITEM},{BARE_ITEM}],"nextCursor":"abc"}}}}"#);
    assert_eq!(written(&Data { data: page }), expected);
    let count = SearchData {
        items: &[],
        next_cursor: None,
        count: Some(0),
    };
    assert_eq!(
        written(&Data { data: count }),
        r#"{"data":{"items":[],"nextCursor":null,"count":0}}"#
    );
}

#[test]
fn amounts_are_written_short_and_exact() {
    let table = [
        (0.0, "0"),
        (1.0, "1"),
        (0.1, "0.1"),
        (1234.5, "1234.5"),
        (9_007_199_254_740_991.0, "9007199254740991"),
        (9_007_199_254_740_992.0, "9007199254740992"),
        (9_007_199_254_740_994.0, "9007199254740994"),
        (9_999_999_999_999_998.0, "9999999999999998"),
        (1e16, "1e+16"),
        (1e300, "1e+300"),
        (5e-324, "5e-324"),
    ];
    for (amount, expected) in table {
        let funding = FundingView {
            stage: None,
            amount: Some(amount),
            currency: None,
        };
        let expected = format!(r#"{{"stage":null,"amount":{expected},"currency":null}}"#);
        assert_eq!(
            written(&WrittenMember(ItemMember::Funding(Some(funding)))),
            expected
        );
    }
}

#[test]
fn instants_have_the_digits_they_need() {
    let table = [
        (utc_datetime!(0000-01-01 00:00), "0000-01-01T00:00:00Z"),
        (
            utc_datetime!(9999-12-31 23:59:59.999999999),
            "9999-12-31T23:59:59.999999999Z",
        ),
        (
            utc_datetime!(2026-06-30 12:00:00.5),
            "2026-06-30T12:00:00.5Z",
        ),
        (
            utc_datetime!(2026-06-30 12:00:00.000001),
            "2026-06-30T12:00:00.000001Z",
        ),
        (
            utc_datetime!(-9999-01-01 00:00:00.000000001),
            "-9999-01-01T00:00:00.000000001Z",
        ),
    ];
    for (instant, expected) in table {
        assert_eq!(written(&InstantText(instant)), format!("\"{expected}\""));
    }
}

#[test]
fn filter_options_name_every_list_and_keep_the_order() {
    let mut facets = Facets::default();
    facets.set(
        Facet::Category,
        [("funding".to_owned(), 2), ("hiring".to_owned(), 7)],
    );
    facets.set(Facet::Country, [("Germany".to_owned(), 3)]);
    facets.set(Facet::WorkArrangement, [("remote".to_owned(), 1)]);
    let options = FilterOptions {
        counts: &facets,
        facets: &Facet::ALL,
    };
    let text = written(&options);
    let options: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let expected = json!({
        "categories": [{"id": "hiring", "count": 7}, {"id": "funding", "count": 2}],
        "countries": [{"value": "Germany", "count": 3}],
        "industries": [],
        "sizes": [],
        "fundingStages": [],
        "fundingCurrencies": [],
        "hiringTypes": [],
        "jobFunctions": [],
        "seniorities": [],
        "employmentTypes": [],
        "workArrangements": [{"value": "remote", "count": 1}],
    });
    assert_eq!(options, expected);
    assert!(
        text.starts_with(r#"{"categories":[{"id":"hiring","count":7},"#),
        "{text}"
    );
    let one = FilterOptions {
        counts: &facets,
        facets: &[Facet::Country],
    };
    assert_eq!(
        written(&one),
        r#"{"countries":[{"value":"Germany","count":3}]}"#
    );
}
