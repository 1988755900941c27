//! White-box tests of `admin/search/companies/conditions.rs`.

use proptest::prelude::*;
use signaldex::Filter;
use signaldex::query::CompanyQuery;

use super::*;

fn form(pairs: &[(&str, &str)]) -> FormData {
    FormData::of(
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
    )
}

fn text(pairs: &[(&str, &str)]) -> Result<String, Vec<String>> {
    let condition = TypedCondition {
        kind: "has",
        form: form(pairs),
    };
    condition.text()
}

/// The filter of the first condition of `has`, as the library reads it.
fn read(has: &str) -> Filter {
    let text = QueryText::default().with("has", has).to_string();
    let query = CompanyQuery::from_query_string(&text).expect(&text);
    assert_eq!(query.filter().has().len(), 1, "{has}");
    query.filter().has()[0].filter().clone()
}

#[test]
fn conditions_are_taken_apart_as_the_library_reads_them() {
    let text = r#" ( q = "a;b)" c ;min=2), (country="Korea (South)";categories=funding,"a;b") ,()"#;
    let found = split(text).expect("three conditions");
    let pairs: Vec<Vec<(&str, &str)>> = found
        .iter()
        .map(|condition| {
            let pairs = condition.pairs.iter();
            pairs
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect()
        })
        .collect();
    assert_eq!(
        pairs,
        [
            vec![("q", r#" "a;b)" c "#), ("min", "2")],
            vec![
                ("country", "Korea (South)"),
                ("categories", r#"funding,"a;b""#)
            ],
            vec![],
        ]
    );
    assert_eq!(found[2].text, "()");
    for malformed in [
        "",
        "q=a",
        "(q=a",
        "(q=a))",
        "(q=a)(q=b)",
        "(a(b))",
        "(q=\"a)",
        "(q)",
        "(),",
    ] {
        assert_eq!(split(malformed), None, "{malformed}");
    }
}

#[test]
fn what_is_typed_is_written_so_that_it_means_the_same() {
    for (name, value, expected) in [
        ("q", r#""series a; (b)" -c"#, r#"(q="series a; (b)" -c)"#),
        ("country", "Korea (South)", r#"(country="Korea (South)")"#),
        ("companySlug", r#"a"b"#, r#"(companySlug="a""b")"#),
        (
            "categories",
            r#"funding,"a;b)""#,
            r#"(categories=funding,"a;b)")"#,
        ),
        (
            "companies",
            "Smith (UK), b",
            r#"(companies="Smith (UK)",b)"#,
        ),
        ("exact", r#""a (b)""#, r#"(exact="a (b)")"#),
    ] {
        let text = text(&[(name, value)]).expect(name);
        assert_eq!(text, expected);
        let of_search = QueryText::default().with(name, value).to_string();
        let of_search = Filter::from_query_string(&of_search).expect(&of_search);
        assert_eq!(read(&text), of_search, "{name}");
    }
}

#[test]
fn what_would_end_a_value_is_told_and_not_written() {
    for value in ["a),(b", "a;min=3", "a(b", "\"a", "a\"b;c"] {
        assert_eq!(
            text(&[("q", value), ("days", "7")]),
            Err(vec!["q".to_owned()]),
            "{value}"
        );
    }
    assert_eq!(text(&[("days", "7;min=0")]), Err(vec!["days".to_owned()]));
}

#[test]
fn boxes_of_one_list_are_joined_and_empty_fields_left_out() {
    let form = FormData::parse(
        b"country=x&has1.q=&has2.categories=a&has2.categories=b&has2.min=+2+&hasNot4.days=7&has5.q=x",
    );
    let found = typed(&form);
    let texts: Vec<_> = found
        .iter()
        .map(|it| (it.kind, it.text().expect("plain")))
        .collect();
    let expected = [("has", "(categories=a,b;min=2)"), ("hasNot", "(days=7)")];
    assert_eq!(texts, expected.map(|(kind, text)| (kind, text.to_owned())));
    assert!(
        is_of_condition("hasNot4.days") && !is_of_condition("has5.q") && !is_of_condition("has")
    );
}

proptest! {
    #[test]
    fn no_text_breaks_out_of_its_field(value in "\\PC{0,12}", hostile in "[a;()\"=,&]{1,10}") {
        let names = ["q", "exact", "country", "companies", "categories", "fundingMin"];
        for name in names {
            for value in [&value, &hostile] {
                let Ok(text) = text(&[(name, value), ("min", "2")]) else { continue };
                let found = split(&text);
                prop_assert!(found.is_some(), "{}", text);
                let found = found.unwrap_or_default();
                prop_assert_eq!(found.len(), 1, "{}", text);
                let given = usize::from(!value.trim().is_empty());
                prop_assert_eq!(found[0].pairs.len(), given + 1, "{}", text);
            }
        }
    }
}
