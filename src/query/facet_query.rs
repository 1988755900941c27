//! Queries of `filter-options`: a filter, and the facets to count.

use super::{Facet, Filter, InvalidQuery, ParameterError, ParameterSet, QueryBuilder, values};

/// The name of the parameter that lists the facets.
const FACETS_NAME: &str = "facets";

/// A filter, and the facets whose values are counted under it.
///
/// ```
/// use signaldex::query::ParameterSet;
/// use signaldex::{Facet, FacetQuery};
///
/// let parse = |text| FacetQuery::from_query_string(text, ParameterSet::FILTERS);
/// assert_eq!(parse("q=robotics&facets=sizes,countries")?.facets, [Facet::Country, Facet::Size]);
/// assert_eq!(parse("q=robotics")?.facets, Facet::ALL);
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
    /// A filter and the facets to count under it.
    ///
    /// ```
    /// use signaldex::{Facet, FacetQuery, Filter};
    ///
    /// let query = FacetQuery::new(Filter::default(), [Facet::Size, Facet::Country, Facet::Size]);
    /// assert_eq!(query.facets, [Facet::Country, Facet::Size]);
    /// ```
    pub fn new(filter: Filter, facets: impl IntoIterator<Item = Facet>) -> FacetQuery {
        let chosen: Vec<Facet> = facets.into_iter().collect();
        let mut facets = Facet::ALL.to_vec();
        facets.retain(|facet| chosen.contains(facet));
        FacetQuery { filter, facets }
    }

    /// Parses the filters of a query string, and `facets`: names of lists of `filter-options`, separated by
    /// commas. Without it, all facets are counted. `accepted` are the filters that the request takes.
    ///
    /// ```
    /// use signaldex::query::ParameterSet;
    /// use signaldex::{Facet, FacetQuery};
    ///
    /// let query = FacetQuery::from_query_string("q=robotics&facets=countries", ParameterSet::FILTERS)?;
    /// assert_eq!(query.facets, [Facet::Country]);
    /// assert!(FacetQuery::from_query_string("facets=colours", ParameterSet::FILTERS).is_err());
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    ///
    /// # Errors
    /// As [`QueryBuilder::from_query_string`], and those of `facets`.
    pub fn from_query_string(
        query_string: &str,
        accepted: ParameterSet,
    ) -> Result<FacetQuery, InvalidQuery> {
        let (mut builder, [value]) =
            QueryBuilder::from_query_string(query_string, accepted, [FACETS_NAME]);
        let facets = match value.map(|value| values::facets(&value)) {
            None => Facet::ALL.to_vec(),
            Some(Ok(facets)) => facets,
            Some(Err(error)) => {
                builder.add_error(ParameterError::of_value(FACETS_NAME, error));
                Vec::new()
            }
        };
        Ok(FacetQuery {
            filter: builder.build()?.filter,
            facets,
        })
    }
}
