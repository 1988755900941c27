//! Chosen columns hold what the answers of the API hold.

use serde_json::Value;

use super::*;
use crate::json::{CSV_COLUMNS, CompanyDetail, SignalDetail};
use crate::query::Order;
use crate::{Filter, sample};

#[test]
fn all_columns_together_are_the_detail_and_the_hiring_attributes() {
    let snapshot = sample::index().expect("the sample").snapshot();
    let columns = SignalColumns::all();
    assert!(columns.names().take(17).eq(CSV_COLUMNS));
    assert!(columns.need_company());
    let all = snapshot.matches(&Filter::default(), sample::AS_OF, Order::NewestFirst);
    let mut line = Vec::new();
    for found in all.with_companies() {
        let found = found.expect("a whole sample");
        let (signal, company) = (&found.signal, &found.company);
        line.clear();
        let source = ColumnSource {
            signal,
            company_name: &company.name,
            company: Some(company),
        };
        for (value, column_type) in columns.values(source).iter().zip(columns.types()) {
            assert!(
                [None, Some(column_type)].contains(&type_of(value)),
                "{value:?}"
            );
        }
        columns.write_line(&mut line, source);
        let mut written: Value = serde_json::from_slice(&line).expect("JSON");
        let hiring = written["hiring"].take();
        for (name, value) in signal.hiring.iter().flat_map(|hiring| hiring.attributes()) {
            assert_eq!(hiring[name].as_str(), value.as_deref(), "{name}");
        }
        written.as_object_mut().expect("an object").remove("hiring");
        if signal.funding.is_none() {
            written["funding"] = Value::Null;
        }
        let detail = serde_json::to_value(SignalDetail { signal, company }).expect("JSON");
        assert_eq!(written, detail);
    }
}

fn type_of(value: &ColumnValue<'_>) -> Option<ColumnType> {
    match value {
        ColumnValue::Null => None,
        ColumnValue::Id(_) => Some(ColumnType::Id),
        ColumnValue::Text(_) => Some(ColumnType::Text),
        ColumnValue::Day(_) => Some(ColumnType::Day),
        ColumnValue::Instant(_) => Some(ColumnType::Instant),
        ColumnValue::Whole(_) => Some(ColumnType::Whole),
        ColumnValue::Amount(_) => Some(ColumnType::Amount),
    }
}

#[test]
fn the_columns_of_a_company_are_the_members_of_its_answer() {
    let snapshot = sample::index().expect("the sample").snapshot();
    let columns = CompanyColumns::all();
    for company in snapshot.companies_by_slug().expect("a whole sample") {
        let slug = company.expect("a whole sample").slug;
        let profile = snapshot.company(&slug).expect("a whole sample");
        let profile = &profile.expect("a company");
        let mut line = Vec::new();
        columns.write_line(&mut line, profile);
        let mut expected = serde_json::to_vec(&CompanyDetail { profile }).expect("JSON");
        expected.push(b'\n');
        assert_eq!(line, expected, "{slug}");
    }
}

#[test]
fn columns_come_in_the_order_wanted_and_nest_where_their_object_is_first() {
    let columns = SignalColumns::parse("company.city, id,company.country").expect("names");
    let (signal, company) = records();
    let source = ColumnSource {
        signal: &signal,
        company_name: "Acme",
        company: Some(&company),
    };
    let (mut line, mut rows) = (Vec::new(), Vec::new());
    columns.write_line(&mut line, source);
    columns.write_header(&mut rows);
    columns.write_row(&mut rows, source);
    let line = String::from_utf8(line).expect("text");
    assert_eq!(
        line,
        "{\"company\":{\"city\":null,\"country\":\"=A\"},\"id\":\"1\"}\n"
    );
    let rows = String::from_utf8(rows).expect("text");
    assert_eq!(rows, "company.city,id,company.country\r\n,1,\"'=A\"\r\n");
}

fn records() -> (Signal<'static>, Company<'static>) {
    let mut company = Company::new("acme", "Acme");
    company.country = Some("=A".into());
    company.founded_year = Some(-5);
    let signal = Signal::new(crate::SignalId::MIN, "acme", "Acme hires");
    (signal, company)
}

#[test]
fn a_number_with_a_minus_is_no_formula() {
    let (signal, company) = records();
    let columns = SignalColumns::parse("company.foundedYear").expect("a name");
    let mut row = Vec::new();
    let company = Some(&company);
    let source = ColumnSource {
        signal: &signal,
        company_name: "",
        company,
    };
    columns.write_row(&mut row, source);
    assert_eq!(row, b"-5\r\n");
}

#[test]
fn an_unknown_or_repeated_name_is_refused_with_the_nearest() {
    let refused = |names| {
        SignalColumns::parse(names)
            .expect_err("no column")
            .to_string()
    };
    let table = [
        (
            "country",
            "\"country\" is not a column; did you mean company.country?",
        ),
        (
            "funding",
            "\"funding\" is not a column; did you mean funding.stage?",
        ),
        ("titel", "\"titel\" is not a column; did you mean title?"),
        ("id,id", "the column id is given twice; each is given once"),
    ];
    for (names, expected) in table {
        assert_eq!(refused(names), expected);
    }
    assert!(refused("").contains("columns are id, slug, title"));
    let refused = CompanyColumns::parse("about,signals")
        .expect_err("no column")
        .to_string();
    assert!(refused.contains("\"signals\" is not a column"), "{refused}");
}
