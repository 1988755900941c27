//! Answers of shards, and merging.

use std::sync::Arc;

use axum::body::Bytes;

use super::aggregates::AggregatesPart;
use super::companies::{CompaniesKind, CompanyRow};
use super::question::ShardRequest;
use signaldex::query::{Facet, InvalidQuery, SortKey};
use signaldex::{
    AggregateQuery, Aggregates, Error, FacetCounters, FacetDictionary, Facets, HintFacts,
    PositionError, Result, SignalId,
};

/// Maximum of a count, far above any number of signals: no sum of counts overflows.
pub(super) const COUNT_MAX: u64 = 1 << 40;

/// An answer of shards.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ShardAnswer {
    /// Rows in the order of the query.
    Rows(Vec<AnswerRow>),
    /// A number of matches.
    Count(u64),
    /// Values of facets, from another node.
    Facets(Vec<FacetValue>),
    /// The same, counted here.
    Counters(CountedFacets),
    /// What shards have of the items of a filter.
    Hints(HintFacts),
    /// Figures in groups.
    Aggregates(AggregatesPart),
    /// Companies in the order of the query.
    Companies(Vec<CompanyRow>),
    /// Changes of one shard, or why a position has no place in its history.
    Changes(Result<FoundChanges, PositionError>),
}

/// Changes of a shard.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FoundChanges {
    pub(super) changes: Vec<ShardChange>,
    /// The step up to which it has been searched.
    pub(super) step: (u64, u64),
    /// Whether there are no more.
    pub(super) is_last: bool,
}

/// A change with the [step](signaldex::Position::step) after it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ShardChange {
    pub(super) step: (u64, u64),
    /// Missing where it is not asked for.
    pub(super) origin: Option<ChangeOrigin>,
    /// Its JSON; of what concerns saved searches, the index of one.
    pub(super) item: Bytes,
}

/// Which change of a shard it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChangeOrigin {
    pub(super) signal: SignalId,
    pub(super) commit: u64,
    /// The commit that added the signal, of an upsert.
    pub(super) added: u64,
}

/// A row: an id and its rendered JSON.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AnswerRow {
    pub(super) id: u64,
    /// The [`bits`](SortKey::bits) of its value in the order of the query.
    pub(super) value: u64,
    pub(super) bytes: Bytes,
}

impl AnswerRow {
    /// The sort key, if the id is one of a signal.
    pub(super) fn key(&self) -> Option<SortKey> {
        let id = SignalId::new(self.id);
        id.map(|id| SortKey::from_bits(self.value, id))
    }
}

/// A value of a facet with its count.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FacetValue {
    /// The index of the facet.
    pub(super) facet: u8,
    /// UTF-8.
    pub(super) label: Bytes,
    pub(super) count: u64,
}

/// Counts of facets by the numbers of their labels.
#[derive(Clone, Debug)]
pub(super) struct CountedFacets {
    pub(super) dictionary: Arc<FacetDictionary>,
    pub(super) counters: FacetCounters,
}

impl ShardAnswer {
    /// Merges several answers to the same question. Without any, the result is empty.
    ///
    /// # Errors
    /// A node has sent the wrong kind of answer.
    pub(super) fn merge(wanted: &ShardRequest, mut parts: Vec<ShardAnswer>) -> Result<ShardAnswer> {
        if parts.len() == 1
            && let Some(lone) = parts.pop()
        {
            return Ok(lone);
        }
        match wanted {
            ShardRequest::Rows { .. }
            | ShardRequest::Signal(_)
            | ShardRequest::Company(_)
            | ShardRequest::Deleted(_) => {
                let rows = all(parts, ShardAnswer::rows)?;
                Ok(ShardAnswer::Rows(wanted.first_rows(rows)))
            }
            ShardRequest::Count { .. } => sum(parts),
            ShardRequest::Facets { .. } => Ok(ShardAnswer::Counters(CountedFacets::of(parts)?)),
            ShardRequest::Hints { .. } => {
                let mut facts = HintFacts::default();
                for part in parts {
                    facts.merge(part.hints()?);
                }
                Ok(ShardAnswer::Hints(facts))
            }
            ShardRequest::Aggregates { query, .. } => {
                let parts = parts.into_iter().map(ShardAnswer::aggregates_part);
                let parts = parts.collect::<Result<_>>()?;
                AggregatesPart::merge(query, parts).map(ShardAnswer::Aggregates)
            }
            ShardRequest::Companies(companies) => match companies.kind {
                CompaniesKind::Items | CompaniesKind::Keys => {
                    let rows = all(parts, ShardAnswer::companies)?;
                    Ok(ShardAnswer::Companies(companies.first_rows(rows)))
                }
                CompaniesKind::Count => sum(parts),
                CompaniesKind::Facets => Ok(ShardAnswer::Counters(CountedFacets::of(parts)?)),
            },
            ShardRequest::Changes(_) => Err(unexpected()),
        }
    }

