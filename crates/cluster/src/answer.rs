//! Answers of nodes: their encoding on the network, and merging.
//!
//! ```text
//! kind: u8   0 rows            id: u64, length: u32, bytes; repeated
//!            1 count           u64
//!            2 facets          facet: u8, count: u64, length: u32, label; repeated
//!            3 loaded shards   generation: u64, n: u32, n shards: u32; repeated
//! ```
//!
//! Numbers are little-endian. Decoding allocates no more than the message holds.

use std::collections::BTreeMap;

use axum::body::Bytes;
use hashbrown::HashMap;

use super::question::ShardRequest;
use signaldex::query::Facet;
use signaldex::{Error, Facets, Result};

const ROWS: u8 = 0;
const COUNT: u8 = 1;
const FACETS: u8 = 2;
const LOADED: u8 = 3;

/// Bytes of a row or a value in addition to its text.
const OVERHEAD: usize = size_of::<u8>() + size_of::<u64>() + size_of::<u32>();

/// The loaded shards of a node, by generation.
pub(super) type HeldShards = BTreeMap<u64, Vec<u32>>;

/// An answer of shards.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ShardAnswer {
    /// Rows in the order of the query.
    Rows(Vec<AnswerRow>),
    /// A number of matches.
    Count(u64),
    /// Values of facets.
    Facets(Vec<FacetValue>),
    /// The loaded shards.
    LoadedShards(HeldShards),
}

/// A row: an id and its rendered JSON.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AnswerRow {
    pub(super) id: u64,
    pub(super) bytes: Bytes,
}

/// A value of a facet with its count.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FacetValue {
    /// The index of the facet.
    pub(super) facet: u8,
    pub(super) label: String,
    pub(super) count: u64,
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
            ShardRequest::Rows { .. } | ShardRequest::Signal(_) | ShardRequest::Company(_) => {
                let rows = all(parts, ShardAnswer::rows)?;
                Ok(ShardAnswer::Rows(wanted.first_rows(rows)))
            }
            ShardRequest::Count { .. } => {
                let counts = parts.into_iter().map(ShardAnswer::count);
                Ok(ShardAnswer::Count(counts.sum::<Result<u64>>()?))
            }
            ShardRequest::Facets { .. } => {
                let values = all(parts, ShardAnswer::facet_values)?;
                Ok(ShardAnswer::Facets(summed(values)))
            }
            ShardRequest::LoadedShards => Err(unexpected()),
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

    pub(super) fn facet_values(self) -> Result<Vec<FacetValue>> {
        match self {
            ShardAnswer::Facets(values) => Ok(values),
            _ => Err(unexpected()),
        }
    }

    /// The number of rows, values or counts.
    pub(super) fn row_count(&self) -> usize {
        match self {
            ShardAnswer::Rows(rows) => rows.len(),
            ShardAnswer::Count(_) => 1,
            ShardAnswer::Facets(values) => values.len(),
            ShardAnswer::LoadedShards(held) => held.len(),
        }
    }

    /// Appends the bytes to a message.
    pub(super) fn encode(&self, output: &mut Vec<u8>) {
        match self {
            ShardAnswer::Rows(rows) => {
                output.reserve(rows.iter().map(|row| OVERHEAD + row.bytes.len()).sum());
                output.push(ROWS);
                for row in rows {
                    output.extend(row.id.to_le_bytes());
                    push_text(output, &row.bytes);
                }
            }
            ShardAnswer::Count(count) => {
                output.push(COUNT);
                output.extend(count.to_le_bytes());
            }
            ShardAnswer::Facets(values) => {
                output.push(FACETS);
                for value in values {
                    output.push(value.facet);
                    output.extend(value.count.to_le_bytes());
                    push_text(output, value.label.as_bytes());
                }
            }
            ShardAnswer::LoadedShards(held) => {
                output.push(LOADED);
                for (generation, shards) in held {
                    output.extend(generation.to_le_bytes());
                    output.extend((shards.len() as u32).to_le_bytes());
                    output.extend(shards.iter().flat_map(|shard| shard.to_le_bytes()));
                }
            }
        }
    }

    /// Decodes an answer. Rows share the bytes.
    pub(super) fn decode(bytes: Bytes) -> Result<ShardAnswer> {
        let mut reader = AnswerReader(bytes);
        match reader.number::<1>()? {
            [ROWS] => Ok(ShardAnswer::Rows(reader.repeated(AnswerReader::row)?)),
            [COUNT] => {
                let count = u64::from_le_bytes(reader.number()?);
                if reader.0.is_empty() {
                    Ok(ShardAnswer::Count(count))
                } else {
                    Err(malformed())
                }
            }
            [FACETS] => Ok(ShardAnswer::Facets(
                reader.repeated(AnswerReader::facet_value)?,
            )),
            [LOADED] => {
                let held = reader.repeated(AnswerReader::generation)?;
                Ok(ShardAnswer::LoadedShards(held.into_iter().collect()))
            }
            _ => Err(malformed()),
        }
    }
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

