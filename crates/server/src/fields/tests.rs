//! The table is complete, and docs/records.md has it.

use serde_json::value::RawValue;
use signaldex::json::{
    AggregateAnswer, CompaniesData, CompanyDetail, Data, FilterOptions, SignalDetail, SignalItem,
    company_item,
};
use signaldex::query::{CompanyQuery, Facet, GroupBy, Measure, ParameterSet};
use signaldex::{AggregateQuery, Filter, sample};

use super::*;
use crate::documents::assert_part;

#[test]
fn each_field_is_described_with_an_example() {
    for object in &OBJECTS {
        for field in object.fields() {
            let name = format!("{}.{}", object.name, field.name);
            assert!(field.meaning.ends_with('.'), "{name}: {}", field.meaning);
            let contains_others = matches!(field.values, Object(_) | List(..));
            assert_eq!(field.example_value().is_none(), contains_others, "{name}");
            assert_eq!(field.example.is_empty(), contains_others, "{name}");
        }
    }
}

#[test]
fn objects_in_answers_are_in_the_table() {
    for object in &OBJECTS {
        for field in object.fields() {
            if let Object(name) | List(name, _) = field.values {
                // A list of ids has texts.
                assert!(
                    name == "SignalId" || !alternatives(name).is_empty(),
                    "{name}"
                );
            }
        }
    }
    let paths: Vec<String> = paths_of("ChangesResult")
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    for path in ["data.changes[].signal.funding.amount", "data.changes[].id"] {
        assert!(paths.iter().any(|known| known == path), "{path}");
    }
}

/// The names of the members of an object, in order.
fn names(record: impl serde::Serialize) -> Vec<String> {
    struct Names(Vec<String>);
    impl<'de> serde::Deserialize<'de> for Names {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Names, D::Error> {
            struct Visitor;
            impl<'de> serde::de::Visitor<'de> for Visitor {
                type Value = Names;
                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("an object")
                }
                fn visit_map<A: serde::de::MapAccess<'de>>(
                    self,
                    mut map: A,
                ) -> Result<Names, A::Error> {
                    let mut names = Vec::new();
                    while let Some((name, _)) = map.next_entry::<String, &RawValue>()? {
                        names.push(name);
                    }
                    Ok(Names(names))
                }
            }
            deserializer.deserialize_map(Visitor)
        }
    }
    let text = serde_json::to_string(&record).expect("JSON");
    let Names(names) = serde_json::from_str(&text).expect("an object");
    names
}

#[test]
fn answers_have_the_fields_of_the_table_in_its_order() {
    let index = sample::index().expect("the sample corpus");
    let snapshot = index.snapshot();
    let query = signaldex::Query::from_query_string("fundingMin=1").expect("a query");
    let page = snapshot.search(&query, sample::AS_OF).expect("a page");
    let items = snapshot.records(&page).expect("records");
    let (signal, company_name) = (&items[0].signal, &items[0].company_name[..]);
    let found = snapshot.company(&signal.company_slug).expect("readable");
    let profile = found.expect("a company");
    let detail = SignalDetail {
        signal,
        company: &profile.company,
    };
    let text = serde_json::to_value(detail).expect("JSON");
    let counts = snapshot.facets(&Filter::default(), sample::AS_OF);
    let options = FilterOptions {
        counts: &counts.expect("counts"),
        facets: &Facet::ALL,
    };
    let item = SignalItem {
        signal,
        company_name,
    };
    let answers = [
        ("Signal", names(item)),
        ("SignalDetail", names(detail)),
        ("Company", names(CompanyDetail { profile: &profile })),
        ("FilterOptions", names(options)),
        ("SearchResult", names(Data { data: 0 })),
    ];
    for (object, found) in answers {
        let object = ObjectDescription::of_name(object).expect(object);
        let described: Vec<&str> = object.fields().map(|field| field.name).collect();
        assert_eq!(found, described, "{}", object.name);
    }
    for (object, found) in [
        ("Funding", &text["funding"]),
        ("CompanyProfile", &text["company"]),
    ] {
        let object = ObjectDescription::of_name(object).expect(object);
        let count = found.as_object().expect(object.name).len();
        assert_eq!(count, object.fields().count(), "{}", object.name);
        for field in object.fields() {
            assert!(
                !found[field.name].is_null() || !field.null.is_empty(),
                "{}",
                field.name
            );
        }
    }
}

