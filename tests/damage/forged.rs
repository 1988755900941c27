//! Forged files, whose checksums are right: an error or any answers, but no panic, and little memory.

use std::fs;

use signaldex::{Filter, Index};
use time::Date;
use time::macros::date;

use crate::fixture::{Whole, is_damage, is_long};
use crate::manifest_file::of_segment;
use crate::random::Random;
use crate::segment_file::{Parts, Table, repair};
use crate::segment_mutation::mutate;

const TODAY: Date = date!(2026 - 06 - 30);

/// Forged files of the long run, and of the ordinary one.
const FORGED_FILES: [usize; 2] = [200_000, 300];

/// In the ordinary run, every n-th forged line of the table is tried.
const LINE_STRIDE: usize = 17;

/// Opens a forged file and asks everything of it.
fn examine(whole: &Whole, name: &str, file: &[u8]) {
    let number = "segment-00000000000000000001";
    assert!(whole.segment.ends_with(number), "a manifest names {number}");
    whole.replace(&whole.segment, file);
    whole.replace(&whole.manifest(), &of_segment(file));
    if let Err(error) = whole.answers(name) {
        assert!(is_damage(&error), "{name}: {error}");
        assert!(error.path().is_some(), "{name}: {error}");
    }
}

#[test]
fn a_file_that_is_taken_apart_and_put_together_answers_as_before() {
    let whole = Whole::build();
    let expected = whole.answers("none").expect("a whole index");
    let bytes = fs::read(&whole.segment).expect("a readable file");
    let assembled = Parts::of(&bytes).expect("a whole file").assemble();
    whole.replace(&whole.segment, &assembled);
    whole.replace(&whole.manifest(), &of_segment(&assembled));
    assert_eq!(whole.answers("assembled").expect("a whole index"), expected);
}

#[test]
fn forged_lengths_and_offsets_cost_an_error_at_most() {
    let whole = Whole::build();
    let bytes = fs::read(&whole.segment).expect("a readable file");
    let (table, range) = Table::of(&bytes).expect("a whole file");
    let file_bytes = bytes.len() as u64;
    // Lines are the last of the table; offset and length come after kind and field.
    let line_bytes = 26;
    let first = range.end - table.lines.len() * line_bytes;
    let step = if is_long() { 1 } else { LINE_STRIDE };
    let numbers = (0..table.lines.len() * 2).step_by(step);
    for number in numbers {
        let place = first + number / 2 * line_bytes + 6 + number % 2 * 8;
        let old = u64::from_le_bytes(std::array::from_fn(|byte| bytes[place + byte]));
        let lengths = [0, 1, 4, 8, 63, 64, file_bytes, u64::MAX, u64::MAX - 63];
        let near = [
            old.wrapping_sub(64),
            old.wrapping_sub(4),
            old / 2,
            old + 4,
            old + 64,
            old * 2,
        ];
        for new in lengths.into_iter().chain(near) {
            let mut forged = bytes.clone();
            forged[place..place + 8].copy_from_slice(&new.to_le_bytes());
            repair(&mut forged);
            examine(
                &whole,
                &format!("number {number} of the table is {new}"),
                &forged,
            );
        }
    }
}

/// The kind of the order of words.
const WORD_ORDER: u32 = 33;

#[test]
fn an_order_of_words_that_is_none_is_named() {
    let whole = Whole::build();
    let bytes = fs::read(&whole.segment).expect("a readable file");
    let parts = Parts::of(&bytes).expect("a whole file");
    let lines = parts.table.lines.iter();
    let order = lines.zip(0..).find(|(line, _)| line.kind == WORD_ORDER);
    let (_, order) = order.expect("a section of each kind");
    let forge = |forged: &[u8; 8]| {
        let mut parts = parts.clone();
        parts.sections[order][..8].copy_from_slice(forged);
        let file = parts.assemble();
        whole.replace(&whole.segment, &file);
        whole.replace(&whole.manifest(), &of_segment(&file));
        Index::open(whole.path()).expect("sections are read when they are needed")
    };
    let first: [u8; 8] = std::array::from_fn(|byte| parts.sections[order][byte]);
    let [a, b, c, d, e, f, g, h] = first;
    let swapped = forge(&[e, f, g, h, a, b, c, d]);
    let error = swapped
        .snapshot()
        .verify()
        .expect_err("two words are swapped");
    let named = "the words are not in the order of letters";
    assert!(
        is_damage(&error) && error.to_string().contains(named),
        "{error}"
    );
    let beyond = forge(&[0xFF; 8]);
    let filter = Filter::from_query_string("q=ser*").expect("a valid filter");
    let error = beyond
        .snapshot()
        .count(&filter, TODAY)
        .expect_err("no such word");
    let named = "the order of words has a number of no word";
    assert!(
        is_damage(&error) && error.to_string().contains(named),
        "{error}"
    );
    let filter = Filter::from_query_string("q=series").expect("a valid filter");
    assert!(
        beyond.snapshot().count(&filter, TODAY).is_ok(),
        "not needed"
    );
}

/// Ends, codes, tokens, rows, frames, records and symbols: see `tests/fuzz/src/segment_mutation.rs`.
#[test]
fn forged_contents_cost_an_error_at_most() {
    let whole = Whole::build();
    let bytes = fs::read(&whole.segment).expect("a readable file");
    let mut compressed = Parts::of(&bytes).expect("a whole file");
    compressed.compress().expect("records");
    let compressed = compressed.assemble();
    let [long, short] = FORGED_FILES;
    let count = if is_long() { long } else { short };
    for seed in 0..count as u32 {
        let mut random = Random::new(seed ^ 0x5EED);
        let mut blind = |text: &mut [u8], length: usize, _: usize| {
            for _ in 0..=random.below(4) {
                let place = random.below(length);
                if let Some(byte) = text[..length].get_mut(place) {
                    *byte = random.number() as u8;
                }
            }
            length
        };
        let file = if seed % 2 == 0 { &bytes } else { &compressed };
        let forged = mutate(file, file, 2 * file.len(), seed, &mut blind);
        examine(&whole, &format!("seed {seed}"), &forged);
    }
}
