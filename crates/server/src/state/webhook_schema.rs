//! The tables of webhooks.

/// `due_at` is in milliseconds since 1970, and null while nothing follows. `batch` has the ids of a batch as JSON, `answers`
/// whether the last attempt was accepted. `webhook_changes` counts what makes the deliverer read the searches again.
pub(super) const WEBHOOKS: &str = "
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
    CREATE TABLE webhook_changes (count INTEGER NOT NULL) STRICT;
    INSERT INTO webhook_changes VALUES (0);
    CREATE TRIGGER webhook_added AFTER INSERT ON webhooks BEGIN
        UPDATE webhook_changes SET count = count + 1;
    END;
    CREATE TRIGGER webhook_deleted AFTER DELETE ON webhooks BEGIN
        UPDATE webhook_changes SET count = count + 1;
    END;
    CREATE TRIGGER webhook_search_edited AFTER UPDATE OF query, removals ON saved_searches BEGIN
        UPDATE webhook_changes SET count = count + 1;
    END;
";