/// The described fields of an object, sorted as those of a `Value` are.
fn described(name: &str) -> Vec<String> {
    let object = ObjectDescription::of_name(name).expect(name);
    let mut names: Vec<String> = object.fields().map(|field| field.name.to_owned()).collect();
    names.sort();
    names
}

#[test]
fn aggregates_have_the_fields_of_the_table() {
    let measures = Measure::NAMES.join(",");
    let mut keys = Vec::new();
    for by in GroupBy::NAMES {
        let query = format!("by={by}&measures={measures}&categories=funding");
        let query = AggregateQuery::from_query_string(&query, ParameterSet::FILTERS);
        let query = query.expect("a query");
        let snapshot = sample::index().expect("the sample corpus").snapshot();
        let found = snapshot.aggregate(&query, sample::AS_OF);
        let body = AggregateAnswer {
            query: &query,
            aggregates: &found.expect("aggregates"),
        };
        let body: Map<String, Value> = serde_json::from_slice(&body.to_bytes()).expect("an object");
        let (data, group) = (&body["data"], &body["data"]["groups"][0]);
        assert_eq!(names(data), described("Aggregates"));
        assert_eq!(names(group), described("AggregateGroup"));
        assert_eq!(names(&data["totals"]), described("AggregateTotals"));
        assert_eq!(
            names(&data["totals"]["amounts"][0]),
            described("CurrencyAmounts"),
            "{by}"
        );
        if by == "company" {
            assert_eq!(names(&group["key"][by]), described("CompanyKey"));
        }
        keys.extend(names(&group["key"]));
    }
    keys.sort();
    assert_eq!(keys, described("AggregateKey"));
}

#[test]
fn companies_have_the_fields_of_the_table() {
    let snapshot = sample::index().expect("the sample corpus").snapshot();
    let query = CompanyQuery::from_query_string("has=(categories=hiring)&limit=1");
    let query = query.expect("a query");
    let page = snapshot.companies(&query, sample::AS_OF).expect("a page");
    let item = company_item(&page.items()[0]);
    let item: Map<String, Value> = serde_json::from_slice(&item).expect("an object");
    assert_eq!(names(&item), described("MatchedCompany"));
    assert_eq!(names(&item["matches"][0]), described("ConditionMatches"));
    let facets = snapshot.company_facets(query.filter(), sample::AS_OF, &COMPANY_FACETS);
    let data = CompaniesData {
        items: &[],
        next_cursor: None,
        count: Some(1),
        facets: Some(FilterOptions {
            counts: &facets.expect("counts"),
            facets: &COMPANY_FACETS,
        }),
    };
    let data = serde_json::to_value(data).expect("JSON");
    assert_eq!(names(&data), described("CompanyPage"));
    assert_eq!(names(&data["facets"]), described("CompanyFacets"));
    let first = &data["facets"]["sizes"][0];
    assert_eq!(names(first).len(), described("CompanyOption").len());
}

/// The facets of companies.
const COMPANY_FACETS: [Facet; 3] = [Facet::Country, Facet::Industry, Facet::Size];

#[test]
fn the_page_on_records_has_the_table() {
    let mut text = String::new();
    // The groups of more than a field that are in the document, with the object that has them.
    let mut shown: Vec<(*const Field, &str)> = Vec::new();
    for object in &OBJECTS {
        text.push_str(&format!("### {}\n\n", object.name));
        let mut rows = String::new();
        for group in object.groups {
            let known = shown.iter().find(|(known, _)| *known == group.as_ptr());
            if let Some((_, name)) = known {
                text.push_str(&format!("The fields of {name}, and:\n\n"));
                continue;
            }
            if group.len() > 1 {
                shown.push((group.as_ptr(), object.name));
            }
            rows.extend(group.iter().map(row));
        }
        text.push_str("| field | value | meaning | example |\n|---|---|---|---|\n");
        text.push_str(&format!("{rows}\n"));
    }
    assert_part("docs/records.md", "fields", &text);
}

fn row(field: &Field) -> String {
    let (form, meaning) = (field.form(), field.description());
    let example = match field.example {
        "" => String::new(),
        example => format!("`{example}`"),
    };
    format!("| `{}` | {form} | {meaning} | {example} |\n", field.name)
}
