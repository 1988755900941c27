//! The questions of docs/sql.md, and the columns that it lists.

use datafusion::catalog::TableProvider;
use signaldex::sample;
use signaldex_sql::{CompaniesTable, OutputFormat, SignalsTable};

use crate::output::text;

const DOCUMENT: &str = include_str!("../../../../docs/sql.md");

/// Where a statement of the document ends and its result begins.
const RESULT: &str = "```\n\n```text\n";

#[test]
fn the_questions_of_the_document_have_these_results() {
    let mut parts = DOCUMENT.split("```sql\n");
    let mut expected = parts.next().unwrap_or_default().to_owned();
    let mut n = 0;
    for part in parts {
        let (statement, rest) = part.split_once(RESULT).expect("a result below");
        let (_, rest) = rest.split_once("```").expect("an end of the result");
        let result = text(OutputFormat::Table, statement);
        expected += &format!("```sql\n{statement}{RESULT}{result}```{rest}");
        n += 1;
    }
    assert_eq!(n, 10);
    if std::env::var_os("SIGNALDEX_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sql.md");
        std::fs::write(path, expected).expect("the document is written");
    } else {
        assert_eq!(DOCUMENT, expected);
    }
}

#[test]
fn the_document_lists_every_column_with_its_type() {
    let snapshot = sample::index().expect("the sample").snapshot();
    let signals = SignalsTable::new(vec![snapshot.clone()], sample::AS_OF).expect("a table");
    let companies = CompaniesTable::new(vec![snapshot]);
    let mut tables = DOCUMENT.split("| columns | type |").skip(1);
    for schema in [signals.schema(), companies.schema()] {
        let table = tables
            .next()
            .expect("a table")
            .split("\n\n")
            .next()
            .unwrap_or_default();
        let mut listed = Vec::new();
        for row in table.lines().filter(|line| line.starts_with("| `")) {
            let (names, kind) = row
                .trim_matches(['|', ' '])
                .split_once(" | ")
                .expect("two cells");
            for name in names.split(", ") {
                listed.push((name.trim_matches('`').to_owned(), kind.trim().to_owned()));
            }
        }
        let kind = |field: &datafusion::arrow::datatypes::Field| {
            let kind = field.data_type().to_string();
            kind.replace("Timestamp(µs, \"UTC\")", "Timestamp(µs, UTC)")
        };
        let fields = schema.fields().iter();
        let expected: Vec<_> = fields
            .map(|field| (field.name().clone(), kind(field)))
            .collect();
        assert_eq!(listed, expected);
    }
}
