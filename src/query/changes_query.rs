//! What the feed of changes is asked: a filter, a length, and a position.

use super::params::{self, Accepted};
use super::{Filter, InvalidQuery};

/// The parameter for the position since which changes are asked for.
pub(crate) const SINCE: &str = params::SINCE_NAME;

/// What a request for changes asks.
#[derive(Clone, Debug)]
pub(crate) struct ChangesQuery {
    pub(crate) filter: Filter,
    /// The most changes of an answer.
    pub(crate) limit: usize,
    /// The position as it was given.
    pub(crate) since: Option<String>,
}

impl ChangesQuery {
    /// Parses the filters of a query string, `limit` and `since`.
    ///
    /// # Errors
    /// As [`Filter::parse`], but for the position.
    pub(crate) fn parse(query_string: &str) -> Result<ChangesQuery, InvalidQuery> {
        let (builder, [since]) =
            params::parse_with(query_string, [params::SINCE_NAME], Accepted::Changes)?;
        let query = builder.build()?;
        Ok(ChangesQuery {
            limit: query.limit(),
            filter: query.filter,
            since,
        })
    }
}
