//! The table `companies`.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::{
    ArrayRef, Date32Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray,
    TimestampMicrosecondArray, UInt64Array,
};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{Result, Statistics};
use datafusion::datasource::TableType;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use signaldex::{CompanyProfile, Snapshot};
use time::Date;

use crate::columns::{
    COMPANY_COLUMNS, CompanyColumn, CompanySource, companies_schema, microseconds, projected,
};
use crate::conditions::slugs_of;
use crate::elsewhere::{counts_elsewhere, rows_without_columns, write_names};
use crate::error::of_corpus;
use crate::leaf::{leaf_methods, properties_of, stream_of};
use crate::shard_scan::{ScanOutput, ShardScan};
use crate::snapshot_set::SnapshotSet;

/// Companies of a batch, whose records have long texts.
const BATCH_COMPANIES: usize = 2048;

/// The live companies of some snapshots, such as the shards of one corpus, with a summary of their signals.
///
/// ```
/// use std::sync::Arc;
///
/// use datafusion::prelude::SessionContext;
/// use signaldex::sample;
/// use signaldex_sql::CompaniesTable;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let context = SessionContext::new();
/// let table = CompaniesTable::new(vec![sample::index()?.snapshot()]);
/// context.register_table("companies", Arc::new(table))?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct CompaniesTable {
    corpus: Arc<SnapshotSet>,
    schema: SchemaRef,
}

impl CompaniesTable {
    /// A table of snapshots of which no two have a company in common.
    pub fn new(snapshots: Vec<Arc<Snapshot>>) -> CompaniesTable {
        CompaniesTable::over(Arc::new(SnapshotSet::of_companies(snapshots)))
    }

    pub(crate) fn over(corpus: Arc<SnapshotSet>) -> CompaniesTable {
        CompaniesTable {
            corpus,
            schema: companies_schema(),
        }
    }
}

#[async_trait]
impl TableProvider for CompaniesTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| match slugs_of(filter, "slug") {
            Some(_) => TableProviderFilterPushDown::Exact,
            None => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(support).collect())
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut slugs: Option<BTreeSet<String>> = None;
        for filter in filters {
            if let Some(of_filter) = slugs_of(filter, "slug") {
                slugs = Some(match slugs {
                    Some(slugs) => &slugs & &of_filter,
                    None => of_filter,
                });
            }
        }
        let all: Vec<usize> = (0..COMPANY_COLUMNS.len()).collect();
        let columns = projection.unwrap_or(&all);
        let scan = CompaniesScan::new(Arc::clone(&self.corpus), slugs, columns)?;
        Ok(Arc::new(scan.limited(limit).with_count_elsewhere().await?))
    }
}

/// Reads columns of companies: those of this process in the first partition, those of each other node in one of its own.
#[derive(Clone)]
pub(crate) struct CompaniesScan {
    corpus: Arc<SnapshotSet>,
    /// The companies that are looked up; all if there are none.
    slugs: Option<BTreeSet<String>>,
    columns: Vec<CompanyColumn>,
    /// The columns, by index.
    indices: Vec<usize>,
    schema: SchemaRef,
    limit: Option<usize>,
    /// How many there are at other nodes, where that is known.
    count_elsewhere: Option<u64>,
    properties: Arc<PlanProperties>,
}

impl CompaniesScan {
    /// A scan of some columns of the companies of these slugs, or of all.
    pub(crate) fn new(
        corpus: Arc<SnapshotSet>,
        slugs: Option<BTreeSet<String>>,
        columns: &[usize],
    ) -> Result<CompaniesScan> {
        let indices = columns.to_vec();
        let (columns, schema) = projected(&COMPANY_COLUMNS, &companies_schema(), Some(&indices))?;
        let equivalence = EquivalenceProperties::new(Arc::clone(&schema));
        let partitions = 1 + corpus.elsewhere.len();
        let count_elsewhere = corpus.elsewhere.is_empty().then_some(0);
        Ok(CompaniesScan {
            corpus,
            slugs,
            columns,
            indices,
            schema,
            limit: None,
            count_elsewhere,
            properties: properties_of(equivalence, partitions, EmissionType::Incremental),
        })
    }

