//! Batches of `signals`: rows that fulfil the conditions of a scan, and their columns as arrays.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, Date32Array, DictionaryArray, Float64Array, RecordBatch, RecordBatchOptions,
    StringArray, StringBuilder, TimestampMicrosecondBuilder, UInt32Array, UInt64Array,
    new_null_array,
};
use datafusion::arrow::datatypes::{DataType, SchemaRef, UInt32Type};
use datafusion::common::{HashMap, Result};
use signaldex::{Facet, RowBlock, SegmentColumns, Signal, SignalId};
use time::UtcDateTime;

use crate::columns::{SignalColumn, SignalSource, microseconds};
use crate::conditions::{Nullable, SqlCondition};
use crate::error::of_corpus;
use crate::leaf::RECORDS_PER_YIELD;
use crate::narrowing::Narrowed;
use crate::snapshot_set::SnapshotSet;

/// Rows of a batch.
const BATCH_ROWS: usize = 16_384;

/// The batches of a partition.
pub(crate) struct SignalBatches {
    corpus: Arc<SnapshotSet>,
    narrowed: Arc<Narrowed>,
    columns: Vec<SignalColumn>,
    schema: SchemaRef,
    segments: Vec<usize>,
    /// The index of the segment that is read.
    next: usize,
    /// The last id that was read of it.
    before: Option<SignalId>,
    /// The rows that may still be returned.
    remaining: usize,
}

impl Iterator for SignalBatches {
    type Item = Result<RecordBatch>;

    /// The next batch, which may be empty: a scan in which few rows fulfil the conditions has to let others run, too.
    fn next(&mut self) -> Option<Self::Item> {
        let number = *self.segments.get(self.next)?;
        if self.remaining == 0 {
            return None;
        }
        let batch = self.batch(number);
        if batch.is_err() {
            self.remaining = 0;
        }
        Some(batch)
    }
}

impl SignalBatches {
    pub(crate) fn new(
        corpus: Arc<SnapshotSet>,
        narrowed: Arc<Narrowed>,
        columns: Vec<SignalColumn>,
        schema: SchemaRef,
        segments: Vec<usize>,
        limit: Option<usize>,
    ) -> SignalBatches {
        SignalBatches {
            corpus,
            narrowed,
            columns,
            schema,
            segments,
            next: 0,
            before: None,
            remaining: limit.unwrap_or(usize::MAX),
        }
    }

    fn batch(&mut self, number: usize) -> Result<RecordBatch> {
        let (corpus, narrowed) = (Arc::clone(&self.corpus), Arc::clone(&self.narrowed));
        let (Some(segment), Some(ids)) = (corpus.segment(number), &narrowed.ids) else {
            self.next += 1;
            return Ok(RecordBatch::new_empty(Arc::clone(&self.schema)));
        };
        let wanted = if narrowed.residual.is_empty() {
            BATCH_ROWS.min(self.remaining)
        } else {
            BATCH_ROWS
        };
        let end = match self.before {
            Some(id) => Bound::Excluded(id),
            None => Bound::Included(*ids.end()),
        };
        let ids = (Bound::Included(*ids.start()), end);
        let found = segment.rows(&narrowed.filter, corpus.as_of, ids, wanted);
        let mut block = found.map_err(of_corpus)?;
        if block.len() < wanted {
            self.next += 1;
            self.before = None;
        } else {
            self.before = block.last_id().map_err(of_corpus)?;
        }
        for condition in &narrowed.residual {
            let keep = keeps(condition, &segment, &block).map_err(of_corpus)?;
            block.retain(|index| keep[index]);
        }
        let remaining = self.remaining;
        block.retain(|index| index < remaining);
        self.remaining -= block.len();
        self.columns_of(number, &segment, &block)
    }

