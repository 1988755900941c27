//! Scans at the worker's port: run where the node answers SQL, refused with a reason elsewhere and where they are not what
//! a node sends.

use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::EmptyRecordBatchStream;

use super::super::super::OWN_RELEASE;
use super::super::super::scan::{ScanExec, ScanMessage};
use super::*;
use crate::shard_scanner::ShardScanner;
use signaldex::Snapshot;

/// Finds no row in any shard.
#[derive(Debug)]
struct NoRows;

impl ShardScanner for NoRows {
    fn rows(
        &self,
        _: Vec<Arc<Snapshot>>,
        scan: &[u8],
        _: Duration,
    ) -> EngineResult<SendableRecordBatchStream> {
        if scan != b"a scan" {
            return exec_err!("the scan is malformed");
        }
        Ok(Box::pin(EmptyRecordBatchStream::new(Arc::clone(&SCHEMA))))
    }
}

fn scan_message() -> ScanMessage {
    ScanMessage {
        release: Some(OWN_RELEASE.to_owned()),
        generation: Some(7),
        scan: Some(b"a scan".to_vec()),
        ..ScanMessage::default()
    }
}

fn scan_leaf(message: ScanMessage) -> Vec<u8> {
    encoded(Arc::new(ScanExec::new(message, Arc::clone(&SCHEMA))))
}

/// A scan as a node sends it: without a feed.
fn set_scan(key: TaskKey, plan: Vec<u8>) -> SetPlanRequest {
    SetPlanRequest {
        work_unit_feed_declarations: Vec::new(),
        ..set_plan(key, plan, 0)
    }
}

/// A worker that takes scans.
async fn with_sql(security: Security) -> Listening {
    let worker = Worker::new(LoadedShards::default(), Some(Arc::new(NoRows)));
    Listening::over(worker, security).await
}

#[tokio::test]
async fn scans_are_refused_without_sql() {
    let listening = Listening::start(Security::none()).await;
    let peer = listening.peer();
    let rows = peer.scan(scan_message(), Arc::clone(&SCHEMA)).await;
    let rows = rows.expect("a plan").next().await;
    let refused = reason(rows.expect("an outcome"), "a scan");
    assert!(
        refused.contains("was started without --sql-addr"),
        "{refused}"
    );
    ask(&peer).await;
}

#[tokio::test]
async fn scans_are_run_and_questions_as_well() {
    let folder = tempfile::tempdir().expect("a folder");
    for security in [Security::none(), tls(folder.path())] {
        let listening = with_sql(security).await;
        let peer = listening.peer();
        for _ in 0..3 {
            let rows = peer.scan(scan_message(), Arc::clone(&SCHEMA)).await;
            let rows: Vec<_> = rows.expect("a plan").collect().await;
            assert!(rows.iter().all(Result::is_ok), "{rows:?}");
            ask(&peer).await;
        }
    }
}

#[tokio::test]
async fn a_scan_of_another_release_is_refused_by_both_names() {
    let listening = with_sql(Security::none()).await;
    for (message, expected) in [
        (
            ScanMessage {
                release: Some("9.9.9".to_owned()),
                ..scan_message()
            },
            format!("of release {OWN_RELEASE}, and the node that asks is of 9.9.9"),
        ),
        (
            ScanMessage {
                release: None,
                ..scan_message()
            },
            "is of another one: SQL needs equal ones".to_owned(),
        ),
        (
            ScanMessage {
                shards: vec![3],
                ..scan_message()
            },
            "shard 3 of generation 7 is not here: ask again".to_owned(),
        ),
        (
            ScanMessage {
                scan: None,
                ..scan_message()
            },
            "the scan is malformed".to_owned(),
        ),
    ] {
        let rows = listening.peer().scan(message, Arc::clone(&SCHEMA)).await;
        let rows = rows.expect("a plan").next().await;
        let refused = reason(rows.expect("an outcome"), &expected);
        assert!(refused.contains(&expected), "{refused}");
    }
}

#[tokio::test]
async fn foreign_plans_are_refused_beside_scans() {
    let listening = with_sql(Security::none()).await;
    let mut plans = foreign_plans();
    plans.push(("a scan and a feed".to_owned(), {
        let (leaf, scan) = (encoded(leaf()), scan_leaf(scan_message()));
        both(&leaf, &scan)
    }));
    for (name, plan) in plans {
        for request in [
            set_scan(key(), plan.clone()),
            set_plan(key(), plan, PARTITIONS),
        ] {
            let mut client = listening.untrusted_client().await;
            let reason = reason(send(&mut *client, request).await, &name);
            assert!(
                reason.contains("takes questions and scans alone"),
                "{name}: {reason}"
            );
        }
    }
    let large = ScanMessage {
        scan: Some(vec![0; 2 << 20]),
        ..scan_message()
    };
    for (plan, partitions, expected) in [
        (
            scan_leaf(scan_message()),
            Some(PARTITIONS),
            "a scan has no feed",
        ),
        (encoded(leaf()), None, "one feed with 2 partitions"),
        (scan_leaf(large), None, "at most 1048576"),
        (
            nested(100_000, encoded(leaf())),
            None,
            "takes questions and scans alone",
        ),
    ] {
        let request = match partitions {
            Some(partitions) => set_plan(key(), plan, partitions),
            None => set_scan(key(), plan),
        };
        let mut client = listening.untrusted_client().await;
        let reason = reason(send(&mut *client, request).await, expected);
        assert!(reason.contains(expected), "{reason}");
    }
    let (mut client, key) = (listening.untrusted_client().await, key());
    let sent = send(&mut *client, set_scan(key, scan_leaf(scan_message()))).await;
    let _channel = sent.expect("a plan");
    let second = execute(&mut *client, key, 0..2, ProducerHead::None).await;
    let second = reason(second, "a second partition");
    assert!(second.contains("a scan has one partition"), "{second}");
    ask(&listening.peer()).await;
}

/// The leaf of one plan with the fields of another's as well.
fn both(one: &[u8], other: &[u8]) -> Vec<u8> {
    let extension = |plan: &[u8]| match PhysicalPlanNode::decode(plan)
        .expect("a plan")
        .physical_plan_type
    {
        Some(PhysicalPlanType::Extension(node)) => node,
        _ => panic!("a leaf is an extension"),
    };
    let (mut node, other) = (extension(one), extension(other));
    // Number of the codec, then the leaf: fields of both are merged when they are read.
    let of = |bytes: &[u8]| EncodedLeaf::decode(bytes).expect("a leaf");
    let (first, second) = (of(&node.node), of(&other.node));
    node.node = EncodedLeaf {
        codec: first.codec,
        leaf: [first.leaf, second.leaf].concat(),
    }
    .encode_to_vec();
    PhysicalPlanNode {
        physical_plan_type: Some(PhysicalPlanType::Extension(node)),
    }
    .encode_to_vec()
}

/// How the engine marks which codec has written a leaf.
#[derive(Clone, PartialEq, prost::Message)]
struct EncodedLeaf {
    #[prost(uint32, tag = "1")]
    codec: u32,
    #[prost(bytes = "vec", tag = "2")]
    leaf: Vec<u8>,
}
