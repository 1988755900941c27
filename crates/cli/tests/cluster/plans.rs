//! What runs where: filters, orders, limits and sums at the nodes, few rows over the network, and no node
//! asked that need not be.

use signaldex::{Filter, Query};
use signaldex_cluster::{ClusterSettings, Node, NodeOptions, Security, shard_of};
use signaldex_server::{Limits, Server, ServerLimits, State, Today};
use tokio::net::TcpListener;

use crate::client;
use crate::fixture::{Fixture, NAMES, TODAY, settings_path, write_settings};

const SHARDS: u32 = 5;

/// Three nodes in one process, and a server in front of the first.
struct Nodes {
    fixture: Fixture,
    nodes: Vec<Node>,
    address: std::net::SocketAddr,
}

impl Nodes {
    async fn start(replicas: usize) -> Nodes {
        let fixture = Fixture::new();
        fixture.generate("corpus", 2_000, 3);
        fixture.publish("corpus", SHARDS, "store");
        let mut listeners = Vec::new();
        for _ in NAMES {
            listeners.push(TcpListener::bind("127.0.0.1:0").await.expect("a port"));
        }
        let port = |listener: &TcpListener| listener.local_addr().expect("an address").port();
        let ports: Vec<u16> = listeners.iter().map(port).collect();
        let path = settings_path(&fixture, "cluster");
        write_settings(&path, &fixture.path("store"), replicas, &ports);
        let mut nodes = Vec::new();
        for (name, listener) in NAMES.into_iter().zip(listeners) {
            let settings = ClusterSettings::read(&path).expect("a cluster");
            let options = NodeOptions::new(fixture.path(name));
            let node = Node::start(settings, name, listener, Security::none(), options);
            nodes.push(node.await.expect("a node"));
        }
        while nodes.iter().any(|node| node.error().is_some()) {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        let state = State::open(fixture.path("state.db")).expect("a state");
        let service = nodes[0].service(state, Today::Fixed(TODAY), Limits::default());
        let server = Server::new(service.expect("a service"), ServerLimits::default());
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(server.run(listener, std::future::pending()));
        Nodes {
            fixture,
            nodes,
            address,
        }
    }

    /// The rows that crossed the network to answer this.
    async fn rows_of(&self, target: &str) -> u64 {
        let before = self.nodes[0].rows_received();
        let (address, target) = (self.address, target.to_owned());
        let authorization = format!("Bearer {}", self.fixture.key);
        let answer = tokio::task::spawn_blocking(move || {
            let headers = [("authorization", authorization.as_str())];
            client::request(address, "GET", &target, &headers)
        });
        assert_eq!(answer.await.expect("an answer").status, 200);
        self.nodes[0].rows_received() - before
    }
}

/// The lines of a plan, of which the first merges and each other asks one node.
fn lines(plan: &str) -> (&str, Vec<&str>) {
    println!("{plan}");
    let mut lines = plan.lines();
    (lines.next().expect("a line"), lines.collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filter_order_and_limit_are_applied_at_the_nodes_and_sums_begin_there() {
    let nodes = Nodes::start(1).await;
    let node = &nodes.nodes[0];
    let query =
        Query::from_query_string("q=raises \"series a\"&country=germany&limit=7").expect("a query");
    let plan = node.explain(&query, TODAY).expect("a plan");
    let (merging, asked) = lines(&plan);
    assert!(
        merging.starts_with("merge by id, descending, first 8"),
        "{plan}"
    );
    assert_eq!(asked.len(), NAMES.len(), "{plan}");
    for line in asked {
        let rows = "rows, filter=[all=raises+%22series+a%22&country=germany], limit=8";
        assert!(line.ends_with(rows), "{plan}");
    }
    let count = Query::from_query_string("q=raises&countOnly=true").expect("a query");
    let count = node.explain(&count, TODAY).expect("a plan");
    let filter = Filter::from_query_string("q=raises").expect("a filter");
    let facets = node.explain_facets(&filter, TODAY).expect("a plan");
    for (plan, sum, part) in [
        (count, "sum ", "count, filter=[all=raises]"),
        (facets, "sum by value ", "facets, filter=[all=raises]"),
    ] {
        let (merging, asked) = lines(&plan);
        assert!(merging.starts_with(sum), "{plan}");
        assert!(asked.iter().all(|line| line.ends_with(part)), "{plan}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_nodes_that_have_to_be_asked_are() {
    let nodes = Nodes::start(1).await;
    let index = nodes.fixture.index("corpus");
    let snapshot = index.snapshot();
    let company = snapshot.scan_companies().next().expect("a company");
    let slug = company.expect("a company").slug.into_owned();
    let query = Query::from_query_string(&format!("companySlug={slug}")).expect("a query");
    let plan = nodes.nodes[0].explain(&query, TODAY).expect("a plan");
    let (_, asked) = lines(&plan);
    let shard = format!("shards [{}]:", shard_of(&slug, SHARDS));
    assert!(asked.len() == 1 && asked[0].contains(&shard), "{plan}");
    let all = Query::from_query_string("limit=50").expect("a query");
    // With as many replicas as nodes, nothing has to be asked elsewhere.
    let nodes = Nodes::start(NAMES.len()).await;
    let plan = nodes.nodes[0].explain(&all, TODAY);
    let plan = plan.expect("a plan");
    let (_, asked) = lines(&plan);
    assert!(
        asked.len() == 1 && asked[0].contains("(this node)"),
        "{plan}"
    );
    assert_eq!(nodes.rows_of("/api/v1/signals?limit=50").await, 0);
    assert_eq!(nodes.rows_of("/api/v1/filter-options").await, 0);
    // With two, one other node has all the rest.
    let nodes = Nodes::start(2).await;
    let plan = nodes.nodes[0].explain(&all, TODAY);
    let plan = plan.expect("a plan");
    let (_, asked) = lines(&plan);
    assert!(asked.len() <= 2, "{plan}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_most_a_page_and_one_row_of_each_node_crosses_the_network() {
    let nodes = Nodes::start(1).await;
    for limit in [1, 7, 50] {
        for filter in ["", "&q=raises", "&q=new&days=90", "&country=germany"] {
            let rows = nodes
                .rows_of(&format!("/api/v1/signals?limit={limit}{filter}"))
                .await;
            // Of two other nodes, each of which has merged its shards.
            assert!(rows <= 2 * (limit + 1), "{limit} {filter}: {rows}");
        }
    }
    let rows = nodes.rows_of("/api/v1/signals?limit=50").await;
    assert!(
        rows >= 50,
        "the cluster's nodes are asked, not this one alone: {rows}"
    );
    let counts = nodes
        .rows_of("/api/v1/signals?countOnly=true&q=raises")
        .await;
    // A sum for each of the two other nodes.
    assert!(counts <= 2, "{counts}");
    println!("rows over the network: {rows} for a page of 50, {counts} for a count");
}
