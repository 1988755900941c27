//! Items of `companies` find the companies that `is_company_name` says, in fresh and committed segments and in saved
//! searches; and real names are found in the ways in which people type them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use signaldex::json::{self, OnInvalid};
use signaldex::text::{CompanyName, fold_value, is_company_name};
use signaldex::{
    Company, Filter, Index, IndexBuilder, Query, SavedSearches, Signal, SignalId, Snapshot,
};
use time::Date;
use time::macros::date;

use crate::agreement::setting;
use crate::random::Random;
use crate::search_tables::{Table, index_of, named};

const TODAY: Date = date!(2026 - 06 - 30);

/// Pairs of a random item and a random name in the ordinary run.
const PAIRS: usize = 40_000;

fn index_of_names(names: &[&str]) -> Index {
    index_of(&named(names), IndexBuilder::in_memory())
}

fn filter_of(item: &str) -> Filter {
    let query = Query::builder().companies([item]).build();
    query.expect("an item").filter().clone()
}

/// The names of the companies whose signals a filter finds.
fn found<'n>(snapshot: &Snapshot, names: &[&'n str], filter: &Filter) -> BTreeSet<&'n str> {
    let query = Query::of_filter(filter.clone(), Default::default(), 100_000);
    let query = query.expect("an order by id");
    let page = snapshot.search(&query, TODAY).expect("a whole index");
    assert_eq!(
        snapshot.count(filter, TODAY).expect("a whole index"),
        page.len() as u64
    );
    page.ids().map(|id| names[id.get() as usize - 1]).collect()
}

#[test]
fn every_typed_name_finds_what_it_should() {
    let table = Table::of_names();
    let snapshot = table.index(IndexBuilder::in_memory()).snapshot();
    let names = table.records.iter().map(|(_, company)| &*company.name);
    let names: Vec<&str> = names.collect();
    table.check(|search| {
        let names_found = found(&snapshot, &names, &filter_of(search.value));
        // Beside a slug, which is compared as it is.
        let query = Query::builder()
            .companies([search.value, "slug 7"])
            .build()
            .expect("items");
        let both = found(&snapshot, &names, query.filter());
        assert!(both.contains(names[6]) && both.is_superset(&names_found));
        let id = |name: &&str| names.iter().position(|other| other == name);
        let ids = names_found.iter().filter_map(id);
        Ok(ids.map(|index| index as u64 + 1).collect())
    });
}

/// Pieces of names that the rules are about.
const PIECES: &[&str] = &[
    "Acme",
    "Acme",
    "Zeta",
    "the",
    "The",
    "and",
    "&",
    "+",
    "Inc",
    ", Inc.",
    "Co.",
    "Ltd",
    "AG",
    "S.A.",
    "S",
    "com",
    ".com",
    ".",
    " ",
    " ",
    " ",
    "'",
    "’s",
    "-",
    "é",
    "株",
    "株式会社",
    "アクメ",
    "유한회사",
    "주",
    "PT",
    "1",
    "!",
];

fn random_name(random: &mut Random) -> String {
    let count = 1 + random.below(5);
    let pieces = (0..count).map(|_| PIECES[random.below(PIECES.len())]);
    let name: String = pieces.collect();
    if name.trim().is_empty() {
        "Acme".to_owned()
    } else {
        name
    }
}

