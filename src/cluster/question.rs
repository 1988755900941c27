//! What a coordinator asks of shards, and the bytes in which it asks.
//!
//! The first byte is the version. Queries and filters cross the network as the query strings that
//! they write themselves as, and are checked like any other when they are read. Nodes of two
//! releases may run side by side while a cluster is updated: a node that does not know a version
//! says so, and another replica is asked.

use bincode::config::{Configuration, Limit};
use serde::{Deserialize, Serialize};
use time::Date;

use crate::query::dates::{day_number, day_of_number};
use crate::query::limits::WRITTEN_BYTES_MAX;
use crate::query::{InvalidQuery, Order, Start};
use crate::{Error, Filter, Query, Result, SignalId};

/// The version that this release writes and reads.
const VERSION: u8 = 2;

/// The longest question, in bytes: a query and a little more.
const BYTES_MAX: usize = WRITTEN_BYTES_MAX + 1024;

/// The most rows that are asked of a shard: all pages that have a number, and one signal more.
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
    pub(super) wanted: Wanted,
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Wanted {
    /// The first rows of a result, of which `limit` says how many; with the bytes that an answer
    /// shows, or only their ids.
    Rows {
        query: Box<Query>,
        today: Date,
        with_items: bool,
    },
    /// The number of matches.
    Count { filter: Box<Filter>, today: Date },
    /// The counts of all facets.
    Facets { filter: Box<Filter>, today: Date },
    /// The answer that shows a signal.
    Signal(SignalId),
    /// The answer that shows a company.
    Company(String),
    /// What the node holds, whatever the generation.
    LoadedShards,
}

/// A question as bytes say it; days are days since 1970-01-01.
#[derive(Serialize, Deserialize)]
struct Message {
    generation: u64,
    wanted: WantedText,
}

/// As [`Wanted`], with the text of each query and filter.
#[derive(Serialize, Deserialize)]
enum WantedText {
    /// The limit is apart from the query: shards are asked for more rows than a page has.
    Rows {
        query: String,
        limit: usize,
        today: i32,
        with_items: bool,
    },
    Count {
        filter: String,
        today: i32,
    },
    Facets {
        filter: String,
        today: i32,
    },
    Signal(u64),
    Company(String),
    LoadedShards,
}

/// What a shard answers: one of the three kinds of rows that a leaf of a plan can have.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answer {
    /// Rows in the order of the query.
    Rows(Vec<Row>),
    /// A number of matches.
    Count(u64),
    /// Facet, value and number of matches.
    Facets(Vec<(u8, String, u64)>),
}

/// A row: an id and what is to be shown of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) id: u64,
    pub(super) bytes: Vec<u8>,
}

/// Which kind of rows a question has for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Rows,
    Count,
    Facets,
}

impl Question {
    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![VERSION];
        let message = Message {
            generation: self.generation,
            wanted: WantedText::of(&self.wanted),
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
        let (message, read): (Message, usize) = bincode::serde::decode_from_slice(body, CODEC)
            .map_err(|error| Error::corrupt(format!("the question is malformed: {error}")))?;
        if read != body.len() {
            return Err(Error::corrupt("bytes follow the end of the question"));
        }
        let question = Question {
            generation: message.generation,
            wanted: message.wanted.parse()?,
        };
        question.check()?;
        Ok(question)
    }

    /// What decoding alone does not see.
    fn check(&self) -> Result<()> {
        let Wanted::Rows { query, .. } = &self.wanted else {
            return Ok(());
        };
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

    pub(super) fn kind(&self) -> Kind {
        match &self.wanted {
            Wanted::Count { .. } => Kind::Count,
            Wanted::Facets { .. } => Kind::Facets,
            _ => Kind::Rows,
        }
    }

    /// The most rows of the answer, and whether they descend.
    pub(super) fn rows(&self) -> (Option<usize>, bool) {
        match &self.wanted {
            Wanted::Rows { query, .. } => {
                (Some(query.limit()), query.order() == Order::NewestFirst)
            }
            _ => (None, false),
        }
    }
}

impl WantedText {
    fn of(wanted: &Wanted) -> WantedText {
        match wanted {
            Wanted::Rows {
                query,
                today,
                with_items,
            } => WantedText::Rows {
                // Any limit that a page may have: the real one may be larger.
                query: query.part(query.start().clone(), 1).to_string(),
                limit: query.limit(),
                today: day_number(*today),
                with_items: *with_items,
            },
            Wanted::Count { filter, today } => WantedText::Count {
                filter: filter.to_string(),
                today: day_number(*today),
            },
            Wanted::Facets { filter, today } => WantedText::Facets {
                filter: filter.to_string(),
                today: day_number(*today),
            },
            Wanted::Signal(id) => WantedText::Signal(id.get()),
            Wanted::Company(slug) => WantedText::Company(slug.clone()),
            Wanted::LoadedShards => WantedText::LoadedShards,
        }
    }

    fn parse(self) -> Result<Wanted> {
        Ok(match self {
            WantedText::Rows {
                query,
                limit,
                today,
                with_items,
            } => {
                let query: Query = query.parse().map_err(malformed)?;
                Wanted::Rows {
                    query: Box::new(query.part(query.start().clone(), limit)),
                    today: day(today)?,
                    with_items,
                }
            }
            WantedText::Count { filter, today } => Wanted::Count {
                filter: Box::new(filter.parse().map_err(malformed)?),
                today: day(today)?,
            },
            WantedText::Facets { filter, today } => Wanted::Facets {
                filter: Box::new(filter.parse().map_err(malformed)?),
                today: day(today)?,
            },
            WantedText::Signal(id) => {
                let id = SignalId::new(id);
                Wanted::Signal(id.ok_or_else(|| Error::corrupt("the question has no valid id"))?)
            }
            WantedText::Company(slug) => Wanted::Company(slug),
            WantedText::LoadedShards => Wanted::LoadedShards,
        })
    }
}

fn malformed(invalid: InvalidQuery) -> Error {
    Error::corrupt(format!("the question has a malformed query: {invalid}"))
}

fn day(number: i32) -> Result<Date> {
    day_of_number(number).ok_or_else(|| Error::corrupt("the question has no valid day"))
}

#[cfg(test)]
mod tests;
