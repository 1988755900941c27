//! A question as a work unit. Every field is optional, so that nodes of two releases understand each other.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use signaldex::json::Rendering;
use signaldex::query::Facet;
use signaldex::{ChangeKind, Error, FacetQuery, Position, Query, Result, SignalId};
use time::Date;

use crate::companies::{CompaniesKind, CompaniesQuestion};
use crate::question::{
    ChangesOutput, ChangesQuestion, DeletedQuestion, KeyScope, Question, RowFormat, ShardRequest,
};

/// A question, or the end of the interest in one.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct QuestionUnit {
    /// Tells the questions of a plan apart.
    #[prost(uint64, optional, tag = "1")]
    pub(super) number: Option<u64>,
    /// Nobody waits for the answer any more. The other fields are missing.
    #[prost(bool, optional, tag = "2")]
    pub(super) is_cancelled: Option<bool>,
    #[prost(uint64, optional, tag = "3")]
    generation: Option<u64>,
    #[prost(uint32, repeated, tag = "4")]
    shards: Vec<u32>,
    #[prost(enumeration = "UnitKind", optional, tag = "5")]
    kind: Option<i32>,
    /// The query or filter, as the library writes it.
    #[prost(string, optional, tag = "6")]
    query: Option<String>,
    /// The Julian day that counts as today.
    #[prost(sint32, optional, tag = "7")]
    today: Option<i32>,
    /// Apart from the query, because shards return more rows than a page.
    #[prost(uint32, optional, tag = "8")]
    limit: Option<u32>,
    /// How rows are rendered; missing for ids alone.
    #[prost(enumeration = "RowRendering", optional, tag = "9")]
    rendering: Option<i32>,
    /// The indices of the facets, ascending.
    #[prost(uint32, repeated, tag = "10")]
    facets: Vec<u32>,
    #[prost(uint64, optional, tag = "11")]
    signal: Option<u64>,
    #[prost(string, optional, tag = "12")]
    company: Option<String>,
    /// How long the client still waits.
    #[prost(uint64, optional, tag = "13")]
    milliseconds_left: Option<u64>,
    /// How many rows to render; missing for all.
    #[prost(uint32, optional, tag = "14")]
    rendered_max: Option<u32>,
    /// Whether nothing was found.
    #[prost(bool, optional, tag = "15")]
    is_empty: Option<bool>,
    /// Positions of a shard: what has changed since the first, until the second.
    #[prost(string, optional, tag = "20")]
    since: Option<String>,
    #[prost(string, optional, tag = "21")]
    until: Option<String>,
    /// Which changes; missing for removals.
    #[prost(bool, optional, tag = "22")]
    upserts: Option<bool>,
    /// The filter of the key, as the library writes it, and the Julian day that its days count from.
    #[prost(string, optional, tag = "23")]
    key_filter: Option<String>,
    #[prost(sint32, optional, tag = "24")]
    key_day: Option<i32>,
    /// Several filters, as the library writes them.
    #[prost(string, repeated, tag = "25")]
    filters: Vec<String>,
    #[prost(uint64, repeated, tag = "26")]
    signals: Vec<u64>,
    /// Positions by the shards that they are of.
    #[prost(btree_map = "uint32, string", tag = "27")]
    positions: BTreeMap<u32, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
enum UnitKind {
    Unknown = 0,
    Rows = 1,
    Count = 2,
    Facets = 3,
    Signal = 4,
    Company = 5,
    Hints = 6,
    Changes = 7,
    Aggregates = 8,
    Companies = 9,
    CompanyCount = 10,
    CompanyFacets = 11,
    Matches = 12,
    Searches = 13,
    Deleted = 14,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
enum RowRendering {
    Whole = 0,
    Short = 1,
    Csv = 2,
}

impl QuestionUnit {
    /// The unit of a question.
    pub(super) fn of(number: u64, question: &Question, left: Duration) -> QuestionUnit {
        let unit = QuestionUnit {
            number: Some(number),
            generation: Some(question.generation),
            shards: question.shards.clone(),
            rendered_max: u32::try_from(question.rendered_max).ok(),
            milliseconds_left: u64::try_from(left.as_millis()).ok(),
            key_filter: question.key.as_ref().map(|(filter, _)| filter.to_string()),
            key_day: question.key.as_ref().map(|(_, day)| day.to_julian_day()),
            ..QuestionUnit::default()
        };
        unit.with_request(&question.wanted)
    }

