//! The text form of queries and filters: a percent-encoded query string of normalised values.
//!
//! Nodes of a cluster send queries in this form. It differs from other query strings in two ways:
//! full-width quotes group words of a company's name, and the limits on lengths do not apply. `text.parse() == query` for every query.

use std::fmt;
use std::str::FromStr;

use super::values::Origin;
use super::{Filter, InvalidQuery, ParameterSet, Query, params, writing};

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_to(f)
    }
}

impl FromStr for Query {
    type Err = InvalidQuery;

    /// Reads what `Display` writes. What clients type goes to [`Query::from_query_string`].
    fn from_str(text: &str) -> Result<Query, InvalidQuery> {
        params::parse(text, ParameterSet::SEARCH, [], Origin::Written)
            .0
            .build()
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writing::write_filter(f, self)
    }
}

impl FromStr for Filter {
    type Err = InvalidQuery;

    /// Reads what `Display` writes. What clients type goes to [`Filter::from_query_string`].
    fn from_str(text: &str) -> Result<Filter, InvalidQuery> {
        let (builder, []) = params::parse(text, ParameterSet::FILTERS, [], Origin::Written);
        builder.build().map(|query| query.filter)
    }
}
