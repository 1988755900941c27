//! Upgrades of a state file that an earlier release has written.

use rusqlite::{Connection, Transaction};

use super::tables::{SINCE_VERSION_2, USAGE};

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
    change.execute_batch(KEYS)?;
    change.execute_batch(USAGE)?;
    change.execute_batch(SINCE_VERSION_2)?;
    change.execute_batch(CONTENT)
}

fn has_column(connection: &Connection, table: &str, column: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT count(*) > 0 FROM pragma_table_info(?1) WHERE name = ?2";
    connection.query_row(sql, [table, column], |row| row.get(0))
}

const KEYS: &str = "
    ALTER TABLE keys ADD COLUMN former_hash BLOB;
    ALTER TABLE keys ADD COLUMN former_hint TEXT;
    ALTER TABLE keys ADD COLUMN former_until INTEGER;
    ALTER TABLE keys ADD COLUMN used_at INTEGER;
    ALTER TABLE usage RENAME TO former_usage;
";

/// Of the token of version 1 only the hash is known, so its hint has no letters.
const CONTENT: &str = "
    INSERT INTO usage SELECT * FROM former_usage;
    DROP TABLE former_usage;
    INSERT INTO usage_totals
        SELECT CAST(strftime('%Y%m', day) AS INTEGER), day,
            sum(signals), sum(activities), sum(companies), sum(free_answers)
        FROM usage_days GROUP BY day;
    INSERT INTO request_totals
        SELECT day, endpoint, status, sum(requests) FROM requests GROUP BY day, endpoint, status;
    INSERT INTO people (name, role, hash, hint, created_at)
        SELECT 'admin', 'admin', hash, 'sdxadmin_…', unixepoch() FROM admin_token;
    DROP TABLE admin_token;
";

#[cfg(test)]
mod tests;