/// Adds up values with equal labels. Labels that differ only in spelling are left to [`facets_of`], which
/// folds each label.
fn summed(values: Vec<FacetValue>) -> Vec<FacetValue> {
    let mut sums: HashMap<(u8, String), u64> = HashMap::with_capacity(values.len());
    for value in values {
        *sums.entry((value.facet, value.label)).or_default() += value.count;
    }
    let value = |((facet, label), count)| FacetValue {
        facet,
        label,
        count,
    };
    sums.into_iter().map(value).collect()
}

/// Adds up values. Labels with the same key are one value.
pub(super) fn facets_of(values: Vec<FacetValue>) -> Facets {
    let mut lists: [Vec<(String, u64)>; Facet::ALL.len()] = Default::default();
    for value in values {
        if let Some(list) = lists.get_mut(usize::from(value.facet)) {
            list.push((value.label, value.count));
        }
    }
    let mut facets = Facets::default();
    for (facet, list) in Facet::ALL.into_iter().zip(lists) {
        facets.set(facet, list);
    }
    facets
}

/// The values of all lists.
pub(super) fn values_of(facets: &Facets) -> Vec<FacetValue> {
    let values = Facet::ALL.into_iter().flat_map(|facet| {
        let values = facets.values(facet).iter();
        values.map(move |value| FacetValue {
            facet: facet as u8,
            label: value.label().to_owned(),
            count: value.count(),
        })
    });
    values.collect()
}

fn push_text(output: &mut Vec<u8>, text: &[u8]) {
    output.extend((text.len() as u32).to_le_bytes());
    output.extend_from_slice(text);
}

/// The remaining bytes of an answer.
struct AnswerReader(Bytes);

impl AnswerReader {
    /// Reads items until the end. Terminates because each item has at least one byte.
    fn repeated<T>(&mut self, item: impl Fn(&mut AnswerReader) -> Result<T>) -> Result<Vec<T>> {
        let mut items = Vec::new();
        while !self.0.is_empty() {
            items.push(item(self)?);
        }
        Ok(items)
    }

    fn row(&mut self) -> Result<AnswerRow> {
        Ok(AnswerRow {
            id: u64::from_le_bytes(self.number()?),
            bytes: self.text()?,
        })
    }

    fn facet_value(&mut self) -> Result<FacetValue> {
        let [facet] = self.number()?;
        let count = u64::from_le_bytes(self.number()?);
        let label = String::from_utf8(self.text()?.into());
        Ok(FacetValue {
            facet,
            label: label.map_err(|_| malformed())?,
            count,
        })
    }

    fn generation(&mut self) -> Result<(u64, Vec<u32>)> {
        let generation = u64::from_le_bytes(self.number()?);
        let count = u32::from_le_bytes(self.number()?) as usize;
        let bytes = self.bytes(count.saturating_mul(size_of::<u32>()))?;
        let shards = bytes.as_chunks::<{ size_of::<u32>() }>().0.iter();
        let shards = shards.map(|&bytes| u32::from_le_bytes(bytes)).collect();
        Ok((generation, shards))
    }

    fn text(&mut self) -> Result<Bytes> {
        let length = u32::from_le_bytes(self.number()?);
        self.bytes(length as usize)
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.0.first_chunk().copied().ok_or_else(malformed)?;
        let _ = self.0.split_to(N);
        Ok(bytes)
    }

    fn bytes(&mut self, length: usize) -> Result<Bytes> {
        if length > self.0.len() {
            return Err(malformed());
        }
        Ok(self.0.split_to(length))
    }
}

fn malformed() -> Error {
    Error::corrupt("a node returned a malformed answer")
}

fn unexpected() -> Error {
    Error::corrupt("a node answered a different question")
}

#[cfg(test)]
mod tests;
