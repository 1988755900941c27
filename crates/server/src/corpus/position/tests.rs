//! White-box tests of `position.rs`.

use proptest::prelude::*;

use super::*;

/// The longest text of a position that clients have to keep.
const LENGTH_MAX: usize = 120;

prop_compose! {
    fn positions()(
        cluster: [u8; 16],
        content: [u8; 16],
        mut generations: [u64; 4],
        upserts: bool,
        shard: u16,
        step: (u64, u64),
    ) -> ClusterPosition {
        generations.sort_unstable();
        let [complete, held, target, seen] = generations;
        let (target, seen) = (target.max(1), seen.max(1));
        let stage = FeedStage { upserts, shard, step };
        ClusterPosition { cluster, held, target, seen, content, stage, complete }
    }
}

proptest! {
    #[test]
    fn positions_are_read_as_they_were_written(position in positions()) {
        let text = position.to_string();
        prop_assert!(text.len() <= LENGTH_MAX);
        prop_assert_eq!(text.parse(), Ok(FeedPosition::Cluster(position)));
        prop_assert!(Position::parse(&text).is_err());
    }

    #[test]
    fn a_changed_character_is_noticed(position in positions(), at in 0..118_usize, other in "[A-Za-z0-9_-]") {
        let mut text = position.to_string();
        prop_assume!(text[at..=at] != other);
        text.replace_range(at..=at, &other);
        prop_assert!(text.parse::<FeedPosition>().is_err());
    }
}

#[test]
fn positions_of_indexes_are_positions() {
    for text in ["start", &Position::START.to_string()] {
        assert_eq!(text.parse(), Ok(FeedPosition::Index(Position::START)));
    }
    assert_eq!("".parse::<FeedPosition>(), Err(ParsePositionError::Foreign));
}

#[test]
fn generations_that_descend_are_refused() {
    let position = ClusterPosition {
        cluster: [0; 16],
        held: 2,
        target: 1,
        seen: 3,
        content: [0; 16],
        stage: FeedStage::default(),
        complete: 0,
    };
    let parsed = position.to_string().parse::<FeedPosition>();
    assert_eq!(parsed, Err(ParsePositionError::Foreign));
}
