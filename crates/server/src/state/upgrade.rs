//! Upgrades of a state file that an earlier release has written.

use rusqlite::{Connection, Transaction};

/// The steps, each from the version of its position + 1 to the next.
const STEPS: [fn(&Transaction<'_>) -> rusqlite::Result<()>; 1] = [to_version_2];

/// Brings the tables of an earlier version to the present one, in the transaction of the caller.
///
/// Cost: one pass over usage and requests.
pub(super) fn upgrade(change: &Transaction<'_>, version: i64) -> rusqlite::Result<()> {
    let done = usize::try_from(version - 1).unwrap_or(STEPS.len());
    STEPS.iter().skip(done).try_for_each(|step| step(change))
}

/// Adds people, the audit, the former secrets of keys, and the sums over all keys.
fn to_version_2(change: &Transaction<'_>) -> rusqlite::Result<()> {
    // The first files of version 1 are from before keys had filters.
    if !has_column(change, "keys", "key_filter")? {
        change.execute_batch("ALTER TABLE keys ADD COLUMN key_filter TEXT")?;
    }
    change.execute_batch(VERSION_2)
}

fn has_column(connection: &Connection, table: &str, column: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT count(*) > 0 FROM pragma_table_info(?1) WHERE name = ?2";
    connection.query_row(sql, [table, column], |row| row.get(0))
}

/// Of the token of version 1 only the hash is known, so its hint has no letters.
const VERSION_2: &str = "
    ALTER TABLE keys ADD COLUMN former_hash BLOB;
    ALTER TABLE keys ADD COLUMN former_hint TEXT;
    ALTER TABLE keys ADD COLUMN former_until INTEGER;
    ALTER TABLE keys ADD COLUMN used_at INTEGER;
    CREATE TABLE usage_by_month (
        key INTEGER NOT NULL REFERENCES keys (number),
        month INTEGER NOT NULL,
        signals INTEGER NOT NULL,
        activities INTEGER NOT NULL,
        companies INTEGER NOT NULL,
        free_answers INTEGER NOT NULL,
        PRIMARY KEY (month, key)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO usage_by_month SELECT * FROM usage;
    DROP TABLE usage;
    ALTER TABLE usage_by_month RENAME TO usage;
    CREATE TABLE usage_totals (
        month INTEGER NOT NULL,
        day INTEGER NOT NULL,
        signals INTEGER NOT NULL,
        activities INTEGER NOT NULL,
        companies INTEGER NOT NULL,
        free_answers INTEGER NOT NULL,
        PRIMARY KEY (month, day)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO usage_totals
        SELECT CAST(strftime('%Y%m', day) AS INTEGER), day,
            sum(signals), sum(activities), sum(companies), sum(free_answers)
        FROM usage_days GROUP BY day;
    CREATE TABLE request_totals (
        day INTEGER NOT NULL,
        endpoint TEXT NOT NULL,
        status INTEGER NOT NULL,
        requests INTEGER NOT NULL,
        PRIMARY KEY (day, endpoint, status)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO request_totals
        SELECT day, endpoint, status, sum(requests) FROM requests GROUP BY day, endpoint, status;
    CREATE TABLE people (
        name TEXT NOT NULL PRIMARY KEY,
        role TEXT NOT NULL,
        hash BLOB NOT NULL UNIQUE,
        hint TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        signed_in_at INTEGER
    ) STRICT;
    INSERT INTO people (name, role, hash, hint, created_at)
        SELECT 'admin', 'admin', hash, 'sdxadmin_…', unixepoch() FROM admin_token;
    DROP TABLE admin_token;
    CREATE TABLE audit (
        number INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        actor TEXT NOT NULL,
        origin TEXT,
        action TEXT NOT NULL,
        target TEXT NOT NULL,
        before TEXT NOT NULL,
        after TEXT NOT NULL
    ) STRICT;
    CREATE INDEX audit_by_age ON audit (at);
    CREATE INDEX audit_by_target ON audit (target, number);
";

#[cfg(test)]
mod tests;
