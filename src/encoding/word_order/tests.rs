//! White-box tests of `encoding/word_order.rs`.

use super::*;
use crate::encoding::dictionary::StringSections;

fn sections(words: &[&str]) -> (StringSections, Vec<u32>) {
    let mut sections = StringSections::default();
    for word in words {
        sections.push(word.as_bytes()).expect("few bytes");
    }
    let mut order: Vec<u32> = (0..words.len() as u32).collect();
    order.sort_by_key(|&number| words[number as usize]);
    (sections, order)
}

#[test]
fn words_are_found_by_any_beginning() {
    let words = [
        "robotics", "robot", "a", "robe", "zürich", "zu", "roboter", "京都", "京",
    ];
    let (sections, order) = sections(&words);
    let strings = Strings::new(&sections.ends, &sections.bytes);
    let order = WordOrder(&order);
    assert!(order.validate(words.len()).is_ok() && order.validate_order(&strings).is_ok());
    for prefix in [
        "",
        "r",
        "robot",
        "robotics",
        "roboticsx",
        "z",
        "zü",
        "京",
        "京都",
        "b",
        "zzz",
        "\u{10FFFF}",
    ] {
        let found = order.beginning_with(&strings, prefix);
        let mut found: Vec<&str> = found.map(|number| words[number.0 as usize]).collect();
        let mut expected = words.to_vec();
        expected.retain(|word| word.starts_with(prefix));
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{prefix:?}");
    }
}

#[test]
fn a_wrong_order_is_refused_and_does_not_fail() {
    let (sections, order) = sections(&["b", "a", "c"]);
    let strings = Strings::new(&sections.ends, &sections.bytes);
    for wrong in [[0, 1, 2], [1, 1, 2], [2, 1, 0]] {
        let wrong = WordOrder(&wrong);
        assert!(wrong.validate(3).is_ok());
        assert!(wrong.validate_order(&strings).is_err());
        assert!(wrong.beginning_with(&strings, "a").len() <= 3);
    }
    assert!(WordOrder(&order).validate(2).is_err());
    assert!(WordOrder(&[]).validate(0).is_ok());
}