#[test]
fn the_index_and_saved_searches_agree_with_the_function() {
    let pairs = setting("SIGNALDEX_PAIRS", PAIRS);
    let mut random = Random::new(setting("SIGNALDEX_SEED", 1) as u64);
    let names: Vec<String> = (0..200).map(|_| random_name(&mut random)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let snapshot = index_of_names(&names).snapshot();
    let mut matched = 0;
    for _ in 0..pairs / names.len() {
        let item = random_name(&mut random);
        let filter = filter_of(&item);
        let reread: Filter = filter.to_string().parse().expect("what was written");
        assert_eq!(reread, filter);
        let mut saved = SavedSearches::new();
        saved.insert("search", filter.clone());
        let found = found(&snapshot, &names, &filter);
        for (number, name) in names.iter().enumerate() {
            let expected = is_company_name(&item, name);
            let company = Company::new(format!("slug {number}"), *name);
            let signal = Signal::new(SignalId::MIN, company.slug.clone(), "A title");
            assert_eq!(
                filter.matches(&signal, &company, TODAY),
                expected,
                "{item:?}, {name:?}"
            );
            assert_eq!(found.contains(name), expected, "{item:?}, {name:?}");
            let is_saved = !saved.matches(&signal, &company, TODAY).is_empty();
            assert_eq!(is_saved, expected, "{item:?}, {name:?}");
            matched += usize::from(expected);
        }
    }
    assert!(
        matched * 200 > pairs,
        "only {matched} of {pairs} pairs match"
    );
}

#[test]
fn and_is_left_out_of_names_that_have_another_word() {
    let names = [
        "Barnes & Noble",
        "Barnes and Noble",
        "And",
        "Rock-and-Roll",
        "Noble",
    ];
    let snapshot = index_of_names(&names).snapshot();
    for (typed, expected) in [
        (
            "barnes and noble",
            &["Barnes & Noble", "Barnes and Noble"][..],
        ),
        ("barnes noble and", &["Barnes & Noble", "Barnes and Noble"]),
        ("and", &["And"]),
        ("and and", &["And"]),
        ("rock-and-roll", &["Rock-and-Roll"]),
        ("rock-roll", &["Rock-and-Roll"]),
        (
            "noble and",
            &["Barnes & Noble", "Barnes and Noble", "Noble"],
        ),
    ] {
        let query = Query::builder().company(typed).build().expect("words");
        let expected: BTreeSet<&str> = expected.iter().copied().collect();
        assert_eq!(
            found(&snapshot, &names, query.filter()),
            expected,
            "{typed:?}"
        );
        let mut saved = SavedSearches::new();
        saved.insert("search", query.filter().clone());
        for name in names {
            let company = Company::new("slug", name);
            let signal = Signal::new(SignalId::MIN, "slug", "A title");
            let is_expected = expected.contains(name);
            assert_eq!(
                query.filter().matches(&signal, &company, TODAY),
                is_expected
            );
            assert_eq!(
                !saved.matches(&signal, &company, TODAY).is_empty(),
                is_expected
            );
        }
    }
}

/// Legal forms that end a name, with another spelling of each.
const SPELLINGS: &[(&str, &str)] = &[
    ("inc", "Incorporated"),
    ("incorporated", "Inc."),
    ("corp", "Corporation"),
    ("corporation", "Corp."),
    ("co", "Company"),
    ("company", "Co."),
    ("llc", "L.L.C."),
    ("ltd", "Limited"),
    ("limited", "Ltd."),
    ("lp", "L.P."),
    ("gmbh", "G.m.b.H."),
    ("plc", "P.L.C."),
    ("ag", "AG"),
    ("sa", "S.A."),
];

/// The name before its last word, and the other spelling of that word, if it is a legal form.
fn legal_form(name: &str) -> Option<(&str, &'static str)> {
    let (before, last) = name.rsplit_once(' ')?;
    let last: String = last
        .chars()
        .filter(|letter| letter.is_alphanumeric())
        .collect();
    let last = last.to_lowercase();
    let (_, other) = SPELLINGS.iter().find(|(form, _)| *form == last)?;
    let before = before.trim_end_matches([',', ' ']);
    (!before.is_empty()).then_some((before, other))
}

/// A way in which people type a name; `None` if it is the name as it is.
type Typing = fn(&str) -> Option<String>;

/// The eleven ways.
const WAYS: [(&str, Typing); 11] = [
    ("without legal form", |name| {
        Some(legal_form(name)?.0.to_owned())
    }),
    ("form spelt otherwise", |name| {
        let (before, other) = legal_form(name)?;
        Some(format!("{before} {other}"))
    }),
    ("lower case", |name| Some(name.to_lowercase())),
    ("& as and", |name| Some(name.replace('&', " and "))),
    ("and as &", |name| Some(name.replace(" and ", " & "))),
    ("without .com", |name| {
        Some(name.strip_suffix(".com")?.to_owned())
    }),
    ("apostrophes left out", |name| {
        Some(name.replace(['\'', '’'], ""))
    }),
    ("apostrophes curly", |name| Some(name.replace('\'', "’"))),
    ("hyphen as space", |name| Some(name.replace('-', " "))),
    ("ASCII", |name| {
        Some(fold_value(name).into_owned()).filter(|folded| !name.is_ascii() && folded.is_ascii())
    }),
    ("without punctuation", |name| {
        // Of each word; what stands within one is part of it.
        let words = name.split_whitespace();
        let words =
            words.map(|word| word.trim_matches([',', '.', ';', ':', '!', '?', '(', ')', '"']));
        Some(words.collect::<Vec<_>>().join(" "))
    }),
];

#[test]
#[ignore = "needs the real corpus in ../shared/corpus"]
fn real_names_are_found_in_eleven_ways() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    let mut builder = IndexBuilder::in_memory();
    let files = ["companies.jsonl.zst", "signals.jsonl.zst"].map(|name| folder.join(name));
    json::load(&files[0], &files[1], &mut builder, OnInvalid::Stop).expect("the corpus is there");
    let snapshot = builder.finish().expect("a valid index").snapshot();
    let names: BTreeMap<String, String> = snapshot
        .scan_companies()
        .map(|company| company.expect("a whole index"))
        .map(|company| (company.slug.to_string(), company.name.to_string()))
        .collect();
    let mut by_key: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for name in names.values() {
        by_key
            .entry(CompanyName::new(name).key().to_owned())
            .or_default()
            .push(name);
    }
    for (way, typing) in WAYS {
        let (mut typed, mut hits) = (0, 0);
        for (slug, name) in &names {
            let Some(item) = typing(name).filter(|item| item != name && !item.trim().is_empty())
            else {
                continue;
            };
            let filter = filter_of(&item);
            let found = snapshot.named_companies(&filter).expect("a whole index");
            let found: BTreeSet<&str> = found
                .iter()
                .flat_map(|item| &item.companies)
                .map(|c| &*c.slug)
                .collect();
            typed += 1;
            hits += usize::from(found.contains(&**slug));
            for other in found {
                let is_meant = other == item || is_company_name(&item, &names[other]);
                assert!(is_meant, "{item:?} finds {other:?}");
            }
        }
        println!("{way}: {hits} of {typed} found");
        assert!(hits * 100 >= typed * 99, "{way}: {hits} of {typed} found");
    }
}
