//! State files of former layouts open, and keep what they hold.

use signaldex_server::{NewKey, State};

/// Takes a file back to what a layout had.
const BACK_TO: [&str; 2] = [
    "ALTER TABLE keys DROP COLUMN hint; DROP TABLE usage_days; DROP TABLE requests; \
     DROP TABLE admin_token; PRAGMA user_version = 1;",
    "ALTER TABLE keys DROP COLUMN hint; DROP TABLE usage_days; DROP TABLE requests; \
     PRAGMA user_version = 2;",
];

/// Removes what neither of them had.
const WITHOUT_KEPT: &str = "ALTER TABLE replays DROP COLUMN bytes; \
                            DROP TABLE export_slices; DROP TABLE kept_bytes;";

#[test]
fn states_of_former_layouts_are_taken_over() {
    for back in BACK_TO {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("state.db");
        let state = State::open(&path).expect("a state");
        let (record, key) = state.create_key(&NewKey::named("old")).expect("a key");
        let hint = record.hint.expect("a hint");
        assert!(key.as_str().starts_with(&hint[..8]), "{hint}");
        drop(state);
        let connection = rusqlite::Connection::open(&path).expect("a connection");
        let back = format!("{WITHOUT_KEPT} {back}");
        connection.execute_batch(&back).expect("the former layout");
        drop(connection);

        let state = State::open(&path).expect("the state");
        let keys = state.keys().expect("keys");
        assert_eq!(keys.len(), 1);
        assert_eq!((keys[0].id.as_str(), &keys[0].hint), (&*record.id, &None));
        assert!(state.first_admin_token().expect("a token").is_some());
        let rotated = state.rotate_key(&record.id).expect("a state");
        assert!(rotated.is_some());
        assert!(state.keys().expect("keys")[0].hint.is_some());
    }
}
