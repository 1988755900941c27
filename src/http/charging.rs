//! From units to a durable charge: taken from the quota, recorded, or given back.

use std::sync::Arc;

use super::keyring::Key;
use super::metering::{Counter, Month};
use super::problem::{Code, Problem};
use super::replay::Claim;
use super::router::Call;
use super::state::{Charge, ChargeError, Charged, NewReplay, Settlement};

/// Units on their way to a charge. Dropped before they are recorded, they go back to the quota.
pub(super) struct Units {
    key: Arc<Key>,
    month: Month,
    counter: Counter,
    count: u64,
    is_recorded: bool,
    /// Held until the charge is durable, so that a retry finds either the claim or the answer.
    claim: Option<Claim>,
}

/// Takes up to `wanted` units of what the key's quota leaves.
///
/// # Errors
/// Nothing is left, or the state cannot be read.
pub(super) fn take(call: &Call<'_>, counter: Counter, wanted: u64) -> Result<Units, Problem> {
    let mut units = Units::none(call, counter);
    units.count = match call.key.record.quota(counter) {
        None => wanted,
        Some(quota) => {
            let recorded = || {
                call.service
                    .state
                    .counts(call.key.record.number, call.month)
            };
            // Asking for at least one tells "nothing left" from "nothing wanted".
            let asked = wanted.max(1);
            let account = call.key.account();
            let granted = account
                .take(call.month, counter, asked, quota, recorded)
                .map_err(|error| Problem::internal(&error))?;
            if granted == 0 {
                return Err(exhausted(counter));
            }
            account.give_back(call.month, counter, granted.saturating_sub(wanted));
            granted.min(wanted)
        }
    };
    Ok(units)
}

/// Records the units, with the answer they pay for where it has a name, and returns when both are
/// durable.
///
/// # Errors
/// They could not be recorded; nothing may be delivered then.
pub(super) async fn record(
    call: &Call<'_>,
    mut units: Units,
    replay: Option<NewReplay>,
    claim: Option<Claim>,
) -> Result<Charged, Problem> {
    let (counter, count) = (units.counter, units.count);
    units.claim = claim;
    let charge = Charge {
        key: call.key.record.number,
        month: call.month,
        counter,
        units: count,
        quota: call.key.record.quota(counter),
        replay,
        settlement: Box::new(units),
    };
    let charged = call
        .service
        .writer
        .charge(charge)
        .await
        .map_err(|error| problem(error, counter))?;
    call.service.metrics.charged(counter, count);
    Ok(charged)
}

fn problem(error: ChargeError, counter: Counter) -> Problem {
    match error {
        ChargeError::QuotaExceeded => exhausted(counter),
        ChargeError::NameTaken => in_progress(),
        ChargeError::QueueFull => Problem::overloaded("Too many charges wait to be written."),
        ChargeError::Unavailable => {
            Problem::overloaded("Usage cannot be recorded; nothing was charged.")
        }
    }
}

fn exhausted(counter: Counter) -> Problem {
    let detail = format!(
        "The key has used its quota of {} for this month.",
        counter.as_str()
    );
    Problem::new(Code::QuotaExceeded, detail)
}

/// The answer while another request with the same idempotency key is under way.
pub(super) fn in_progress() -> Problem {
    let detail = "A request with this Idempotency-Key is under way; try again.";
    Problem::new(Code::RequestInProgress, detail).retry_after(1)
}

impl Units {
    /// No units, for answers that cost nothing.
    pub(super) fn none(call: &Call<'_>, counter: Counter) -> Units {
        Units {
            key: Arc::clone(&call.key),
            month: call.month,
            counter,
            count: 0,
            is_recorded: false,
            claim: None,
        }
    }

    pub(super) fn counter(&self) -> Counter {
        self.counter
    }

    /// How many were granted.
    pub(super) fn count(&self) -> u64 {
        self.count
    }
}

impl Settlement for Units {
    fn recorded(&mut self) {
        self.is_recorded = true;
    }
}

impl Drop for Units {
    fn drop(&mut self) {
        let has_quota = self.key.record.quota(self.counter).is_some();
        if has_quota && !self.is_recorded {
            self.key
                .account()
                .give_back(self.month, self.counter, self.count);
        }
    }
}
