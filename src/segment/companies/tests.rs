//! White-box tests of `segment/companies.rs`.

use super::*;
use crate::encoding::dictionary::{StringSections, Strings};
use crate::encoding::hash_index::{HashIndex, HashIndexSections};
use crate::segment::{Segment, SegmentBuilder};
use crate::signal::Company;

fn segment(companies: &[(&str, &str)]) -> Segment {
    let mut builder = SegmentBuilder::new(Vec::new()).unwrap();
    for &(slug, name) in companies {
        builder.add_company(&Company::new(slug, name)).unwrap();
    }
    Segment::from_bytes(&builder.finish().unwrap()).unwrap()
}

#[test]
fn companies_are_found_by_slug_and_by_the_key_of_their_name() {
    let companies = [
        ("acme", "Zeta"),
        ("beta", "ACME"),
        ("Zeta", "acme"),
        ("zoo", "Zoo"),
    ];
    let segment = segment(&companies);
    let keys = segment.company_keys().expect("a whole segment");
    let slugs = |found: Vec<CompanyNumber>| -> Vec<&str> {
        found
            .into_iter()
            .map(|company| keys.slug(company))
            .collect()
    };
    let by_either = |text| {
        let mut found = Vec::new();
        keys.by_slugs_or_names([text].into_iter(), &mut found);
        slugs(found)
    };
    let by_name = |text| {
        let mut found = Vec::new();
        keys.by_names([text].into_iter(), &mut found, 0);
        slugs(found)
    };
    assert_eq!(by_either("acme"), ["acme", "Zeta", "beta"]);
    assert_eq!(by_name("acme"), ["Zeta", "beta"]);
    let mut found = Vec::new();
    keys.by_slugs(["nobody", "Zeta"].into_iter(), &mut found);
    keys.by_names(["nobody", "acme"].into_iter(), &mut found, 0);
    assert_eq!(slugs(found), ["Zeta", "beta"], "one is known by its slug");
    assert_eq!(by_either("Zeta"), ["Zeta"]);
    assert_eq!(by_name("Zeta"), [""; 0]);
    assert_eq!(by_either("zeta"), ["acme"]);
    assert_eq!(by_either("zoo"), ["zoo", "zoo"]);
    assert_eq!(by_either("nobody"), [""; 0]);
    assert_eq!(keys.by_slug("beta"), Some(CompanyNumber(2)));
    assert_eq!(keys.by_slug("ACME"), None);
    assert_eq!(keys.by_slug("zeta"), None, "that is a name");
    assert_eq!(keys.name_key(CompanyNumber(2)), "acme");
    let mut found = Vec::new();
    keys.by_slugs(["acme", "zeta", "beta"].into_iter(), &mut found);
    assert_eq!(slugs(found), ["acme", "beta"]);
}

#[test]
fn of_names_with_one_key_only_those_whose_legal_form_agrees_are_found() {
    let companies = [
        ("a", "Acme AG"),
        ("b", "Acme"),
        ("c", "Acme Inc."),
        ("d", "The Acme AG & Co."),
    ];
    let segment = segment(&companies);
    let found = |name: &str| {
        let mut found = vec![CompanyNumber(2)];
        segment
            .find_companies(&CompanyName::new(name), &mut found)
            .expect("a whole segment");
        found.sort_unstable_by_key(|company| company.index());
        found
            .iter()
            .map(|company| company.index())
            .collect::<Vec<_>>()
    };
    assert_eq!(found("acme ag"), [0, 1, 2, 3]);
    assert_eq!(found("acme incorporated"), [1, 2, 2]);
    assert_eq!(found("acme & co. ltd"), [1, 2]);
    assert_eq!(found("zeta ag"), [2]);
}

#[test]
fn validation_finds_what_is_broken() {
    let error = |keys: &[&str]| {
        let mut sections = StringSections::default();
        keys.iter()
            .for_each(|key| sections.push(key.as_bytes()).unwrap());
        let keys = Strings::new(&sections.ends, &sections.bytes);
        let HashIndexSections { starts, entries } = &HashIndexSections::of(&keys);
        let index = HashIndex { starts, entries };
        let found = CompanyKeys(Dictionary { keys, index }).validate(2);
        found.err().map(|error| error.to_string())
    };
    assert_eq!(error(&["acme", "acne", "b", "a"]), None);
    let twice = error(&["acme", "acme", "b", "a"]);
    assert_eq!(twice.as_deref(), Some("two companies have one slug"));
    let unordered = error(&["acne", "acme", "b", "a"]);
    assert_eq!(unordered, twice);
    let nameless = error(&["acme", "acne", "b"]);
    let rule = "there is not one slug and one name for each company";
    assert_eq!(nameless.as_deref(), Some(rule));
}
