//! Charges for answers, durable before the answer is sent.
//!
//! Only the state knows the remaining quota: it is counted in the transaction that records the charge,
//! over all processes. A charge that exceeds the quota is refused with the remaining units, so that
//! the request can deliver exactly those.

use std::sync::Arc;

use time::UtcDateTime;
use tokio::time::Instant;

use super::answer::Price;
use super::call::Call;
use super::free_answers::FreeAnswer;
use super::idempotency_keys::IdempotencyGuard;
use super::keyring::KnownKey;
use super::metering::{Counter, Month};
use super::problem::{Problem, ProblemCode};
use super::service::ServiceCore;
use super::state::{Arrival, Charge, ChargeError, Charged, KeptContent, KeptFull, NewReplay};

/// Why a charge was refused.
#[derive(Debug)]
pub(super) enum ChargeRefusal {
    /// Only this many units are left of the month's quota.
    Left(Counter, Month, u64),
    Problem(Problem),
}

/// The units left of the key's quota; `None` if the key has no quota.
///
/// # Errors
/// Nothing is left, or the state cannot be read in time.
pub(super) async fn left(call: &Call<'_>, counter: Counter) -> Result<Option<u64>, Problem> {
    match unused(call, counter).await? {
        Some(0) => Err(exhausted(counter, call.month)),
        left => Ok(left),
    }
}

/// As [`left`], but zero is not an error.
///
/// # Errors
/// The state cannot be read in time.
pub(super) async fn unused(call: &Call<'_>, counter: Counter) -> Result<Option<u64>, Problem> {
    let Some(quota) = call.key.record.quota(counter) else {
        return Ok(None);
    };
    let (key, month) = (call.key.record.number, call.month);
    let counts = move |service: &ServiceCore| service.state.counts(key, month);
    let used = call.service.read(call.deadline.at(), counts).await?;
    Ok(Some(quota.saturating_sub(used[counter.index()])))
}

/// Reserves one free answer of the key's quota before the query runs.
///
/// # Errors
/// As [`left`].
pub(super) async fn take_free(call: &Call<'_>) -> Result<FreeAnswer, Problem> {
    // Reserved before the quota is read, so that concurrent answers cannot exceed it.
    let number = call.key.record.number;
    let (answer, unrecorded) = call.service.free_answers.take(number, call.month);
    match left(call, Counter::FreeAnswers).await? {
        Some(left) if unrecorded > left => Err(exhausted(Counter::FreeAnswers, call.month)),
        _ => Ok(answer),
    }
}

/// Counts a free answer, which is recorded within a second. HEAD requests do not count.
pub(super) fn count_free(call: &Call<'_>, answer: FreeAnswer) {
    if !call.is_head() && call.key.is_metered {
        answer.give();
    }
}

/// Records units, with the answer if the request has an idempotency key, and returns when both are
/// durable. The guard is held until then, so a retry finds either the guard or the answer.
///
/// # Errors
/// Nothing was recorded, or the problem says that this is uncertain. Nothing may be delivered.
pub(super) async fn charge(
    call: &Call<'_>,
    counter: Counter,
    units: u64,
    replay: Option<NewReplay>,
    guard: Option<&Arc<IdempotencyGuard>>,
) -> Result<Charged, ChargeRefusal> {
    let charge = NewCharge {
        key: &call.key,
        now: call.now,
        counter,
        units,
        kept: replay.map(KeptContent::Answer),
        arrival: call.take_arrival(),
    };
    let deadline = call.deadline.of_charge();
    record(call.service, charge, guard, deadline).await
}

/// The price of an answer that was charged.
pub(super) fn price(call: &Call<'_>, counter: Counter, units: u64, charged: Charged) -> Price {
    let quota = call.key.record.quota(counter);
    Price {
        charged: if call.key.is_metered { units } else { 0 },
        remaining: quota.map(|quota| quota.saturating_sub(charged.total)),
        is_replayed: false,
    }
}

