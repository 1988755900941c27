//! What clients are answered: statements, prepared statements, the catalog.

use std::sync::Arc;

use arrow_flight::FlightDescriptor;
use arrow_flight::sql::{CommandGetDbSchemas, CommandGetPrimaryKeys, CommandGetTables, SqlInfo};
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Schema};
use signaldex::{Company, Signal, SignalId, sample};
use signaldex_sql::{Database, FlightOptions, StatementLimits};
use tonic::{Code, Status};

use crate::fixture::{Served, answer, rows_of, texts};

#[tokio::test]
async fn a_statement_has_the_rows_of_the_tables() {
    let served = Served::start(FlightOptions::default());
    let mut client = served.client().await;
    let snapshots = vec![served.index.snapshot()];
    let limits = StatementLimits::default();
    let database = Database::new(snapshots, sample::AS_OF, limits).expect("tables");
    for statement in [
        "SELECT * FROM signals ORDER BY id",
        "SELECT * FROM companies ORDER BY slug",
        "SELECT country, count(*) AS n FROM signals GROUP BY country ORDER BY n DESC, country",
        "SELECT id, title, query FROM signals WHERE query = 'q=robots&days=90' ORDER BY id",
        "SELECT array_agg(category ORDER BY id) FROM signals WHERE id < 3000000000",
        "SELECT id FROM signals WHERE id = 0",
        "SELECT count(*) FROM signaldex.public.signals",
        "EXPLAIN SELECT count(*) FROM signals",
    ] {
        let rows = answer(&mut client, statement).await;
        let (database, text) = (database.clone(), statement.to_owned());
        let expected = tokio::task::spawn_blocking(move || {
            let runtime = signaldex_sql::runtime(1).expect("threads");
            let mut rows = Vec::new();
            let run = database.run(&runtime, &text, |batch| {
                rows.extend(texts(batch));
                Ok(())
            });
            run.map(|()| rows)
        });
        let expected = expected.await.expect("no panic").expect("rows");
        assert_eq!(rows, expected, "{statement}");
    }
}

#[tokio::test]
async fn the_columns_are_told_before_the_rows() {
    let served = Served::start(FlightOptions::default());
    let mut client = served.client().await;
    let statement = "SELECT id, country, count(*) FROM signals GROUP BY id, country";
    let info = client.execute(statement.to_owned(), None).await;
    let schema = Schema::try_from(info.expect("columns")).expect("a schema");
    let types: Vec<&DataType> = schema
        .fields()
        .iter()
        .map(|field| field.data_type())
        .collect();
    // Values instead of a dictionary.
    assert_eq!(
        types,
        [&DataType::UInt64, &DataType::Utf8, &DataType::Int64]
    );
}

#[tokio::test]
async fn each_statement_sees_the_index_as_it_is() {
    let served = Served::start(FlightOptions::default());
    let mut client = served.client().await;
    let count = "SELECT count(*) FROM signals WHERE company_slug = 'new'";
    assert_eq!(answer(&mut client, count).await, [["0"]]);
    let mut writer = served.index.writer().expect("the only writer");
    writer
        .upsert_company(&Company::new("new", "New"))
        .expect("a company");
    let id = SignalId::new(7).expect("an id");
    writer
        .upsert_signal(&Signal::new(id, "new", "New raises"))
        .expect("a signal");
    writer.commit().expect("a commit");
    assert_eq!(answer(&mut client, count).await, [["1"]]);
}

#[tokio::test]
async fn a_prepared_statement_runs_again_with_other_values() {
    let served = Served::start(FlightOptions::default());
    let mut client = served.client().await;
    let text = "SELECT count(*) FROM signals WHERE category = $2 AND query = $1 AND id > $3";
    let mut prepared = client
        .prepare(text.to_owned(), None)
        .await
        .expect("prepared");
    let parameters = prepared.parameter_schema().expect("parameters").clone();
    let names: Vec<&String> = parameters
        .fields()
        .iter()
        .map(|field| field.name())
        .collect();
    assert_eq!(names, ["$1", "$2", "$3"]);
    let columns = prepared.dataset_schema().expect("columns").fields().len();
    assert_eq!(columns, 1);
    for (search, category) in [("q=raises", "funding"), ("q=robots", "launch")] {
        let values: [(&str, ArrayRef); 3] = [
            ("1", Arc::new(StringArray::from(vec![search]))),
            ("2", Arc::new(StringArray::from(vec![category]))),
            ("3", Arc::new(Int64Array::from(vec![17]))),
        ];
        let values = RecordBatch::try_from_iter(values).expect("a row");
        prepared.set_parameters(values).expect("parameters");
        let info = prepared.execute().await.expect("executed");
        let rows = rows_of(&mut client, &info).await.expect("rows");
        let plain = format!(
            "SELECT count(*) FROM signals WHERE category = '{category}' AND query = '{search}' AND id > 17"
        );
        assert_eq!(rows, answer(&mut client, &plain).await);
        assert_ne!(rows, [["0"]]);
    }
    prepared.close().await.expect("closed");
}

