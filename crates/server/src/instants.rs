//! Instants in milliseconds since 1970, as files store them, and after a pause.

use std::time::Duration;

use time::UtcDateTime;

/// Milliseconds since 1970.
pub(crate) fn milliseconds(at: UtcDateTime) -> i64 {
    i64::try_from(at.unix_timestamp_nanos() / 1_000_000).unwrap_or(i64::MAX)
}

/// The instant that [`milliseconds`] gave. Others than those occur only in damaged files.
pub(crate) fn of_milliseconds(milliseconds: i64) -> UtcDateTime {
    let nanoseconds = i128::from(milliseconds) * 1_000_000;
    UtcDateTime::from_unix_timestamp_nanos(nanoseconds).unwrap_or(UtcDateTime::UNIX_EPOCH)
}

/// A time after an instant, at most the last instant.
pub(crate) fn after(at: UtcDateTime, time: Duration) -> UtcDateTime {
    at.saturating_add(time::Duration::try_from(time).unwrap_or(time::Duration::MAX))
}