    fn columns_of(
        &self,
        number: usize,
        segment: &SegmentColumns<'_>,
        block: &RowBlock<'_>,
    ) -> Result<RecordBatch> {
        let mut records = record_columns(&self.columns, block)?.into_iter();
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            arrays.push(match column.source {
                SignalSource::Text(_) | SignalSource::Instant(_) => match records.next() {
                    Some(array) => array,
                    None => new_null_array(&DataType::Utf8, block.len()),
                },
                SignalSource::Id => {
                    let ids = block.ids().map_err(of_corpus)?;
                    Arc::new(UInt64Array::from_iter_values(
                        ids.into_iter().map(SignalId::get),
                    ))
                }
                SignalSource::Date => {
                    Arc::new(block.days().map_err(of_corpus)?.collect::<Date32Array>())
                }
                SignalSource::Amount => Arc::new(
                    block
                        .amounts()
                        .map_err(of_corpus)?
                        .collect::<Float64Array>(),
                ),
                SignalSource::Facet(facet) => self.labels(number, facet, block)?,
                SignalSource::CompanySlug => {
                    of_company(segment, block, |company| segment.company_slug(company))?
                }
                SignalSource::CompanyName => {
                    of_company(segment, block, |company| segment.company_name(company))?
                }
                SignalSource::Query => {
                    let search = self.narrowed.search.as_deref();
                    Arc::new(StringArray::from(vec![search; block.len()]))
                }
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(block.len()));
        let schema = Arc::clone(&self.schema);
        Ok(RecordBatch::try_new_with_options(schema, arrays, &options)?)
    }

    /// The labels of a facet: with the dictionary of the corpus, or with the batch's own where it is smaller, because
    /// the engine hashes all values of a dictionary for each batch.
    fn labels(&self, number: usize, facet: Facet, block: &RowBlock<'_>) -> Result<ArrayRef> {
        let labels = self.corpus.labels(facet).map_err(of_corpus)?;
        let of_segment = &labels.by_segment[number];
        let codes = block.values(facet).map_err(of_corpus)?;
        let codes = codes.map(|value| value.map(|value| of_segment[value as usize]));
        let texts = &labels.labels;
        if texts.len() > block.len() {
            return own_dictionary(codes, block.len(), |code| Ok(texts.value(code as usize)));
        }
        let keys: UInt32Array = codes.collect();
        let array = DictionaryArray::<UInt32Type>::try_new(keys, Arc::clone(texts) as ArrayRef)?;
        Ok(Arc::new(array))
    }
}

/// A text of the company of each row.
fn of_company<'t>(
    segment: &SegmentColumns<'_>,
    block: &RowBlock<'_>,
    text: impl Fn(u32) -> signaldex::Result<&'t str>,
) -> Result<ArrayRef> {
    let companies = block.companies().map_err(of_corpus)?;
    let distinct_max = block.len().min(segment.company_count() as usize);
    own_dictionary(companies.map(Some), distinct_max, text)
}

/// Texts by number, with a dictionary of those that occur. At most `distinct_max` numbers do.
fn own_dictionary<'t>(
    numbers: impl Iterator<Item = Option<u32>>,
    distinct_max: usize,
    text: impl Fn(u32) -> signaldex::Result<&'t str>,
) -> Result<ArrayRef> {
    let mut by_number: HashMap<u32, u32> = HashMap::with_capacity(distinct_max);
    // Two companies may have one name.
    let mut by_text: HashMap<&str, u32> = HashMap::with_capacity(distinct_max);
    let mut texts: Vec<&str> = Vec::new();
    let mut keys: Vec<Option<u32>> = Vec::new();
    for number in numbers {
        let Some(number) = number else {
            keys.push(None);
            continue;
        };
        let key = match by_number.get(&number) {
            Some(&key) => key,
            None => {
                let text = text(number).map_err(of_corpus)?;
                let key = *by_text.entry(text).or_insert_with(|| {
                    texts.push(text);
                    texts.len() as u32 - 1
                });
                by_number.insert(number, key);
                key
            }
        };
        keys.push(Some(key));
    }
    let (keys, texts) = (UInt32Array::from(keys), StringArray::from(texts));
    let array = DictionaryArray::<UInt32Type>::try_new(keys, Arc::new(texts))?;
    Ok(Arc::new(array))
}

