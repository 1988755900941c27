//! White-box tests of `cluster/engine/requests.rs`.

use datafusion_proto::protobuf::{
    CsvScanExecNode, LocalLimitExecNode, PhysicalExtensionNode, UnionExecNode,
};
use tonic::Code;

use super::*;

fn framed(message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u32).to_be_bytes();
    [&[0][..], &length, message].concat()
}

async fn code_of(method: &str, body: Vec<u8>) -> Option<Code> {
    let request = http::Request::builder()
        .uri(format!("http://worker/worker.WorkerService/{method}"))
        .body(Body::new(Buffered::from(body)))
        .expect("a request");
    checked(request).await.err().map(|status| status.code())
}

fn node(operator: PhysicalPlanType) -> PhysicalPlanNode {
    PhysicalPlanNode {
        physical_plan_type: Some(operator),
    }
}

fn leaf() -> PhysicalPlanNode {
    node(PhysicalPlanType::Extension(PhysicalExtensionNode::default()))
}

fn limit(input: Option<PhysicalPlanNode>) -> PhysicalPlanNode {
    node(PhysicalPlanType::LocalLimit(Box::new(LocalLimitExecNode {
        input: input.map(Box::new),
        ..LocalLimitExecNode::default()
    })))
}

fn set_plan(plan: &PhysicalPlanNode, feeds: usize) -> Vec<u8> {
    let set_plan = SetPlan {
        plan: plan.encode_to_vec(),
        feeds: vec![Ignored {}; feeds],
    };
    let set_plan = Some(set_plan);
    framed(&FromCoordinator { set_plan }.encode_to_vec())
}

#[tokio::test]
async fn only_plans_of_our_operators_pass() {
    let scan = node(PhysicalPlanType::CsvScan(CsvScanExecNode::default()));
    let union = node(PhysicalPlanType::Union(UnionExecNode {
        inputs: vec![leaf(), scan.clone()],
    }));
    let above_scan = node(PhysicalPlanType::Extension(PhysicalExtensionNode {
        inputs: vec![scan.clone()],
        ..PhysicalExtensionNode::default()
    }));
    for (plan, expected) in [
        (leaf(), None),
        (limit(Some(leaf())), None),
        (scan.clone(), Some(Code::PermissionDenied)),
        (limit(Some(scan)), Some(Code::PermissionDenied)),
        (union, Some(Code::PermissionDenied)),
        (above_scan, Some(Code::PermissionDenied)),
        (PhysicalPlanNode::default(), Some(Code::PermissionDenied)),
        (limit(None), Some(Code::InvalidArgument)),
    ] {
        let code = code_of("CoordinatorChannel", set_plan(&plan, 0)).await;
        assert_eq!(code, expected, "{plan:?}");
    }
    let code = code_of("CoordinatorChannel", set_plan(&leaf(), 1)).await;
    assert_eq!(code, Some(Code::PermissionDenied), "a feed of work");
}

/// Deeper than the decoder goes: refused, without a stack that overflows.
#[tokio::test]
async fn a_deep_plan_is_refused() {
    let plan = (0..1_000).fold(leaf(), |plan, _| limit(Some(plan)));
    let code = code_of("CoordinatorChannel", set_plan(&plan, 0)).await;
    assert_eq!(code, Some(Code::InvalidArgument));
}

#[tokio::test]
async fn what_a_message_says_of_its_length_is_not_allocated() {
    let longest = [0, 0xff, 0xff, 0xff, 0xff];
    for (body, expected) in [
        (longest.to_vec(), Code::ResourceExhausted),
        (vec![1, 0, 0, 0, 0], Code::InvalidArgument),
        (vec![0, 0, 0], Code::InvalidArgument),
        (framed(b"\xff\xff"), Code::InvalidArgument),
        (framed(b""), Code::InvalidArgument),
    ] {
        let code = code_of("CoordinatorChannel", body.clone()).await;
        assert_eq!(code, Some(expected), "{body:?}");
    }
}

#[tokio::test]
async fn a_run_has_few_partitions_and_nothing_above_the_plan() {
    let run = |start, end| Run {
        start,
        end,
        ..Run::default()
    };
    let broadcast = Run {
        broadcast: Some(Ignored {}),
        ..run(0, 1)
    };
    let repartition = Run {
        repartition: Some(Ignored {}),
        ..run(0, 1)
    };
    for (run, expected) in [
        (run(0, 1), None),
        (run(3, u64::from(SHARDS_MAX)), None),
        (run(1, 0), Some(Code::InvalidArgument)),
        (run(0, u64::MAX), Some(Code::InvalidArgument)),
        (run(0, 1 << 40), Some(Code::InvalidArgument)),
        (broadcast, Some(Code::PermissionDenied)),
        (repartition, Some(Code::PermissionDenied)),
    ] {
        let code = code_of("ExecuteTask", framed(&run.encode_to_vec())).await;
        assert_eq!(code, expected, "{run:?}");
    }
    let long = vec![0; RUN_BYTES_MAX + 1];
    assert!(code_of("ExecuteTask", long).await.is_some());
    assert!(code_of("Reflect", Vec::new()).await.is_some());
}
