//! Statements that are refused, wrong or exceed a limit.

use std::time::Duration;

use crate::fixture::{answer, corpora, database, limited, refusal, threads};
use signaldex_sql::{STATEMENT_BYTES_MAX, STATEMENT_WORDS_MAX, SqlErrorKind, StatementLimits};

#[test]
fn statements_that_do_more_than_read_are_refused() {
    let (runtime, database) = (threads(), database(&corpora()[0].1));
    for (statement, word) in [
        ("INSERT INTO signals (id) VALUES (1)", "INSERT"),
        ("update signals SET title = 'x'", "UPDATE"),
        ("DELETE FROM signals", "DELETE"),
        ("CREATE TABLE t AS SELECT 1", "CREATE"),
        ("CREATE VIEW v AS SELECT 1", "CREATE"),
        (
            "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '/etc/passwd'",
            "CREATE",
        ),
        ("CREATE FUNCTION f() RETURNS INT RETURN 1", "CREATE"),
        ("DROP TABLE signals", "DROP"),
        ("ALTER TABLE signals ADD COLUMN x INT", "ALTER"),
        ("COPY signals TO '/tmp/x.csv'", "COPY"),
        ("SET datafusion.execution.batch_size = 1", "SET"),
        ("RESET datafusion.execution.batch_size", "RESET"),
        ("SHOW TABLES", "SHOW"),
        ("BEGIN", "BEGIN"),
        ("PREPARE p AS SELECT 1", "PREPARE"),
        ("EXECUTE p", "EXECUTE"),
        ("TRUNCATE signals", "TRUNCATE"),
        ("VACUUM", "VACUUM"),
        ("ATTACH 'x' AS y", "ATTACH"),
        ("EXPLAIN INSERT INTO signals (id) VALUES (1)", "INSERT"),
        ("EXPLAIN ANALYZE DELETE FROM signals", "DELETE"),
        ("EXPLAIN COPY signals TO 'x.csv'", "COPY"),
        ("SELECT 1 INTO t", "INTO"),
        ("SELECT 1 UNION SELECT 2 INTO t", "INTO"),
        ("SELECT 1; SELECT 2", ";"),
        ("SELECT 1; DROP TABLE signals", ";"),
    ] {
        let error = refusal(&database, &runtime, statement);
        assert_eq!(error.kind(), SqlErrorKind::Refused, "{statement}: {error}");
        let text = error.to_string();
        assert!(
            text.starts_with(&format!("{word} is refused")),
            "{statement}: {text}"
        );
    }
}

#[test]
fn no_statement_reads_a_file() {
    let (runtime, database) = (threads(), database(&corpora()[0].1));
    for (statement, word) in [
        ("SELECT * FROM '/etc/passwd'", "/etc/passwd"),
        ("SELECT * FROM 'data.csv'", "data.csv"),
        ("SELECT * FROM read_csv('data.csv')", "read_csv"),
        ("SELECT * FROM parquet_metadata('x')", "parquet_metadata"),
        ("SELECT * FROM \"s3://bucket/x\"", "s3://bucket/x"),
    ] {
        let text = refusal(&database, &runtime, statement).to_string();
        assert!(text.contains(word), "{statement}: {text}");
    }
}

#[test]
fn errors_name_what_is_wrong() {
    let (runtime, database) = (threads(), database(&corpora()[0].1));
    for (statement, expected) in [
        ("", "the statement is empty"),
        (" -- nothing", "the statement is empty"),
        (
            "SELECT contry FROM signals",
            "there is no column contry; did you mean country?",
        ),
        (
            "SELECT s.titel FROM signals s",
            "there is no column titel; did you mean title?",
        ),
        (
            "SELECT xyzzy FROM companies",
            "there is no column xyzzy; there are slug, name",
        ),
        (
            "SELECT 1 FROM signal",
            "there is no table signal; did you mean signals?",
        ),
        (
            "SELECT 1 FROM planets",
            "there is no table planets; the tables are signals and companies",
        ),
        ("SELECT nosuch(1)", "nosuch"),
        ("SELECT FROM WHERE", "there is no table where"),
        ("SELECT 'open", "literal"),
        ("SELECT 1 FROM signals WHERE query = 'days=8'", "days"),
        (
            "SELECT 1 FROM signals s WHERE s.query = 'q=a' AND id > 5 AND query = 'q=b'",
            "query has one search at a time",
        ),
        (
            "SELECT 1 FROM signals WHERE query <> 'q=a'",
            "the column query takes one condition",
        ),
        (
            "SELECT 1 FROM signals WHERE query = 'q=a' OR id = 1",
            "the column query takes one condition",
        ),
        (
            "SELECT 1 FROM signals WHERE query IS NULL",
            "the column query takes one condition",
        ),
        (
            "SELECT 1 FROM signals WHERE query LIKE '%'",
            "the column query takes one condition",
        ),
        (
            "SELECT 1 FROM signals WHERE query = title",
            "the column query takes one condition",
        ),
        (
            "SELECT 1 FROM (SELECT * FROM signals LIMIT 3) WHERE query = 'q=a'",
            "stands in the WHERE clause next to its table",
        ),
        ("SELECT repeat('x', 1000000000)", "repeat"),
    ] {
        let text = refusal(&database, &runtime, statement).to_string();
        assert!(text.contains(expected), "{statement}: {text}");
    }
}

