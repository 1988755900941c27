//! Questions of a coordinator to shards, and their encoding.
//!
//! The first byte is the version. Queries and filters are encoded as query strings, which the receiver validates.
//! Nodes of two releases may run together during an upgrade: a node refuses unknown versions, and another replica
//! is queried.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use bincode::config::{Configuration, Limit};
use serde::{Deserialize, Serialize};
use time::Date;

use super::answer::AnswerRow;
use super::generation::SHARDS_MAX;
use signaldex::json::Rendering;
use signaldex::query::limits::WRITTEN_BYTES_MAX;
use signaldex::query::{Facet, InvalidQuery, Order, Start};
use signaldex::{Error, FacetQuery, Filter, Query, Result, SignalId};

/// The version that this release writes and reads.
const VERSION: u8 = 1;

/// Maximum bytes of a question: a query, up to five bytes per shard, and a little more.
pub(super) const BYTES_MAX: usize = WRITTEN_BYTES_MAX + 5 * SHARDS_MAX as usize + 1024;

/// Maximum number of rows requested from a shard: all numbered pages, and one signal more.
const ROWS_MAX: usize = 50 * 100 + 1;

const CODEC: Configuration<
    bincode::config::LittleEndian,
    bincode::config::Varint,
    Limit<BYTES_MAX>,
> = bincode::config::standard().with_limit::<BYTES_MAX>();

/// A question to shards of one generation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Question {
    pub(super) generation: u64,
    /// Each once.
    pub(super) shards: Vec<u32>,
    pub(super) wanted: Arc<ShardRequest>,
}

/// The requested result.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ShardRequest {
    /// The first `limit` rows of a result, rendered or only as ids. Where rendered rows have more bytes than a page, the
    /// last ones are empty.
    Rows {
        query: Box<Query>,
        today: Date,
        rendering: Option<Rendering>,
    },
    /// The number of matches.
    Count { filter: Box<Filter>, today: Date },
    /// The counts of facets.
    Facets { query: Box<FacetQuery>, today: Date },
    /// The rendered detail of a signal.
    Signal(SignalId),
    /// The rendered detail of a company.
    Company(String),
    /// The loaded shards of all generations.
    LoadedShards,
}

/// The encoded form of a question; days are days since 1970-01-01.
#[derive(Serialize, Deserialize)]
struct QuestionMessage {
    generation: u64,
    shards: Vec<u32>,
    wanted: ShardRequestText,
}

/// As [`ShardRequest`], with queries and filters as text.
#[derive(Serialize, Deserialize)]
enum ShardRequestText {
    /// The limit is separate from the query, because shards return more rows than a page.
    Rows {
        query: String,
        limit: usize,
        today: i32,
        rendering: Option<Rendering>,
    },
    Count {
        filter: String,
        today: i32,
    },
    Facets {
        filter: String,
        /// The indices of the facets.
        facets: Vec<u8>,
        today: i32,
    },
    Signal(u64),
    Company(String),
    LoadedShards,
}

impl Question {
    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![VERSION];
        let message = QuestionMessage {
            generation: self.generation,
            shards: self.shards.clone(),
            wanted: ShardRequestText::of(&self.wanted),
        };
        bincode::serde::encode_into_std_write(message, &mut bytes, CODEC)
            .map_err(|error| Error::invalid(format!("the question cannot be sent: {error}")))?;
        Ok(bytes)
    }

    /// Reads what [`encode`](Self::encode) wrote.
    pub(super) fn decode(bytes: &[u8]) -> Result<Question> {
        let body = match bytes {
            [VERSION, body @ ..] => body,
            [version, ..] => {
                return Err(Error::newer(format!(
                    "the question has version {version}; this release reads {VERSION}"
                )));
            }
            [] => return Err(Error::corrupt("the question is empty")),
        };
        let (message, read): (QuestionMessage, usize) =
            bincode::serde::decode_from_slice(body, CODEC)
                .map_err(|error| Error::corrupt(format!("the question is malformed: {error}")))?;
        if read != body.len() {
            return Err(Error::corrupt("bytes follow the end of the question"));
        }
        let question = Question {
            generation: message.generation,
            shards: message.shards,
            wanted: Arc::new(message.wanted.parse()?),
        };
        question.check()?;
        Ok(question)
    }

    /// Checks the limits of a received question.
    fn check(&self) -> Result<()> {
        let shards = self.shards.len();
        if shards > SHARDS_MAX as usize {
            return Err(Error::corrupt(format!(
                "the question names {shards} shards; at most {SHARDS_MAX} are allowed"
            )));
        }
        let mut asked = HashSet::new();
        if let Some(shard) = self.shards.iter().find(|shard| !asked.insert(**shard)) {
            return Err(Error::corrupt(format!(
                "the question names shard {shard} twice"
            )));
        }
        match &*self.wanted {
            ShardRequest::Rows { query, .. } => check_rows(query),
            _ => Ok(()),
        }
    }
}

fn check_rows(query: &Query) -> Result<()> {
    let is_allowed =
        (1..=ROWS_MAX).contains(&query.limit()) && !matches!(query.start(), Start::Page(_));
    if is_allowed {
        return Ok(());
    }
    Err(Error::corrupt(format!(
        "the question asks for {} rows from {:?}",
        query.limit(),
        query.start()
    )))
}

