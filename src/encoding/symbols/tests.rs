//! Tests of symbol tables: every text comes back, and no bytes do harm.

use proptest::prelude::*;

use super::*;

fn encoder() -> Encoder {
    let sample: Vec<String> = (0..2_000)
        .map(|n| format!("Acme {} raises Series {} in Berlin", n % 7, n % 3))
        .collect();
    Encoder::train(sample.iter().map(|text| text.as_bytes()))
}

fn encoded(encoder: &Encoder, text: &[u8]) -> Vec<u8> {
    let mut codes = Vec::new();
    encoder.encode(text, &mut codes);
    codes
}

#[test]
fn texts_like_the_sample_take_a_fifth() {
    let encoder = encoder();
    let text = b"Acme 3 raises Series 2 in Berlin";
    let codes = encoded(&encoder, text);
    assert!(codes.len() * 5 <= text.len(), "{} bytes", codes.len());
}

#[test]
fn the_encoder_of_a_table_gives_the_same_codes() {
    let trained = encoder();
    let sections = trained.symbols();
    sections
        .table()
        .validate()
        .expect("a table that was made is valid");
    let read = Encoder::of_table(sections.table());
    assert_eq!(read.symbols(), sections);
    let text = b"Series 1 of Acme 6 closes in Berlin";
    assert_eq!(encoded(&read, text), encoded(&trained, text));
}

#[test]
fn a_table_is_full_at_65536_symbols() {
    let mut random = 1_u64;
    let once: Vec<u8> = std::iter::repeat_with(|| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 56) as u8
    })
    .take(300_000)
    .collect();
    let text = once.repeat(6);
    let encoder = Encoder::train(text.chunks(500));
    let sections = encoder.symbols();
    assert_eq!(sections.starts.len(), SYMBOLS_MAX + 1);
    sections.table().validate().expect("a full table is valid");
    assert_round_trip(&encoder, &text[..10_000]);
}

/// The codes by looking at every symbol.
fn codes_of_the_longest(table: SymbolTable<'_>, mut text: &[u8]) -> Vec<u8> {
    let mut codes = Vec::new();
    while !text.is_empty() {
        let symbols = table.symbols().zip(0_u16..);
        let fitting = symbols.filter(|(symbol, _)| text.starts_with(symbol));
        let (symbol, code) = fitting
            .max_by_key(|(symbol, _)| symbol.len())
            .expect("a byte");
        codes.extend(code.to_le_bytes());
        text = &text[symbol.len()..];
    }
    codes
}

#[test]
fn each_code_is_that_of_the_longest_symbol() {
    let mut random = crate::fixtures::Random::new(3);
    let mut letters =
        |count| -> String { (0..count).map(|_| *random.pick(&['a', 'b', 'c'])).collect() };
    let sample = letters(60_000);
    let encoder = Encoder::train(sample.as_bytes().chunks(300));
    let sections = encoder.symbols();
    assert!(sections.starts.len() > 600, "{}", sections.starts.len());
    for length in 0..200 {
        let text = letters(length).into_bytes();
        let expected = codes_of_the_longest(sections.table(), &text);
        assert_eq!(encoded(&encoder, &text), expected);
    }
}

fn assert_round_trip(encoder: &Encoder, text: &[u8]) {
    let codes = encoded(encoder, text);
    let mut decoded = b"before ".to_vec();
    let sections = encoder.symbols();
    let outcome = sections.table().decode(&codes, text.len(), &mut decoded);
    assert_eq!(outcome, Some(()));
    assert_eq!(&decoded[b"before ".len()..], text);
}

#[test]
fn a_malformed_table_is_refused() {
    let good = encoder().symbols();
    let refused = |change: fn(&mut SymbolSections)| {
        let mut sections = good.clone();
        change(&mut sections);
        assert!(sections.table().validate().is_err());
    };
    refused(|sections| sections.starts[270] = sections.starts[271]);
    refused(|sections| {
        sections
            .starts
            .iter_mut()
            .skip(270)
            .for_each(|start| *start += 17)
    });
    refused(|sections| sections.starts[0] = 1);
    refused(|sections| sections.bytes[65] = b'B');
    refused(|sections| sections.bytes.truncate(sections.bytes.len() - 1));
    refused(|sections| sections.bytes.push(0));
    refused(|sections| sections.starts.truncate(1));
    refused(|sections| sections.starts.clear());
    assert!(SymbolSections::none().table().validate().is_ok());
}

proptest! {
    #[test]
    fn every_text_comes_back(text in prop::collection::vec(any::<u8>(), 0..200)) {
        assert_round_trip(&encoder(), &text);
    }

    #[test]
    fn no_codes_do_harm(
        codes in prop::collection::vec(any::<u8>(), 0..64),
        length in 0..2_000_usize,
    ) {
        let sections = encoder().symbols();
        let mut output = Vec::new();
        let decoded = sections.table().decode(&codes, length, &mut output);
        prop_assert!(output.capacity() <= codes.len() * 16 + 64);
        prop_assert!(decoded.is_none() || output.len() == length);
    }
}