#[test]
fn a_statement_is_bounded() {
    let (runtime, database) = (threads(), database(&corpora()[0].1));
    let long = format!("SELECT '{}'", "x".repeat(STATEMENT_BYTES_MAX));
    assert!(
        refusal(&database, &runtime, &long)
            .to_string()
            .contains("bytes")
    );
    let deep = format!("SELECT 1{}", " + 1".repeat(STATEMENT_WORDS_MAX));
    assert!(
        refusal(&database, &runtime, &deep)
            .to_string()
            .contains("keywords and operators")
    );
    let nested = format!("SELECT {}1{}", "(".repeat(10_000), ")".repeat(10_000));
    let _ = refusal(&database, &runtime, &nested);
}

/// As deep as a statement may be, in every direction in which it nests without brackets.
#[test]
fn the_deepest_statements_are_answered() {
    let limits = StatementLimits {
        timeout: Duration::from_secs(600),
        ..StatementLimits::default()
    };
    let (runtime, database) = (threads(), limited(&corpora()[0].1, limits));
    let sum = format!(
        "SELECT id{} FROM signals LIMIT 1",
        " + 1".repeat(STATEMENT_WORDS_MAX - 5)
    );
    assert_eq!(answer(&database, &runtime, &sum).len(), 1);
    let or: String = (0..STATEMENT_WORDS_MAX / 2 - 5)
        .map(|n| format!(" OR title = '{n}'"))
        .collect();
    let or = format!("SELECT id FROM signals WHERE id = 1{or}");
    assert!(answer(&database, &runtime, &or).is_empty());
    let union = format!(
        "SELECT 1{}",
        " UNION ALL SELECT 1".repeat(STATEMENT_WORDS_MAX / 3 - 1)
    );
    assert_eq!(
        answer(&database, &runtime, &union).len(),
        STATEMENT_WORDS_MAX / 3
    );
}

#[test]
fn ten_thousand_ids_fit() {
    let (runtime, database) = (threads(), database(&corpora()[0].1));
    let ids: Vec<String> = (0..10_000_u64)
        .map(|n| (n + 7_000_000_000_000_000_000).to_string())
        .collect();
    let statement = format!(
        "SELECT count(*) FROM signals WHERE id IN ({})",
        ids.join(",")
    );
    assert_eq!(answer(&database, &runtime, &statement), [["0"]]);
}

#[test]
fn too_much_memory_ends_the_statement_and_no_other() {
    let limits = StatementLimits {
        memory: 1 << 20,
        ..StatementLimits::default()
    };
    let (runtime, database) = (threads(), limited(&corpora()[0].1, limits));
    let groups =
        "SELECT a.id, b.id, count(*) FROM signals a CROSS JOIN signals b GROUP BY a.id, b.id";
    let error = refusal(&database, &runtime, groups);
    assert_eq!(error.kind(), SqlErrorKind::Memory, "{error}");
    assert_eq!(
        answer(&database, &runtime, "SELECT count(*) FROM signals"),
        [["2000"]]
    );
}

#[test]
fn too_much_time_ends_the_statement() {
    let limits = StatementLimits {
        timeout: Duration::from_millis(300),
        ..StatementLimits::default()
    };
    let (runtime, database) = (threads(), limited(&corpora()[0].1, limits));
    let slow = "SELECT sum(a.id % 7 + b.id % 5 + c.id % 3) FROM signals a, signals b, signals c";
    let error = refusal(&database, &runtime, slow);
    assert_eq!(error.kind(), SqlErrorKind::Timeout, "{error}");
    assert_eq!(
        error.to_string(),
        "the statement took longer than 0.3 seconds"
    );
    runtime.shutdown_background();
}
