//! The keys in memory: authentication and rate limits.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use governor::clock::{Clock, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use time::UtcDateTime;

use super::keys::{KeyHash, KeyRecord, NewKey};
use super::metering::Quotas;
use super::principal::Principal;
use super::state::{State, StateError};

type Bucket = RateLimiter<NotKeyed, InMemoryState, DefaultClock, StateInformationMiddleware>;

/// How often the keys are checked for changes: the longest that a revoked key is still accepted.
pub(crate) const FOLLOW_INTERVAL: Duration = Duration::from_millis(250);

/// Principals in memory. If there are more, all are dropped: they are read again, and their rate limits
/// start anew.
const PRINCIPALS_MAX: usize = 100_000;

/// A key with its state in this process.
#[derive(Debug)]
pub(crate) struct KnownKey {
    pub(crate) record: KeyRecord,
    /// Whether answers are charged.
    pub(crate) is_metered: bool,
    /// The instant from which the secret is refused, if another one has replaced it.
    ends_at: Option<UtcDateTime>,
    lasting: Arc<Lasting>,
}

/// The state that is kept when a key's record is read again.
#[derive(Debug)]
struct Lasting {
    bucket: Bucket,
}

/// The state of a key's rate limit after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate {
    pub(crate) burst: u32,
    pub(crate) window_seconds: u32,
    pub(crate) remaining: u32,
    /// Time until the next request is allowed, if this one was not.
    pub(crate) retry_after_seconds: Option<u64>,
}

/// Every key, by its hash.
#[derive(Debug)]
pub(crate) struct Keyring {
    keys: ArcSwap<KeysByHash>,
    reading: Mutex<()>,
    /// The principals of the host, by their ids, as keys.
    principals: Mutex<HashMap<String, Arc<KnownKey>>>,
}

#[derive(Debug, Default)]
struct KeysByHash {
    changes: Option<i64>,
    by_hash: HashMap<KeyHash, Arc<KnownKey>>,
}

impl Keyring {
    pub(crate) fn read(state: &State) -> Result<Keyring, StateError> {
        let keyring = Keyring {
            keys: ArcSwap::default(),
            reading: Mutex::new(()),
            principals: Mutex::default(),
        };
        keyring.follow(state)?;
        Ok(keyring)
    }

    /// Finds a key by its hash, among those in memory.
    pub(crate) fn known(&self, hash: &KeyHash) -> Option<Arc<KnownKey>> {
        // No comparison in constant time is needed: timing could only reveal a hash, and a hash cannot be
        // turned back into a key.
        self.keys.load().by_hash.get(hash).cloned()
    }

    /// Finds a key by its hash. An unknown key may be new, so it is looked up in the state.
    pub(crate) fn find(
        &self,
        hash: &KeyHash,
        state: &State,
    ) -> Result<Option<Arc<KnownKey>>, StateError> {
        let known = self.known(hash);
        if known.is_some() {
            return Ok(known);
        }
        self.follow(state)?;
        Ok(self.known(hash))
    }

    /// The key that represents a principal of the host, unless the principal is new or has changed.
    pub(crate) fn known_principal(&self, principal: &Principal) -> Option<Arc<KnownKey>> {
        let known = self.principals().get(&principal.id).map(Arc::clone)?;
        let settings = &known.record.settings;
        let is_same =
            known.is_metered == principal.is_metered && *settings == settings_of(principal);
        is_same.then_some(known)
    }

    /// The key that represents a principal of the host. Changed settings apply from this request on.
    ///
    /// Cost: a map lookup, or a transaction for a principal that is new to this process.
    pub(crate) fn of_principal(
        &self,
        principal: &Principal,
        state: &State,
    ) -> Result<Arc<KnownKey>, StateError> {
        if let Some(key) = self.known_principal(principal) {
            return Ok(key);
        }
        let known = self.principals().get(&principal.id).map(Arc::clone);
        let settings = settings_of(principal);
        let record = match &known {
            Some(key) => KeyRecord {
                settings,
                ..key.record.clone()
            },
            None => state.record_of_principal(&principal.id, settings)?,
        };
        let same = known.filter(|key| key.has_limit_of(&record));
        let lasting = same.map(|key| Arc::clone(&key.lasting));
        let key = Arc::new(KnownKey {
            lasting: lasting.unwrap_or_else(|| Arc::new(Lasting::new(&record))),
            is_metered: principal.is_metered,
            ends_at: None,
            record,
        });
        let mut principals = self.principals();
        if principals.len() >= PRINCIPALS_MAX {
            principals.clear();
        }
        principals.insert(principal.id.clone(), Arc::clone(&key));
        Ok(key)
    }

