//! The answer to a query of aggregates, serialised with exactly the specified members.

use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};

use super::page::write_value;
use super::written::AmountNumber;
use crate::aggregate::{
    AggregateGroup, AggregateTotals, Aggregates, AmountFigures, Figures, KeyValue,
};
use crate::query::{AggregateQuery, GroupBy, Measure};

/// The answer to a query of aggregates: `{"groups":[…],"truncated":…,"totals":{…}}`.
///
/// ```
/// use signaldex::json::{AggregateAnswer, Data};
/// use signaldex::query::ParameterSet;
/// use signaldex::{AggregateQuery, sample};
///
/// let query = AggregateQuery::from_query_string("by=year&limit=1", ParameterSet::FILTERS)?;
/// let aggregates = sample::index()?.snapshot().aggregate(&query, sample::AS_OF)?;
/// let answer = AggregateAnswer { query: &query, aggregates: &aggregates };
/// let body = serde_json::to_string(&Data { data: answer })?;
/// assert!(body.starts_with(r#"{"data":{"groups":[{"key":{"year":"20"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct AggregateAnswer<'a> {
    /// The query.
    pub query: &'a AggregateQuery,
    /// The answer.
    pub aggregates: &'a Aggregates,
}

impl AggregateAnswer<'_> {
    /// The bytes of the whole answer, `{"data":{…}}`.
    ///
    /// ```
    /// use signaldex::json::AggregateAnswer;
    /// use signaldex::{AggregateQuery, Aggregates, Filter};
    ///
    /// let query = AggregateQuery::builder(Filter::default()).build()?;
    /// let answer = AggregateAnswer { query: &query, aggregates: &Aggregates::default() };
    /// let totals = br#"{"data":{"groups":[],"truncated":false,"totals":{"groups":0,"count":0}}}"#;
    /// assert_eq!(answer.to_bytes(), totals);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(&super::Data { data: self }).expect("texts and numbers are valid JSON")
    }

    /// Appends each group on a line of its own, or the totals if the query groups by nothing.
    ///
    /// ```
    /// use signaldex::json::AggregateAnswer;
    /// use signaldex::{AggregateQuery, Aggregates, Filter};
    ///
    /// let query = AggregateQuery::builder(Filter::default()).build()?;
    /// let answer = AggregateAnswer { query: &query, aggregates: &Aggregates::default() };
    /// let mut lines = Vec::new();
    /// answer.write_lines(&mut lines);
    /// assert_eq!(lines, b"{\"groups\":0,\"count\":0}\n");
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn write_lines(&self, output: &mut Vec<u8>) {
        let (query, totals) = (self.query, &self.aggregates.totals);
        if query.by().is_empty() {
            write_value(output, &TotalsObject { query, totals });
            output.push(b'\n');
        }
        for group in &self.aggregates.groups {
            write_value(output, &GroupObject { query, group });
            output.push(b'\n');
        }
    }
}

impl Serialize for AggregateAnswer<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (query, aggregates) = (self.query, self.aggregates);
        let groups = aggregates.groups.iter();
        let groups: Vec<GroupObject<'_>> =
            groups.map(|group| GroupObject { query, group }).collect();
        let totals = &aggregates.totals;
        let mut object = serializer.serialize_struct("AggregateAnswer", 3)?;
        object.serialize_field("groups", &groups)?;
        object.serialize_field("truncated", &aggregates.truncated)?;
        object.serialize_field("totals", &TotalsObject { query, totals })?;
        object.end()
    }
}

struct GroupObject<'a> {
    query: &'a AggregateQuery,
    group: &'a AggregateGroup,
}

impl Serialize for GroupObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let key = KeyObject {
            by: self.query.by(),
            key: &self.group.key,
        };
        map.serialize_entry("key", &key)?;
        serialize_figures(&mut map, self.query, &self.group.figures)?;
        map.end()
    }
}

struct TotalsObject<'a> {
    query: &'a AggregateQuery,
    totals: &'a AggregateTotals,
}

impl Serialize for TotalsObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("groups", &self.totals.groups)?;
        serialize_figures(&mut map, self.query, &self.totals.figures)?;
        map.end()
    }
}

/// A key: `{"month":"2026-03","countries":"Germany"}`.
struct KeyObject<'a> {
    by: &'a [GroupBy],
    key: &'a [Option<KeyValue>],
}

impl Serialize for KeyObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let values = self.key.iter().map(|value| value.as_ref().map(ShownValue));
        serializer.collect_map(self.by.iter().map(|by| by.as_str()).zip(values))
    }
}

struct ShownValue<'a>(&'a KeyValue);

impl Serialize for ShownValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            KeyValue::Time(period) => serializer.collect_str(period),
            KeyValue::Label(label) => serializer.serialize_str(label),
            KeyValue::Company { slug, name } => {
                let mut object = serializer.serialize_struct("GroupedCompany", 2)?;
                object.serialize_field("slug", slug)?;
                object.serialize_field("name", name)?;
                object.end()
            }
        }
    }
}

fn serialize_figures<M: SerializeMap>(
    map: &mut M,
    query: &AggregateQuery,
    figures: &Figures,
) -> Result<(), M::Error> {
    map.serialize_entry("count", &figures.count)?;
    if query.has(Measure::Companies) {
        map.serialize_entry("companies", &figures.companies.unwrap_or_default())?;
    }
    if query.has_amounts() {
        let amounts = figures.amounts.as_deref().unwrap_or_default();
        let objects: Vec<AmountsObject<'_>> = amounts.iter().map(AmountsObject).collect();
        map.serialize_entry("amounts", &objects)?;
    }
    Ok(())
}

struct AmountsObject<'a>(&'a AmountFigures);

impl Serialize for AmountsObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let currency = self.0.currency.as_ref();
        map.serialize_entry("currency", &currency.map(|currency| currency.as_str()))?;
        map.serialize_entry("count", &self.0.count)?;
        for measure in Measure::ALL {
            if let Some(figure) = self.0.figure(measure) {
                map.serialize_entry(measure.as_str(), &AmountNumber(figure))?;
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests;
