//! Answers that are not sent yet: how many bytes of them there are, bounded over all endpoints.
//!
//! An answer takes its room before it is charged and gives it back when the kernel has taken its last byte or its
//! connection has ended. What is small or the same for everyone, such as problems and pages of the
//! reference, is not counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Bytes;

/// The answers of a service that are not sent yet. Clones share everything.
#[derive(Clone, Debug)]
pub(super) struct Unsent(Arc<Total>);

#[derive(Debug)]
struct Total {
    bytes: AtomicU64,
    bytes_max: u64,
}

/// Room for one answer; given back on drop.
#[derive(Debug)]
pub(super) struct Room {
    unsent: Unsent,
    bytes: u64,
}

/// The bytes of an answer in their room.
struct UnsentBody {
    body: Bytes,
    _room: Room,
}

impl Unsent {
    pub(super) fn new(bytes_max: u64) -> Unsent {
        Unsent(Arc::new(Total {
            bytes: AtomicU64::new(0),
            bytes_max,
        }))
    }

    /// Takes room for an answer; `None` if there is too little. The only answer always has room, however
    /// large it is.
    pub(super) fn room_for(&self, bytes: usize) -> Option<Room> {
        let bytes = bytes as u64;
        let taken = |unsent: u64| {
            let total = unsent.saturating_add(bytes);
            (unsent == 0 || total <= self.0.bytes_max).then_some(total)
        };
        let total = &self.0.bytes;
        let updated = total.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken);
        updated.is_ok().then(|| Room {
            unsent: self.clone(),
            bytes,
        })
    }

    /// An answer that can no longer be refused.
    pub(super) fn hold(&self, body: impl Into<Bytes>) -> Bytes {
        let room = Room {
            unsent: self.clone(),
            bytes: 0,
        };
        room.hold(body)
    }

    /// The bytes for which room is taken.
    pub(super) fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }
}

impl Room {
    /// The answer, which keeps as much of the room as it needs, even if that is more, until it is sent or
    /// dropped.
    pub(super) fn hold(mut self, body: impl Into<Bytes>) -> Bytes {
        let body = body.into();
        let needed = body.len() as u64;
        let total = &self.unsent.0.bytes;
        total.fetch_add(needed, Ordering::Relaxed);
        total.fetch_sub(self.bytes, Ordering::Relaxed);
        self.bytes = needed;
        Bytes::from_owner(UnsentBody { body, _room: self })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.unsent.0.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl AsRef<[u8]> for UnsentBody {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

#[cfg(test)]
mod tests;
