//! White-box tests of `text/name.rs`.

use proptest::prelude::*;

use super::*;

/// Items as typed with the names that each finds.
const TYPED: &str = include_str!("../../../data/names/names.tsv");

/// Companies of stock indices.
const MEMBERS: &str = include_str!("../../../data/names/members.tsv");

fn rows(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| row.split('\t').collect())
}

fn names_of(cell: &str) -> Vec<&str> {
    cell.split(" | ").filter(|name| *name != "-").collect()
}

#[test]
fn every_typed_name_finds_what_it_should() {
    let mut names: Vec<&str> = rows(MEMBERS).map(|row| row[0]).collect();
    rows(TYPED).for_each(|row| names.extend(names_of(row[1])));
    names.sort_unstable();
    names.dedup();
    for row in rows(TYPED) {
        let mut expected = names_of(row[1]);
        expected.sort_unstable();
        let found = names.iter().filter(|name| is_company_name(row[0], name));
        let found: Vec<&str> = found.copied().collect();
        assert_eq!(found, expected, "{:?}: {}", row[0], row[2]);
    }
}

#[test]
fn keys_follow_the_rules() {
    let examples = [
        ("The Acme & Co. Ltd.", "acme"),
        ("Acme Gesellschaft mit beschränkter Haftung", "acme"),
        ("Acme S. de R.L. de C.V.", "acme"),
        ("Acme Sp. z o.o.", "acme"),
        ("Acme Pvt. Ltd. and the", "acme"),
        ("PT Acme Tbk", "acme"),
        ("㈱アクメ", "アクメ"),
        ("アクメ株式会社", "アクメ"),
        ("주식회사 아크메", "아크메"),
        ("The.com", "com"),
        ("The The", "the"),
        ("And", "and"),
        ("& Co", "co"),
        ("The Company", "company"),
        ("Ltd", "ltd"),
        ("Ltd Ltd", "ltd"),
        ("\u{301}유한회사", "유한회사"),
        ("유한회사\u{301}", "유한회사\u{301}"),
        ("\u{301} Ltd", "ltd"),
        ("L.P.", "lp"),
        ("www.acme.com, Inc.", "wwwacme"),
        ("acme com", "acmecom"),
        ("1'000 Things", "1000things"),
        (" ! ", "!"),
        ("&", "&"),
    ];
    for (name, key) in examples {
        assert_eq!(CompanyName::new(name).key(), key, "{name:?}");
    }
}

#[test]
fn legal_forms_contradict_if_neither_has_all_of_the_other() {
    let agree = |one: &str, other: &str| is_company_name(one, other);
    assert!(agree("Acme Co., Ltd.", "Acme Limited"));
    assert!(agree("Acme Private Limited", "Acme Pvt Ltd"));
    assert!(!agree("Acme Co.", "Acme Limited"));
    assert!(!agree("Acme Co., Ltd.", "Acme Ltd., Inc."));
    assert!(agree("아크메 유한회사", "아크메"));
    assert!(!agree("아크메 유한회사", "주식회사 아크메"));
}

#[test]
fn the_table_has_each_form_once_and_folded() {
    let table = include_str!("legal-forms.tsv");
    let (mut forms, mut codes) = (Vec::new(), Vec::new());
    for row in rows(table) {
        assert!(
            ["end", "start", "word", "affix"].contains(&row[0]),
            "{row:?}"
        );
        codes.extend(row[1].split(' '));
        forms.extend(row[2].split(' '));
    }
    for form in &forms {
        assert_eq!(*form, crate::text::fold_value(form), "{form:?}");
        assert!(form.chars().all(char::is_alphanumeric), "{form:?}");
    }
    for list in [&mut forms, &mut codes] {
        list.sort_unstable();
    }
    assert!(forms.is_sorted_by(|a, b| a < b), "a form is there twice");
    codes.dedup();
    assert!(codes.len() <= u128::BITS as usize);
}

/// Names of awkward pieces.
fn name() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "Acme",
        "acme",
        "the",
        "The",
        "and",
        "&",
        "+",
        "Inc",
        ", Inc.",
        "Co.",
        "Ltd",
        "S.A.",
        "S",
        "A",
        "com",
        ".com",
        ".",
        " ",
        " ",
        "'",
        "’s",
        "-",
        "é",
        "Ø",
        "株",
        "株式会社",
        "アクメ",
        "유한회사",
        "주",
        "\u{301}",
        "PT",
        "1",
        "!",
    ];
    prop::collection::vec(prop::sample::select(PIECES), 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn names_that_fold_alike_agree(name in name()) {
        let folded = crate::text::fold_value(&name).into_owned();
        prop_assert_eq!(CompanyName::new(&folded), CompanyName::new(&name));
        prop_assert!(is_company_name(&name, &name.to_uppercase()));
    }

    #[test]
    fn agreement_has_no_order(one in name(), other in name()) {
        prop_assert_eq!(is_company_name(&one, &other), is_company_name(&other, &one));
    }

    #[test]
    fn a_key_leaves_something_and_has_no_sign(name in name()) {
        let parsed = CompanyName::new(&name);
        let has_letters = name.chars().any(char::is_alphanumeric);
        prop_assert_eq!(has_letters, parsed.key().chars().any(char::is_alphanumeric));
        prop_assert!(!has_letters || !parsed.key().contains(['&', '+', ' ', '\'']));
    }

    #[test]
    fn a_legal_form_behind_a_name_changes_no_key(name in name()) {
        let name = format!("{name} Acme");
        let plain = CompanyName::new(&name);
        let longer = CompanyName::new(&format!("{name} Limited"));
        prop_assert_eq!(plain.key(), longer.key());
        prop_assert!(longer.has_legal_form());
    }
}
