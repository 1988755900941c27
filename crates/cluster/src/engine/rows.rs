//! Answers as rows of one schema.
//!
//! ```text
//! question  kind                 number                 value      facet              bytes
//! 17        0 row                the signal's id        its bits                      its JSON, or nothing
//! 17        1 count              the count
//! 17        2 value of a facet   its count                         the facet's index  its label
//! 17        4 change             the commit of its step            0                  the signal of its step, then its JSON
//! 17        4 end of changes     the same                          1 to 6             the same, without JSON
//! 17        5 fact for hints                                                          its line
//! 17        6 aggregates         1 if there are too many                                     their message
//! 17        7 company            the bytes of its slug  its value  1 if it has one   its slug, then its JSON, or nothing
//! 17        3 end of the answer  the kind of its rows              its status         the reason of a refusal
//! ```
//!
//! The rows of a question are contiguous, within one batch, and end with one of kind 3.

use std::sync::{Arc, LazyLock};

use axum::body::Bytes;
use datafusion::arrow::array::{AsArray, BinaryBuilder, RecordBatch, UInt8Array, UInt64Array};
use datafusion::arrow::buffer::Buffer;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt8Type, UInt64Type};
use datafusion::common::{DataFusionError, Result as EngineResult, exec_datafusion_err};
use prost::Message;

use crate::aggregates::{AggregatesPart, PartialMessage};
use crate::answer::{AnswerRow, COUNT_MAX, FacetValue, FoundChanges, ShardAnswer, ShardChange};
use crate::companies::CompanyRow;
use crate::worker::{ReplyStatus, WorkerRefusal};
use signaldex::PositionError;
use signaldex::query::CompanyKey;

/// The columns of answers.
pub(super) static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let column = |name: &str, of: DataType| Field::new(name, of, false);
    Arc::new(Schema::new(vec![
        column("question", DataType::UInt64),
        column("kind", DataType::UInt8),
        column("number", DataType::UInt64),
        column("value", DataType::UInt64),
        column("facet", DataType::UInt8),
        column("bytes", DataType::Binary),
    ]))
});

const ROW: u8 = 0;
const COUNT: u8 = 1;
const FACET: u8 = 2;
const END: u8 = 3;
const CHANGE: u8 = 4;
const HINT: u8 = 5;
const AGGREGATES: u8 = 6;
const COMPANY: u8 = 7;

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

/// The rows of several answers.
#[derive(Default)]
pub(super) struct AnswerRows {
    questions: Vec<u64>,
    kinds: Vec<u8>,
    numbers: Vec<u64>,
    values: Vec<u64>,
    facets: Vec<u8>,
    bytes: BinaryBuilder,
}

impl AnswerRows {
    /// Adds the answer to a question.
    pub(super) fn push(&mut self, question: u64, reply: &Reply) {
        match reply {
            Ok(answer) => {
                let kind = self.push_answer(question, answer);
                self.push_row(
                    question,
                    END,
                    (kind.into(), 0),
                    ReplyStatus::Answer as u8,
                    &[],
                );
            }
            Err(refusal) => {
                let (status, reason) = (refusal.status as u8, refusal.reason.as_bytes());
                self.push_row(question, END, (0, 0), status, reason);
            }
        }
    }

    /// Adds the rows of an answer. Returns their kind.
    fn push_answer(&mut self, question: u64, answer: &ShardAnswer) -> u8 {
        match answer {
            ShardAnswer::Rows(rows) => {
                for row in rows {
                    self.push_row(question, ROW, (row.id, row.value), 0, &row.bytes);
                }
                ROW
            }
            ShardAnswer::Count(count) => {
                self.push_row(question, COUNT, (*count, 0), 0, &[]);
                COUNT
            }
            ShardAnswer::Facets(values) => {
                for value in values {
                    let (count, facet) = (value.count, value.facet);
                    self.push_row(question, FACET, (count, 0), facet, &value.label);
                }
                FACET
            }
            ShardAnswer::Counters(counted) => {
                for (facet, label, count) in counted.values() {
                    self.push_row(question, FACET, (count, 0), facet as u8, label.as_bytes());
                }
                FACET
            }
            ShardAnswer::Hints(facts) => {
                for fact in facts.iter() {
                    self.push_row(question, HINT, (0, 0), 0, fact.as_bytes());
                }
                HINT
            }
            ShardAnswer::Aggregates(part) => {
                let message = part.message();
                let is_over = u64::from(message.is_none());
                let bytes = message.unwrap_or_default().encode_to_vec();
                self.push_row(question, AGGREGATES, (is_over, 0), 0, &bytes);
                AGGREGATES
            }
            ShardAnswer::Companies(rows) => {
                for row in rows {
                    self.push_company(question, row);
                }
                COMPANY
            }
            ShardAnswer::Changes(found) => {
                self.push_changes(question, found);
                CHANGE
            }
        }
    }

