//! What other nodes are asked: columns, conditions and limits, or counts instead of rows.

use signaldex::sample;

use crate::fixture::{Nodes, Setup};

#[tokio::test(flavor = "multi_thread")]
async fn conditions_columns_limits_and_counts_are_pushed_to_nodes() {
    let snapshot = sample::index().expect("the sample").snapshot();
    let nodes = Nodes::start(&snapshot, Setup::default()).await;
    let node = &nodes.nodes[0];
    for (statement, expected) in [
        (
            "SELECT title FROM signals WHERE query = 'q=raises' AND country = 'Germany' LIMIT 5",
            &[
                "SignalsScan: columns=[title], index=[all=raises&country=germany]",
                "limit=5",
            ][..],
        ),
        (
            "SELECT country, count(*) FROM signals WHERE query = 'q=raises' GROUP BY country",
            &["CountsScan: facet=country, index=[all=raises]"][..],
        ),
        (
            "SELECT name FROM companies WHERE slug = 'cpp-foundry'",
            &["CompaniesScan: columns=[name], slugs="][..],
        ),
    ] {
        let plan = node.answer(&format!("EXPLAIN {statement}")).await;
        let plan = plan.concat().concat();
        for part in expected {
            assert!(plan.contains(part), "{statement}: {plan}");
        }
        for other in [
            "elsewhere=[node node-1 at 127.0.0.1:",
            "elsewhere=[node node-2 at ",
        ] {
            assert!(plan.contains(other), "{statement}: {plan}");
        }
        assert!(plan.contains("of generation "), "{statement}: {plan}");
    }
    for statement in [
        "SELECT count(*) FROM signals",
        "SELECT count(*) FROM signals WHERE query = 'q=raises&days=90'",
        "SELECT count(*) FROM companies",
    ] {
        let plan = node.answer(&format!("EXPLAIN {statement}")).await;
        let plan = plan.concat().concat();
        // No rows of any node: the sums were known when the statement was planned.
        assert!(!plan.contains("Scan: columns="), "{statement}: {plan}");
    }
}
