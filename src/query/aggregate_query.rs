//! Queries of aggregates: a filter, what its matches are grouped by, and what is measured of each group.

use std::fmt::{self, Write};
use std::str::FromStr;

use smallvec::SmallVec;

use super::aggregate_builder::{AggregateBuilder, fault_of_by, fault_of_order};
use super::error::{ErrorCode, ParameterError};
use super::group_by::{AggregateOrder, GroupBy, Measure};
use super::limits::{
    AGGREGATE_COMPANIES_DEFAULT, AGGREGATE_GROUPS_MAX, AGGREGATE_LIMIT_MAX, GROUPED_BY_MAX,
};
use super::values::Origin;
use super::{Filter, InvalidQuery, ParameterSet, QueryBuilder, params};

/// The names of the parameters beside the filters.
const NAMES: [&str; 4] = ["by", "measures", "order", "limit"];

/// The name of a setting that only the text form of a query has.
const GROUPS_MAX_NAME: &str = "groupsMax";

/// A filter, what its matches are grouped by, what is measured, and which groups are shown.
///
/// Every figure is exact and over all matches. [`of`](AggregateQuery::of) defines what an answer is; [`Snapshot::aggregate`](crate::Snapshot::aggregate)
/// finds it. `Display` writes a text that [`FromStr`] reads back to an equal query.
///
/// ```
/// use signaldex::query::ParameterSet;
/// use signaldex::{AggregateQuery, sample};
///
/// let text = "q=raises&by=month&measures=sum,median&fundingCurrency=USD";
/// let query = AggregateQuery::from_query_string(text, ParameterSet::FILTERS)?;
/// let aggregates = sample::index()?.snapshot().aggregate(&query, sample::AS_OF)?;
/// let counts: u64 = aggregates.groups.iter().map(|group| group.figures.count).sum();
/// assert_eq!(counts, aggregates.totals.figures.count);
/// assert_eq!(query.to_string().parse::<AggregateQuery>()?, query);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AggregateQuery {
    pub(super) filter: Filter,
    pub(super) by: SmallVec<[GroupBy; GROUPED_BY_MAX]>,
    pub(super) measures: Vec<Measure>,
    pub(super) order: AggregateOrder,
    pub(super) limit: Option<usize>,
    pub(super) groups_max: usize,
}

impl AggregateQuery {
    /// A builder that counts the matches of a filter.
    ///
    /// ```
    /// use signaldex::{AggregateQuery, Filter};
    ///
    /// let query = AggregateQuery::builder(Filter::from_query_string("q=robots")?).build()?;
    /// assert_eq!(query.to_string(), "all=robots");
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn builder(filter: Filter) -> AggregateBuilder {
        AggregateBuilder::new(filter)
    }

    /// Parses the filters of a query string, `by`, `measures`, `order` and `limit`. Without a limit, 1,000 groups are
    /// shown, or 50 companies. `accepted` are the filters that the request takes.
    ///
    /// ```
    /// use signaldex::AggregateQuery;
    /// use signaldex::query::ParameterSet;
    ///
    /// let parse = |text| AggregateQuery::from_query_string(text, ParameterSet::FILTERS);
    /// assert_eq!(parse("q=robots&by=month,countries")?.limit(), Some(1000));
    /// assert_eq!(parse("by=company")?.limit(), Some(50));
    /// assert!(parse("by=month,year").is_err());
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    ///
    /// # Errors
    /// All errors of the filters, then of the other parameters, then of what does not go together.
    pub fn from_query_string(
        query_string: &str,
        accepted: ParameterSet,
    ) -> Result<AggregateQuery, InvalidQuery> {
        let (filters, values) = QueryBuilder::from_query_string(query_string, accepted, NAMES);
        let mut query = parse(filters, NAMES, values, Origin::Typed)?;
        if query.limit.is_none() {
            query.limit = Some(if query.names_companies() {
                AGGREGATE_COMPANIES_DEFAULT
            } else {
                AGGREGATE_LIMIT_MAX as usize
            });
        }
        Ok(query)
    }

    /// The filter.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// What matches are grouped by: at most two.
    pub fn by(&self) -> &[GroupBy] {
        &self.by
    }

    /// The measures, [`Count`](Measure::Count) included, in the order of [`Measure::ALL`].
    pub fn measures(&self) -> &[Measure] {
        &self.measures
    }

    /// Whether a figure is measured.
    ///
    /// ```
    /// use signaldex::query::Measure;
    /// use signaldex::{AggregateQuery, Filter};
    ///
    /// let query = AggregateQuery::builder(Filter::default()).build()?;
    /// assert!(query.has(Measure::Count) && !query.has(Measure::Sum));
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn has(&self, measure: Measure) -> bool {
        self.measures.contains(&measure)
    }

