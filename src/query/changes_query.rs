//! Queries to the changes feed: a filter, a length and a position.

use super::params::{self, Accepted};
use super::{Filter, InvalidQuery};

/// The name of the parameter for the position.
pub(crate) const SINCE: &str = params::SINCE_NAME;

/// A query to the changes feed.
#[derive(Clone, Debug)]
pub(crate) struct ChangesQuery {
    pub(crate) filter: Filter,
    /// Maximum number of changes in the answer.
    pub(crate) limit: usize,
    /// The position, not yet parsed.
    pub(crate) since: Option<String>,
}

impl ChangesQuery {
    /// Parses the filters of a query string, `limit` and `since`.
    ///
    /// # Errors
    /// As [`Filter::parse`]. The position is not checked.
    pub(crate) fn parse(query_string: &str) -> Result<ChangesQuery, InvalidQuery> {
        let (builder, [since]) =
            params::parse_with(query_string, [params::SINCE_NAME], Accepted::Changes);
        let query = builder.build()?;
        Ok(ChangesQuery {
            limit: query.limit(),
            filter: query.filter,
            since,
        })
    }
}
