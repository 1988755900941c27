//! The tables of the state file.

/// `replays` stores whole answers, so that a repeated answer has the same items even if records have
/// changed; `length` is the uncompressed length in bytes. `export_slices` stores the ids that exports under
/// idempotency keys have charged, a row a slice (`export_store`), and `kept_bytes` the bytes of both by key and hour,
/// with key 0 for all (`kept_store`). `usage_totals` and `request_totals` have the sums
/// over all keys, so that no page of the dashboard adds up 100,000 of them. `people` stores the hashes of the dashboard's tokens, and `audit` who changed which
/// row (`audit_store`). A column that could reveal a secret is a BLOB, which no audit entry shows. `day` is a Julian day
/// number. The `key` of a request is 0 if no key was accepted.
///
/// The first position of a saved search is null until a service has seen it. `webhooks.due_at` is in milliseconds since
/// 1970, and null while nothing follows, as is `quota_alerts.due_at`; `batch` has the ids of a batch as JSON, and `answers` whether the last attempt
/// was accepted. `webhook_changes` has the changes that deliverers follow. In `series` and
/// `key_series`, `step` is the length of a step in minutes, `start` its first minute since 1970, and `times` a
/// [`TimeHistogram`](crate::time_histogram::TimeHistogram) of the successes; `series` has the sums over all keys,
/// requests without a valid one included. `quota_alerts.quota` is the one that was reached: an alert is due again once
/// it was raised and is reached anew.
pub(super) const TABLES: &str = "
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
        key_filter TEXT,
        former_hash BLOB,
        former_hint TEXT,
        former_until INTEGER,
        used_at INTEGER
    ) STRICT;
    CREATE TABLE key_changes (count INTEGER NOT NULL) STRICT;
    INSERT INTO key_changes VALUES (0);
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
    CREATE TABLE usage (
        key INTEGER NOT NULL REFERENCES keys (number),
        month INTEGER NOT NULL,
        signals INTEGER NOT NULL,
        activities INTEGER NOT NULL,
        companies INTEGER NOT NULL,
        free_answers INTEGER NOT NULL,
        PRIMARY KEY (month, key)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE usage_totals (
        month INTEGER NOT NULL,
        day INTEGER NOT NULL,
        signals INTEGER NOT NULL,
        activities INTEGER NOT NULL,
        companies INTEGER NOT NULL,
        free_answers INTEGER NOT NULL,
        PRIMARY KEY (month, day)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE request_totals (
        day INTEGER NOT NULL,
        endpoint TEXT NOT NULL,
        status INTEGER NOT NULL,
        requests INTEGER NOT NULL,
        PRIMARY KEY (day, endpoint, status)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE people (
        name TEXT NOT NULL PRIMARY KEY,
        role TEXT NOT NULL,
        hash BLOB NOT NULL UNIQUE,
        hint TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        signed_in_at INTEGER
    ) STRICT;
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
    CREATE TABLE saved_searches (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        key INTEGER NOT NULL REFERENCES keys (number),
        name TEXT NOT NULL,
        query TEXT NOT NULL,
        only_new INTEGER NOT NULL,
        removals INTEGER NOT NULL,
        first_position TEXT,
        created_at INTEGER NOT NULL,
        UNIQUE (key, name)
    ) STRICT;
    CREATE INDEX saved_searches_not_begun ON saved_searches (number) WHERE first_position IS NULL;
    CREATE TABLE series (
        step INTEGER NOT NULL,
        start INTEGER NOT NULL,
        endpoint TEXT NOT NULL,
        requests INTEGER NOT NULL,
        succeeded INTEGER NOT NULL,
        refused INTEGER NOT NULL,
        failed INTEGER NOT NULL,
        units INTEGER NOT NULL,
        times BLOB NOT NULL,
        PRIMARY KEY (step, start, endpoint)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE key_series (
        step INTEGER NOT NULL,
        start INTEGER NOT NULL,
        key INTEGER NOT NULL,
        endpoint TEXT NOT NULL,
        requests INTEGER NOT NULL,
        succeeded INTEGER NOT NULL,
        refused INTEGER NOT NULL,
        failed INTEGER NOT NULL,
        units INTEGER NOT NULL,
        times BLOB NOT NULL,
        PRIMARY KEY (step, start, key, endpoint)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE quota_alerts (
        month INTEGER NOT NULL,
        key INTEGER NOT NULL,
        counter TEXT NOT NULL,
        percent INTEGER NOT NULL,
        quota INTEGER NOT NULL,
        used INTEGER NOT NULL,
        raised_at INTEGER NOT NULL,
        attempts INTEGER NOT NULL,
        due_at INTEGER,
        PRIMARY KEY (month, key, counter, percent)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX quota_alerts_due ON quota_alerts (due_at) WHERE due_at IS NOT NULL;
    CREATE TABLE webhooks (
        search INTEGER PRIMARY KEY REFERENCES saved_searches (number) ON DELETE CASCADE,
        url TEXT NOT NULL,
        host TEXT NOT NULL,
        secret BLOB NOT NULL,
        former_secret BLOB,
        former_until INTEGER,
        status TEXT NOT NULL,
        is_current INTEGER NOT NULL,
        position TEXT,
        batch TEXT,
        batch_at INTEGER,
        next_position TEXT,
        attempts INTEGER NOT NULL,
        due_at INTEGER,
        answers INTEGER NOT NULL,
        delivered_at INTEGER
    ) STRICT;
    CREATE INDEX webhooks_due ON webhooks (due_at, answers, host) WHERE due_at IS NOT NULL;
    CREATE INDEX webhooks_stopped ON webhooks (status) WHERE status IN ('disabled', 'expired');
    CREATE INDEX webhooks_current ON webhooks (search) WHERE is_current;
    CREATE TABLE webhook_attempts (
        search INTEGER NOT NULL REFERENCES saved_searches (number) ON DELETE CASCADE,
        at INTEGER NOT NULL,
        event TEXT NOT NULL,
        attempt INTEGER NOT NULL,
        status INTEGER,
        reason TEXT,
        milliseconds INTEGER NOT NULL,
        matches INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX webhook_attempts_by_search ON webhook_attempts (search, at);
    CREATE TABLE webhook_feed (position TEXT NOT NULL) STRICT;
    CREATE TABLE webhook_lease (holder TEXT NOT NULL, until INTEGER NOT NULL) STRICT;
    CREATE TABLE webhook_changes (number INTEGER PRIMARY KEY, search INTEGER NOT NULL) STRICT;
    CREATE TRIGGER webhook_changes_kept AFTER INSERT ON webhook_changes BEGIN
        DELETE FROM webhook_changes WHERE number <= new.number - 10000;
    END;
    CREATE TRIGGER webhook_added AFTER INSERT ON webhooks BEGIN
        INSERT INTO webhook_changes (search) VALUES (new.search);
    END;
    CREATE TRIGGER webhook_deleted AFTER DELETE ON webhooks BEGIN
        INSERT INTO webhook_changes (search) VALUES (old.search);
    END;
    CREATE TRIGGER webhook_search_edited AFTER UPDATE OF query, removals ON saved_searches
        WHEN old.query <> new.query OR old.removals <> new.removals BEGIN
        INSERT INTO webhook_changes (search) SELECT search FROM webhooks WHERE search = new.number;
    END;
";
