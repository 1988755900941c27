//! White-box tests of `query/conditions.rs`.

use proptest::prelude::*;

use super::*;
use crate::query::{CompanyQuery, Filter};

fn typed(text: &str) -> Result<Vec<Condition>, Vec<ParameterError>> {
    parse("has", text, Origin::Typed)
}

fn one(text: &str) -> Condition {
    typed(text).expect("valid conditions").remove(0)
}

fn faults(text: &str) -> Vec<(ErrorCode, String)> {
    let found = typed(text).expect_err("invalid conditions");
    assert!(found.iter().all(|error| error.parameter == "has"));
    let pair = |error: ParameterError| (error.code, error.message);
    found.into_iter().map(pair).collect()
}

fn filter(text: &str) -> Filter {
    Filter::from_query_string(text).expect("a valid filter")
}

#[test]
fn values_mean_what_they_mean_in_a_search() {
    let found = typed("(hiringType=new-role;days=90;min=2),(fundingStage=series a)");
    let expected = [
        Condition::new(filter("hiringType=new-role&days=90")).with_min(2),
        Condition::new(filter("fundingStage=series a")),
    ];
    assert_eq!(found, Ok(expected.to_vec()));
    for (text, same) in [
        ("()", ""),
        ("( ; )", ""),
        (" (q=robots)  ", "q=robots"),
        ("( q =robots)", "q=robots"),
        (r#"(q="series a" -crypto)"#, r#"q="series a" -crypto"#),
        (
            r#"(categories=funding,"a;b")"#,
            r#"categories=funding,"a;b""#,
        ),
        (r#"(country="Korea (South)")"#, "country=Korea (South)"),
        (
            r#"(fundingStage="say ""a""; b")"#,
            r#"fundingStage=say "a"; b"#,
        ),
        ("(size=501 )", "size=501+"),
        ("(q=a, b;all=c=d)", "q=a, b&all=c=d"),
    ] {
        assert_eq!(one(text), Condition::new(filter(same)), "{text}");
    }
}

#[test]
fn each_bound_holds_at_its_end_and_not_past_it() {
    assert_eq!(one("(min=0)").min(), 0);
    assert_eq!(one("(min=999999999)").min(), 999_999_999);
    assert_eq!(faults("(min=1000000000)")[0].0, ErrorCode::InvalidValue);
    assert_eq!(one("(min=3;max=3)").max(), Some(3));
    assert_eq!(
        faults("(min=4;max=3)")[0].0,
        ErrorCode::ConflictingParameters
    );
    assert_eq!(faults("(max=0)")[0].0, ErrorCode::ConflictingParameters);
    assert_eq!(typed("(),(),(),()").map(|all| all.len()), Ok(4));
    assert_eq!(faults("(),(),(),(),()")[0].0, ErrorCode::TooManyItems);
    let spaces = |n: usize| format!("(){}", " ".repeat(n));
    assert!(typed(&spaces(7_998)).is_ok());
    assert_eq!(faults(&spaces(7_999))[0].0, ErrorCode::TooLong);
    let slug = |n| format!("(companySlug={})", "a".repeat(n));
    assert!(typed(&slug(180)).is_ok());
    assert_eq!(faults(&slug(181))[0].0, ErrorCode::TooLong);
}

#[test]
fn every_fault_is_told_with_its_condition_and_name() {
    let found = faults("(days=8;contry=x),(),(min=x;ids=1;min=2;q=)");
    let expected = [
        "has, condition 1: days is \"8\"; allowed are 7, 30, 90",
        "has, condition 1: \"contry\" is not a parameter here (did you mean country?)",
        "has, condition 3: min is \"x\"; allowed are whole numbers of at most 9 digits",
        "has, condition 3: \"ids\" is not a parameter here",
        "has, condition 3: min is given more than once",
        "has, condition 3: q is empty",
    ];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for ((_, message), start) in found.iter().zip(expected) {
        assert!(message.starts_with(start), "{message}");
    }
    let codes = [
        ErrorCode::InvalidValue,
        ErrorCode::UnknownParameter,
        ErrorCode::InvalidValue,
        ErrorCode::UnknownParameter,
        ErrorCode::RepeatedParameter,
        ErrorCode::EmptyValue,
    ];
    assert!(found.iter().map(|(code, _)| *code).eq(codes));
}

#[test]
fn what_cannot_be_read_is_refused_with_its_condition() {
    for (text, condition) in [
        ("q=a", 1),
        ("(q=a", 1),
        ("(q=\"a)", 1),
        ("(q=(a))", 1),
        ("(q=a)(q=b)", 1),
        ("(q=a),", 2),
        ("(q=a),q", 2),
        ("(q)", 1),
        ("(country=\"a\"b)", 1),
        ("(country=\"a\",\"b\")", 1),
    ] {
        let found = faults(text);
        let last = found.last().expect("a fault");
        let start = format!("has, condition {condition}: ");
        assert_eq!(last.0, ErrorCode::InvalidValue, "{text}");
        assert!(last.1.starts_with(&start), "{text}: {last:?}");
    }
    assert_eq!(faults(" ")[0].0, ErrorCode::EmptyValue);
}

#[test]
fn the_order_of_pairs_has_no_meaning() {
    assert_eq!(one("(q=a;min=2;days=7)"), one("(days=7;q=a;min=2)"));
}

/// Conditions that are nearly right.
fn near_misses() -> impl Strategy<Value = String> {
    let pair = prop_oneof![
        "(q|all|country|categories|days|min|max|ids|x)=[a-z0-9\",;() ]{0,6}",
        "[a-z=\"();, ]{0,8}",
        Just("fundingStage=\"Series (A)\"".to_owned()),
        Just("company=r-d צ\"ל".to_owned()),
    ];
    let condition =
        prop::collection::vec(pair, 0..4).prop_map(|pairs| format!("({})", pairs.join(";")));
    let conditions = prop::collection::vec(condition, 0..5).prop_map(|all| all.join(","));
    prop_oneof![conditions, any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text_is_read_or_refused_with_reasons(text in near_misses()) {
        match typed(&text) {
            Ok(conditions) => for condition in conditions {
                prop_assert_eq!(condition.to_string().parse(), Ok(condition.clone()), "{}", condition);
            },
            Err(errors) => {
                prop_assert!(!errors.is_empty());
                for error in errors {
                    prop_assert!(!error.message.contains(char::is_control), "{:?}", error.message);
                    prop_assert!(error.message.chars().count() < 600, "{}", error.message);
                }
            }
        }
    }

    #[test]
    fn a_query_is_read_as_it_was_written(has in near_misses(), has_not in near_misses(), city in any::<String>()) {
        let Ok(has) = typed(&has) else { return Ok(()) };
        let mut builder = CompanyQuery::builder().has(has).city(&city).country(&city);
        if let Ok(conditions) = typed(&has_not) {
            builder = builder.has_not(conditions);
        }
        let Ok(query) = builder.build() else { return Ok(()) };
        prop_assert_eq!(query.to_string().parse(), Ok(query.clone()), "{}", query);
        prop_assert_eq!(query.filter().to_string().parse(), Ok(query.filter().clone()));
        prop_assert_eq!(query.clone().into_builder().build(), Ok(query));
    }
}
