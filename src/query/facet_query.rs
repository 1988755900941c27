//! Queries of `filter-options`: a filter, and the facets to count.

use super::params::{self, Accepted};
use super::{Facet, Filter, InvalidQuery};

/// A filter, and the facets whose values are counted under it.
///
/// ```
/// use signaldex::{Facet, FacetQuery};
///
/// let query = FacetQuery::parse("q=robotics&facets=sizes,countries")?;
/// assert_eq!(query.facets, [Facet::Country, Facet::Size]);
/// assert_eq!(FacetQuery::parse("q=robotics")?.facets, Facet::ALL);
/// # Ok::<(), signaldex::query::InvalidQuery>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FacetQuery {
    /// The filter of the counted signals.
    pub filter: Filter,
    /// The facets, in the order of [`Facet::ALL`], each once.
    pub facets: Vec<Facet>,
}

impl FacetQuery {
    /// Parses the filters of a query string, and `facets`: names of lists of `filter-options`, separated by
    /// commas. Without it, all facets are counted.
    ///
    /// # Errors
    /// As [`Filter::parse`], and those of `facets`.
    pub fn parse(query_string: &str) -> Result<FacetQuery, InvalidQuery> {
        FacetQuery::parse_accepted(query_string, Accepted::FacetQuery)
    }

    /// As [`parse`](Self::parse), but `ids` and `activityIds` are unknown parameters.
    #[cfg(feature = "http")]
    pub(crate) fn parse_without_ids(query_string: &str) -> Result<FacetQuery, InvalidQuery> {
        FacetQuery::parse_accepted(query_string, Accepted::FacetQueryWithoutIds)
    }

    fn parse_accepted(text: &str, accepted: Accepted) -> Result<FacetQuery, InvalidQuery> {
        let (builder, facets) = params::parse_with_facets(text, accepted);
        Ok(FacetQuery {
            filter: builder.build()?.filter,
            facets: facets.unwrap_or_else(|| Facet::ALL.to_vec()),
        })
    }
}
