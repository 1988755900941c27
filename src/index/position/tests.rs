//! White-box tests of `index/position.rs`.

use proptest::prelude::*;

use super::*;
use crate::query::Filter;

fn index_id(number: u128) -> IndexId {
    IndexId::from_bytes(number.to_le_bytes())
}

fn position(index: u128, [commit, id, held_since, last]: [u64; 4]) -> Position {
    let offset = ChangeOffset { commit, id };
    let last = LastCommit {
        number: last,
        digest: digest(last),
    };
    Position::new(index_id(index), Since { offset, held_since }, last)
}

fn digest(commit: u64) -> CommitDigest {
    CommitDigest::from_bytes(u128::from(commit).to_le_bytes())
}

proptest! {
    #[test]
    fn a_position_reads_back(index in 1..u128::MAX, numbers: [u64; 4]) {
        let written = position(index, numbers);
        let text = written.to_string();
        prop_assert_eq!(text.len(), 92);
        prop_assert_eq!(text.parse(), Ok(written));
    }

    #[test]
    fn a_damaged_position_is_refused(index in 1..u128::MAX, numbers: [u64; 4], bit in 0..8 * BYTES) {
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
    fn any_text_is_read_or_refused(text in ".{0,120}") {
        let _ = Position::parse(&text);
    }

    #[test]
    fn an_index_goes_on_from_what_it_remembers(
        last in 0..200_u64,
        remembered in 0..100_u64,
        commit in 0..300_u64,
        held_since in 0..300_u64,
        given in 0..300_u64,
        forgotten in 0..100_u64,
    ) {
        let digests: Vec<CommitDigest> = (forgotten.min(last)..last).map(digest).collect();
        let chain = Chain::of_digests(digest(last), digests);
        let history = History { last_commit: last, remembered_commits: remembered };
        let position = position(7, [commit, 5, held_since, given]);
        let expected = if commit > last || held_since > last || given > last {
            Err(PositionError::Ahead)
        } else if held_since + remembered < last || given < forgotten.min(last) {
            Err(PositionError::Expired)
        } else {
            Ok(Since { offset: ChangeOffset { commit, id: 5 }, held_since })
        };
        prop_assert_eq!(position.in_index(index_id(7), history, &chain).expect("no file"), expected);
        let of_other = position.in_index(index_id(8), history, &chain).expect("no file");
        prop_assert_eq!(of_other, Err(PositionError::OtherIndex));
        let within = index_id(7).within(Filter::default().fingerprint());
        let of_key = position.in_index(within, history, &chain).expect("no file");
        prop_assert_eq!(of_key, Err(PositionError::OtherKeyFilter));
        let other = Chain::of_digests(digest(1000), vec![digest(1001); last as usize]);
        let elsewhere = position.in_index(index_id(7), history, &other).expect("no file");
        prop_assert_eq!(elsewhere.is_ok(), false);
        if expected.is_ok() {
            prop_assert_eq!(elsewhere, Err(PositionError::Diverged));
        }
        let start = Since { offset: ChangeOffset { commit: 0, id: 0 }, held_since: last };
        prop_assert_eq!(Position::START.in_index(index_id(7), history, &other).expect("no file"), Ok(start));
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
        .decode(position(1, [2, 3, 4, 5]).to_string())
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