    /// Says that nobody waits for an answer any more.
    pub(super) fn cancelling(number: u64) -> QuestionUnit {
        QuestionUnit {
            number: Some(number),
            is_cancelled: Some(true),
            ..QuestionUnit::default()
        }
    }

    fn with_request(self, wanted: &ShardRequest) -> QuestionUnit {
        let kind = |kind: UnitKind| Some(kind as i32);
        match wanted {
            ShardRequest::Rows {
                query,
                today,
                rendering,
            } => QuestionUnit {
                kind: kind(UnitKind::Rows),
                // A placeholder: the real limit may exceed that of a page.
                query: Some(query.part(query.start().clone(), 1).to_string()),
                limit: u32::try_from(query.limit()).ok(),
                today: Some(today.to_julian_day()),
                rendering: rendering.map(|format| rendering_of(format) as i32),
                ..self
            },
            ShardRequest::Count { filter, today } => QuestionUnit {
                kind: kind(UnitKind::Count),
                query: Some(filter.to_string()),
                today: Some(today.to_julian_day()),
                ..self
            },
            ShardRequest::Facets { query, today } => QuestionUnit {
                kind: kind(UnitKind::Facets),
                query: Some(query.filter.to_string()),
                facets: query.facets.iter().map(|&facet| facet as u32).collect(),
                today: Some(today.to_julian_day()),
                ..self
            },
            ShardRequest::Aggregates { query, today } => QuestionUnit {
                kind: kind(UnitKind::Aggregates),
                query: Some(query.to_string()),
                today: Some(today.to_julian_day()),
                ..self
            },
            ShardRequest::Companies(wanted) => QuestionUnit {
                kind: kind(match wanted.kind {
                    CompaniesKind::Items | CompaniesKind::Keys => UnitKind::Companies,
                    CompaniesKind::Count => UnitKind::CompanyCount,
                    CompaniesKind::Facets => UnitKind::CompanyFacets,
                }),
                query: Some(wanted.query.to_string()),
                today: Some(wanted.today.to_julian_day()),
                rendering: (wanted.kind == CompaniesKind::Items)
                    .then_some(RowRendering::Whole as i32),
                ..self
            },
            ShardRequest::Signal(id) => QuestionUnit {
                kind: kind(UnitKind::Signal),
                signal: Some(id.get()),
                ..self
            },
            ShardRequest::Company(slug) => QuestionUnit {
                kind: kind(UnitKind::Company),
                company: Some(slug.clone()),
                ..self
            },
            ShardRequest::Hints { filter, is_empty } => QuestionUnit {
                kind: kind(UnitKind::Hints),
                query: Some(filter.to_string()),
                is_empty: Some(*is_empty),
                ..self
            },
            ShardRequest::Changes(wanted) => QuestionUnit {
                query: Some(wanted.filter.to_string()),
                limit: u32::try_from(wanted.limit).ok(),
                today: Some(wanted.today.to_julian_day()),
                since: Some(wanted.since.to_string()),
                until: Some(wanted.until.to_string()),
                upserts: Some(wanted.kind == ChangeKind::Upsert),
                ..self.with_output(&wanted.output)
            },
            ShardRequest::Deleted(wanted) => QuestionUnit {
                kind: kind(UnitKind::Deleted),
                signals: wanted.ids.iter().map(|id| id.get()).collect(),
                positions: wanted
                    .since
                    .iter()
                    .map(|(&shard, position)| (shard, position.to_string()))
                    .collect(),
                ..self
            },
        }
    }