    /// # Errors
    /// The node has sent the wrong kind of answer.
    pub(super) fn companies(self) -> Result<Vec<CompanyRow>> {
        match self {
            ShardAnswer::Companies(rows) => Ok(rows),
            _ => Err(unexpected()),
        }
    }

    /// # Errors
    /// The node has sent the wrong kind of answer.
    pub(super) fn rows(self) -> Result<Vec<AnswerRow>> {
        match self {
            ShardAnswer::Rows(rows) => Ok(rows),
            _ => Err(unexpected()),
        }
    }

    pub(super) fn count(self) -> Result<u64> {
        match self {
            ShardAnswer::Count(count) => Ok(count),
            _ => Err(unexpected()),
        }
    }

    pub(super) fn hints(self) -> Result<HintFacts> {
        match self {
            ShardAnswer::Hints(facts) => Ok(facts),
            _ => Err(unexpected()),
        }
    }

    fn aggregates_part(self) -> Result<AggregatesPart> {
        match self {
            ShardAnswer::Aggregates(part) => Ok(part),
            _ => Err(unexpected()),
        }
    }

    /// The figures of a query, or why they are not computed.
    pub(super) fn aggregates(
        self,
        query: &AggregateQuery,
    ) -> Result<Result<Aggregates, InvalidQuery>> {
        self.aggregates_part()?.finish(query)
    }

    pub(super) fn changes(self) -> Result<Result<FoundChanges, PositionError>> {
        match self {
            ShardAnswer::Changes(changes) => Ok(changes),
            _ => Err(unexpected()),
        }
    }

    /// The sorted values of facets. Labels with the same key are one value.
    pub(super) fn facets(self) -> Result<Facets> {
        let counted = CountedFacets::of(vec![self])?;
        Ok(counted.dictionary.facets(&counted.counters))
    }

    /// The number of rows, values or counts.
    pub(super) fn row_count(&self) -> usize {
        match self {
            ShardAnswer::Rows(rows) => rows.len(),
            ShardAnswer::Companies(rows) => rows.len(),
            ShardAnswer::Count(_) | ShardAnswer::Counters(_) => 1,
            ShardAnswer::Facets(values) => values.len(),
            ShardAnswer::Hints(facts) => facts.iter().count(),
            ShardAnswer::Aggregates(part) => part.group_count(),
            ShardAnswer::Changes(Ok(found)) => found.changes.len(),
            ShardAnswer::Changes(Err(_)) => 0,
        }
    }
}

fn sum(parts: Vec<ShardAnswer>) -> Result<ShardAnswer> {
    let counts = parts.into_iter().map(ShardAnswer::count);
    Ok(ShardAnswer::Count(counts.sum::<Result<u64>>()?))
}

/// Concatenates the items of several answers.
fn all<T>(
    parts: Vec<ShardAnswer>,
    items: impl Fn(ShardAnswer) -> Result<Vec<T>>,
) -> Result<Vec<T>> {
    let mut all = Vec::new();
    for part in parts {
        all.extend(items(part)?);
    }
    Ok(all)
}

impl CountedFacets {
    /// Adds up the parts of an answer. Those of this node's shards have their numbers already; labels of others are
    /// looked up.
    fn of(parts: Vec<ShardAnswer>) -> Result<CountedFacets> {
        let own = parts.iter().find_map(|part| match part {
            ShardAnswer::Counters(own) => Some(Arc::clone(&own.dictionary)),
            _ => None,
        });
        let dictionary = own.unwrap_or_else(|| Arc::new(FacetDictionary::new(Vec::new())));
        let mut counters = dictionary.counters();
        for part in parts {
            match part {
                ShardAnswer::Counters(own) if Arc::ptr_eq(&own.dictionary, &dictionary) => {
                    counters.add(own.counters);
                }
                ShardAnswer::Counters(own) => {
                    for (facet, label, count) in own.values() {
                        dictionary.add_label(&mut counters, facet, label, count);
                    }
                }
                ShardAnswer::Facets(values) => {
                    for value in values {
                        // A facet of a later release is skipped.
                        if let Some(&facet) = Facet::ALL.get(usize::from(value.facet)) {
                            let label = value.label();
                            dictionary.add_label(&mut counters, facet, label, value.count);
                        }
                    }
                }
                _ => return Err(unexpected()),
            }
        }
        Ok(CountedFacets {
            dictionary,
            counters,
        })
    }

    /// The labels with their counts, in no order.
    pub(super) fn values(&self) -> impl Iterator<Item = (Facet, &str, u64)> {
        self.dictionary.labels(&self.counters)
    }
}

impl PartialEq for CountedFacets {
    fn eq(&self, other: &CountedFacets) -> bool {
        let facets = |counted: &CountedFacets| counted.dictionary.facets(&counted.counters);
        facets(self) == facets(other)
    }
}

impl FacetValue {
    /// Its label, which is checked where it is received.
    fn label(&self) -> &str {
        std::str::from_utf8(&self.label).unwrap_or_default()
    }
}

fn unexpected() -> Error {
    Error::corrupt("a node answered a different question")
}

#[cfg(test)]
mod tests;
