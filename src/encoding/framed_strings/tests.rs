//! White-box tests of `encoding/framed_strings.rs`.

use proptest::prelude::*;

use super::*;
use crate::encoding::linear_frames::encode;

proptest! {
    #[test]
    fn strings_are_given_back(strings in prop::collection::vec(".{0,12}", 0..150)) {
        let ends = strings.iter().scan(0, |end, string| {
            *end += string.len() as u64;
            Some(*end)
        });
        let (section, bytes) = (encode(ends), strings.concat());
        let ends = LinearFrames::new(&section, strings.len()).unwrap();
        let view = FramedStrings { ends, bytes: bytes.as_bytes() };
        view.validate().unwrap();
        for (index, string) in strings.iter().enumerate() {
            prop_assert_eq!(view.get(index), string);
        }
        prop_assert_eq!(view.get(strings.len()), "");
    }
}

#[test]
fn validation_finds_what_is_broken() {
    let valid = |ends: &[u64], bytes: &[u8]| {
        let section = encode(ends.iter().copied());
        let ends = LinearFrames::new(&section, ends.len()).unwrap();
        let view = FramedStrings { ends, bytes };
        assert!((0..3).all(|index| view.get(index).len() <= bytes.len()));
        view.validate().is_ok()
    };
    assert!(valid(&[1, 1, 3], b"abc"));
    assert!(!valid(&[2, 1, 3], b"abc"));
    assert!(!valid(&[1, 2, 4], b"abc"));
    assert!(!valid(&[1, 2], b"abc"));
    assert!(!valid(&[1, 2], b"a\xff"));
    assert!(!valid(&[1, 2], "é".as_bytes()));
}
