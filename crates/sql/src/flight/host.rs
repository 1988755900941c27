//! What a host gives a listener: a corpus, the day, the token, and limits.

use std::time::Duration;

use time::Date;

use crate::corpus::SqlCorpus;
use crate::error::SqlError;

/// What statements of a listener are run over, and who may run them.
pub trait FlightHost: Send + Sync + 'static {
    /// The corpus as it is now.
    ///
    /// # Errors
    /// A file was overwritten, so that no statement may read it; or a shard is at no node that answers.
    fn corpus(&self) -> Result<SqlCorpus, SqlError>;

    /// The day that counts as today in searches.
    fn today(&self) -> Date;

    /// Whether a secret is the admin token. It may block.
    ///
    /// # Errors
    /// The tokens cannot be read.
    fn is_admin(&self, secret: &str) -> Result<bool, SqlError>;
}

/// Limits of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlightOptions {
    /// Bytes of groups, joins and sorts of all statements together.
    pub memory: usize,
    /// The longest that a statement may take, until its last row is read.
    pub timeout: Duration,
    /// Statements that run at the same time. Others are refused.
    pub queries: usize,
}

impl Default for FlightOptions {
    /// 1 GiB, a minute and four statements.
    fn default() -> FlightOptions {
        FlightOptions {
            memory: 1 << 30,
            timeout: Duration::from_secs(60),
            queries: 4,
        }
    }
}
