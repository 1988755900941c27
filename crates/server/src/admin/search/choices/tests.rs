//! White-box tests of `admin/search/choices.rs`.

use super::*;

fn choices(query: &str) -> Choices {
    let index = signaldex::sample::index().expect("the sample corpus");
    let filter = Filter::from_query_string(query).expect("a filter");
    let facets = index
        .snapshot()
        .facets(&filter, signaldex::sample::AS_OF)
        .expect("a whole index");
    Choices::of(&facets, &filter, &FormData::parse(query.as_bytes()))
}

fn chosen(group: &FilterGroup) -> Vec<(&str, Option<&str>)> {
    let chosen = group.choices.iter().filter(|choice| choice.is_chosen);
    chosen
        .map(|choice| (choice.label.as_str(), choice.count.as_deref()))
        .collect()
}

#[test]
fn what_is_chosen_is_marked_also_where_nothing_has_it() {
    let choices = choices("country=germany&categories=funding,nothing&dateRanges=7,older");
    assert_eq!(chosen(&choices.company[0])[0].0, "Germany");
    assert!(
        choices.company[0].choices.len() > 1,
        "the others can still be chosen"
    );
    assert_eq!(chosen(&choices.categories)[1], ("nothing", Some("0")));
    assert_eq!(chosen(&choices.date_ranges).len(), 2);
}

#[test]
fn only_what_can_be_filtered_on_is_offered() {
    let choices = choices("");
    let currencies: Vec<&str> = choices.funding[1]
        .choices
        .iter()
        .map(|choice| choice.value.as_str())
        .collect();
    assert_eq!(currencies, ["USD", "EUR", "GBP"]);
    let sizes: Vec<&str> = choices.company[2]
        .choices
        .iter()
        .map(|choice| choice.value.as_str())
        .collect();
    assert_eq!(sizes, ["1-49", "50-100", "101-500", "501+"]);
}

#[test]
fn every_facet_is_in_the_form() {
    let shown: Vec<Facet> = [COMPANY, FUNDING, HIRING]
        .concat()
        .into_iter()
        .map(|(facet, _)| facet)
        .chain([Facet::Category])
        .collect();
    assert!(Facet::ALL.iter().all(|facet| shown.contains(facet)));
}