    /// The same scan with a limit for the rows of each partition.
    pub(crate) fn limited(self, limit: Option<usize>) -> CompaniesScan {
        CompaniesScan { limit, ..self }
    }

    /// Asks other nodes for their numbers of companies where no column is wanted.
    async fn with_count_elsewhere(mut self) -> Result<CompaniesScan> {
        if self.count_elsewhere.is_none() && self.columns.is_empty() && self.limit.is_none() {
            let scan = self.asked(ScanOutput::CompanyCount);
            let counts = counts_elsewhere(&self.corpus, &scan);
            self.count_elsewhere = Some(counts.await?.total());
        }
        Ok(self)
    }

    /// What another node is asked.
    fn asked(&self, output: ScanOutput) -> ShardScan {
        ShardScan {
            output,
            conditions: Vec::new(),
            slugs: self.slugs.clone(),
            limit: self.limit,
            as_of: self.corpus.as_of,
        }
    }

    /// The batches of the companies of this process.
    pub(crate) fn batches(self) -> impl Iterator<Item = Result<RecordBatch>> + Send + use<> {
        CompanyBatches {
            snapshot: 0,
            slugs: None,
            remaining: self.limit.unwrap_or(usize::MAX),
            scan: self,
        }
    }

    /// How many companies there are in this process.
    pub(crate) fn counted(&self) -> Result<u64> {
        if self.slugs.is_some() {
            let rows = self
                .clone()
                .batches()
                .map(|batch| Ok(batch?.num_rows() as u64));
            return rows.sum();
        }
        let counts = self.corpus.snapshots.iter();
        let counts = counts.map(|snapshot| snapshot.company_count());
        counts.sum::<signaldex::Result<u64>>().map_err(of_corpus)
    }
}

impl fmt::Debug for CompaniesScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_as(DisplayFormatType::Default, f)
    }
}

impl DisplayAs for CompaniesScan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.columns.iter().map(|column| column.name).collect();
        write!(f, "CompaniesScan: columns=[{}]", names.join(", "))?;
        if let Some(slugs) = &self.slugs {
            write!(f, ", slugs={slugs:?}")?;
        }
        write_names(&self.corpus, f)?;
        match self.limit {
            Some(limit) => write!(f, ", limit={limit}"),
            None => Ok(()),
        }
    }
}

impl ExecutionPlan for CompaniesScan {
    leaf_methods!("CompaniesScan");

    fn execute(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let Some(shards) = partition.checked_sub(1) else {
            return Ok(stream_of(&self.schema, self.clone().batches()));
        };
        let shards = Arc::clone(&self.corpus.elsewhere[shards]);
        Ok(if self.columns.is_empty() {
            let counts = self.asked(ScanOutput::CompanyCount);
            rows_without_columns(&shards, &counts, &self.schema, self.limit)
        } else {
            shards.rows(&self.asked(ScanOutput::Companies(self.indices.clone())))
        })
    }

    fn partition_statistics(&self, partition: Option<usize>) -> Result<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.schema);
        let is_whole = self.corpus.elsewhere.is_empty() || partition.is_none();
        if self.slugs.is_none()
            && self.limit.is_none()
            && is_whole
            && let Some(elsewhere) = self.count_elsewhere
            && let Ok(total) = usize::try_from(self.counted()? + elsewhere)
        {
            statistics.num_rows = Precision::Exact(total);
        }
        Ok(Arc::new(statistics))
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        let scan = self.clone();
        Some(Arc::new(CompaniesScan { limit, ..scan }))
    }

    fn fetch(&self) -> Option<usize> {
        self.limit
    }
}

