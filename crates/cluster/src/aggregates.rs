//! Aggregates over shards: partial answers as messages between nodes, and merged.
//!
//! Every field of a message is optional, so that nodes of two releases understand each other.

use std::collections::HashSet;

use prost::Message;
use time::Date;

use super::answer::COUNT_MAX;
use signaldex::query::{GroupBy, InvalidQuery};
use signaldex::{
    AggregateQuery, Aggregates, AmountCount, Currency, Error, ErrorKind, Figures, KeyValue,
    PartialAggregates, PartialGroup, Result, Snapshot,
};
use signaldex_server::corpus::or_too_many_groups;

/// What some shards say to an aggregate query.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AggregatesPart {
    /// Found at this node.
    Own(ShardCounters),
    /// From another node.
    Sent(PartialMessage),
    /// They alone have more groups than are computed.
    TooManyGroups,
}

/// A partial answer.
#[derive(Clone, PartialEq, Message)]
pub(super) struct PartialMessage {
    #[prost(message, repeated, tag = "1")]
    groups: Vec<GroupMessage>,
    #[prost(uint64, optional, tag = "2")]
    companies: Option<u64>,
    /// The number of groups that are not among the others, and their sum, without a key.
    #[prost(uint64, optional, tag = "3")]
    rest_number: Option<u64>,
    #[prost(message, optional, tag = "4")]
    rest: Option<GroupMessage>,
}

#[derive(Clone, PartialEq, Message)]
struct GroupMessage {
    /// One for each item that is grouped by.
    #[prost(message, repeated, tag = "1")]
    key: Vec<KeyMessage>,
    #[prost(uint64, optional, tag = "2")]
    count: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    companies: Option<u64>,
    /// By currency.
    #[prost(message, repeated, tag = "4")]
    amounts: Vec<AmountsMessage>,
}

/// A value of a key; without a field, there is none.
#[derive(Clone, PartialEq, Message)]
struct KeyMessage {
    /// The Julian day on which a period begins.
    #[prost(sint32, optional, tag = "1")]
    first_day: Option<i32>,
    #[prost(string, optional, tag = "2")]
    label: Option<String>,
    #[prost(string, optional, tag = "3")]
    slug: Option<String>,
    /// The name of the company with that slug.
    #[prost(string, optional, tag = "4")]
    name: Option<String>,
}

/// Amounts in one currency, and how often each occurs.
#[derive(Clone, PartialEq, Message)]
struct AmountsMessage {
    #[prost(string, optional, tag = "1")]
    currency: Option<String>,
    #[prost(double, repeated, tag = "2")]
    amounts: Vec<f64>,
    #[prost(uint64, repeated, tag = "3")]
    counts: Vec<u64>,
}

/// Counters of some shards: all groups, but where they are companies, of which each is in one shard, only those that an
/// answer can show.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ShardCounters {
    shown: PartialAggregates,
    rest: RestGroups,
}

/// Groups that are not shown, added up.
#[derive(Clone, Debug, Default, PartialEq)]
struct RestGroups {
    number: u64,
    sum: PartialGroup,
}

impl AggregatesPart {
    /// Asks a shard.
    ///
    /// # Errors
    /// The shard is damaged.
    pub(super) fn find(shard: &Snapshot, query: &AggregateQuery, today: Date) -> Result<Self> {
        let shown = match shard.partial_aggregates(query, today) {
            Err(error) if error.kind() == ErrorKind::TooManyGroups => {
                return Ok(AggregatesPart::TooManyGroups);
            }
            found => found?,
        };
        let counters = ShardCounters {
            shown,
            rest: RestGroups::default(),
        };
        counters.cut(query).map(AggregatesPart::Own)
    }

    /// Adds up the parts of an answer.
    ///
    /// # Errors
    /// A node has sent a malformed part.
    pub(super) fn merge(query: &AggregateQuery, parts: Vec<AggregatesPart>) -> Result<Self> {
        let (mut groups, mut companies) = (Vec::new(), 0);
        let mut rest = RestGroups::default();
        for part in parts {
            let Some(part) = part.counters(query)? else {
                return Ok(AggregatesPart::TooManyGroups);
            };
            groups.extend(part.shown.groups);
            companies += part.shown.companies;
            rest.add(part.rest.number, vec![part.rest.sum]);
        }
        // Groups of several parts are added up once, not part by part.
        let shown = PartialAggregates::new(query, groups, companies);
        if query.by().len() == 2 && shown.groups.len() > query.groups_max() {
            return Ok(AggregatesPart::TooManyGroups);
        }
        let counters = ShardCounters { shown, rest };
        counters.cut(query).map(AggregatesPart::Own)
    }

