//! White-box tests of `index/position.rs`.

use proptest::prelude::*;

use super::*;

fn index_id(number: u128) -> IndexId {
    IndexId::from_bytes(number.to_le_bytes())
}

fn position(index: u128, [commit, id, held_since]: [u64; 3]) -> Position {
    let offset = ChangeOffset { commit, id };
    Position::new(index_id(index), Since { offset, held_since })
}

proptest! {
    #[test]
    fn a_position_reads_back(index in 1..u128::MAX, numbers: [u64; 3]) {
        let written = position(index, numbers);
        let text = written.to_string();
        prop_assert_eq!(text.len(), 60);
        prop_assert_eq!(text.parse(), Ok(written));
    }

    #[test]
    fn a_damaged_position_is_refused(index in 1..u128::MAX, numbers: [u64; 3], bit in 0..8 * BYTES) {
        let text = position(index, numbers).to_string();
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
    fn an_index_goes_on_from_what_it_remembers(
        last in 0..200_u64,
        remembered in 0..100_u64,
        commit in 0..300_u64,
        held_since in 0..300_u64,
    ) {
        let history = History { last_commit: last, remembered_commits: remembered };
        let position = position(7, [commit, 5, held_since]);
        let expected = if commit > last || held_since > last {
            Err(PositionError::Ahead)
        } else if held_since + remembered < last {
            Err(PositionError::Expired)
        } else {
            Ok(Since { offset: ChangeOffset { commit, id: 5 }, held_since })
        };
        prop_assert_eq!(position.in_index(index_id(7), history), expected);
        prop_assert_eq!(position.in_index(index_id(8), history), Err(PositionError::OtherIndex));
        let start = Since { offset: ChangeOffset { commit: 0, id: 0 }, held_since: last };
        prop_assert_eq!(Position::START.in_index(index_id(7), history), Ok(start));
    }
}

#[test]
fn the_start_is_a_word() {
    assert_eq!(Position::START.to_string(), "start");
    assert_eq!(Position::parse("start"), Ok(Position::START));
}

#[test]
fn a_later_version_is_told_apart() {
    let mut bytes = URL_SAFE_NO_PAD
        .decode(position(1, [2, 3, 4]).to_string())
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
