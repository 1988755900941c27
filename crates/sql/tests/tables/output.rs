//! Results as texts and files.

use std::io::Write;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc::reader::StreamReader;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::fixture::{corpora, database, threads};
use signaldex_sql::{OutputFormat, ResultWriter};

/// What a statement over the fresh sample writes, and how many rows a table leaves out.
fn written(format: OutputFormat, statement: &str) -> (Vec<u8>, usize) {
    let mut output = Vec::new();
    let mut writer = ResultWriter::new(format, &mut output);
    let database = database(&corpora()[0].1);
    let run = database.run(&threads(), statement, |batch| writer.write(batch));
    run.unwrap_or_else(|error| panic!("{statement}: {error}"));
    let left_out = writer.finish().expect("memory takes all");
    (output, left_out)
}

pub(crate) fn text(format: OutputFormat, statement: &str) -> String {
    String::from_utf8(written(format, statement).0).expect("text")
}

const ROW: &str = "SELECT id, company_slug, date, funding_amount, published_at, author_name \
                   FROM signals WHERE id = 7152585685336981249";

#[test]
fn lines_of_json_have_ids_as_texts_and_nulls() {
    assert_eq!(
        text(OutputFormat::Ndjson, ROW),
        "{\"id\":\"7152585685336981249\",\"company_slug\":\"groessenwahn-games\",\"date\":\"2024-01-15\",\
         \"funding_amount\":null,\"published_at\":\"2024-01-15T09:01:56Z\",\"author_name\":\"Dagmar Bakker\"}\n"
    );
    assert_eq!(
        text(OutputFormat::Ndjson, "SELECT id FROM signals WHERE id = 2"),
        ""
    );
}

#[test]
fn csv_has_a_header_even_without_rows() {
    assert_eq!(
        text(OutputFormat::Csv, ROW),
        "id,company_slug,date,funding_amount,published_at,author_name\n\
         7152585685336981249,groessenwahn-games,2024-01-15,,2024-01-15T09:01:56Z,Dagmar Bakker\n"
    );
    assert_eq!(
        text(OutputFormat::Csv, "SELECT id FROM signals WHERE id = 2"),
        "id\n"
    );
}

#[test]
fn tables_are_bounded_and_command_no_terminal() {
    let (table, left_out) = written(OutputFormat::Table, "SELECT id FROM signals");
    // Four lines are the frame and the header.
    assert_eq!(
        String::from_utf8(table).expect("text").lines().count(),
        1004
    );
    assert_eq!(left_out, 1000);
    let table = text(OutputFormat::Table, "SELECT chr(27) || '[2J' AS shown");
    assert!(
        !table.contains('\u{1b}') && table.contains("[2J"),
        "{table}"
    );
}

/// Several batches, whose dictionaries differ.
const MANY: &str = "SELECT s.*, c.name FROM signals s CROSS JOIN (SELECT name FROM companies ORDER BY name LIMIT 12) c \
                    ORDER BY c.name, s.id";

/// Batches that were read back, as CSV.
fn rewritten(batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>) -> String {
    let mut output = Vec::new();
    let mut writer = ResultWriter::new(OutputFormat::Csv, &mut output);
    for batch in batches {
        let batch = batch.expect("a batch");
        writer.write(&batch).expect("memory takes all");
    }
    writer.finish().expect("memory takes all");
    String::from_utf8(output).expect("text")
}

#[test]
fn arrow_reads_back_as_it_is() {
    let (arrow, _) = written(OutputFormat::Arrow, MANY);
    let batches = StreamReader::try_new(&arrow[..], None).expect("a stream");
    assert_eq!(rewritten(batches), text(OutputFormat::Csv, MANY));
}

#[test]
fn parquet_reads_back_as_it_is() {
    let (parquet, _) = written(OutputFormat::Parquet, MANY);
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(&parquet).expect("it is written");
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet");
    assert_eq!(
        reader.schema().field(3).data_type().to_string(),
        "Dictionary(UInt32, Utf8)"
    );
    let batches = reader.build().expect("Parquet");
    assert_eq!(rewritten(batches), text(OutputFormat::Csv, MANY));
}

#[test]
fn parquet_has_columns_even_without_rows() {
    let (parquet, _) = written(
        OutputFormat::Parquet,
        "SELECT * FROM companies WHERE slug = 'none'",
    );
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(&parquet).expect("it is written");
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet");
    assert_eq!(reader.schema().fields().len(), 15);
    assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
}
