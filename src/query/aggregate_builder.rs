//! The builder of queries of aggregates, and what does not go together in them.

use super::aggregate_query::AggregateQuery;
use super::error::{ErrorCode, ParameterError};
use super::group_by::{AggregateOrder, GroupBy, Measure};
use super::limits::{AGGREGATE_GROUPS_MAX, AGGREGATE_LIMIT_MAX, GROUPED_BY_MAX};
use super::values::{self, Origin, ValueError};
use super::{Facet, Filter, InvalidQuery};

/// The largest number that the text form of a query has.
const NUMBER_MAX: u32 = u32::MAX;

/// Builds an [`AggregateQuery`]. [`build`](Self::build) reports all errors together.
#[derive(Clone, Debug)]
pub struct AggregateBuilder {
    pub(super) filter: Filter,
    pub(super) by: Vec<GroupBy>,
    measures: Vec<Measure>,
    pub(super) order: Option<AggregateOrder>,
    limit: Option<usize>,
    groups_max: usize,
}

impl AggregateBuilder {
    /// A builder without anything but a filter.
    pub(super) fn new(filter: Filter) -> AggregateBuilder {
        AggregateBuilder {
            filter,
            by: Vec::new(),
            measures: Vec::new(),
            order: None,
            limit: None,
            groups_max: AGGREGATE_GROUPS_MAX,
        }
    }

    /// Groups by one or two of a unit of time, lists of `filter-options`, and `company`; without it there are only
    /// totals.
    ///
    /// ```
    /// use signaldex::query::{GroupBy, TimeUnit};
    /// use signaldex::{AggregateQuery, Facet, Filter};
    ///
    /// let by = [GroupBy::Time(TimeUnit::Month), GroupBy::Facet(Facet::Country)];
    /// let query = AggregateQuery::builder(Filter::default()).by(by).build()?;
    /// assert_eq!(query.to_string(), "by=month,countries");
    /// let twice = [GroupBy::Company, GroupBy::Company];
    /// assert!(AggregateQuery::builder(Filter::default()).by(twice).build().is_err());
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn by(mut self, by: impl IntoIterator<Item = GroupBy>) -> Self {
        self.by = by.into_iter().collect();
        self
    }

