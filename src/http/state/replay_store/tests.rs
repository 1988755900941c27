//! White-box tests of `http/state/replay_store.rs`.

use super::*;
use crate::http::keys::NewKey;

const NOW: i64 = 1_800_000_000;

fn answer(name: usize, body: &[u8]) -> NewReplay {
    let name = format!("name-{name:04}");
    NewReplay::compress(name, [7; 32], "tag".to_owned(), body).expect("compressed")
}

/// A state with expired answers of the sizes given, oldest first.
fn state(sizes: &[usize]) -> (tempfile::TempDir, State) {
    let directory = tempfile::tempdir().expect("a directory");
    let state = State::open(directory.path().join("state.db")).expect("a state");
    state.create_key(&NewKey::named("test")).expect("a key");
    let age = LIFETIME_SECONDS + sizes.len() as i64;
    for (number, size) in sizes.iter().enumerate() {
        let body: Vec<u8> = (0..*size)
            .map(|byte| (byte * byte.rotate_left(7) % 251) as u8)
            .collect();
        let kept_at = NOW - age + number as i64;
        let kept =
            state.with(|connection| Ok(answer(number, &body).insert(connection, 1, kept_at)?));
        assert!(kept.expect("kept"));
    }
    (directory, state)
}

fn removed(state: &State, removal: Removal) -> (usize, bool) {
    let count = || {
        state
            .with(|connection| {
                let sql = "SELECT count(*) FROM replays";
                Ok(connection.query_row(sql, [], |row| row.get::<_, usize>(0))?)
            })
            .expect("a count")
    };
    let before = count();
    let are_more = state
        .with(|connection| Ok(remove_expired(connection, NOW, removal)?))
        .expect("removed");
    (before - count(), are_more)
}

#[test]
fn a_removal_is_bounded_in_answers_and_bytes() {
    let (_directory, state) = state(&[100_000; 20]);
    let removal = |count_max, bytes_max| Removal {
        count_max,
        bytes_max,
    };
    assert_eq!(removed(&state, removal(3, u64::MAX)), (3, true));
    assert_eq!(removed(&state, removal(20, 1)), (1, true), "always one");
    assert_eq!(removed(&state, removal(20, u64::MAX)), (16, false));
}

#[test]
fn what_has_not_expired_is_not_removed() {
    let (_directory, state) = state(&[10]);
    let fresh = NOW - LIFETIME_SECONDS + 1;
    let kept = state.with(|connection| Ok(answer(9, b"x").insert(connection, 1, fresh)?));
    assert!(kept.expect("kept"));
    let everything = Removal {
        count_max: 100,
        bytes_max: u64::MAX,
    };
    assert_eq!(removed(&state, everything), (1, false));
    assert_eq!(removed(&state, everything), (0, false));
}

#[test]
fn a_kept_answer_comes_back_whole_or_not_at_all() {
    for length in [0, 1, 70_000, 20_000_000] {
        let body: Vec<u8> = (0..length).map(|byte: u32| byte as u8).collect();
        let kept = answer(0, &body);
        assert!(decompress(&kept.body, kept.length).as_ref() == Some(&body));
        assert_eq!(decompress(&kept.body, kept.length + 1), None);
        assert_eq!(decompress(&kept.body, u64::MAX), None);
        if length > 0 {
            assert_eq!(decompress(&kept.body, kept.length - 1), None);
            let cut = &kept.body[..kept.body.len() - 1];
            assert_eq!(decompress(cut, kept.length), None);
        }
    }
}
