//! White-box tests of `encoding/tokens.rs`.

use proptest::prelude::*;

use super::*;
use crate::ErrorKind;
use crate::encoding::frame_of_reference::FrameOfReferenceSections;

proptest! {
    #[test]
    fn a_phrase_occurs_where_its_terms_stand_in_a_row(
        text in prop::collection::vec(prop_oneof![0_u32..4, 126..130_u32, 16_380..16_390_u32, any::<u32>()], 0..12),
        start in 0_usize..12,
        length in 1_usize..4,
        changed in any::<bool>(),
    ) {
        let mut phrase: Vec<u32> = text.iter().copied().skip(start).take(length).collect();
        if changed || phrase.is_empty() {
            phrase.push(127);
        }
        let mut bytes = Vec::new();
        text.iter().for_each(|&term| push(&mut bytes, TermNumber(term)));
        let ends = FrameOfReferenceSections::of([bytes.len() as u64]);
        let streams = TokenStreams { ends: ends.view(1), bytes: &bytes };
        let encoded = EncodedPhrase::new(phrase.iter().map(|&term| TermNumber(term)));
        let expected = text.windows(phrase.len()).any(|window| window == phrase);
        prop_assert_eq!(encoded.occurs(&streams, 0), expected);
        let decoded: Result<Vec<_>> = decode(streams.get(0)).collect();
        let decoded = decoded.unwrap();
        prop_assert_eq!(decoded.into_iter().map(|term| term.0).collect::<Vec<_>>(), text);
    }
}

#[test]
fn validation_finds_what_is_broken() {
    let is_valid = |ends: &[u64], bytes: &[u8]| {
        let ends = FrameOfReferenceSections::of(ends.iter().copied());
        let ends = ends.view(3);
        TokenStreams { ends, bytes }.validate().is_ok()
    };
    assert!(is_valid(&[1, 1, 3], &[0; 3]));
    assert!(!is_valid(&[2, 1, 3], &[0; 3]));
    assert!(!is_valid(&[1, 1, 3], &[0; 2]));
    assert!(!is_valid(&[1, 1, 3], &[0; 4]));
}

#[test]
fn what_is_decoded_is_what_was_pushed() {
    let numbers = [0, 1, 127, 128, 16_383, 16_384, 1 << 28, u32::MAX];
    let mut stream = Vec::new();
    for number in numbers {
        push(&mut stream, TermNumber(number));
    }
    let decoded: Result<Vec<_>> = decode(&stream).collect();
    assert_eq!(decoded.unwrap(), numbers.map(TermNumber));
}

#[test]
fn malformed_streams_are_refused() {
    let malformed: [&[u8]; 4] = [
        &[0x80],
        &[1, 0xFF, 0xFF],
        &[0xFF, 0xFF, 0xFF, 0xFF, 0x1F],
        &[0xFF, 0xFF, 0xFF, 0xFF, 0x8F, 1],
    ];
    for stream in malformed {
        let decoded: Result<Vec<_>> = decode(stream).collect();
        assert_eq!(
            decoded.unwrap_err().kind(),
            ErrorKind::Corrupt,
            "{stream:?}"
        );
    }
}
