//! Aggregates of a snapshot.

use std::collections::{BTreeMap, BTreeSet};

use time::Date;

use super::snapshot::{Found, Snapshot};
use crate::Result;
use crate::aggregate::{Aggregates, AmountCount, KeyValue, PartialAggregates, PartialGroup};
use crate::plan::{Cost, cost::tally_bound};
use crate::query::{AggregateQuery, GroupBy, Order};

impl Snapshot {
    /// Figures over all matches of a query, exact whatever is shown of them: [`AggregateQuery::of`] defines them.
    ///
    /// ```
    /// use signaldex::query::ParameterSet;
    /// use signaldex::{AggregateQuery, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let text = "categories=funding&by=quarter&measures=sum,median&fundingCurrency=USD";
    /// let query = AggregateQuery::from_query_string(text, ParameterSet::FILTERS)?;
    /// let aggregates = snapshot.aggregate(&query, sample::AS_OF)?;
    /// for group in &aggregates.groups {
    ///     println!("{:?} {:?}", group.key, group.figures.amounts);
    /// }
    /// assert_eq!(aggregates.totals.figures.count, snapshot.count(query.filter(), sample::AS_OF)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// There are too many groups of two ([`TooManyGroups`](crate::ErrorKind::TooManyGroups)), or a part of a file that
    /// the query needs is damaged.
    pub fn aggregate(&self, query: &AggregateQuery, today: Date) -> Result<Aggregates> {
        self.partial_aggregates(query, today)?.finish(query)
    }

    /// What the snapshot contributes to the answer over several, such as the shards of a corpus.
    ///
    /// ```
    /// use signaldex::query::ParameterSet;
    /// use signaldex::{AggregateQuery, sample};
    ///
    /// let query = AggregateQuery::from_query_string("by=sizes", ParameterSet::FILTERS)?;
    /// let partial = sample::index()?.snapshot().partial_aggregates(&query, sample::AS_OF)?;
    /// assert_eq!(partial.finish(&query)?.totals.groups, 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`aggregate`](Self::aggregate).
    pub fn partial_aggregates(
        &self,
        query: &AggregateQuery,
        today: Date,
    ) -> Result<PartialAggregates> {
        let mut groups: BTreeMap<Vec<Option<KeyValue>>, PlainGroup> = BTreeMap::new();
        let mut companies = BTreeSet::new();
        let mut matches = self.matches(query.filter(), today, Order::OldestFirst);
        while let Some((id, address)) = matches.next_address()? {
            let Some(found) = self.found_at(id, address)? else {
                continue;
            };
            let key = query.by().iter().map(|&by| key_value(by, &found));
            let group = groups.entry(key.collect()).or_default();
            group.count += 1;
            group.companies.insert(found.company.slug.to_string());
            companies.insert(found.company.slug.to_string());
            if let Some(funding) = &found.signal.funding
                && let Some(amount) = funding.amount
            {
                let amount = AmountCount::new(funding.currency, amount + 0.0, 1);
                group.amounts.push(amount);
            }
        }
        let partial = |(key, group): (_, PlainGroup)| {
            let mut partial = PartialGroup::new(key, group.count, group.companies.len() as u64);
            partial.add_amounts(group.amounts);
            partial
        };
        let groups = groups.into_iter().map(partial).collect();
        Ok(PartialAggregates::new(
            query,
            groups,
            companies.len() as u64,
        ))
    }

    /// An upper bound of the work of [`aggregate`](Self::aggregate), in the unit of [`cost`](Self::cost), found without
    /// visiting a match.
    ///
    /// ```
    /// use signaldex::query::ParameterSet;
    /// use signaldex::{AggregateQuery, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let cost = |text| {
    ///     let query = AggregateQuery::from_query_string(text, ParameterSet::FILTERS)?;
    ///     Ok::<_, Box<dyn std::error::Error>>(snapshot.aggregate_cost(&query, sample::AS_OF, 0)?)
    /// };
    /// assert!(cost("q=raises&by=month")? <= cost("q=raises&by=month,countries&measures=median")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`cost`](Self::cost).
    pub fn aggregate_cost(&self, query: &AggregateQuery, today: Date, cheap: Cost) -> Result<Cost> {
        let rows: u64 = self
            .segments
            .iter()
            .map(|live| u64::from(live.segment.row_count()))
            .sum();
        let passes = query.by().len() + 2 * query.measures().len();
        let tally = tally_bound(rows, passes);
        Ok(self.cost(query.filter(), today, cheap.saturating_sub(tally))? + tally)
    }
}

#[derive(Default)]
struct PlainGroup {
    count: u64,
    companies: BTreeSet<String>,
    amounts: Vec<AmountCount>,
}

fn key_value(by: GroupBy, found: &Found<'_>) -> Option<KeyValue> {
    match by {
        GroupBy::Time(unit) => Some(KeyValue::Time(unit.period(found.signal.date?))),
        GroupBy::Facet(facet) => {
            let label = facet.label(&found.signal, &found.company)?;
            Some(KeyValue::Label(label.into_owned()))
        }
        GroupBy::Company => Some(KeyValue::Company {
            slug: found.company.slug.to_string(),
            name: found.company.name.to_string(),
        }),
    }
}
