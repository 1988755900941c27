//! Synthetic corpora: signals and companies of any number, made up as they are asked for.
//!
//! For measuring, for tests and for trying things out. A corpus is its size and its seed; each
//! record follows from them and from its own position alone, so nothing is held in memory, any
//! record can be had at once, and the same corpus has the same bytes on every machine.
//!
//! The records have the shape of real ones: words of titles follow the two-part Zipf law of large
//! text collections, so that about half of all distinct words occur once; words that belong
//! together stand together; categories, countries, industries and companies are skewed; dates grow
//! with ids, unevenly; fields are absent, and spellings awkward, about as often as in reality.
//! They are not meant to be read for their sense.
//!
//! A million signals have about 50,000 companies, 8 million words in titles, 62,000 of them
//! distinct, and make about 560 bytes of JSON each; 12 % have funding details and 25 % hiring
//! attributes. The vocabulary grows as the square root of the corpus.
//!
//! ```
//! use signaldex::synthetic::Corpus;
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
use crate::error::{Error, Result};
use crate::signal::{Company, Signal};

/// A synthetic corpus: a size and a seed. Copying one costs nothing.
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

    /// The corpus of `signals` signals, from 1 to [`MOST_SIGNALS`](Self::MOST_SIGNALS), that
    /// `seed` leads to.
    ///
    /// # Errors
    ///
    /// A number of signals outside the range; the error [is invalid](Error::is_invalid).
    pub fn new(signals: u64, seed: u64) -> Result<Corpus> {
        /// Signals for each company, on average.
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

    /// Every company, each slug once. Some have no signal.
    pub fn companies(&self) -> impl Iterator<Item = Company<'static>> + use<> {
        let seed = self.seed;
        (0..self.companies).map(move |index| company::company(seed, index))
    }

    /// Every signal, in strictly ascending order of ids. Costs one to two microseconds each.
    pub fn signals(&self) -> impl Iterator<Item = Signal<'static>> + use<> {
        let corpus = *self;
        (0..self.signals).map(move |index| signal::signal(&corpus, index))
    }

    /// The signal at `index`, counted from 0 in order of ids; `None` from the end on.
    pub fn signal(&self, index: u64) -> Option<Signal<'static>> {
        (index < self.signals).then(|| signal::signal(self, index))
    }

    /// The company at `index`, counted from 0; `None` from the end on.
    pub fn company(&self, index: u64) -> Option<Company<'static>> {
        (index < self.companies).then(|| company::company(self.seed, index))
    }

    /// The number of signals.
    pub fn signal_count(&self) -> u64 {
        self.signals
    }

    /// The number of companies: one for 20 signals, and at least one.
    pub fn company_count(&self) -> u64 {
        self.companies
    }

    /// "Today" as the corpus sees it: no date in it is later.
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
