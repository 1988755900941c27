//! What aggregates mean: a plain loop over records, which the engine agrees with.

use std::collections::{BTreeMap, BTreeSet};

use time::Date;

use super::answer::{
    AggregateGroup, AggregateTotals, Aggregates, AmountFigures, Figures, KeyValue,
};
use super::decimal::{plain_quartile, plain_sum};
use super::ranking::{self, RankedGroup};
use crate::query::{AggregateQuery, Facet, GroupBy, Measure};
use crate::signal::{Company, Currency, Signal};

/// A signal and its company.
type MatchedRecord<'r> = (&'r Signal<'r>, &'r Company<'r>);

/// The smallest label of each value of the facets that are grouped by, by its key.
type SmallestLabels = BTreeMap<(Facet, String), String>;

impl AggregateQuery {
    /// Aggregates records by visiting each of them. This slow, plain function defines what aggregates mean:
    /// [`Snapshot::aggregate`](crate::Snapshot::aggregate) agrees with it, except that it refuses too many groups.
    ///
    /// - Each match is in exactly one group; what it lacks is `None`. All filters hold.
    /// - An amount is the decimal number that JSON shows for it. A sum is the exact sum of these decimals, rounded once
    ///   to the nearest double, at most the greatest one.
    /// - Of n ascending amounts x₀ to xₙ₋₁, with p of ¼, ½ or ¾ and h = p(n − 1), a quantile is
    ///   x⌊h⌋ + (h − ⌊h⌋)(x⌊h⌋₊₁ − x⌊h⌋), rounded once likewise.
    ///
    /// ```
    /// use signaldex::query::{GroupBy, Measure, TimeUnit};
    /// use signaldex::{AggregateQuery, Company, Filter, Funding, Signal, SignalId};
    /// use time::macros::date;
    ///
    /// let acme = Company::new("acme", "Acme GmbH");
    /// let mut funding = Funding::default();
    /// let signals = [0.1, 0.2].map(|amount| {
    ///     let mut signal = Signal::new(SignalId::MIN, "acme", "Acme raises");
    ///     funding.amount = Some(amount);
    ///     signal.funding = Some(funding.clone());
    ///     signal
    /// });
    /// let query = AggregateQuery::builder(Filter::default())
    ///     .by([GroupBy::Time(TimeUnit::Month)])
    ///     .measures([Measure::Sum])
    ///     .build()?;
    /// let records = signals.iter().map(|signal| (signal, &acme));
    /// let aggregates = query.of(records, date!(2026 - 06 - 30));
    /// let [undated] = &aggregates.groups[..] else { panic!("one group") };
    /// assert_eq!((&undated.key[..], undated.figures.count), (&[None][..], 2));
    /// assert_eq!(undated.figures.amounts.as_ref().expect("amounts")[0].sum, Some(0.3));
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn of<'r>(
        &self,
        records: impl IntoIterator<Item = (&'r Signal<'r>, &'r Company<'r>)>,
        today: Date,
    ) -> Aggregates {
        let records = records.into_iter();
        let is_match =
            |(signal, company): &MatchedRecord<'r>| self.filter().matches(signal, company, today);
        let matches: Vec<MatchedRecord<'r>> = records.filter(is_match).collect();
        let labels = smallest_labels(self, &matches);
        let mut by_key: BTreeMap<Vec<Option<KeyValue>>, Vec<MatchedRecord<'r>>> = BTreeMap::new();
        for &record in &matches {
            let key = self.by().iter().map(|&by| key_value(by, record, &labels));
            by_key.entry(key.collect()).or_default().push(record);
        }
        if self.by().is_empty() {
            by_key.clear();
        }
        let groups = by_key.into_iter().map(|(key, records)| {
            let sum = ranking::needs_sum(self).then(|| sum_of(&records)).flatten();
            let figures = figures(self, &records);
            RankedGroup {
                sum,
                index: 0,
                group: AggregateGroup { key, figures },
            }
        });
        let groups: Vec<RankedGroup> = groups.collect();
        let totals = AggregateTotals {
            groups: groups.len() as u64,
            figures: figures(self, &matches),
        };
        ranking::answer(self, groups, totals)
    }
}

fn smallest_labels(query: &AggregateQuery, matches: &[MatchedRecord<'_>]) -> SmallestLabels {
    let mut labels = SmallestLabels::new();
    for by in query.by() {
        let &GroupBy::Facet(facet) = by else {
            continue;
        };
        for (signal, company) in matches {
            if let Some(label) = facet.label(signal, company) {
                let key = (facet, facet.key(&label).into_owned());
                let smallest = labels
                    .entry(key)
                    .or_insert_with(|| label.clone().into_owned());
                if *label < **smallest {
                    *smallest = label.into_owned();
                }
            }
        }
    }
    labels
}

fn key_value(
    by: GroupBy,
    (signal, company): MatchedRecord<'_>,
    labels: &SmallestLabels,
) -> Option<KeyValue> {
    match by {
        GroupBy::Time(unit) => Some(KeyValue::Time(unit.period(signal.date?))),
        GroupBy::Facet(facet) => {
            let label = facet.label(signal, company)?;
            let key = (facet, facet.key(&label).into_owned());
            Some(KeyValue::Label(labels[&key].clone()))
        }
        GroupBy::Company => Some(KeyValue::Company {
            slug: company.slug.to_string(),
            name: company.name.to_string(),
        }),
    }
}

fn figures(query: &AggregateQuery, records: &[MatchedRecord<'_>]) -> Figures {
    let slugs = || records.iter().map(|(_, company)| &*company.slug);
    let companies = || slugs().collect::<BTreeSet<&str>>().len() as u64;
    Figures {
        count: records.len() as u64,
        companies: query.has(Measure::Companies).then(companies),
        amounts: query.has_amounts().then(|| amounts(query, records)),
    }
}

/// The sum of the amounts in the one currency that an order by sums has.
fn sum_of(records: &[MatchedRecord<'_>]) -> Option<f64> {
    let amounts = by_currency(records).into_values().next();
    amounts.map(|amounts| plain_sum(&amounts))
}

/// The amounts of each currency, ascending; those without a currency last.
fn by_currency(records: &[MatchedRecord<'_>]) -> BTreeMap<(bool, Option<Currency>), Vec<f64>> {
    let mut amounts: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for (signal, _) in records {
        if let Some(funding) = &signal.funding
            && let Some(amount) = funding.amount
        {
            let currency = (funding.currency.is_none(), funding.currency);
            // Negative zero is zero.
            amounts.entry(currency).or_default().push(amount + 0.0);
        }
    }
    amounts
        .values_mut()
        .for_each(|amounts| amounts.sort_by(f64::total_cmp));
    amounts
}

fn amounts(query: &AggregateQuery, records: &[MatchedRecord<'_>]) -> Vec<AmountFigures> {
    let measured = |measure, figure: f64| query.has(measure).then_some(figure);
    let of_currency =
        |((_, currency), amounts): ((bool, Option<Currency>), Vec<f64>)| AmountFigures {
            currency,
            count: amounts.len() as u64,
            sum: measured(Measure::Sum, plain_sum(&amounts)),
            min: measured(Measure::Min, amounts[0]),
            max: measured(Measure::Max, amounts[amounts.len() - 1]),
            median: measured(Measure::Median, plain_quartile(&amounts, 2)),
            p25: measured(Measure::P25, plain_quartile(&amounts, 1)),
            p75: measured(Measure::P75, plain_quartile(&amounts, 3)),
        };
    by_currency(records).into_iter().map(of_currency).collect()
}
