//! What a node knows of another one, and when that one counts as alive, slow, or forgotten.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use crate::announcement::{Announcement, SeenNode};
use crate::known_nodes::KnownNode;

/// How long a node counts as alive after a sign of life, whatever the failure detector says: it adapts to how often
/// there are some, and a busy machine can be late.
const ALIVE_TIME: Duration = Duration::from_millis(1_500);

/// Signs of life that come sooner may have been under way already when a node was found slow or refusing.
const UNDER_WAY_TIME: Duration = Duration::from_millis(400);

/// The state of a node.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    pub(super) name: String,
    pub(super) zone: String,
    /// Empty until it is known.
    pub(super) address: String,
    pub(super) announcement: Announcement,
    incarnation: u64,
    heartbeat: u64,
    /// What the failure detector says.
    is_detected: bool,
    /// When there was a sign of life that was newer than another.
    pub(super) heard_at: Option<Instant>,
    /// Whether others are preferred, and since when.
    pub(super) is_slow: Arc<AtomicBool>,
    slow_since: Option<Instant>,
    /// When it refused a connection.
    refused_at: Option<Instant>,
    /// Since when it has not been alive; `None` while it is.
    dead_since: Option<Instant>,
    /// Why it is not alive.
    pub(super) error: Option<String>,
    /// Whether it has a place: it may hold shards.
    pub(super) is_known: bool,
}

impl Standing {
    /// A node of which nothing is known but its name and zone.
    pub(super) fn new(node: KnownNode, address: &str, now: Instant) -> Standing {
        Standing {
            name: node.name,
            zone: node.zone,
            address: address.to_owned(),
            announcement: Announcement::default(),
            incarnation: 0,
            heartbeat: 0,
            is_detected: false,
            heard_at: None,
            is_slow: Arc::default(),
            slow_since: None,
            refused_at: None,
            dead_since: Some(now),
            error: None,
            is_known: true,
        }
    }

    pub(super) fn is_alive(&self) -> bool {
        self.dead_since.is_none()
    }

    /// Takes what others tell of it.
    pub(super) fn see(&mut self, seen: &SeenNode, now: Instant) {
        if seen.incarnation != self.incarnation {
            self.is_slow.store(false, Ordering::Relaxed);
            *self = Standing {
                incarnation: seen.incarnation,
                heartbeat: seen.heartbeat,
                heard_at: None,
                slow_since: None,
                refused_at: None,
                ..self.clone()
            };
        } else if seen.heartbeat > self.heartbeat {
            self.heartbeat = seen.heartbeat;
            self.hear(now);
        }
        self.is_detected = seen.is_alive;
        self.zone.clone_from(&seen.announcement.zone);
        self.announcement.clone_from(&seen.announcement);
    }

    /// Takes a sign of life.
    fn hear(&mut self, now: Instant) {
        self.heard_at = Some(now);
        let is_over =
            |since: Option<Instant>| since.is_none_or(|since| since + UNDER_WAY_TIME <= now);
        if is_over(self.slow_since) {
            self.slow_since = None;
            self.is_slow.store(false, Ordering::Relaxed);
        }
        if is_over(self.refused_at) {
            self.refused_at = None;
        }
    }

    /// Prefers others from now on, until there are signs of life again.
    pub(super) fn slow_down(&mut self, now: Instant) {
        self.slow_since = Some(now);
    }

    /// Takes it for dead at once, because nothing listens at its address.
    pub(super) fn refuse(&mut self, reason: &str, now: Instant) {
        self.refused_at = Some(now);
        self.error = Some(reason.to_owned());
    }

    /// Decides whether it is alive, and whether it is forgotten. Returns whether it has become alive or dead.
    pub(super) fn judge(&mut self, forget_after: Option<Duration>, now: Instant) -> bool {
        let is_heard = |at: Instant| now.duration_since(at) < ALIVE_TIME;
        let gives_signs = self.is_detected || self.heard_at.is_some_and(is_heard);
        let is_alive = gives_signs && self.refused_at.is_none() && !self.announcement.has_left;
        let was_alive = self.is_alive();
        if is_alive {
            (self.dead_since, self.error) = (None, None);
            self.is_known = true;
        } else {
            let since = *self.dead_since.get_or_insert(now);
            if self.announcement.has_left {
                self.error = Some("it has been stopped".to_owned());
            } else if was_alive && self.error.is_none() {
                self.error = Some("it does not answer".to_owned());
            }
            let is_due = |after| now.duration_since(since) >= after;
            self.is_known &= !forget_after.is_some_and(is_due);
        }
        is_alive != was_alive
    }
}
