//! White-box tests of `admin/search/companies/`.

use signaldex::sample;
use time::Date;

use super::*;

const TODAY: Date = sample::AS_OF;

fn sent(query: &str) -> SentQuery {
    SentQuery::of(&FormData::parse(query.as_bytes()))
}

fn snapshot() -> std::sync::Arc<Snapshot> {
    sample::index().expect("the sample corpus").snapshot()
}

/// The errors of a query, as the page lists them.
fn errors(query: &str) -> Vec<(String, String, String)> {
    let (snapshot, sent) = (snapshot(), sent(query));
    let query = CompanyQuery::from_query_string(&sent.text.to_string());
    let invalid = query.as_ref().err().map_or(&[][..], |error| error.errors());
    let fields = form::company_fields(&snapshot, query.as_ref().ok(), &sent.text, invalid, TODAY);
    let fields = fields.expect("a whole index");
    let groups = sent.groups(&snapshot, TODAY).expect("a whole index");
    let faults = words::faults(invalid, &fields, &groups);
    let fault = |fault: CompanyFault| (fault.id, fault.label, fault.text);
    faults.into_iter().map(fault).collect()
}

#[test]
fn a_form_leads_to_the_query_string_of_the_api() {
    let form = "country=Germany&city=&has1.min=2&has1.categories=hiring&has1.categories=funding&has3.q=raises\
                &hasNot2.fundingStage=Series+A&order=-matches&limit=10&cursor=x";
    let sent = sent(form);
    assert!(sent.is_written());
    assert_eq!(
        sent.text.to_string(),
        "country=Germany&order=-matches&limit=10&has=(min%3D2;categories%3Dhiring,funding),(q%3Draises)\
         &hasNot=(fundingStage%3DSeries+A)"
    );
    let again = SentQuery::of(&FormData::parse(sent.text.to_string().as_bytes()));
    assert_eq!(again.text, sent.text, "an address is one form of its query");
}

#[test]
fn a_shared_address_fills_the_fields_it_was_made_of() {
    let sent = sent("has=(min=2;q=\"a; b\"),()&hasNot=(country=\"Korea (South)\")");
    let groups = sent.groups(&snapshot(), TODAY).expect("a whole index");
    let [has, has_not] = groups.as_slice() else {
        panic!("two kinds")
    };
    let typed = |group: &ConditionGroup, index: usize, name: &str| {
        group.conditions[index].fields.typed(name).to_owned()
    };
    assert_eq!(typed(has, 0, "q"), "\"a; b\"");
    assert_eq!(
        (typed(has, 0, "min"), typed(has, 1, "min")),
        ("2".into(), "1".into())
    );
    assert_eq!(typed(has_not, 0, "country"), "Korea (South)");
    let next = |group: &ConditionGroup| group.next.as_ref().map(|next| next.fields.id("q"));
    assert_eq!(next(has).as_deref(), Some("has3.q"));
    let full = super::tests::sent("has=(),(),(),()");
    let groups = full.groups(&snapshot(), TODAY).expect("a whole index");
    assert!(next(&groups[0]).is_none());
}