    /// The kind of a question for changes, and what they are written as.
    fn with_output(self, output: &ChangesOutput) -> QuestionUnit {
        let (kind, rendering, filters) = match output {
            ChangesOutput::Feed(rendering) => (UnitKind::Changes, Some(*rendering), &[][..]),
            ChangesOutput::Matches(rendering) => (UnitKind::Matches, Some(*rendering), &[][..]),
            ChangesOutput::Searches(filters) => (UnitKind::Searches, None, &filters[..]),
        };
        QuestionUnit {
            kind: Some(kind as i32),
            rendering: rendering.map(|of| rendering_of(RowFormat::Item(of)) as i32),
            filters: filters.iter().map(ToString::to_string).collect(),
            ..self
        }
    }

    /// How long the client still waits; for ever where the unit does not say.
    pub(super) fn left(&self) -> Duration {
        self.milliseconds_left
            .map_or(Duration::MAX, Duration::from_millis)
    }

    /// Reads a question, with the checks of [`Question::checked`].
    ///
    /// # Errors
    /// [`Corrupt`](signaldex::ErrorKind::Corrupt) where a field is missing or malformed, `NewerFormat` for a kind of
    /// question that this release does not know.
    pub(super) fn question(self) -> Result<Question> {
        let question = Question {
            generation: self.generation.unwrap_or_default(),
            shards: self.shards.clone(),
            rendered_max: self.rendered_max.map_or(usize::MAX, |rows| rows as usize),
            key: self.key()?,
            wanted: Arc::new(self.request()?),
        };
        question.checked()
    }

    /// What the key sees. A filter that this release cannot read is an error, never everything.
    fn key(&self) -> Result<Option<KeyScope>> {
        match &self.key_filter {
            None => Ok(None),
            Some(filter) => Ok(Some((Arc::new(parsed(Some(filter))?), day(self.key_day)?))),
        }
    }

    fn rows_max(&self) -> Result<usize> {
        let limit = self.limit.ok_or_else(|| missing("limit"))?;
        Ok(limit as usize)
    }

    fn row_format(&self) -> RowFormat {
        match self.rendering() {
            RowRendering::Whole => RowFormat::Item(Rendering::Whole),
            RowRendering::Short => RowFormat::Item(Rendering::Short),
            RowRendering::Csv => RowFormat::Csv,
        }
    }

    fn item_rendering(&self) -> Result<Rendering> {
        match self.row_format() {
            RowFormat::Item(rendering) => Ok(rendering),
            RowFormat::Csv => Err(missing("rendering")),
        }
    }

    fn changes(&self, output: ChangesOutput) -> Result<ShardRequest> {
        Ok(ShardRequest::Changes(Box::new(ChangesQuestion {
            filter: parsed(self.query.as_deref())?,
            today: day(self.today)?,
            output,
            limit: self.rows_max()?,
            since: position(self.since.as_deref())?,
            until: position(self.until.as_deref())?,
            kind: if self.upserts.unwrap_or_default() {
                ChangeKind::Upsert
            } else {
                ChangeKind::Removal
            },
        })))
    }

    fn companies(&self, kind: CompaniesKind) -> Result<ShardRequest> {
        Ok(ShardRequest::Companies(Box::new(CompaniesQuestion {
            kind,
            query: parsed(self.query.as_deref())?,
            today: day(self.today)?,
        })))
    }