/// The batches of companies, snapshot by snapshot.
struct CompanyBatches {
    scan: CompaniesScan,
    snapshot: usize,
    /// The slugs of the current snapshot that are left, with those that are no longer live.
    slugs: Option<std::vec::IntoIter<String>>,
    remaining: usize,
}

impl Iterator for CompanyBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        // Each iteration ends with a batch or goes on to the next snapshot.
        while self.remaining > 0 {
            let corpus = Arc::clone(&self.scan.corpus);
            let snapshot = corpus.snapshots.get(self.snapshot)?;
            let slugs = match self.slugs.take() {
                Some(slugs) => Ok(slugs),
                None => slugs_in(snapshot, self.scan.slugs.as_ref()),
            };
            let mut slugs = match slugs {
                Ok(slugs) => slugs,
                Err(error) => return self.failed(error),
            };
            let read = self.read(snapshot, &mut slugs);
            if slugs.len() == 0 {
                self.snapshot += 1;
            } else {
                self.slugs = Some(slugs);
            }
            match read {
                Ok(found) if found.is_empty() => {}
                Ok(found) => {
                    self.remaining -= found.len();
                    return Some(self.scan.batch(&found));
                }
                Err(error) => return self.failed(error),
            }
        }
        None
    }
}

impl CompanyBatches {
    fn failed(&mut self, error: signaldex::Error) -> Option<Result<RecordBatch>> {
        self.remaining = 0;
        Some(Err(of_corpus(error)))
    }

    fn read<'s>(
        &self,
        snapshot: &'s Snapshot,
        slugs: &mut std::vec::IntoIter<String>,
    ) -> signaldex::Result<Vec<CompanyProfile<'s>>> {
        let most = BATCH_COMPANIES.min(self.remaining);
        let mut found = Vec::new();
        while found.len() < most {
            let Some(slug) = slugs.next() else {
                break;
            };
            found.extend(snapshot.company(&slug)?);
        }
        Ok(found)
    }
}

/// The slugs to look up in a snapshot, ascending.
fn slugs_in(
    snapshot: &Snapshot,
    wanted: Option<&BTreeSet<String>>,
) -> signaldex::Result<std::vec::IntoIter<String>> {
    let mut slugs = BTreeSet::new();
    match wanted {
        Some(wanted) => slugs.extend(wanted.iter().map(String::as_str)),
        None => {
            for segment in snapshot.segments() {
                for company in 0..segment.company_count() {
                    slugs.insert(segment.company_slug(company)?);
                }
            }
        }
    }
    let slugs: Vec<String> = slugs.into_iter().map(str::to_owned).collect();
    Ok(slugs.into_iter())
}

impl CompaniesScan {
    fn batch(&self, found: &[CompanyProfile<'_>]) -> Result<RecordBatch> {
        let array = |column: &CompanyColumn| -> ArrayRef {
            let rows = found.iter();
            match column.source {
                CompanySource::Text(text) => Arc::new(rows.map(text).collect::<StringArray>()),
                CompanySource::Number(number) => Arc::new(rows.map(number).collect::<Int64Array>()),
                CompanySource::SignalCount => {
                    let counts = rows.map(|found| found.signal_count);
                    Arc::new(UInt64Array::from_iter_values(counts))
                }
                CompanySource::LatestSignalDate => {
                    let days = rows.map(|found| found.latest_signal_date.map(days_since_1970));
                    Arc::new(days.collect::<Date32Array>())
                }
                CompanySource::UpdatedAt => {
                    let instants = rows.map(|found| found.company.updated_at.map(microseconds));
                    let instants: TimestampMicrosecondArray = instants.collect();
                    Arc::new(instants.with_timezone("UTC"))
                }
            }
        };
        let arrays = self.columns.iter().map(array).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(found.len()));
        let schema = Arc::clone(&self.schema);
        Ok(RecordBatch::try_new_with_options(schema, arrays, &options)?)
    }
}

fn days_since_1970(date: Date) -> i32 {
    date.to_julian_day() - Date::from_ordinal_date(1970, 1).map_or(0, Date::to_julian_day)
}
