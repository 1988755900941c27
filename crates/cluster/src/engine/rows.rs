//! Answers as rows of a batch: one column, in which each row is the whole answer to a question. A batch of many columns costs
//! more than a count.
//!
//! ```text
//! answer   question, status, kind of its items, its items; or question, status and the reason of a refusal
//! item     number, value, facet, length of its bytes, its bytes
//!
//! kind                   number                 value      facet              bytes
//! 0 row                  the signal's id        its bits                      its JSON, or nothing
//! 1 count                the count
//! 2 value of a facet     its count                         the facet's index  its label
//! 4 change               the commit of its step            0                  the signal of its step, then its JSON
//! 4 with its origin      the same               added in   255                the same, its signal and commit, its JSON
//! 4 end of changes       the same                          1 to 7             the same, without JSON
//! 5 fact for hints                                                            its line
//! 6 aggregates           1 if there are too many                              their message
//! 7 company              the bytes of its slug  its value  1 if it has one    its slug, then its JSON, or nothing
//! ```
//!
//! Status, kind and facet are bytes, all other numbers varints.

use std::sync::{Arc, LazyLock};

use axum::body::Bytes;
use datafusion::arrow::array::{AsArray, BinaryArray, RecordBatch};
use datafusion::arrow::buffer::{Buffer, OffsetBuffer};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{DataFusionError, Result as EngineResult, exec_datafusion_err};
use prost::Message;
use prost::bytes::Buf;
use prost::encoding::{decode_varint, encode_varint};

use crate::aggregates::{AggregatesPart, PartialMessage};
use crate::answer::{
    AnswerRow, COUNT_MAX, ChangeOrigin, FacetValue, FoundChanges, ShardAnswer, ShardChange,
};
use crate::companies::CompanyRow;
use crate::worker::{ReplyStatus, WorkerRefusal};
use signaldex::query::CompanyKey;
use signaldex::{PositionError, SignalId};

/// The column of answers.
pub(super) static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let answer = Field::new("answer", DataType::Binary, false);
    Arc::new(Schema::new(vec![answer]))
});

const ROW: u8 = 0;
const COUNT: u8 = 1;
const FACET: u8 = 2;
const CHANGE: u8 = 4;
const HINT: u8 = 5;
const AGGREGATES: u8 = 6;
const COMPANY: u8 = 7;

/// The facet of a change with its origin.
const WITH_ORIGIN: u8 = u8::MAX;

/// What the last row of changes says: that there are more, or none, or why there are no changes.
const CHANGES_END: [Result<bool, PositionError>; 7] = [
    Ok(false),
    Ok(true),
    Err(PositionError::OtherIndex),
    Err(PositionError::Expired),
    Err(PositionError::Diverged),
    Err(PositionError::Ahead),
    Err(PositionError::OtherKeyFilter),
];

/// The outcome of a question at a worker.
pub(super) type Reply = Result<ShardAnswer, WorkerRefusal>;

/// Several answers.
#[derive(Default)]
pub(super) struct AnswerRows {
    bytes: Vec<u8>,
    /// Where each answer ends.
    ends: Vec<usize>,
}

/// A part of an answer.
struct AnswerItem {
    number: u64,
    value: u64,
    facet: u8,
    bytes: Bytes,
}

impl AnswerRows {
    /// Adds the answer to a question.
    pub(super) fn push(&mut self, question: u64, reply: &Reply) {
        encode_varint(question, &mut self.bytes);
        match reply {
            Ok(answer) => {
                self.bytes.push(ReplyStatus::Answer as u8);
                self.bytes.push(kind_of(answer));
                self.push_items(answer);
            }
            Err(refusal) => {
                self.bytes.push(refusal.status as u8);
                self.bytes.extend_from_slice(refusal.reason.as_bytes());
            }
        }
        self.ends.push(self.bytes.len());
    }

    fn push_items(&mut self, answer: &ShardAnswer) {
        match answer {
            ShardAnswer::Rows(rows) => {
                for row in rows {
                    self.push_item((row.id, row.value), 0, &[&row.bytes]);
                }
            }
            ShardAnswer::Count(count) => self.push_item((*count, 0), 0, &[]),
            ShardAnswer::Facets(values) => {
                for value in values {
                    self.push_item((value.count, 0), value.facet, &[&value.label]);
                }
            }
            ShardAnswer::Counters(counted) => {
                for (facet, label, count) in counted.values() {
                    self.push_item((count, 0), facet as u8, &[label.as_bytes()]);
                }
            }
            ShardAnswer::Hints(facts) => {
                for fact in facts.iter() {
                    self.push_item((0, 0), 0, &[fact.as_bytes()]);
                }
            }
            ShardAnswer::Aggregates(part) => {
                let message = part.message();
                let is_over = u64::from(message.is_none());
                let bytes = message.unwrap_or_default().encode_to_vec();
                self.push_item((is_over, 0), 0, &[&bytes]);
            }
            ShardAnswer::Companies(rows) => {
                for row in rows {
                    self.push_company(row);
                }
            }
            ShardAnswer::Changes(found) => self.push_changes(found),
        }
    }

