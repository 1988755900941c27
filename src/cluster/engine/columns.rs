//! Answers as columns and back: three kinds of rows, each with a schema of its own.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{
    ArrayRef, AsArray, BinaryArray, RecordBatch, StringArray, UInt8Array, UInt64Array,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt8Type, UInt64Type};
use datafusion::common::{Result, exec_datafusion_err};

use crate::cluster::question::{Answer, Kind, Row};

pub(super) const ID: &str = "id";
pub(super) const ITEM: &str = "item";
pub(super) const FACET: &str = "facet";
pub(super) const VALUE: &str = "value";
pub(super) const COUNT: &str = "count";

static ROWS: LazyLock<SchemaRef> =
    LazyLock::new(|| schema(&[(ID, DataType::UInt64), (ITEM, DataType::Binary)]));
static COUNTS: LazyLock<SchemaRef> = LazyLock::new(|| schema(&[(COUNT, DataType::UInt64)]));
static FACETS: LazyLock<SchemaRef> = LazyLock::new(|| {
    let fields = [
        (FACET, DataType::UInt8),
        (VALUE, DataType::Utf8),
        (COUNT, DataType::UInt64),
    ];
    schema(&fields)
});

fn schema(fields: &[(&str, DataType)]) -> SchemaRef {
    let fields = fields.iter();
    let fields = fields.map(|(name, kind)| Field::new(*name, kind.clone(), false));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// The schema of what a leaf answers.
pub(super) fn schema_of(kind: Kind) -> SchemaRef {
    Arc::clone(match kind {
        Kind::Rows => &*ROWS,
        Kind::Count => &*COUNTS,
        Kind::Facets => &*FACETS,
    })
}

/// What a shard has answered, as columns.
pub(super) fn batch_of(answer: Answer) -> Result<RecordBatch> {
    let (kind, columns): (Kind, Vec<ArrayRef>) = match answer {
        Answer::Rows(rows) => {
            let ids = UInt64Array::from_iter_values(rows.iter().map(|row| row.id));
            let items = BinaryArray::from_iter_values(rows.iter().map(|row| &row.bytes));
            (Kind::Rows, vec![Arc::new(ids), Arc::new(items)])
        }
        Answer::Count(count) => {
            let counts = UInt64Array::from_iter_values([count]);
            (Kind::Count, vec![Arc::new(counts)])
        }
        Answer::Facets(values) => {
            let facets = UInt8Array::from_iter_values(values.iter().map(|value| value.0));
            let labels = StringArray::from_iter_values(values.iter().map(|value| &value.1));
            let counts = UInt64Array::from_iter_values(values.iter().map(|value| value.2));
            let columns: Vec<ArrayRef> = vec![Arc::new(facets), Arc::new(labels), Arc::new(counts)];
            (Kind::Facets, columns)
        }
    };
    Ok(RecordBatch::try_new(schema_of(kind), columns)?)
}

/// What all shards have answered, merged.
pub(super) fn answer_of(kind: Kind, batches: Vec<RecordBatch>) -> Result<Answer> {
    Ok(match kind {
        Kind::Rows => {
            let mut rows = Vec::with_capacity(batches.iter().map(RecordBatch::num_rows).sum());
            for batch in &batches {
                let ids = numbers(batch, 0)?;
                let items = column(batch, 1)?
                    .as_binary_opt::<i32>()
                    .ok_or_else(unexpected)?;
                let row = |(&id, item): (&u64, Option<&[u8]>)| Row {
                    id,
                    bytes: item.unwrap_or_default().to_vec(),
                };
                rows.extend(ids.values().iter().zip(items).map(row));
            }
            Answer::Rows(rows)
        }
        Kind::Count => {
            let mut count = 0;
            for batch in &batches {
                count += numbers(batch, 0)?.iter().flatten().sum::<u64>();
            }
            Answer::Count(count)
        }
        Kind::Facets => {
            let mut values: HashMap<(u8, String), u64> = HashMap::new();
            for batch in &batches {
                let facets = column(batch, 0)?;
                let facets = facets
                    .as_primitive_opt::<UInt8Type>()
                    .ok_or_else(unexpected)?;
                let labels = column(batch, 1)?
                    .as_string_opt::<i32>()
                    .ok_or_else(unexpected)?;
                let counts = numbers(batch, 2)?;
                for ((facet, label), count) in facets.iter().zip(labels).zip(counts) {
                    let value = (
                        facet.unwrap_or_default(),
                        label.unwrap_or_default().to_owned(),
                    );
                    *values.entry(value).or_default() += count.unwrap_or_default();
                }
            }
            let values = values.into_iter();
            Answer::Facets(
                values
                    .map(|((facet, label), count)| (facet, label, count))
                    .collect(),
            )
        }
    })
}

fn numbers(batch: &RecordBatch, index: usize) -> Result<&UInt64Array> {
    let column = column(batch, index)?;
    column
        .as_primitive_opt::<UInt64Type>()
        .ok_or_else(unexpected)
}

fn column(batch: &RecordBatch, index: usize) -> Result<&ArrayRef> {
    batch.columns().get(index).ok_or_else(unexpected)
}

fn unexpected() -> datafusion::error::DataFusionError {
    exec_datafusion_err!("the nodes have answered with other columns than were asked for")
}