    fn request(self) -> Result<ShardRequest> {
        Ok(match self.kind() {
            UnitKind::Rows => {
                let query: Query = parsed(self.query.as_deref())?;
                let limit = self.rows_max()?;
                let rendering = self.rendering.map(|_| self.row_format());
                ShardRequest::Rows {
                    query: Box::new(query.part(query.start().clone(), limit)),
                    today: day(self.today)?,
                    rendering,
                }
            }
            UnitKind::Count => ShardRequest::Count {
                filter: Box::new(parsed(self.query.as_deref())?),
                today: day(self.today)?,
            },
            UnitKind::Facets => ShardRequest::Facets {
                query: Box::new(FacetQuery::new(
                    parsed(self.query.as_deref())?,
                    facets_of(&self.facets)?,
                )),
                today: day(self.today)?,
            },
            UnitKind::Aggregates => ShardRequest::Aggregates {
                query: Box::new(parsed(self.query.as_deref())?),
                today: day(self.today)?,
            },
            UnitKind::Companies if self.rendering.is_some() => {
                self.companies(CompaniesKind::Items)?
            }
            UnitKind::Companies => self.companies(CompaniesKind::Keys)?,
            UnitKind::CompanyCount => self.companies(CompaniesKind::Count)?,
            UnitKind::CompanyFacets => self.companies(CompaniesKind::Facets)?,
            UnitKind::Signal => {
                let id = self.signal.and_then(SignalId::new);
                ShardRequest::Signal(id.ok_or_else(|| missing("id"))?)
            }
            UnitKind::Company => {
                ShardRequest::Company(self.company.ok_or_else(|| missing("company"))?)
            }
            UnitKind::Hints => ShardRequest::Hints {
                filter: Box::new(parsed(self.query.as_deref())?),
                is_empty: self.is_empty.unwrap_or_default(),
            },
            UnitKind::Changes => self.changes(ChangesOutput::Feed(self.item_rendering()?))?,
            UnitKind::Matches => self.changes(ChangesOutput::Matches(self.item_rendering()?))?,
            UnitKind::Searches => {
                let filters = self.filters.iter().map(|filter| parsed(Some(filter)));
                self.changes(ChangesOutput::Searches(filters.collect::<Result<_>>()?))?
            }
            UnitKind::Deleted => {
                let ids = self.signals.iter().map(|&id| SignalId::new(id));
                let ids: Option<Vec<SignalId>> = ids.collect();
                let since = self.positions.iter();
                let since = since.map(|(&shard, text)| Ok((shard, position(Some(text.as_str()))?)));
                ShardRequest::Deleted(Box::new(DeletedQuestion {
                    ids: ids.ok_or_else(|| missing("id"))?,
                    since: since.collect::<Result<_>>()?,
                }))
            }
            UnitKind::Unknown => {
                return Err(Error::newer(
                    "this release does not know the kind of the question",
                ));
            }
        })
    }
}

fn position(text: Option<&str>) -> Result<Position> {
    let position = text.and_then(|text| Position::parse(text).ok());
    position.ok_or_else(|| missing("position"))
}

fn rendering_of(format: RowFormat) -> RowRendering {
    match format {
        RowFormat::Item(Rendering::Short) => RowRendering::Short,
        RowFormat::Item(Rendering::Whole) => RowRendering::Whole,
        RowFormat::Csv => RowRendering::Csv,
    }
}

fn parsed<T: std::str::FromStr<Err = E>, E: std::fmt::Display>(text: Option<&str>) -> Result<T> {
    let text = text.ok_or_else(|| missing("query"))?;
    text.parse()
        .map_err(|error| Error::corrupt(format!("the question has a malformed query: {error}")))
}

fn day(julian: Option<i32>) -> Result<Date> {
    let day = julian.and_then(|julian| Date::from_julian_day(julian).ok());
    day.ok_or_else(|| missing("day"))
}

/// The facets with these indices, in the order of [`Facet::ALL`].
fn facets_of(indices: &[u32]) -> Result<Vec<Facet>> {
    if !indices.is_sorted_by(|a, b| a < b) {
        return Err(Error::corrupt("the question names a facet twice"));
    }
    let facet = |&index: &u32| {
        let facet = Facet::ALL.get(index as usize).copied();
        facet.ok_or_else(|| Error::corrupt("the question names an unknown facet"))
    };
    indices.iter().map(facet).collect()
}

fn missing(field: &str) -> Error {
    Error::corrupt(format!("the question has no valid {field}"))
}

#[cfg(test)]
mod tests;