    fn principals(&self) -> MutexGuard<'_, HashMap<String, Arc<KnownKey>>> {
        self.principals
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the keys again if they have changed.
    pub(crate) fn follow(&self, state: &State) -> Result<(), StateError> {
        let _one_at_a_time = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.keys.load_full();
        let changes = Some(state.key_changes()?);
        if known.changes == changes {
            return Ok(());
        }
        let lasting: HashMap<i64, &Arc<KnownKey>> = known
            .by_hash
            .values()
            .map(|key| (key.record.number, key))
            .collect();
        let mut by_hash = HashMap::new();
        for (hash, record) in state.hashed_keys()? {
            // An edited limit applies immediately, and earlier requests do not count against it.
            let same = lasting
                .get(&record.number)
                .filter(|key| key.has_limit_of(&record));
            // Both secrets of a rotated key share one limit.
            let lasting = same.map(|key| Arc::clone(&key.lasting));
            let key = KnownKey {
                lasting: lasting.unwrap_or_else(|| Arc::new(Lasting::new(&record))),
                is_metered: true,
                ends_at: None,
                record,
            };
            if let Some(former) = key.record.former.clone() {
                let ending = key.until(former.until);
                by_hash.insert(former.hash, Arc::new(ending));
            }
            by_hash.insert(hash, Arc::new(key));
        }
        self.keys.store(Arc::new(KeysByHash { changes, by_hash }));
        Ok(())
    }
}

/// The settings of a principal's key: nothing limits the units of one that is not metered.
fn settings_of(principal: &Principal) -> NewKey {
    let mut settings = principal.settings.clone();
    if !principal.is_metered {
        settings.quotas = Quotas::default();
    }
    settings
}

impl Lasting {
    fn new(record: &KeyRecord) -> Lasting {
        let at_least_one = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::per_second(at_least_one(record.settings.rate))
            .allow_burst(at_least_one(record.settings.burst));
        let bucket = RateLimiter::direct(quota).with_middleware::<StateInformationMiddleware>();
        Lasting { bucket }
    }
}

impl KnownKey {
    /// Why the key is not accepted at an instant; only its holder is told.
    pub(crate) fn refusal(&self, now: UtcDateTime) -> Option<&'static str> {
        if self.record.revoked_at.is_some() {
            Some("The key is revoked; ask the operator for another.")
        } else if !self.record.is_valid_at(now) {
            Some("The key has expired; ask the operator to extend it, or for another.")
        } else if self.ends_at.is_some_and(|end| end <= now) {
            Some(
                "The key was rotated, and this secret has ended; ask the operator for the new one.",
            )
        } else {
            None
        }
    }

    /// The same key by a secret that ends.
    fn until(&self, end: UtcDateTime) -> KnownKey {
        KnownKey {
            record: self.record.clone(),
            is_metered: self.is_metered,
            ends_at: Some(end),
            lasting: Arc::clone(&self.lasting),
        }
    }

    fn has_limit_of(&self, record: &KeyRecord) -> bool {
        let (own, other) = (&self.record.settings, &record.settings);
        (own.rate, own.burst) == (other.rate, other.burst)
    }

    /// Counts a request and returns the state of the rate limit.
    pub(crate) fn request(&self) -> Rate {
        let (rate, burst) = (self.record.settings.rate, self.record.settings.burst);
        let window_seconds = burst.div_ceil(rate.max(1));
        let (remaining, retry_after_seconds) = match self.lasting.bucket.check() {
            Ok(bucket) => (bucket.remaining_burst_capacity(), None),
            Err(not_until) => {
                let wait = not_until.wait_time_from(DefaultClock::default().now());
                (0, Some(wait.as_secs_f64().ceil().max(1.0) as u64))
            }
        };
        Rate {
            burst,
            window_seconds,
            remaining,
            retry_after_seconds,
        }
    }
}
