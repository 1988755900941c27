//! Synthetic corpora: any number of signals and companies, generated on demand.
//!
//! For benchmarks, tests and trying things out. A corpus is defined by its size and its seed. Each record depends
//! only on these and its own position, so nothing is held in memory, records can be generated in any order, and the
//! same corpus has the same bytes on every machine.
//!
//! The statistics resemble those of real records: words of titles follow the two-part Zipf law of large text
//! collections, so about half of all distinct words occur once; common phrases occur; categories, countries,
//! industries and companies are skewed; dates grow unevenly with ids; missing fields and unusual spellings are about
//! as frequent as in reality. The texts are meaningless.
//!
//! A million signals have about 50,000 companies, 8 million words in titles, 62,000 of them distinct, and about 560
//! bytes of JSON each; 12 % have funding details and 25 % hiring attributes. The vocabulary grows as the square root
//! of the corpus.
//!
//! ```
//! use signaldex_synthetic::Corpus;
//!
//! let corpus = Corpus::new(1000, 42)?;
//! assert_eq!(corpus.signals().count(), 1000);
//! assert_eq!(corpus.companies().count(), 50);
//! assert_eq!(corpus.signal(999), corpus.signals().last());
//! # Ok::<(), signaldex::Error>(())
//! ```

mod calendar;
mod company;
mod people;
mod places;
mod random;
mod signal;
mod story;
#[cfg(test)]
mod tests;
mod words;

use time::Date;

use self::random::Zipf;
use signaldex::{Company, Signal};
use signaldex::{Error, Result};

/// A synthetic corpus, defined by a size and a seed. Cheap to copy.
#[derive(Clone, Copy, Debug)]
pub struct Corpus {
    signals: u64,
    seed: u64,
    companies: u64,
    company_ranks: Zipf,
}

impl Corpus {
    /// The maximum number of signals of a corpus.
    pub const MOST_SIGNALS: u64 = 100_000_000;

    /// The corpus of `signals` signals, from 1 to [`MOST_SIGNALS`](Self::MOST_SIGNALS), with a seed.
    ///
    /// # Errors
    ///
    /// A number of signals outside the range; the error is [`Invalid`](signaldex::ErrorKind::Invalid).
    pub fn new(signals: u64, seed: u64) -> Result<Corpus> {
        /// Average number of signals per company.
        const SIGNALS_PER_COMPANY: u64 = 20;
        if !(1..=Self::MOST_SIGNALS).contains(&signals) {
            let most = Self::MOST_SIGNALS;
            return Err(Error::invalid(format!(
                "a synthetic corpus has 1 to {most} signals, not {signals}"
            )));
        }
        let companies = (signals / SIGNALS_PER_COMPANY).max(1);
        Ok(Corpus {
            signals,
            seed,
            companies,
            company_ranks: signal::company_ranks(companies),
        })
    }

    /// All companies, with distinct slugs. Some have no signals.
    pub fn companies(&self) -> impl Iterator<Item = Company<'static>> + use<> {
        let seed = self.seed;
        (0..self.companies).map(move |index| company::company(seed, index))
    }

    /// All signals, in strictly ascending order of ids. Costs one to two microseconds each.
    pub fn signals(&self) -> impl Iterator<Item = Signal<'static>> + use<> {
        let corpus = *self;
        (0..self.signals).map(move |index| signal::signal(&corpus, index))
    }

    /// The signal at `index`, counted from 0 in order of ids; `None` past the end.
    pub fn signal(&self, index: u64) -> Option<Signal<'static>> {
        (index < self.signals).then(|| signal::signal(self, index))
    }

    /// The company at `index`, counted from 0; `None` past the end.
    pub fn company(&self, index: u64) -> Option<Company<'static>> {
        (index < self.companies).then(|| company::company(self.seed, index))
    }

    /// The number of signals.
    pub fn signal_count(&self) -> u64 {
        self.signals
    }

    /// The number of companies: one per 20 signals, and at least one.
    pub fn company_count(&self) -> u64 {
        self.companies
    }

    /// The date to pass as today: no date of the corpus is later.
    pub fn as_of(&self) -> Date {
        calendar::AS_OF
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn company_ranks(&self) -> &Zipf {
        &self.company_ranks
    }
}
