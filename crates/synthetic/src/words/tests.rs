//! White-box tests of `words.rs`.

use std::collections::HashSet;

use super::*;

#[test]
fn coined_words_differ() {
    let numbers = (0..60_000).chain((0..1000).map(|step| 1_000_003 * step + 60_000));
    let mut words = HashSet::new();
    for number in numbers {
        let mut word = String::new();
        push_coined(number, &mut word);
        assert!(words.insert(word), "{number}");
    }
}

#[test]
fn the_rarest_word_is_still_short() {
    let mut word = String::new();
    push_coined(FIRST_RARE_RANK << 32, &mut word);
    assert!(word.len() <= 24, "{word}");
}