    fn push_company(&mut self, question: u64, CompanyRow { key, bytes }: &CompanyRow) {
        let slug = key.slug().as_bytes();
        let value = key.value().unwrap_or_default() as u64;
        let has_value = u8::from(key.value().is_some());
        let bytes = [slug, bytes].concat();
        let numbers = (slug.len() as u64, value);
        self.push_row(question, COMPANY, numbers, has_value, &bytes);
    }

    /// Adds changes, and after them a row about their end.
    fn push_changes(&mut self, question: u64, found: &Result<FoundChanges, PositionError>) {
        let mut push = |(commit, id): (u64, u64), facet: u8, item: &[u8]| {
            let bytes = [&id.to_le_bytes()[..], item].concat();
            self.push_row(question, CHANGE, (commit, 0), facet, &bytes);
        };
        for change in found.iter().flat_map(|found| &found.changes) {
            push(change.step, 0, &change.item);
        }
        let (step, end) = match found {
            Ok(found) => (found.step, Ok(found.is_last)),
            Err(error) => ((0, 0), Err(*error)),
        };
        let number = CHANGES_END.iter().position(|known| *known == end);
        // A reason of a later release of the library is told as the nearest: copy everything again.
        push(step, 1 + number.unwrap_or(2) as u8, &[]);
    }

    fn push_row(
        &mut self,
        question: u64,
        kind: u8,
        (number, value): (u64, u64),
        facet: u8,
        bytes: &[u8],
    ) {
        self.questions.push(question);
        self.kinds.push(kind);
        self.numbers.push(number);
        self.values.push(value);
        self.facets.push(facet);
        self.bytes.append_value(bytes);
    }

    /// The rows as a batch.
    pub(super) fn batch(mut self) -> EngineResult<RecordBatch> {
        let batch = RecordBatch::try_new(
            Arc::clone(&SCHEMA),
            vec![
                Arc::new(UInt64Array::from(self.questions)),
                Arc::new(UInt8Array::from(self.kinds)),
                Arc::new(UInt64Array::from(self.numbers)),
                Arc::new(UInt64Array::from(self.values)),
                Arc::new(UInt8Array::from(self.facets)),
                Arc::new(self.bytes.finish()),
            ],
        );
        Ok(batch?)
    }
}

/// A buffer of a batch, for rows that outlive the batch.
struct SharedBytes(Buffer);

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

/// Calls `each` with the question and the answer of each that a batch has.
///
/// # Errors
/// The batch has another schema, or an answer without an end.
pub(super) fn replies_of(
    batch: &RecordBatch,
    mut each: impl FnMut(u64, Reply),
) -> EngineResult<()> {
    if batch.schema_ref().fields() != SCHEMA.fields() {
        return Err(malformed());
    }
    let questions = batch.column(0).as_primitive::<UInt64Type>().values();
    let kinds = batch.column(1).as_primitive::<UInt8Type>().values();
    let mut begin = 0;
    // Each turn takes the rows of one question, at least one.
    while begin < questions.len() {
        let own = questions[begin..].iter().zip(&kinds[begin..]);
        let is_inner =
            |(question, kind): &(&u64, &u8)| **question == questions[begin] && **kind != END;
        let end = begin + own.take_while(is_inner).count();
        if questions.get(end) != Some(&questions[begin]) {
            return Err(malformed());
        }
        each(questions[begin], reply(batch, begin, end)?);
        begin = end + 1;
    }
    Ok(())
}

