//! Files of a later release.

use rusqlite::Connection;

use crate::state::State;

#[test]
fn a_file_of_a_later_release_is_left_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state.db");
    State::open(&path).expect("a state");
    let file = Connection::open(&path).expect("a file");
    let later = super::version(&file).expect("a version") + 1;
    file.pragma_update(None, "user_version", later)
        .expect("a version");
    let error = State::open(&path).expect_err("a later release");
    assert!(
        error.to_string().contains("written by a later release"),
        "{error}"
    );
    assert_eq!(super::version(&file).expect("a version"), later);
}
