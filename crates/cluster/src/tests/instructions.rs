//! Questions through three nodes of one thread, whose instructions `benches/instructions/check.py` counts. The network is in
//! memory and the clock moves when all wait, so that runs differ by less than a hundredth.

use std::pin::Pin;
use std::sync::Arc;

use futures_util::future::join_all;
use tokio::runtime::{Builder, Runtime};
use tokio::time::sleep;

use super::simulation::{QuietCluster, START_TIME};
use crate::coordinator::Coordinator;
use crate::fixtures::TODAY;
use signaldex::json::Rendering;
use signaldex::query::Facet;
use signaldex::{FacetQuery, Filter, Query};
use signaldex_server::corpus::Corpus as _;

/// Questions that a node is asked at the same time, and how often.
const TOGETHER: usize = 4;
const TURNS: usize = 25;

type BoxedTask = Pin<Box<dyn Future<Output = ()>>>;

/// The only function whose instructions are counted, by its name.
#[inline(never)]
fn measured(runtime: &Runtime, task: BoxedTask) {
    runtime.block_on(task);
}

#[test]
#[ignore = "counted under valgrind by benches/instructions/check.py"]
fn questions_through_nodes() {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    let runtime = runtime.expect("a runtime");
    let cluster = runtime.block_on(async {
        let cluster = QuietCluster::start(1, 3, 7).await;
        sleep(START_TIME).await;
        cluster
    });
    let coordinator = cluster.coordinator(0);
    // The plans on the other nodes are started by the first questions.
    runtime.block_on(ask(&coordinator, count));
    for kind in [count, page, facets] {
        let coordinator = Arc::clone(&coordinator);
        let task = async move {
            for _ in 0..TURNS {
                ask(&coordinator, kind).await;
            }
        };
        measured(&runtime, Box::pin(task));
    }
}

async fn ask(coordinator: &Arc<Coordinator>, kind: fn(Arc<Coordinator>) -> BoxedTask) {
    join_all((0..TOGETHER).map(|_| kind(Arc::clone(coordinator)))).await;
}

fn count(coordinator: Arc<Coordinator>) -> BoxedTask {
    Box::pin(async move {
        let (view, filter) = (coordinator.view(), Filter::default());
        let count = coordinator.count(view, filter, TODAY).await;
        assert!(count.is_ok_and(|count| count > 0));
    })
}

fn page(coordinator: Arc<Coordinator>) -> BoxedTask {
    Box::pin(async move {
        let (view, query) = (coordinator.view(), Query::from_query_string("limit=20"));
        let query = Arc::new(query.expect("a query"));
        let page = coordinator.page(view, query, TODAY, Rendering::Whole).await;
        assert!(page.is_ok_and(|page| page.keys.len() == 20));
    })
}

fn facets(coordinator: Arc<Coordinator>) -> BoxedTask {
    Box::pin(async move {
        let (view, query) = (
            coordinator.view(),
            FacetQuery::new(Filter::default(), Facet::ALL),
        );
        let facets = coordinator.facets(view, Arc::new(query), TODAY).await;
        assert!(facets.is_ok());
    })
}
