//! White-box tests of `story.rs`.

use super::*;

fn facts<'a>(company: &'a Identity, random: &mut Random) -> Facts<'a> {
    Facts {
        company,
        role: people::role(random),
        amount: "€1M",
        stage: "Seed",
    }
}

#[test]
fn every_pattern_can_be_filled() {
    let company = Identity::of(1, 0);
    let random = &mut Random::of_record(1, 1, 1);
    let facts = facts(&company, random);
    let of_kinds = KINDS
        .iter()
        .flat_map(|(_, kind)| kind.titles.iter().chain(kind.evidence));
    for pattern in of_kinds.chain(FOREIGN_TITLES).chain(REMARKS) {
        let mut text = String::new();
        expand(pattern, &facts, random, &mut text);
        assert!(!text.contains(['{', '}']), "{text}");
    }
}

#[test]
fn the_shares_of_the_kinds_make_a_hundred() {
    assert_eq!(KINDS.iter().map(|(share, _)| share).sum::<u64>(), 100);
}

#[test]
fn a_title_has_5_to_12_words() {
    let company = Identity::of(1, 0);
    let random = &mut Random::of_record(1, 1, 2);
    let facts = facts(&company, random);
    for _ in 0..10_000 {
        let kind = kind(random);
        let title = title(random, kind, &facts);
        let words = title.split(' ').count();
        assert!((5..=12).contains(&words) || !title.is_ascii(), "{title}");
    }
}