    /// The answer, if these are all shards.
    ///
    /// # Errors
    /// As [`merge`](Self::merge).
    pub(super) fn finish(self, query: &AggregateQuery) -> Result<Result<Aggregates, InvalidQuery>> {
        match self.counters(query)? {
            Some(counters) => or_too_many_groups(query, counters.finish(query)),
            None => Ok(Err(query.too_many_groups())),
        }
    }

    /// The counters; `None` for too many groups.
    fn counters(self, query: &AggregateQuery) -> Result<Option<ShardCounters>> {
        match self {
            AggregatesPart::Own(own) => Ok(Some(own)),
            AggregatesPart::Sent(sent) => sent.read(query).map(Some),
            AggregatesPart::TooManyGroups => Ok(None),
        }
    }

    /// The number of groups.
    pub(super) fn group_count(&self) -> usize {
        match self {
            AggregatesPart::Own(own) => own.shown.groups.len(),
            AggregatesPart::Sent(sent) => sent.groups.len(),
            AggregatesPart::TooManyGroups => 0,
        }
    }

    /// The part as a message; `None` for too many groups.
    pub(super) fn message(&self) -> Option<PartialMessage> {
        match self {
            AggregatesPart::Own(own) => Some(PartialMessage::of(own)),
            AggregatesPart::Sent(sent) => Some(sent.clone()),
            AggregatesPart::TooManyGroups => None,
        }
    }
}

impl ShardCounters {
    /// Leaves out companies that no answer shows. What they are ranked by is final, because no other shard has them.
    fn cut(mut self, query: &AggregateQuery) -> Result<ShardCounters> {
        let limit = query.limit().filter(|_| query.names_companies());
        if limit.is_none_or(|limit| self.shown.groups.len() <= limit) {
            return Ok(self);
        }
        let first = self.shown.clone().finish(query)?;
        let first = first.groups.into_iter().map(|group| group.key);
        let first: HashSet<Vec<Option<KeyValue>>> = first.collect();
        let groups = std::mem::take(&mut self.shown.groups).into_iter();
        let (shown, others): (Vec<_>, Vec<_>) =
            groups.partition(|group| first.contains(&group.key));
        self.shown.groups = shown;
        self.rest.add(others.len() as u64, others);
        Ok(self)
    }

    fn finish(self, query: &AggregateQuery) -> Result<Aggregates> {
        if self.rest.number == 0 {
            return self.shown.finish(query);
        }
        let groups = self.shown.groups.len() as u64 + self.rest.number;
        let figures = self.total_figures(query)?;
        let mut found = self.shown.finish(query)?;
        found.truncated = true;
        found.totals.groups = groups;
        found.totals.figures = figures;
        Ok(found)
    }

    /// The figures over all groups, shown or not.
    fn total_figures(&self, query: &AggregateQuery) -> Result<Figures> {
        let measures = query.measures().iter().copied();
        let ungrouped = AggregateQuery::builder(query.filter().clone()).measures(measures);
        let ungrouped = ungrouped.build().map_err(|_| malformed())?;
        let mut all = self.rest.clone();
        all.add(0, self.shown.groups.clone());
        let all = PartialAggregates::new(&ungrouped, vec![all.sum], self.shown.companies);
        Ok(all.finish(&ungrouped)?.totals.figures)
    }
}

impl RestGroups {
    /// Adds groups, of which some may be sums of several.
    fn add(&mut self, number: u64, groups: Vec<PartialGroup>) {
        self.number += number;
        self.sum.count += groups.iter().map(|group| group.count).sum::<u64>();
        let amounts = groups.into_iter().flat_map(|group| group.amounts);
        self.sum.add_amounts(amounts.collect());
    }
}

impl PartialMessage {
    fn of(counters: &ShardCounters) -> PartialMessage {
        let ShardCounters { shown, rest } = counters;
        PartialMessage {
            groups: shown.groups.iter().map(GroupMessage::of).collect(),
            companies: Some(shown.companies),
            rest_number: (rest.number > 0).then_some(rest.number),
            rest: (rest.number > 0).then(|| GroupMessage::of(&rest.sum)),
        }
    }

