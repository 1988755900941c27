//! Dates of signals, which grow with the position in the corpus.

use time::macros::date;
use time::{Date, Duration, Time, UtcDateTime};

use super::random::Random;

/// "Today" for every synthetic corpus.
pub(super) const AS_OF: Date = date!(2026 - 06 - 30);

/// Days from the first signal's arrival to [`AS_OF`]: five and a half years.
const SPAN_DAYS: u64 = 2007;

/// The dates of a signal.
pub(super) struct Moments {
    /// The day of the activity.
    pub(super) date: Date,
    /// At or after `date`.
    pub(super) published_at: UtcDateTime,
    /// At or after `published_at`.
    pub(super) updated_at: UtcDateTime,
}

/// The dates of the `index`-th of `signals` signals.
///
/// Arrivals are ordered and three times as dense at the end of the span as at its beginning. The activity is up to
/// two weeks before its arrival, and up to 400 days for one signal in twenty.
pub(super) fn moments(random: &mut Random, index: u64, signals: u64) -> Moments {
    let arrival = AS_OF.saturating_sub(days(age_days(index, signals)));
    let delay = if random.chance(5) {
        random.below(400)
    } else {
        early_delay(random)
    };
    let published_at = midnight(arrival).saturating_add(seconds(random.below(SECONDS_PER_DAY)));
    let last = midnight(AS_OF).saturating_add(seconds(SECONDS_PER_DAY - 1));
    let edited_after = if random.chance(30) {
        random.below(40 * SECONDS_PER_DAY)
    } else {
        0
    };
    Moments {
        date: arrival.saturating_sub(days(delay)),
        published_at,
        updated_at: published_at.saturating_add(seconds(edited_after)).min(last),
    }
}

/// An instant in the 400 days before [`AS_OF`].
pub(super) fn recent_moment(random: &mut Random) -> UtcDateTime {
    midnight(AS_OF).saturating_sub(seconds(random.below(400 * SECONDS_PER_DAY)))
}

const SECONDS_PER_DAY: u64 = 24 * 60 * 60;

/// Days between a signal's arrival and [`AS_OF`]: span · f · (f + 1) / 2, where f is the fraction of the corpus
/// after it.
fn age_days(index: u64, signals: u64) -> u64 {
    let after = u128::from(signals - 1 - index);
    let signals = u128::from(signals);
    (u128::from(SPAN_DAYS) * after * (after + signals) / (2 * signals * signals)) as u64
}

/// Up to 13 days, short ones more likely.
fn early_delay(random: &mut Random) -> u64 {
    random.below(14).min(random.below(14))
}

fn midnight(date: Date) -> UtcDateTime {
    UtcDateTime::new(date, Time::MIDNIGHT)
}

fn days(number: u64) -> Duration {
    Duration::days(number as i64)
}

fn seconds(number: u64) -> Duration {
    Duration::seconds(number as i64)
}