impl ShardRequest {
    /// Maximum number of rows in the answer.
    pub(super) fn rows_max(&self) -> usize {
        match self {
            ShardRequest::Rows { query, .. } => query.limit(),
            _ => 1,
        }
    }

    /// How rows are rendered.
    pub(super) fn rendering(&self) -> Rendering {
        match self {
            ShardRequest::Rows { rendering, .. } => rendering.unwrap_or(Rendering::Whole),
            _ => Rendering::Whole,
        }
    }

    /// The first rows of several sorted runs.
    pub(super) fn first_rows(&self, mut rows: Vec<AnswerRow>) -> Vec<AnswerRow> {
        // A stable sort merges runs.
        if self.ascends() {
            rows.sort_by_key(|row| row.id);
        } else {
            rows.sort_by_key(|row| Reverse(row.id));
        }
        rows.truncate(self.rows_max());
        rows
    }

    /// A description of how answers are merged.
    pub(super) fn merging(&self) -> String {
        match self {
            ShardRequest::Rows { .. } => {
                let order = if self.ascends() {
                    "ascending"
                } else {
                    "descending"
                };
                format!("merge by id, {order}, first {}", self.rows_max())
            }
            ShardRequest::Count { .. } => "sum".to_owned(),
            ShardRequest::Facets { .. } => "sum by value".to_owned(),
            ShardRequest::Signal(_) | ShardRequest::Company(_) | ShardRequest::LoadedShards => {
                "any".to_owned()
            }
        }
    }

    /// Whether the rows ascend by id.
    pub(super) fn ascends(&self) -> bool {
        matches!(self, ShardRequest::Rows { query, .. } if query.order() == Order::OldestFirst)
    }
}

impl fmt::Display for ShardRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShardRequest::Rows { query, .. } => {
                let (filter, limit) = (query.filter().canonical(), query.limit());
                write!(f, "rows, filter=[{filter}], limit={limit}")
            }
            ShardRequest::Count { filter, .. } => {
                write!(f, "count, filter=[{}]", filter.canonical())
            }
            ShardRequest::Facets { query, .. } => {
                write!(f, "facets, filter=[{}]", query.filter.canonical())
            }
            ShardRequest::Signal(id) => write!(f, "signal {id}"),
            ShardRequest::Company(_) => write!(f, "company"),
            ShardRequest::LoadedShards => write!(f, "loaded shards"),
        }
    }
}

impl ShardRequestText {
    fn of(wanted: &ShardRequest) -> ShardRequestText {
        match wanted {
            ShardRequest::Rows {
                query,
                today,
                rendering,
            } => ShardRequestText::Rows {
                // A placeholder: the real limit may exceed that of a page.
                query: query.part(query.start().clone(), 1).to_string(),
                limit: query.limit(),
                today: today.to_julian_day(),
                rendering: *rendering,
            },
            ShardRequest::Count { filter, today } => ShardRequestText::Count {
                filter: filter.to_string(),
                today: today.to_julian_day(),
            },
            ShardRequest::Facets { query, today } => ShardRequestText::Facets {
                filter: query.filter.to_string(),
                facets: query.facets.iter().map(|&facet| facet as u8).collect(),
                today: today.to_julian_day(),
            },
            ShardRequest::Signal(id) => ShardRequestText::Signal(id.get()),
            ShardRequest::Company(slug) => ShardRequestText::Company(slug.clone()),
            ShardRequest::LoadedShards => ShardRequestText::LoadedShards,
        }
    }

    fn parse(self) -> Result<ShardRequest> {
        Ok(match self {
            ShardRequestText::Rows {
                query,
                limit,
                today,
                rendering,
            } => {
                let query: Query = query.parse().map_err(malformed)?;
                ShardRequest::Rows {
                    query: Box::new(query.part(query.start().clone(), limit)),
                    today: day(today)?,
                    rendering,
                }
            }
            ShardRequestText::Count { filter, today } => ShardRequest::Count {
                filter: Box::new(filter.parse().map_err(malformed)?),
                today: day(today)?,
            },
            ShardRequestText::Facets {
                filter,
                facets,
                today,
            } => ShardRequest::Facets {
                query: Box::new(FacetQuery::new(
                    filter.parse().map_err(malformed)?,
                    facets_of(&facets)?,
                )),
                today: day(today)?,
            },
            ShardRequestText::Signal(id) => {
                let id = SignalId::new(id);
                ShardRequest::Signal(
                    id.ok_or_else(|| Error::corrupt("the question has no valid id"))?,
                )
            }
            ShardRequestText::Company(slug) => ShardRequest::Company(slug),
            ShardRequestText::LoadedShards => ShardRequest::LoadedShards,
        })
    }
}

/// The facets with these indices, in the order of [`Facet::ALL`].
fn facets_of(indices: &[u8]) -> Result<Vec<Facet>> {
    if !indices.is_sorted_by(|a, b| a < b) {
        return Err(Error::corrupt("the question names a facet twice"));
    }
    let facet = |&index: &u8| {
        let facet = Facet::ALL.get(usize::from(index)).copied();
        facet.ok_or_else(|| Error::corrupt("the question names an unknown facet"))
    };
    indices.iter().map(facet).collect()
}

fn malformed(invalid: InvalidQuery) -> Error {
    Error::corrupt(format!("the question has a malformed query: {invalid}"))
}

fn day(number: i32) -> Result<Date> {
    Date::from_julian_day(number).map_err(|_| Error::corrupt("the question has no valid day"))
}

#[cfg(test)]
mod tests;
