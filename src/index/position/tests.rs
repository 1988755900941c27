//! White-box tests of `index/position.rs`.

use proptest::prelude::*;

use super::*;

fn position(index: u128, commit: u64, id: u64) -> Position {
    let index = IndexId::from_bytes(index.to_le_bytes());
    Position::new(index, Place { commit, id })
}

proptest! {
    #[test]
    fn a_position_reads_back(index: u128, commit: u64, id: u64) {
        let written = position(index, commit, id);
        let text = written.to_string();
        prop_assert_eq!(text.len(), 50);
        prop_assert_eq!(text.parse(), Ok(written));
    }

    #[test]
    fn a_damaged_position_is_refused(index: u128, commit: u64, id: u64, bit in 0..8 * BYTES) {
        let text = position(index, commit, id).to_string();
        let mut bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let flipped = URL_SAFE_NO_PAD.encode(bytes);
        prop_assert_eq!(Position::parse(&flipped), Err(ParsePositionError::Damaged));
        for end in 0..text.len() {
            prop_assert_eq!(Position::parse(&text[..end]), Err(ParsePositionError::Foreign));
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,80}") {
        let _ = Position::parse(&text);
    }

    #[test]
    fn an_index_goes_on_from_what_it_remembers(last in 0..200_u64, remembered in 0..100_u64, commit in 0..300_u64) {
        let history = History { last_commit: last, remembered_commits: remembered };
        let position = position(7, commit, 5);
        let place = position.place_in(IndexId::from_bytes(7_u128.to_le_bytes()), history);
        let expected = if commit > last {
            Err(PositionError::Ahead)
        } else if commit + remembered < last {
            Err(PositionError::Expired)
        } else {
            Ok(Place { commit, id: 5 })
        };
        prop_assert_eq!(place, expected);
        let other = IndexId::from_bytes(8_u128.to_le_bytes());
        prop_assert_eq!(position.place_in(other, history), Err(PositionError::OtherIndex));
    }
}

#[test]
fn a_later_version_is_told_apart() {
    let mut bytes = URL_SAFE_NO_PAD
        .decode(position(1, 2, 3).to_string())
        .unwrap();
    for (version, error) in [
        (0, ParsePositionError::Foreign),
        (2, ParsePositionError::Newer),
    ] {
        bytes[0] = version;
        let checksum = crc32c::crc32c(&bytes[..COVERED_BYTES]).to_le_bytes();
        bytes[COVERED_BYTES..].copy_from_slice(&checksum);
        assert_eq!(Position::parse(&URL_SAFE_NO_PAD.encode(&bytes)), Err(error));
    }
}