/// Builds a column of records.
enum RecordColumn {
    Text(for<'r> fn(&'r Signal<'_>) -> Option<&'r str>, StringBuilder),
    Instant(
        fn(&Signal<'_>) -> Option<UtcDateTime>,
        TimestampMicrosecondBuilder,
    ),
}

/// The columns that come from records, in the order of `columns`. Reads no record if there is none.
fn record_columns(columns: &[SignalColumn], block: &RowBlock<'_>) -> Result<Vec<ArrayRef>> {
    let builder = |column: &SignalColumn| match column.source {
        SignalSource::Text(text) => Some(RecordColumn::Text(text, StringBuilder::new())),
        SignalSource::Instant(instant) => {
            let builder = TimestampMicrosecondBuilder::with_capacity(block.len());
            let builder = builder.with_timezone("UTC");
            Some(RecordColumn::Instant(instant, builder))
        }
        _ => None,
    };
    let mut builders: Vec<RecordColumn> = columns.iter().filter_map(builder).collect();
    if builders.is_empty() {
        return Ok(Vec::new());
    }
    let mut visited = 0_usize;
    let read = block.visit_records(|signal| {
        visited += 1;
        if visited.is_multiple_of(RECORDS_PER_YIELD) {
            std::thread::yield_now();
        }
        for builder in &mut builders {
            match builder {
                RecordColumn::Text(text, builder) => builder.append_option(text(signal)),
                RecordColumn::Instant(instant, builder) => {
                    builder.append_option(instant(signal).map(microseconds));
                }
            }
        }
        ControlFlow::Continue(())
    });
    read.map_err(of_corpus)?;
    let finish = |builder| -> ArrayRef {
        match builder {
            RecordColumn::Text(_, mut builder) => Arc::new(builder.finish()),
            RecordColumn::Instant(_, mut builder) => Arc::new(builder.finish()),
        }
    };
    Ok(builders.into_iter().map(finish).collect())
}

/// For each row of a block, whether it fulfils a condition.
fn keeps(
    condition: &SqlCondition,
    segment: &SegmentColumns<'_>,
    block: &RowBlock<'_>,
) -> signaldex::Result<Vec<bool>> {
    Ok(match condition {
        // The filter finds no other rows, and ids are bounded.
        SqlCondition::Search(_) | SqlCondition::IdRange(..) => vec![true; block.len()],
        SqlCondition::Labels(facet, labels) => {
            let known = segment.labels(*facet)?;
            let wanted: Vec<bool> = known.map(|label| labels.contains(label)).collect();
            let values = block.values(*facet)?;
            values
                .map(|value| value.is_some_and(|value| wanted[value as usize]))
                .collect()
        }
        SqlCondition::Slugs(slugs) => {
            let mut keep = Vec::with_capacity(block.len());
            for company in block.companies()? {
                keep.push(slugs.contains(segment.company_slug(company)?));
            }
            keep
        }
        SqlCondition::Ids(ids) => {
            let found = block.ids()?.into_iter();
            found.map(|id| ids.contains(&id.get())).collect()
        }
        SqlCondition::Days(first, last) => {
            let days = block.days()?;
            days.map(|day| day.is_some_and(|day| (*first..=*last).contains(&day)))
                .collect()
        }
        SqlCondition::Amount(comparison, than) => {
            // As the engine compares floating-point numbers.
            let holds = |amount: f64| comparison.holds(amount.total_cmp(than));
            let amounts = block.amounts()?;
            amounts.map(|amount| amount.is_some_and(holds)).collect()
        }
        SqlCondition::HasValue(nullable, expected) => match nullable {
            Nullable::Facet(facet) => {
                let values = block.values(*facet)?;
                values.map(|value| value.is_some() == *expected).collect()
            }
            Nullable::Date => {
                let days = block.days()?;
                days.map(|day| day.is_some() == *expected).collect()
            }
            Nullable::Amount => {
                let amounts = block.amounts()?;
                amounts
                    .map(|amount| amount.is_some() == *expected)
                    .collect()
            }
        },
    })
}