    /// Reads the answer to a query, with bounds that no sum of counts exceeds.
    fn read(self, query: &AggregateQuery) -> Result<ShardCounters> {
        let companies = self.companies.unwrap_or_default();
        let groups = self.groups.into_iter();
        let groups = groups.map(|group| group.read(query.by()));
        let groups: Vec<PartialGroup> = groups.collect::<Result<_>>()?;
        let rest = RestGroups {
            number: self.rest_number.unwrap_or_default(),
            sum: self
                .rest
                .map(|rest| rest.read(&[]))
                .transpose()?
                .unwrap_or_default(),
        };
        let all = || groups.iter().chain([&rest.sum]);
        let amounts = all().flat_map(|group| &group.amounts);
        ensure_summable(all().map(|group| group.count))?;
        ensure_summable(all().map(|group| group.companies))?;
        ensure_summable(amounts.map(|amount| amount.count))?;
        ensure_summable([companies, rest.number].into_iter())?;
        Ok(ShardCounters {
            shown: PartialAggregates::new(query, groups, companies),
            rest,
        })
    }
}

/// Refuses counts whose sum is not one of signals.
fn ensure_summable(mut counts: impl Iterator<Item = u64>) -> Result<()> {
    let sum = counts.try_fold(0_u64, |sum, count| sum.checked_add(count));
    match sum {
        Some(sum) if sum <= COUNT_MAX => Ok(()),
        _ => Err(malformed()),
    }
}

impl GroupMessage {
    fn of(group: &PartialGroup) -> GroupMessage {
        let currencies = group.amounts.chunk_by(|a, b| a.currency == b.currency);
        GroupMessage {
            key: group.key.iter().map(KeyMessage::of).collect(),
            count: Some(group.count),
            companies: Some(group.companies),
            amounts: currencies.map(AmountsMessage::of).collect(),
        }
    }

    fn read(self, by: &[GroupBy]) -> Result<PartialGroup> {
        let count = self.count.filter(|&count| count > 0);
        let is_whole = self.key.len() == by.len();
        let (Some(count), true) = (count, is_whole) else {
            return Err(malformed());
        };
        let key = self.key.into_iter().zip(by);
        let key = key.map(|(value, &by)| value.read(by));
        let key = key.collect::<Result<_>>()?;
        let mut group = PartialGroup::new(key, count, self.companies.unwrap_or_default());
        let amounts = self.amounts.into_iter().map(AmountsMessage::read);
        let amounts: Vec<Vec<AmountCount>> = amounts.collect::<Result<_>>()?;
        group.add_amounts(amounts.concat());
        Ok(group)
    }
}

impl KeyMessage {
    fn of(value: &Option<KeyValue>) -> KeyMessage {
        match value {
            None => KeyMessage::default(),
            Some(KeyValue::Time(period)) => KeyMessage {
                first_day: Some(period.first_day().to_julian_day()),
                ..KeyMessage::default()
            },
            Some(KeyValue::Label(label)) => KeyMessage {
                label: Some(label.clone()),
                ..KeyMessage::default()
            },
            Some(KeyValue::Company { slug, name }) => KeyMessage {
                slug: Some(slug.clone()),
                name: Some(name.clone()),
                ..KeyMessage::default()
            },
        }
    }

    fn read(self, by: GroupBy) -> Result<Option<KeyValue>> {
        if self == KeyMessage::default() {
            return Ok(None);
        }
        let value = match by {
            GroupBy::Time(unit) => {
                let day = self.first_day.map(Date::from_julian_day);
                let day = day.and_then(std::result::Result::ok);
                day.map(|day| KeyValue::Time(unit.period(day)))
            }
            GroupBy::Facet(_) => self.label.map(KeyValue::Label),
            GroupBy::Company => {
                let company = self.slug.zip(self.name);
                company.map(|(slug, name)| KeyValue::Company { slug, name })
            }
        };
        value.map(Some).ok_or_else(malformed)
    }
}

impl AmountsMessage {
    /// Amounts in one currency, at least one.
    fn of(amounts: &[AmountCount]) -> AmountsMessage {
        let currency = amounts.first().and_then(|amount| amount.currency);
        AmountsMessage {
            currency: currency.map(|currency| currency.to_string()),
            amounts: amounts.iter().map(|amount| amount.amount).collect(),
            counts: amounts.iter().map(|amount| amount.count).collect(),
        }
    }

    fn read(self) -> Result<Vec<AmountCount>> {
        let currency = self.currency.map(|currency| currency.parse::<Currency>());
        let currency = currency.transpose().map_err(|_| malformed())?;
        if self.amounts.len() != self.counts.len() {
            return Err(malformed());
        }
        ensure_summable(self.counts.iter().copied())?;
        let amounts = self.amounts.into_iter().zip(self.counts);
        let read = amounts.map(|(amount, count)| {
            let is_amount = amount.is_finite() && amount >= 0.0 && count > 0;
            is_amount
                .then(|| AmountCount::new(currency, amount, count))
                .ok_or_else(malformed)
        });
        read.collect()
    }
}

fn malformed() -> Error {
    Error::corrupt("a node returned malformed aggregates")
}

#[cfg(test)]
pub(super) mod tests;