    /// What is measured beside the count.
    ///
    /// ```
    /// use signaldex::query::Measure;
    /// use signaldex::{AggregateQuery, Filter};
    ///
    /// let query = AggregateQuery::builder(Filter::default()).measures([Measure::Sum]).build()?;
    /// assert_eq!(query.measures(), [Measure::Count, Measure::Sum]);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn measures(mut self, measures: impl IntoIterator<Item = Measure>) -> Self {
        self.measures = measures.into_iter().collect();
        self
    }

    /// The order of groups; by default by key if they are first grouped by a unit of time, else by descending count.
    ///
    /// ```
    /// use signaldex::query::AggregateOrder;
    /// use signaldex::{AggregateQuery, Filter};
    ///
    /// let query = AggregateQuery::builder(Filter::default()).order(AggregateOrder::Key).build()?;
    /// assert_eq!(query.order(), AggregateOrder::Key);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn order(mut self, order: impl Into<Option<AggregateOrder>>) -> Self {
        self.order = order.into();
        self
    }

    /// The number of groups that are shown, at least 1; by default all of them.
    ///
    /// ```
    /// use signaldex::{AggregateQuery, Filter};
    ///
    /// assert!(AggregateQuery::builder(Filter::default()).limit(0).build().is_err());
    /// ```
    pub fn limit(mut self, limit: impl Into<Option<usize>>) -> Self {
        self.limit = limit
            .into()
            .map(|limit: usize| limit.min(NUMBER_MAX as usize));
        self
    }

    /// The number of groups of two above which nothing is computed; by default
    /// [100,000](super::limits::AGGREGATE_GROUPS_MAX).
    ///
    /// ```
    /// use signaldex::{AggregateQuery, Filter};
    ///
    /// let query = AggregateQuery::builder(Filter::default()).groups_max(1_000_000).build()?;
    /// assert_eq!(query.to_string().parse::<AggregateQuery>()?.groups_max(), 1_000_000);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn groups_max(mut self, groups: usize) -> Self {
        self.groups_max = groups.clamp(1, NUMBER_MAX as usize);
        self
    }

    /// Builds the query.
    ///
    /// ```
    /// use signaldex::query::AggregateOrder;
    /// use signaldex::{AggregateQuery, Filter};
    ///
    /// let invalid = AggregateQuery::builder(Filter::default()).order(AggregateOrder::Sum).build();
    /// assert_eq!(invalid.unwrap_err().errors()[0].parameter, "order"); // needs a currency
    /// ```
    ///
    /// # Errors
    /// What it is grouped by does not go together, the limit is 0, or an order by sums lacks a `fundingCurrency`.
    pub fn build(mut self) -> Result<AggregateQuery, InvalidQuery> {
        let mut errors: Vec<ParameterError> = fault_of_by(&self.by).into_iter().collect();
        if self.limit == Some(0) {
            let error = values::not_a_number("0", NUMBER_MAX);
            errors.push(ParameterError::of_value("limit", error));
        }
        errors.extend(fault_of_order(self.order, &self.filter));
        if !errors.is_empty() {
            return Err(InvalidQuery::new(errors));
        }
        self.measures.push(Measure::Count);
        let order = self.order;
        Ok(AggregateQuery {
            order: order.unwrap_or_else(|| AggregateOrder::default_of(&self.by)),
            filter: self.filter,
            by: self.by.into_iter().collect(),
            measures: values::sorted(self.measures),
            limit: self.limit,
            groups_max: self.groups_max,
        })
    }

    /// Sets a parameter from text.
    pub(super) fn set(&mut self, name: &str, text: &str, origin: Origin) -> Result<(), ValueError> {
        if text.is_empty() {
            return Err(values::empty());
        }
        match name {
            "by" => self.by = items(text, GROUPED_BY_MAX, GroupBy::of_name)?,
            "measures" => self.measures = items(text, Measure::ALL.len(), Measure::of_name)?,
            "order" => self.order = Some(AggregateOrder::of_name(text)?),
            "limit" => {
                let max = match origin {
                    Origin::Typed => AGGREGATE_LIMIT_MAX,
                    Origin::Host | Origin::Written => NUMBER_MAX,
                };
                self.limit = Some(values::number_up_to(text, max)? as usize);
            }
            _ => self.groups_max = values::number_up_to(text, NUMBER_MAX)? as usize,
        }
        Ok(())
    }
}

/// The items of a list of names.
fn items<T>(
    text: &str,
    max: usize,
    of_name: impl Fn(&str) -> Result<T, ValueError>,
) -> Result<Vec<T>, ValueError> {
    let items = values::split(text)?;
    values::check_count(items.len(), max)?;
    items.iter().map(|item| of_name(item)).collect()
}

/// What does not go together in a list to group by.
pub(super) fn fault_of_by(by: &[GroupBy]) -> Option<ParameterError> {
    let &[first, second, ref rest @ ..] = by else {
        return None;
    };
    let (code, message) = if !rest.is_empty() {
        let error = values::too_many_items(by.len(), GROUPED_BY_MAX);
        return Some(ParameterError::of_value("by", error));
    } else if first == second {
        let name = first.as_str();
        let message = format!("by has {name} twice; give two different ones, or one of them");
        (ErrorCode::InvalidValue, message)
    } else if let (GroupBy::Time(one), GroupBy::Time(other)) = (first, second) {
        let (one, other) = (one.as_str(), other.as_str());
        let message = format!("by has two units of time, {one} and {other}; give one of them");
        (ErrorCode::ConflictingParameters, message)
    } else if first == GroupBy::Company || second == GroupBy::Company {
        let message = "by has company with another; company stands alone".to_owned();
        (ErrorCode::ConflictingParameters, message)
    } else {
        return None;
    };
    Some(ParameterError::new("by", code, message))
}

/// An order by sums of different currencies, which do not compare.
pub(super) fn fault_of_order(
    order: Option<AggregateOrder>,
    filter: &Filter,
) -> Option<ParameterError> {
    let has_currency = !filter.value_keys(Facet::FundingCurrency).is_empty();
    (order == Some(AggregateOrder::Sum) && !has_currency).then(|| {
        let message = "order -sum needs fundingCurrency, because sums of different currencies do \
                       not compare; give fundingCurrency, or another order";
        ParameterError::new("order", ErrorCode::ConflictingParameters, message)
    })
}
