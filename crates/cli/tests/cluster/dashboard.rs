//! What the dashboard and the metrics of a node say of all nodes and shards.

use std::thread;
use std::time::{Duration, Instant};

use crate::client;
use crate::fixture::{Cluster, Fixture, NAMES, Served, Shape, program};

const SHARDS: u32 = 4;

/// The cookie of a session at a node's dashboard.
fn sign_in(fixture: &Fixture, node: &Served, name: &str) -> String {
    let state = fixture.path(&format!("cluster-{name}.db"));
    let token = program()
        .args(["admin-token", "--state"])
        .arg(state)
        .output();
    let token = String::from_utf8(token.expect("the program runs").stdout).expect("a token");
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    let form = format!("token={}", token.trim());
    let answer = client::post(node.admin_address(), "/sign-in", &headers, form.as_bytes());
    let cookie = answer.header("set-cookie").expect("a cookie");
    cookie.split(';').next().expect("a cookie").to_owned()
}

/// The cells of the row of a table that has this heading.
fn row(page: &str, heading: &str) -> Vec<String> {
    let start = format!("<th scope=\"row\">{heading}</th>");
    let rest = page.split(&start).nth(1);
    let row = rest.unwrap_or_else(|| panic!("no {heading}: {page}"));
    let row = row.split("</tr>").next().expect("a row");
    let cells = row
        .split("</td>")
        .filter_map(|cell| cell.rsplit('>').next());
    cells
        .filter(|cell| !cell.trim().is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_dashboard_and_the_metrics_name_nodes_and_shards() {
    let fixture = Fixture::new();
    fixture.generate("corpus", 600, 61);
    fixture.publish("corpus", SHARDS, "store");
    let mut cluster = Cluster::start(&fixture, "cluster", "store", Shape::with_replicas(2));
    let cookie = sign_in(&fixture, &cluster.nodes[0], NAMES[0]);
    let address = cluster.nodes[0].admin_address();
    let page = || {
        let answer = client::request(address, "GET", "/storage", &[("cookie", &cookie)]);
        assert_eq!(answer.status, 200);
        String::from_utf8(answer.body).expect("text")
    };
    let before = page();
    assert_eq!(row(&before, "one")[0], "this node");
    let mut held = 0;
    for name in NAMES {
        let cells = row(&before, name);
        held += cells[1].parse::<u32>().expect("shards");
        assert_eq!(cells[2..4], ["1", "0"], "its generation, and none behind");
    }
    assert_eq!(held, 2 * SHARDS, "each shard twice: {before}");
    for shard in 0..SHARDS {
        let cells = row(&before, &shard.to_string());
        assert_eq!(cells[2].split(", ").count(), 2, "{cells:?}");
    }
    let node = &cluster.nodes[0];
    assert_eq!(node.metric("signaldex_cluster_node_alive{node=\"two\"}"), 1);
    assert_eq!(node.metric("signaldex_cluster_shards_unavailable"), 0);
    // A page needs the shards of others, so that there is a plan on one of them, and nothing is under way.
    assert_eq!(node.get("/api/v1/signals?limit=50").status, 200);
    let page_after = page();
    let plans = ["two", "three"].map(|name| row(&page_after, name)[7].clone());
    assert!(
        plans.iter().any(|plan| plan.ends_with("s, 0 under way")),
        "{plans:?}"
    );
    assert_eq!(row(&page_after, "one")[7], "–");
    assert_eq!(node.metric("signaldex_cluster_shed_total"), 0);
    let retried = node.metric("signaldex_cluster_questions_retried_total");
    assert_eq!(retried, 0);

    cluster.nodes[1].signal("KILL");
    cluster.nodes[2].signal("KILL");
    let deadline = Instant::now() + Duration::from_secs(30);
    while row(&page(), "two")[0] == "answers" || row(&page(), "three")[0] == "answers" {
        assert!(Instant::now() < deadline, "{}", page());
        thread::sleep(Duration::from_millis(50));
    }
    let cells = row(&page(), "two");
    assert!(
        cells[0].contains("refused"),
        "why it counts as dead: {cells:?}"
    );
    let own: usize = row(&page(), "one")[1].parse().expect("shards");
    let missing = (0..SHARDS).filter(|shard| row(&page(), &shard.to_string())[2] == "none");
    assert_eq!(missing.count(), SHARDS as usize - own);
    let node = &cluster.nodes[0];
    assert_eq!(node.metric("signaldex_cluster_node_alive{node=\"two\"}"), 0);
    let unavailable = node.metric("signaldex_cluster_shards_unavailable");
    assert_eq!(unavailable, u64::from(SHARDS) - own as u64);
}