/// The answer of the rows from `begin`, whose end is at `end`.
fn reply(batch: &RecordBatch, begin: usize, end: usize) -> EngineResult<Reply> {
    let kinds = batch.column(1).as_primitive::<UInt8Type>().values();
    let numbers = batch.column(2).as_primitive::<UInt64Type>().values();
    let values = batch.column(3).as_primitive::<UInt64Type>().values();
    let facets = batch.column(4).as_primitive::<UInt8Type>().values();
    let column = batch.column(5).as_binary::<i32>();
    let status = ReplyStatus::of(facets[end]).ok_or_else(malformed)?;
    if status != ReplyStatus::Answer {
        let reason = String::from_utf8_lossy(column.value(end)).into_owned();
        return Ok(Err(WorkerRefusal { status, reason }));
    }
    // Rows share the buffer of the batch.
    let all = Bytes::from_owner(SharedBytes(column.values().clone()));
    let offsets = column.value_offsets();
    let bytes = |row: usize| all.slice(offsets[row] as usize..offsets[row + 1] as usize);
    let rows = begin..end;
    let kind = u8::try_from(numbers[end]).map_err(|_| malformed())?;
    if kinds[rows.clone()].iter().any(|other| *other != kind) {
        return Err(malformed());
    }
    Ok(Ok(match kind {
        ROW => ShardAnswer::Rows(
            rows.map(|row| AnswerRow {
                id: numbers[row],
                value: values[row],
                bytes: bytes(row),
            })
            .collect(),
        ),
        AGGREGATES if rows.len() == 1 => ShardAnswer::Aggregates(match numbers[begin] {
            0 => {
                let message = PartialMessage::decode(column.value(begin));
                AggregatesPart::Sent(message.map_err(|_| malformed())?)
            }
            1 => AggregatesPart::TooManyGroups,
            _ => return Err(malformed()),
        }),
        COUNT if rows.len() == 1 => ShardAnswer::Count(count(numbers[begin])?),
        FACET => {
            let value = |row: usize| {
                std::str::from_utf8(column.value(row)).map_err(|_| malformed())?;
                Ok(FacetValue {
                    facet: facets[row],
                    label: bytes(row),
                    count: count(numbers[row])?,
                })
            };
            ShardAnswer::Facets(rows.map(value).collect::<EngineResult<_>>()?)
        }
        HINT => {
            let fact = |row: usize| {
                let fact = std::str::from_utf8(column.value(row)).map_err(|_| malformed())?;
                Ok(fact.to_owned())
            };
            ShardAnswer::Hints(rows.map(fact).collect::<EngineResult<_>>()?)
        }
        COMPANY => {
            let company = |row: usize| {
                let key = (numbers[row], values[row], facets[row]);
                company_row(key, &bytes(row)).ok_or_else(malformed)
            };
            ShardAnswer::Companies(rows.map(company).collect::<EngineResult<_>>()?)
        }
        CHANGE => {
            let change = |row: usize| {
                let bytes = bytes(row);
                let (id, _) = bytes.split_first_chunk().ok_or_else(malformed)?;
                Ok(ShardChange {
                    step: (numbers[row], u64::from_le_bytes(*id)),
                    item: bytes.slice(id.len()..),
                })
            };
            let mut changes: Vec<ShardChange> =
                rows.clone().map(change).collect::<EngineResult<_>>()?;
            let last = changes.pop().ok_or_else(malformed)?;
            let end = usize::from(facets[end - 1]).checked_sub(1);
            let end = end
                .and_then(|end| CHANGES_END.get(end))
                .ok_or_else(malformed)?;
            ShardAnswer::Changes(end.map(|is_last| FoundChanges {
                changes,
                step: last.step,
                is_last,
            }))
        }
        _ => return Err(malformed()),
    }))
}

/// The company of a row, from its numbers and its bytes.
fn company_row((slug, value, has_value): (u64, u64, u8), bytes: &Bytes) -> Option<CompanyRow> {
    let (slug, _) = bytes.split_at_checked(usize::try_from(slug).ok()?)?;
    let value = match has_value {
        0 => None,
        1 => Some(value as i64),
        _ => return None,
    };
    Some(CompanyRow {
        key: CompanyKey::new(value, std::str::from_utf8(slug).ok()?),
        bytes: bytes.slice(slug.len()..),
    })
}

fn count(number: u64) -> EngineResult<u64> {
    if number > COUNT_MAX {
        return Err(malformed());
    }
    Ok(number)
}

fn malformed() -> DataFusionError {
    exec_datafusion_err!("a node returned a malformed answer")
}

#[cfg(test)]
mod tests;
