//! The same answers with and without what the index does for a statement.

use crate::fixture::{answer, corpora, database, plain_answer, plain_session, threads};
use crate::statements::{ORDERED, STATEMENTS};

#[test]
fn what_the_index_does_changes_no_answer() {
    let runtime = threads();
    for (name, snapshots) in corpora() {
        let (fast, plain) = (database(&snapshots), plain_session(&snapshots));
        for statement in STATEMENTS {
            let mut found = answer(&fast, &runtime, statement);
            let mut expected = plain_answer(&plain, &runtime, statement);
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "{name}: {statement}");
        }
        for statement in ORDERED {
            let rows = answer(&fast, &runtime, statement);
            let expected = plain_answer(&plain, &runtime, statement);
            assert_eq!(rows, expected, "{name}: {statement}");
            assert!(
                !rows.is_empty() || statement.contains("germany"),
                "{name}: {statement}"
            );
        }
    }
}

/// A limit without an order takes any rows, as many as it says.
#[test]
fn limits_are_kept_over_segments() {
    let runtime = threads();
    for (name, snapshots) in corpora() {
        let database = database(&snapshots);
        for limit in [0, 1, 50, 1999] {
            let total = snapshots
                .iter()
                .map(|snapshot| snapshot.signal_count())
                .sum::<u64>();
            let statement = format!("SELECT title FROM signals LIMIT {limit}");
            let rows = answer(&database, &runtime, &statement).len() as u64;
            assert_eq!(rows, total.min(limit), "{name}: {statement}");
        }
        let one = "SELECT name FROM companies LIMIT 1";
        assert_eq!(answer(&database, &runtime, one).len(), 1, "{name}");
    }
}