#[tokio::test]
async fn a_prepared_statement_without_values_says_so() {
    let served = Served::start(FlightOptions::default());
    let mut client = served.client().await;
    let text = "SELECT id FROM signals WHERE id = $1";
    let mut prepared = client
        .prepare(text.to_owned(), None)
        .await
        .expect("prepared");
    let info = prepared.execute().await.expect("executed");
    let failed = rows_of(&mut client, &info).await.expect_err("no value");
    assert!(failed.to_string().contains("$1"), "{failed}");
    let two: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let two = RecordBatch::try_from_iter([("1", two)]).expect("two rows");
    prepared.set_parameters(two).expect("parameters");
    let failed = prepared.execute().await.expect_err("two rows");
    assert!(
        failed.to_string().contains("2 rows of parameters"),
        "{failed}"
    );
}

#[tokio::test]
async fn the_catalog_has_both_tables() {
    let served = Served::start(FlightOptions::default());
    let mut client = served.client().await;
    let info = client.get_catalogs().await.expect("catalogs");
    assert_eq!(
        rows_of(&mut client, &info).await.expect("rows"),
        [["signaldex"]]
    );
    let info = client.get_db_schemas(CommandGetDbSchemas::default()).await;
    let rows = rows_of(&mut client, &info.expect("schemas")).await;
    assert_eq!(rows.expect("rows"), [["signaldex", "public"]]);
    let info = client.get_table_types().await.expect("table types");
    assert_eq!(
        rows_of(&mut client, &info).await.expect("rows"),
        [["TABLE"]]
    );
    for (pattern, expected) in [
        (None, &["companies", "signals"][..]),
        (Some("sig%"), &["signals"]),
        (Some("x"), &[]),
    ] {
        let query = CommandGetTables {
            table_name_filter_pattern: pattern.map(str::to_owned),
            include_schema: true,
            ..CommandGetTables::default()
        };
        let info = client.get_tables(query).await.expect("tables");
        let rows = rows_of(&mut client, &info).await.expect("rows");
        let names: Vec<&str> = rows.iter().map(|row| row[2].as_str()).collect();
        assert_eq!(names, expected);
    }
}

#[tokio::test]
async fn the_abilities_are_told() {
    let served = Served::start(FlightOptions::default());
    let mut client = served.client().await;
    let info = client.get_sql_info(vec![
        SqlInfo::FlightSqlServerName,
        SqlInfo::FlightSqlServerReadOnly,
    ]);
    let info = info.await.expect("information");
    let rows = rows_of(&mut client, &info).await.expect("rows");
    let shown = format!("{rows:?}");
    assert!(
        rows.len() == 2 && shown.contains("signaldex") && shown.contains("true"),
        "{shown}"
    );
    let keys = client
        .get_primary_keys(CommandGetPrimaryKeys::default())
        .await;
    let status = Status::from(keys.expect_err("there are none"));
    assert_eq!(status.code(), Code::Unimplemented);
}

/// Messages that no client of ours sends.
#[tokio::test]
async fn malformed_calls_are_errors() {
    let served = Served::start(FlightOptions::default());
    let mut client = served.client().await;
    for command in [&b""[..], b"SELECT 1", &[0x0a, 0xff, 0xff, 0xff]] {
        let descriptor = FlightDescriptor::new_cmd(command.to_vec());
        let mut request = tonic::Request::new(descriptor);
        let bearer = format!("Bearer {}", crate::fixture::TOKEN);
        request
            .metadata_mut()
            .insert("authorization", bearer.parse().expect("a header"));
        let called = client.inner_mut().get_flight_info(request).await;
        assert!(called.is_err(), "{command:?}");
    }
    assert_eq!(answer(&mut client, "SELECT 1").await, [["1"]]);
}
