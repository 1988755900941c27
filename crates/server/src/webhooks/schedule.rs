//! When a failed attempt is followed by the next.

use std::time::Duration;

/// The pauses between attempts by default, almost four days in all.
const DEFAULT: [u64; 9] = [
    5,
    5 * 60,
    30 * 60,
    2 * 3_600,
    5 * 3_600,
    10 * 3_600,
    14 * 3_600,
    20 * 3_600,
    24 * 3_600,
];
/// The longest `Retry-After` that counts.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * 3_600);
/// How much longer or shorter a pause may be, in thousandths: so that what failed together is not tried again together.
const JITTER: u64 = 200;

/// The pauses between the attempts to deliver an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPauses(Vec<Duration>);

/// What follows an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterAttempt {
    /// It was accepted.
    Accepted,
    /// The next attempt follows after this pause.
    Retry(Duration),
    /// There is none: the search is disabled.
    Disable,
}

impl Default for RetryPauses {
    fn default() -> RetryPauses {
        RetryPauses(DEFAULT.map(Duration::from_secs).to_vec())
    }
}

impl RetryPauses {
    /// Reads pauses such as `5s,5m,30m,2h`, at most 32 of a second to 24 hours each.
    ///
    /// ```
    /// use signaldex_server::webhooks::RetryPauses;
    ///
    /// assert_eq!(RetryPauses::parse("5s,5m,30m,2h,5h,10h,14h,20h,24h"), Some(RetryPauses::default()));
    /// assert_eq!(RetryPauses::parse("5s,,1h"), None);
    /// ```
    pub fn parse(text: &str) -> Option<RetryPauses> {
        let pauses: Option<Vec<Duration>> = text.split(',').map(pause).collect();
        pauses.filter(|pauses| pauses.len() <= 32).map(RetryPauses)
    }

    /// What follows the attempt of a number, from 1, that was answered with a status, or with none. `random` chooses the
    /// jitter.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use signaldex_server::webhooks::{AfterAttempt, RetryPauses};
    ///
    /// let pauses = RetryPauses::default();
    /// let after = |attempt, status| pauses.after(attempt, status, None, u64::MAX / 2);
    /// assert_eq!(after(1, Some(204)), AfterAttempt::Accepted);
    /// assert_eq!(after(1, Some(410)), AfterAttempt::Disable);
    /// assert_eq!(after(10, None), AfterAttempt::Disable);
    /// let AfterAttempt::Retry(pause) = after(1, Some(302)) else {
    ///     panic!("a redirect is never followed");
    /// };
    /// assert!((4..=6).contains(&pause.as_secs()));
    /// ```
    pub fn after(
        &self,
        attempt: u32,
        status: Option<u16>,
        retry_after: Option<Duration>,
        random: u64,
    ) -> AfterAttempt {
        match status {
            Some(200..=299) => return AfterAttempt::Accepted,
            Some(410) => return AfterAttempt::Disable,
            _ => {}
        }
        let index = attempt.saturating_sub(1) as usize;
        let Some(&pause) = self.0.get(index) else {
            return AfterAttempt::Disable;
        };
        let asked = retry_after.filter(|_| matches!(status, Some(429 | 503)));
        let asked = asked.map_or(Duration::ZERO, |asked| asked.min(RETRY_AFTER_MAX));
        AfterAttempt::Retry(jittered(pause, random).max(asked))
    }
}

/// A pause that is up to a fifth longer or shorter.
fn jittered(pause: Duration, random: u64) -> Duration {
    let thousandths = 1_000 - JITTER + random % (2 * JITTER + 1);
    let milliseconds = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(milliseconds.saturating_mul(thousandths) / 1_000)
}

fn pause(text: &str) -> Option<Duration> {
    let unit = text.chars().next_back()?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        _ => return None,
    };
    let number: u64 = text[..text.len() - 1].parse().ok()?;
    let pause = Duration::from_secs(number.checked_mul(seconds)?);
    (Duration::from_secs(1)..=RETRY_AFTER_MAX)
        .contains(&pause)
        .then_some(pause)
}

#[cfg(test)]
mod tests;
