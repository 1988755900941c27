//! The clock of a state and of the services over it: the operating system's, or one that a host hands in.

use std::fmt;
use std::sync::Arc;

use time::UtcDateTime;

/// Tells the time. Clones share the source.
#[derive(Clone)]
pub(super) struct Clock(Arc<dyn Fn() -> UtcDateTime + Send + Sync>);

impl Clock {
    pub(super) fn of(source: impl Fn() -> UtcDateTime + Send + Sync + 'static) -> Clock {
        Clock(Arc::new(source))
    }

    pub(super) fn now(&self) -> UtcDateTime {
        (self.0)()
    }
}

impl Default for Clock {
    fn default() -> Clock {
        Clock::of(UtcDateTime::now)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").field(&self.now()).finish()
    }
}