    /// Whether figures of amounts are shown.
    ///
    /// ```
    /// use signaldex::{AggregateQuery, Filter};
    ///
    /// assert!(!AggregateQuery::builder(Filter::default()).build()?.has_amounts());
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn has_amounts(&self) -> bool {
        self.measures.iter().any(|measure| measure.is_of_amounts())
    }

    /// Whether groups are companies, which answers name.
    ///
    /// ```
    /// use signaldex::AggregateQuery;
    /// use signaldex::query::ParameterSet;
    ///
    /// assert!(AggregateQuery::from_query_string("by=company", ParameterSet::FILTERS)?.names_companies());
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn names_companies(&self) -> bool {
        self.by.contains(&GroupBy::Company)
    }

    /// The order of groups.
    pub fn order(&self) -> AggregateOrder {
        self.order
    }

    /// The number of groups that are shown; `None` for all.
    pub fn limit(&self) -> Option<usize> {
        self.limit
    }

    /// The same query with another limit, at least 1: for a client that may have fewer groups.
    ///
    /// ```
    /// use signaldex::{AggregateQuery, Filter};
    ///
    /// let query = AggregateQuery::builder(Filter::default()).build()?;
    /// assert_eq!(query.with_limit(7).limit(), Some(7));
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn with_limit(&self, limit: usize) -> AggregateQuery {
        AggregateQuery {
            limit: Some(limit.max(1)),
            ..self.clone()
        }
    }

    /// The number of groups of two above which nothing is computed.
    pub fn groups_max(&self) -> usize {
        self.groups_max
    }

    /// The error for too many groups, for answers that name parameters.
    ///
    /// ```
    /// use signaldex::{AggregateQuery, Filter};
    ///
    /// let error = AggregateQuery::builder(Filter::default()).build()?.too_many_groups();
    /// assert_eq!(error.errors()[0].code.as_str(), "too_many_groups");
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn too_many_groups(&self) -> InvalidQuery {
        let message = format!(
            "by has more than {} groups of two; take a larger unit of time, a list with fewer \
             values, or a narrower filter",
            self.groups_max
        );
        ParameterError::new("by", ErrorCode::TooManyGroups, message).into()
    }
}

/// Completes a query from the builder of its filters and the values of other parameters.
fn parse<const N: usize>(
    mut filters: QueryBuilder,
    names: [&'static str; N],
    values: [Option<String>; N],
    origin: Origin,
) -> Result<AggregateQuery, InvalidQuery> {
    let mut builder = AggregateQuery::builder(Filter::default());
    for (name, value) in names.into_iter().zip(values) {
        if let Some(Err(error)) = value.map(|value| builder.set(name, &value, origin)) {
            filters.add_error(ParameterError::of_value(name, error));
        }
    }
    let faults = fault_of_by(&builder.by).into_iter();
    let faults = faults.chain(fault_of_order(builder.order, &filters.filter));
    faults.for_each(|error| filters.add_error(error));
    builder.filter = filters.build()?.filter;
    builder.build()
}

impl fmt::Display for AggregateQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.filter.to_string();
        let mut add = |name: &str, value: &dyn fmt::Display| {
            let separator = if text.is_empty() { "" } else { "&" };
            write!(text, "{separator}{name}={value}")
        };
        let by: Vec<&str> = self.by.iter().map(|by| by.as_str()).collect();
        if !by.is_empty() {
            add("by", &by.join(","))?;
        }
        let measures: Vec<&str> = self.measures[1..].iter().map(|m| m.as_str()).collect();
        if !measures.is_empty() {
            add("measures", &measures.join(","))?;
        }
        if self.order != AggregateOrder::default_of(&self.by) {
            add("order", &self.order.as_str())?;
        }
        if let Some(limit) = self.limit {
            add("limit", &limit)?;
        }
        if self.groups_max != AGGREGATE_GROUPS_MAX {
            add(GROUPS_MAX_NAME, &self.groups_max)?;
        }
        f.write_str(&text)
    }
}

impl FromStr for AggregateQuery {
    type Err = InvalidQuery;

    /// Reads what `Display` writes. What clients type goes to
    /// [`from_query_string`](AggregateQuery::from_query_string).
    fn from_str(text: &str) -> Result<AggregateQuery, InvalidQuery> {
        let [by, measures, order, limit] = NAMES;
        let names = [by, measures, order, limit, GROUPS_MAX_NAME];
        let filters = ParameterSet::FILTERS;
        let (filters, values) = params::parse(text, filters, names, Origin::Written);
        parse(filters, names, values, Origin::Written)
    }
}

#[cfg(feature = "serde")]
serde_as_text!(AggregateQuery);

#[cfg(test)]
mod tests;