    fn push_company(&mut self, CompanyRow { key, bytes }: &CompanyRow) {
        let slug = key.slug().as_bytes();
        let value = key.value().unwrap_or_default() as u64;
        let has_value = u8::from(key.value().is_some());
        self.push_item((slug.len() as u64, value), has_value, &[slug, bytes]);
    }

    /// Adds changes, and after them an item about their end.
    fn push_changes(&mut self, found: &Result<FoundChanges, PositionError>) {
        let mut push = |(commit, id): (u64, u64), (facet, added): (u8, u64), rest: [&[u8]; 3]| {
            let [a, b, c] = rest;
            self.push_item((commit, added), facet, &[&id.to_le_bytes(), a, b, c]);
        };
        for change in found.iter().flat_map(|found| &found.changes) {
            match change.origin {
                None => push(change.step, (0, 0), [&[], &[], &change.item]),
                Some(ChangeOrigin {
                    signal,
                    commit,
                    added,
                }) => {
                    let [signal, commit] = [signal.get(), commit].map(u64::to_le_bytes);
                    let rest = [&signal[..], &commit, &change.item];
                    push(change.step, (WITH_ORIGIN, added), rest);
                }
            }
        }
        let (step, end) = match found {
            Ok(found) => (found.step, Ok(found.is_last)),
            Err(error) => ((0, 0), Err(*error)),
        };
        let number = CHANGES_END.iter().position(|known| *known == end);
        // A reason of a later release of the library is told as the nearest: copy everything again.
        push(step, (1 + number.unwrap_or(2) as u8, 0), [&[]; 3]);
    }

    fn push_item(&mut self, (number, value): (u64, u64), facet: u8, parts: &[&[u8]]) {
        encode_varint(number, &mut self.bytes);
        encode_varint(value, &mut self.bytes);
        self.bytes.push(facet);
        let length = parts.iter().map(|part| part.len()).sum::<usize>();
        encode_varint(length as u64, &mut self.bytes);
        parts
            .iter()
            .for_each(|part| self.bytes.extend_from_slice(part));
    }

    /// The answers as a batch.
    ///
    /// # Errors
    /// They have more than 2 GiB.
    pub(super) fn batch(self) -> EngineResult<RecordBatch> {
        let offset = |end: usize| i32::try_from(end);
        let offsets = [Ok(0)].into_iter().chain(self.ends.into_iter().map(offset));
        let offsets = offsets.collect::<Result<Vec<i32>, _>>();
        let offsets = offsets.map_err(|_| exec_datafusion_err!("the answers are too long"))?;
        let offsets = OffsetBuffer::new(offsets.into());
        let answers = BinaryArray::try_new(offsets, Buffer::from_vec(self.bytes), None)?;
        let schema = Arc::clone(&SCHEMA);
        Ok(RecordBatch::try_new(schema, vec![Arc::new(answers)])?)
    }
}

fn kind_of(answer: &ShardAnswer) -> u8 {
    match answer {
        ShardAnswer::Rows(_) => ROW,
        ShardAnswer::Count(_) => COUNT,
        ShardAnswer::Facets(_) | ShardAnswer::Counters(_) => FACET,
        ShardAnswer::Hints(_) => HINT,
        ShardAnswer::Aggregates(_) => AGGREGATES,
        ShardAnswer::Companies(_) => COMPANY,
        ShardAnswer::Changes(_) => CHANGE,
    }
}

/// A buffer of a batch, for items that outlive the batch.
struct SharedBytes(Buffer);

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

/// Calls `each` with the question and the answer of each that a batch has.
///
/// # Errors
/// The batch has another schema, or a malformed answer.
pub(super) fn replies_of(
    batch: &RecordBatch,
    mut each: impl FnMut(u64, Reply),
) -> EngineResult<()> {
    if batch.schema_ref().fields() != SCHEMA.fields() {
        return Err(malformed());
    }
    let column = batch.column(0).as_binary::<i32>();
    // Items share the buffer of the batch.
    let all = Bytes::from_owner(SharedBytes(column.values().clone()));
    for ends in column.value_offsets().windows(2) {
        let answer = all.slice(ends[0] as usize..ends[1] as usize);
        let (question, reply) = read_answer(answer).ok_or_else(malformed)?;
        each(question, reply);
    }
    Ok(())
}

