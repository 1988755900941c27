//! What is counted: units, months, quotas, and the account of a key.
//!
//! The durable count is the state's. An [`Account`] adds what is under way in this process, so
//! that concurrent requests of one key share what is left of a quota instead of each taking it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use time::UtcDateTime;

/// What is counted, each for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counter {
    /// One unit for each item that a search returns.
    Signals,
    /// One unit for each signal detail.
    Activities,
    /// One unit for each company.
    Companies,
}

/// A count for each [`Counter`].
pub type Counts = [u64; Counter::ALL.len()];

impl Counter {
    /// Every counter, in the order of [`Counts`].
    pub const ALL: [Counter; 3] = [Counter::Signals, Counter::Activities, Counter::Companies];

    /// The counter as records and metrics write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Counter::Signals => "signals",
            Counter::Activities => "activities",
            Counter::Companies => "companies",
        }
    }

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// The most units a month of each counter; `None` is no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quotas {
    /// Of [`Counter::Signals`].
    pub signals: Option<u64>,
    /// Of [`Counter::Activities`].
    pub activities: Option<u64>,
    /// Of [`Counter::Companies`].
    pub companies: Option<u64>,
}

impl Quotas {
    /// The quota of a counter.
    pub const fn of(&self, counter: Counter) -> Option<u64> {
        match counter {
            Counter::Signals => self.signals,
            Counter::Activities => self.activities,
            Counter::Companies => self.companies,
        }
    }
}

/// A calendar month in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Month(u32);

impl Month {
    /// The month of an instant.
    pub fn of(instant: UtcDateTime) -> Month {
        Month(instant.year().unsigned_abs() * 100 + u32::from(u8::from(instant.month())))
    }

    /// Reads `YYYY-MM`.
    pub fn parse(text: &str) -> Option<Month> {
        let (year, month) = text.split_once('-')?;
        let digits =
            |text: &str, length| text.len() == length && text.bytes().all(|b| b.is_ascii_digit());
        if !digits(year, 4) || !digits(month, 2) {
            return None;
        }
        let (year, month): (u32, u32) = (year.parse().ok()?, month.parse().ok()?);
        (1..=12)
            .contains(&month)
            .then_some(Month(year * 100 + month))
    }

    /// The month as it is stored: 202611 for November 2026.
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    pub(crate) fn of_number(number: u32) -> Month {
        Month(number)
    }

    /// The place in its year, from 1 on.
    pub(crate) fn in_year(self) -> usize {
        (self.0 % 100) as usize
    }

    /// The month before.
    pub(crate) fn before(self) -> Month {
        match self.in_year() {
            1 => Month(self.0.saturating_sub(89)),
            _ => Month(self.0 - 1),
        }
    }
}

impl std::fmt::Display for Month {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04}-{:02}", self.0 / 100, self.0 % 100)
    }
}

/// A key's units of one month: those recorded and those under way.
#[derive(Debug, Default)]
pub(crate) struct Account(Mutex<Option<MonthAccount>>);

#[derive(Debug)]
struct MonthAccount {
    month: Month,
    taken: Counts,
}

impl Account {
    /// Takes up to `wanted` units of what a quota leaves and says how many; 0 means exhausted.
    /// `load` reads the recorded counts and is called once a month.
    pub(crate) fn take<E>(
        &self,
        month: Month,
        counter: Counter,
        wanted: u64,
        quota: u64,
        load: impl FnOnce() -> Result<Counts, E>,
    ) -> Result<u64, E> {
        let mut account = self.lock();
        if account
            .as_ref()
            .is_none_or(|account| account.month != month)
        {
            *account = Some(MonthAccount {
                month,
                taken: load()?,
            });
        }
        let Some(account) = account.as_mut() else {
            return Ok(0);
        };
        let taken = &mut account.taken[counter.index()];
        let granted = wanted.min(quota.saturating_sub(*taken));
        *taken += granted;
        Ok(granted)
    }

    /// Gives back units that were taken and not used.
    pub(crate) fn give_back(&self, month: Month, counter: Counter, units: u64) {
        if let Some(account) = self
            .lock()
            .as_mut()
            .filter(|account| account.month == month)
        {
            let taken = &mut account.taken[counter.index()];
            *taken = taken.saturating_sub(units);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<MonthAccount>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn take(account: &Account, wanted: u64) -> u64 {
        let month = Month::of_number(202_611);
        let recorded = || Ok::<_, Infallible>([90, 0, 0]);
        account
            .take(month, Counter::Signals, wanted, 100, recorded)
            .expect("counts")
    }

    #[test]
    fn what_is_under_way_is_not_given_twice() {
        let account = Account::default();
        assert_eq!(take(&account, 7), 7);
        assert_eq!(take(&account, 7), 3);
        assert_eq!(take(&account, 7), 0);
        account.give_back(Month::of_number(202_611), Counter::Signals, 2);
        assert_eq!(take(&account, 7), 2);
        account.give_back(Month::of_number(202_610), Counter::Signals, 2);
        assert_eq!(
            take(&account, 7),
            0,
            "units of another month are not this month's"
        );
    }

    #[test]
    fn a_new_month_starts_from_its_own_record() {
        let account = Account::default();
        assert_eq!(take(&account, 50), 10);
        let next = Month::of_number(202_612);
        let granted = account.take(next, Counter::Signals, 50, 100, || {
            Ok::<_, Infallible>([0; 3])
        });
        assert_eq!(granted, Ok(50));
    }

    #[test]
    fn months_read_as_they_are_written() {
        for text in ["2026-11", "0001-01", "9999-12"] {
            assert_eq!(
                Month::parse(text).map(|month| month.to_string()).as_deref(),
                Some(text)
            );
        }
        for text in [
            "2026-00",
            "2026-13",
            "2026-1",
            "26-11",
            "2026-11-01",
            "+026-11",
            "",
        ] {
            assert_eq!(Month::parse(text), None, "{text}");
        }
    }
}