/// Units to charge to a key, with the answer to keep if the request has an idempotency key.
pub(super) struct NewCharge<'a> {
    pub(super) key: &'a KnownKey,
    pub(super) now: UtcDateTime,
    pub(super) counter: Counter,
    pub(super) units: u64,
    pub(super) kept: Option<KeptContent>,
    /// What the commits of other charges wait for.
    pub(super) arrival: Option<Arrival>,
}

/// As [`charge`], with a deadline, and also after the answer has begun.
pub(super) async fn record(
    service: &ServiceCore,
    new: NewCharge<'_>,
    guard: Option<&Arc<IdempotencyGuard>>,
    deadline: Instant,
) -> Result<Charged, ChargeRefusal> {
    if !new.key.is_metered {
        return Ok(Charged { units: 0, total: 0 });
    }
    let (counter, month) = (new.counter, Month::of(new.now));
    let charge = Charge {
        key: new.key.record.number,
        month,
        day: new.now.date(),
        counter,
        units: new.units,
        quota: new.key.record.quota(counter),
        kept: new.kept,
        guard: guard.map(|guard| Arc::clone(guard) as Arc<dyn Send + Sync>),
        arrival: new.arrival,
    };
    let charging = service.writer.charge(charge, deadline);
    charging
        .await
        .map_err(|error| refusal(error, counter, month))
}

fn refusal(error: ChargeError, counter: Counter, month: Month) -> ChargeRefusal {
    ChargeRefusal::Problem(match error {
        ChargeError::QuotaExceeded { left } => return ChargeRefusal::Left(counter, month, left),
        ChargeError::NameTaken | ChargeError::BatchTaken => in_progress(),
        ChargeError::KeptFull(full) => no_room(full),
        ChargeError::QueueFull => Problem::overloaded("Too many charges wait to be written."),
        ChargeError::Unavailable => {
            Problem::overloaded("Usage cannot be recorded; nothing was charged.")
        }
        ChargeError::TimedOut => Problem::timed_out(),
        ChargeError::Uncertain => uncertain(),
    })
}

pub(super) fn exhausted(counter: Counter, month: Month) -> Problem {
    let detail = format!(
        "The key has used its quota of {} for this month; wait {}, or ask the operator for more.",
        counter.as_str(),
        until_end(month)
    );
    Problem::new(ProblemCode::QuotaExceeded, detail)
}

/// Until when a quota of a month lasts, in words.
pub(super) fn until_end(month: Month) -> String {
    match month.end() {
        Some(day) => format!("until {day} (UTC)"),
        None => "until the next month (UTC)".to_owned(),
    }
}

/// The problem if nothing more can be kept under idempotency keys.
pub(super) fn no_room(full: KeptFull) -> Problem {
    let problem = if full.is_of_all {
        let detail = "The service's storage for repeated requests is full; send the request again later, or without \
                      an Idempotency-Key.";
        Problem::overloaded(detail)
    } else {
        let detail = "The storage for this key's Idempotency-Keys of the last 24 hours is full; send the request \
                      again later, or without an Idempotency-Key.";
        Problem::new(ProblemCode::RateLimited, detail)
    };
    problem.retry_after(full.retry_after_seconds)
}

/// The problem while another request with the same idempotency key is in progress.
pub(super) fn in_progress() -> Problem {
    let detail = "A request with this Idempotency-Key is still in progress; try again.";
    Problem::new(ProblemCode::RequestInProgress, detail).retry_after(1)
}

fn uncertain() -> Problem {
    let detail = "The charge was being written when the request ended, so it may have been \
                  charged. Send the request again with the same Idempotency-Key: what was charged \
                  is then delivered without a further charge.";
    Problem::new(ProblemCode::ChargeUncertain, detail)
}

impl From<ChargeRefusal> for Problem {
    fn from(refusal: ChargeRefusal) -> Problem {
        match refusal {
            ChargeRefusal::Left(counter, month, _) => exhausted(counter, month),
            ChargeRefusal::Problem(problem) => problem,
        }
    }
}

#[cfg(test)]
mod tests;