/// The question and its answer.
fn read_answer(mut answer: Bytes) -> Option<(u64, Reply)> {
    let question = decode_varint(&mut answer).ok()?;
    let status = ReplyStatus::of(answer.try_get_u8().ok()?)?;
    if status != ReplyStatus::Answer {
        let reason = String::from_utf8_lossy(&answer).into_owned();
        return Some((question, Err(WorkerRefusal { status, reason })));
    }
    let kind = answer.try_get_u8().ok()?;
    let mut items = Vec::new();
    // Each turn takes at least four bytes.
    while !answer.is_empty() {
        items.push(AnswerItem::read(&mut answer)?);
    }
    Some((question, Ok(answer_of(kind, items)?)))
}

impl AnswerItem {
    fn read(answer: &mut Bytes) -> Option<AnswerItem> {
        let number = decode_varint(answer).ok()?;
        let value = decode_varint(answer).ok()?;
        let facet = answer.try_get_u8().ok()?;
        let length = usize::try_from(decode_varint(answer).ok()?).ok()?;
        Some(AnswerItem {
            number,
            value,
            facet,
            bytes: (length <= answer.len()).then(|| answer.split_to(length))?,
        })
    }
}

/// The answer of items of a kind; `None` where they are malformed.
fn answer_of(kind: u8, items: Vec<AnswerItem>) -> Option<ShardAnswer> {
    let lone = || <[&AnswerItem; 1]>::try_from(items.iter().collect::<Vec<_>>()).ok();
    Some(match kind {
        ROW => ShardAnswer::Rows(items.into_iter().map(row).collect()),
        COUNT => {
            let [item] = lone()?;
            ShardAnswer::Count(count(item.number)?)
        }
        AGGREGATES => {
            let [item] = lone()?;
            ShardAnswer::Aggregates(match item.number {
                0 => AggregatesPart::Sent(PartialMessage::decode(&item.bytes[..]).ok()?),
                1 => AggregatesPart::TooManyGroups,
                _ => return None,
            })
        }
        FACET => ShardAnswer::Facets(items.into_iter().map(facet_value).collect::<Option<_>>()?),
        HINT => {
            let fact = |item: AnswerItem| Some(std::str::from_utf8(&item.bytes).ok()?.to_owned());
            ShardAnswer::Hints(items.into_iter().map(fact).collect::<Option<_>>()?)
        }
        COMPANY => ShardAnswer::Companies(items.iter().map(company_row).collect::<Option<_>>()?),
        CHANGE => ShardAnswer::Changes(changes(items)?),
        _ => return None,
    })
}

fn row(item: AnswerItem) -> AnswerRow {
    AnswerRow {
        id: item.number,
        value: item.value,
        bytes: item.bytes,
    }
}

fn facet_value(item: AnswerItem) -> Option<FacetValue> {
    std::str::from_utf8(&item.bytes).ok()?;
    Some(FacetValue {
        facet: item.facet,
        label: item.bytes,
        count: count(item.number)?,
    })
}

fn changes(items: Vec<AnswerItem>) -> Option<Result<FoundChanges, PositionError>> {
    let end = items.last()?.facet.checked_sub(1)?;
    let end = CHANGES_END.get(usize::from(end))?;
    let changes = items.into_iter().map(change);
    let mut changes = changes.collect::<Option<Vec<ShardChange>>>()?;
    let step = changes.pop()?.step;
    Some(end.map(|is_last| FoundChanges {
        changes,
        step,
        is_last,
    }))
}

/// The change of an item.
fn change(item: AnswerItem) -> Option<ShardChange> {
    let mut rest = item.bytes;
    let mut number = || rest.try_get_u64_le().ok();
    let step = (item.number, number()?);
    let origin = match item.facet {
        WITH_ORIGIN => Some(ChangeOrigin {
            signal: SignalId::new(number()?)?,
            commit: number()?,
            added: item.value,
        }),
        _ => None,
    };
    Some(ShardChange {
        step,
        origin,
        item: rest,
    })
}

/// The company of an item.
fn company_row(item: &AnswerItem) -> Option<CompanyRow> {
    let (slug, _) = item
        .bytes
        .split_at_checked(usize::try_from(item.number).ok()?)?;
    let value = match item.facet {
        0 => None,
        1 => Some(item.value as i64),
        _ => return None,
    };
    Some(CompanyRow {
        key: CompanyKey::new(value, std::str::from_utf8(slug).ok()?),
        bytes: item.bytes.slice(slug.len()..),
    })
}

fn count(number: u64) -> Option<u64> {
    (number <= COUNT_MAX).then_some(number)
}

fn malformed() -> DataFusionError {
    exec_datafusion_err!("a node returned a malformed answer")
}

#[cfg(test)]
mod tests;
