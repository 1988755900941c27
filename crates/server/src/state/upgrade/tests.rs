//! Files of each earlier version against a new file.

use std::path::Path;

use rusqlite::{Connection, params};
use time::UtcDateTime;

use crate::metering::{Counter, Month};
use crate::people::Role;
use crate::state::State;

/// The tables of version 1, as they were.
const VERSION_1: &str = "
    CREATE TABLE keys (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        hash BLOB NOT NULL UNIQUE,
        name TEXT NOT NULL,
        scopes TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        expires_at INTEGER,
        revoked_at INTEGER,
        rate INTEGER NOT NULL,
        burst INTEGER NOT NULL,
        quota_signals INTEGER,
        quota_activities INTEGER,
        quota_companies INTEGER,
        quota_free_answers INTEGER,
        hint TEXT,
        key_filter TEXT
    ) STRICT;
    CREATE TABLE key_changes (count INTEGER NOT NULL) STRICT;
    INSERT INTO key_changes VALUES (0);
    CREATE TABLE usage (
        key INTEGER NOT NULL REFERENCES keys (number),
        month INTEGER NOT NULL,
        signals INTEGER NOT NULL,
        activities INTEGER NOT NULL,
        companies INTEGER NOT NULL,
        free_answers INTEGER NOT NULL,
        PRIMARY KEY (key, month)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE usage_days (
        day INTEGER NOT NULL,
        key INTEGER NOT NULL REFERENCES keys (number),
        signals INTEGER NOT NULL,
        activities INTEGER NOT NULL,
        companies INTEGER NOT NULL,
        free_answers INTEGER NOT NULL,
        PRIMARY KEY (day, key)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE requests (
        day INTEGER NOT NULL,
        key INTEGER NOT NULL,
        endpoint TEXT NOT NULL,
        status INTEGER NOT NULL,
        requests INTEGER NOT NULL,
        PRIMARY KEY (day, key, endpoint, status)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE admin_token (
        number INTEGER PRIMARY KEY CHECK (number = 1),
        hash BLOB NOT NULL
    ) STRICT;
    CREATE TABLE replays (
        key INTEGER NOT NULL REFERENCES keys (number),
        name TEXT NOT NULL,
        parameters BLOB NOT NULL,
        answered_at INTEGER NOT NULL,
        etag TEXT NOT NULL,
        length INTEGER NOT NULL,
        body BLOB NOT NULL,
        bytes INTEGER NOT NULL,
        PRIMARY KEY (key, name)
    ) STRICT;
    CREATE INDEX replays_by_age ON replays (answered_at);
    CREATE TABLE export_slices (
        export BLOB NOT NULL,
        magnitude INTEGER NOT NULL,
        newest INTEGER NOT NULL,
        oldest INTEGER NOT NULL,
        key INTEGER NOT NULL REFERENCES keys (number),
        charged_at INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        ids BLOB NOT NULL
    ) STRICT;
    CREATE INDEX export_slices_by_id
        ON export_slices (export, magnitude, newest, oldest, charged_at);
    CREATE INDEX export_slices_by_age ON export_slices (charged_at);
    CREATE TABLE kept_bytes (
        key INTEGER NOT NULL,
        hour INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        PRIMARY KEY (key, hour)
    ) STRICT, WITHOUT ROWID;
";

const SECONDS: i64 = 1_795_000_000;

fn now() -> UtcDateTime {
    UtcDateTime::from_unix_timestamp(SECONDS).expect("an instant")
}

/// A file of version 1 with keys, usage, requests and a token; or one from before keys had filters.
fn write_version_1(path: &Path, has_filters: bool) {
    let file = Connection::open(path).expect("a file");
    let tables = if has_filters {
        VERSION_1.to_owned()
    } else {
        VERSION_1.replace("hint TEXT,\n        key_filter TEXT", "hint TEXT")
    };
    file.execute_batch(&tables).expect("tables");
    file.execute_batch("PRAGMA application_id = 1935964243; PRAGMA user_version = 1")
        .expect("a version");
    let today = now().date().to_julian_day();
    let month = Month::of(now()).number();
    for key in 1..=3_i64 {
        let name = format!("key {key}");
        let hash = [u8::try_from(key).expect("small"); 32];
        file.execute(
            "INSERT INTO keys (number, id, hash, name, scopes, created_at, rate, burst, hint) \
             VALUES (?1, ?2, ?3, ?4, 'signals:read', ?5, 5, 10, 'sdx_a…b')",
            params![key, format!("key_{key}"), hash, name, SECONDS],
        )
        .expect("a key");
        file.execute(
            "INSERT INTO usage VALUES (?1, ?2, ?3, 0, 2, 0)",
            params![key, month, 10 * key],
        )
        .expect("usage");
        for (day, units) in [(today, key), (today - 1, 9 * key)] {
            file.execute(
                "INSERT INTO usage_days VALUES (?1, ?2, ?3, 0, 1, 0)",
                params![day, key, units],
            )
            .expect("usage of a day");
            file.execute(
                "INSERT INTO requests VALUES (?1, ?2, 'search', 200, ?3)",
                params![day, key, units],
            )
            .expect("requests");
        }
    }
    file.execute("INSERT INTO admin_token VALUES (1, ?1)", [[7_u8; 32]])
        .expect("a token");
}

/// Each table's columns, keys and indexes, in words that do not depend on how they came about.
fn layout(path: &Path) -> Vec<String> {
    let file = Connection::open(path).expect("a file");
    let mut statement = file
        .prepare(
            "SELECT tables.name || ' ' || wr || strict || ' ' || columns.name || ' ' || columns.type \
                 || ' ' || \"notnull\" || ' ' || columns.pk \
             FROM pragma_table_list AS tables, pragma_table_info(tables.name) AS columns \
             WHERE tables.name NOT LIKE 'sqlite_%' \
             UNION ALL SELECT name || ' on ' || tbl_name FROM sqlite_schema \
             WHERE type = 'index' AND name NOT LIKE 'sqlite_%' ORDER BY 1",
        )
        .expect("a statement");
    let lines = statement.query_map([], |row| row.get(0)).expect("lines");
    lines.collect::<rusqlite::Result<_>>().expect("lines")
}

fn version(path: &Path) -> i64 {
    let file = Connection::open(path).expect("a file");
    file.pragma_query_value(None, "user_version", |row| row.get(0))
        .expect("a version")
}

#[test]
fn an_upgraded_file_has_the_tables_of_a_new_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let new = folder.path().join("new.db");
    State::open(&new).expect("a state");
    let wanted = layout(&new);
    assert!(
        wanted.iter().any(|line| line.starts_with("people ")),
        "{wanted:?}"
    );
    for has_filters in [true, false] {
        let old = folder.path().join(format!("old-{has_filters}.db"));
        write_version_1(&old, has_filters);
        State::open(&old).expect("a state");
        assert_eq!(layout(&old), wanted);
        assert_eq!(version(&old), version(&new));
        // A second start finds nothing to do.
        State::open(&old).expect("a state");
        assert_eq!(layout(&old), wanted);
    }
}

#[test]
fn an_upgrade_keeps_keys_usage_and_the_token() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state.db");
    write_version_1(&path, false);
    let state = State::open(&path).expect("a state").with_clock(now);
    let keys = state.keys().expect("keys");
    assert_eq!(keys.len(), 3);
    assert_eq!(keys[1].settings.name, "key 2");
    let month = Month::of(now());
    assert_eq!(state.usage(Some(month)).expect("usage").len(), 3);
    assert_eq!(
        state.counts(3, month).expect("counts")[Counter::Signals.index()],
        30
    );
    let of_month = state.month_total(month).expect("a total");
    assert_eq!(of_month[Counter::Signals.index()], 60);
    let of_day = state.day_total(now().date()).expect("a total");
    assert_eq!(of_day[Counter::Signals.index()], 6);
    let totals = state.request_totals(now().date()).expect("totals");
    assert_eq!(totals.len(), 1);
    assert_eq!(totals[0].requests, 6);
    let people = state.people().expect("people");
    assert_eq!(
        (people[0].name.as_str(), people[0].role),
        ("admin", Role::Admin)
    );
    assert!(state.first_admin_token().expect("read").is_none());
    assert!(state.audit(None, None, 0).expect("the audit").is_empty());
}

#[test]
fn a_file_of_a_later_release_is_left_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state.db");
    State::open(&path).expect("a state");
    let later = version(&path) + 1;
    let file = Connection::open(&path).expect("a file");
    file.pragma_update(None, "user_version", later)
        .expect("a version");
    let error = State::open(&path).expect_err("a later release");
    assert!(
        error.to_string().contains("written by a later release"),
        "{error}"
    );
    assert_eq!(version(&path), later);
}
