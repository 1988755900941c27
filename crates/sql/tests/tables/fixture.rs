//! Corpora to ask, and answers as rows of texts.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use signaldex::{Company, CompanyDeletion, Index, Signal, SignalId, Snapshot, sample};
use tokio::runtime::Runtime;

use datafusion::prelude::SessionContext;
use signaldex_sql::{CompaniesTable, Database, SignalsTable, SqlError, StatementLimits};

/// The snapshots of a corpus, with a name for messages.
pub(crate) type Corpora = Vec<(&'static str, Vec<Arc<Snapshot>>)>;

/// The sample as it is; with deletions, changes and several segments; and as three shards.
pub(crate) fn corpora() -> Corpora {
    let fresh = sample::index().expect("the sample");
    vec![
        ("fresh", vec![fresh.snapshot()]),
        ("changed", vec![changed().snapshot()]),
        ("shards", shards(&fresh.snapshot())),
    ]
}

/// The sample after three commits: labels in other spellings, names that two companies have, deletions.
fn changed() -> Index {
    let index = sample::index().expect("the sample");
    let snapshot = index.snapshot();
    let signals: Vec<Signal<'static>> = snapshot
        .scan()
        .map(|found| found.expect("a record").signal.into_owned())
        .collect();
    let companies: Vec<Company<'static>> = snapshot
        .scan_companies()
        .map(|company| company.expect("a record").into_owned())
        .collect();
    let mut writer = index.writer().expect("the only writer");
    for (number, company) in companies.iter().enumerate().step_by(17) {
        let mut company = company.clone();
        company.country = company.country.map(|country| country.to_lowercase().into());
        company.name = companies[number / 2].name.clone();
        writer.upsert_company(&company).expect("a company");
    }
    writer.commit().expect("a commit");
    for (number, signal) in signals.iter().enumerate().step_by(7) {
        let mut signal = signal.clone();
        if number % 2 == 0 {
            signal.date = None;
        }
        if let Some(funding) = &mut signal.funding {
            funding.amount = [None, Some(0.0), Some(1e7)][number % 3];
        }
        signal.category = signal
            .category
            .map(|category| category.to_uppercase().into());
        writer.upsert_signal(&signal).expect("a signal");
    }
    writer.commit().expect("a commit");
    for signal in signals.iter().step_by(11) {
        writer.delete_signal(signal.id).expect("a signal");
    }
    let cascade = CompanyDeletion::Cascade;
    writer
        .delete_company(&companies[3].slug, cascade)
        .expect("a company");
    let mut alone = Company::new("alone", "Alone");
    alone.country = Some("Germany".into());
    writer.upsert_company(&alone).expect("a company");
    for id in 1..40 {
        let id = SignalId::new(id).expect("an id");
        let signal = Signal::new(id, "alone", "Alone raises Series A");
        writer.upsert_signal(&signal).expect("a signal");
    }
    writer.commit().expect("a commit");
    assert!(index.snapshot().segments().len() > 1, "one segment only");
    index
}

/// A snapshot's records in three indexes, by company.
pub(crate) fn shards(snapshot: &Snapshot) -> Vec<Arc<Snapshot>> {
    let shard_of = |slug: &str| slug.bytes().map(usize::from).sum::<usize>() % 3;
    let build = |shard| {
        let index = Index::in_memory().expect("an index");
        let mut writer = index.writer().expect("the only writer");
        for company in snapshot.scan_companies() {
            let company = company.expect("a record");
            if shard_of(&company.slug) == shard {
                writer.upsert_company(&company).expect("a company");
            }
        }
        for found in snapshot.scan() {
            let signal = found.expect("a record").signal;
            if shard_of(&signal.company_slug) == shard {
                writer.upsert_signal(&signal).expect("a signal");
            }
        }
        writer.commit().expect("a commit");
        index.snapshot()
    };
    (0..3).map(build).collect()
}

/// The tables over a corpus.
pub(crate) fn database(snapshots: &[Arc<Snapshot>]) -> Database {
    limited(snapshots, StatementLimits::default())
}

pub(crate) fn limited(snapshots: &[Arc<Snapshot>], limits: StatementLimits) -> Database {
    Database::new(snapshots.to_vec(), sample::AS_OF, limits).expect("a database")
}

/// The same tables, for which the index evaluates searches and nothing else, in a session of the engine as it is.
pub(crate) fn plain_session(snapshots: &[Arc<Snapshot>]) -> SessionContext {
    let signals = SignalsTable::new(snapshots.to_vec(), sample::AS_OF).expect("a table");
    let companies = CompaniesTable::new(snapshots.to_vec());
    let context = SessionContext::new();
    let signals = context.register_table("signals", Arc::new(signals.without_push_down()));
    signals.expect("a new name");
    let companies = context.register_table("companies", Arc::new(companies));
    companies.expect("a new name");
    context
}

/// The rows of a statement in a plain session.
pub(crate) fn plain_answer(
    context: &SessionContext,
    runtime: &Runtime,
    statement: &str,
) -> Vec<Vec<String>> {
    let (context, text) = (context.clone(), statement.to_owned());
    let batches = runtime.spawn(async move { context.sql(&text).await?.collect().await });
    let batches = runtime.block_on(batches).expect("no panic");
    let batches = batches.unwrap_or_else(|error| panic!("{statement}: {error}"));
    batches.iter().flat_map(texts).collect()
}

pub(crate) fn threads() -> Runtime {
    signaldex_sql::runtime(2).expect("threads")
}

/// The rows of a statement as texts.
pub(crate) fn ask(
    database: &Database,
    runtime: &Runtime,
    statement: &str,
) -> Result<Vec<Vec<String>>, SqlError> {
    let mut rows = Vec::new();
    database.run(runtime, statement, |batch| {
        rows.extend(texts(batch));
        Ok(())
    })?;
    Ok(rows)
}

/// The rows of a statement that is right.
pub(crate) fn answer(database: &Database, runtime: &Runtime, statement: &str) -> Vec<Vec<String>> {
    let answer = ask(database, runtime, statement);
    answer.unwrap_or_else(|error| panic!("{statement}: {error}"))
}

/// The rows of a statement, sorted.
pub(crate) fn sorted_answer(
    database: &Database,
    runtime: &Runtime,
    statement: &str,
) -> Vec<Vec<String>> {
    let mut rows = answer(database, runtime, statement);
    rows.sort();
    rows
}

pub(crate) fn refusal(database: &Database, runtime: &Runtime, statement: &str) -> SqlError {
    match ask(database, runtime, statement) {
        Err(error) => error,
        Ok(rows) => panic!("{statement}: {} rows", rows.len()),
    }
}

/// What stands for null.
pub(crate) const NULL: &str = "∅";

fn texts(batch: &RecordBatch) -> Vec<Vec<String>> {
    let options = FormatOptions::default().with_null(NULL);
    let columns: Vec<ArrayFormatter<'_>> = batch
        .columns()
        .iter()
        .map(|column| ArrayFormatter::try_new(column, &options).expect("a type with a text"))
        .collect();
    let row = |row| {
        columns
            .iter()
            .map(|column| column.value(row).to_string())
            .collect()
    };
    (0..batch.num_rows()).map(row).collect()
}