#[test]
fn errors_are_told_at_their_fields() {
    let text = |text: &str| text.to_owned();
    for (query, id, label, words) in [
        (
            "has=(q=raises),(days=8)",
            "has2.days",
            "Has signals, condition 2, Within the last",
            "Choose one of 7, 30, 90.",
        ),
        (
            "hasNot1.q=a),(b",
            "hasNot1.q",
            "Has no such signals, condition 1, Words in the title",
            "Put ; ( ) in double quotes, and close each quotation mark.",
        ),
        (
            "has=(min=3;max=2)",
            "has1.min",
            "Has signals, condition 1, At least",
            "The lowest number is above the highest; it is 1 unless given.",
        ),
        (
            "has=(max=0)",
            "has1.min",
            "Has signals, condition 1, At least",
            "The lowest number is above the highest; it is 1 unless given.",
        ),
        (
            "has=(min=x)",
            "has1.min",
            "Has signals, condition 1, At least",
            "Enter a whole number of at most 9 digits.",
        ),
        (
            "foundedFrom=2000&foundedTo=1999",
            "foundedFrom",
            "Founded from",
            "The first year is after the last.",
        ),
        (
            "employeesMax=x",
            "employeesMax",
            "Employees, at most",
            "Enter a whole number.",
        ),
        (
            "limit=0",
            "limit",
            "Companies per page",
            "Enter a whole number from 1 to 50.",
        ),
        (
            "has=(q=raises",
            "",
            "Has signals",
            "has, condition 1: is not closed; end it with a )",
        ),
    ] {
        let expected = [(text(id), text(label), text(words))];
        assert_eq!(errors(query), expected, "{query}");
    }
    let [(id, _, words)] = errors("q=raises").try_into().expect("one error");
    assert!(id.is_empty() && words.contains("has=(q="), "{words}");
    assert_eq!(errors("has=(),(),(),(),()").len(), 1);
    assert_eq!(errors("country=Germany&has=(min=0;max=3)"), []);
}

#[test]
fn every_count_of_a_card_is_that_of_the_search_it_leads_to() {
    let snapshot = snapshot();
    let mut counted = 0;
    for text in [
        "has=(categories=hiring;min=2),(q=raises;min=0)&order=-matches",
        "has=(days=90;hiringType=new-role),(country=Germany;min=0)&limit=50",
        "has=(companySlug=cpp-foundry;min=0)&limit=5",
    ] {
        let sent = sent(text);
        let query = CompanyQuery::from_query_string(&sent.text.to_string()).expect(text);
        let page = snapshot.companies(&query, TODAY).expect("a whole index");
        let cards = cards::cards_of(&page, sent.has());
        assert_eq!(cards.len(), page.len());
        for (card, item) in cards.iter().zip(page.items()) {
            assert_eq!(card.counts.len(), query.filter().has().len());
            for (count, matches) in card.counts.iter().zip(&item.matches) {
                let Some(link) = count.link.strip_prefix("/search?") else {
                    assert_eq!(matches.count, 0, "{}", card.slug);
                    continue;
                };
                let search = signaldex::Query::from_query_string(link).expect(link);
                let found = snapshot
                    .count(search.filter(), TODAY)
                    .expect("a whole index");
                assert_eq!(found, matches.count, "{link}");
                counted += 1;
            }
        }
    }
    assert!(counted > 20);
}

#[test]
fn each_filter_and_condition_can_be_removed() {
    let sent = sent("country=Germany&has=(q=a),(q=\"b;c\")&hasNot=(days=7)&limit=10");
    let chips = sent.chips();
    let chips: Vec<(&str, &str, &str)> = chips
        .iter()
        .map(|chip| {
            (
                chip.name.as_str(),
                chip.value.as_str(),
                chip.without.as_str(),
            )
        })
        .collect();
    assert_eq!(
        chips,
        [
            (
                "country",
                "Germany",
                "/companies?has=(q%3Da),(q%3D%22b;c%22)&hasNot=(days%3D7)&limit=10"
            ),
            (
                "has 1",
                "at least 1: q a",
                "/companies?country=Germany&hasNot=(days%3D7)&limit=10&has=(q%3D%22b;c%22)"
            ),
            (
                "has 2",
                "at least 1: q \"b;c\"",
                "/companies?country=Germany&hasNot=(days%3D7)&limit=10&has=(q%3Da)"
            ),
            (
                "hasNot 1",
                "at least 1: days 7",
                "/companies?country=Germany&has=(q%3Da),(q%3D%22b;c%22)&limit=10"
            ),
        ]
    );
}

#[test]
fn every_parameter_of_companies_has_a_field() {
    let template = include_str!("../../templates/companies.html");
    for name in [
        "company",
        "companySlug",
        "companies",
        "city",
        "foundedFrom",
        "foundedTo",
        "employeesMin",
        "employeesMax",
        "order",
        "limit",
    ] {
        assert!(template.contains(&format!("\"{name}\"")), "{name}");
    }
}
