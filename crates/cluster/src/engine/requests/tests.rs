//! Requests that no client of the engine sends.

use super::*;

fn connection() -> ConnectionPlan {
    let connection = ConnectionPlan::new("peer".to_owned(), Arc::default(), false);
    connection.0.plan.send_replace(Some(RegisteredPlan {
        key: b"key".to_vec(),
        partitions: PARTITIONS,
    }));
    connection
}

fn execute(begin: u64, end: u64) -> Execute {
    Execute {
        key: b"key".to_vec(),
        begin,
        end,
        no_head: Some(Vec::new()),
    }
}

/// The engine would reserve memory for as many partitions as a request names, or subtract past zero.
#[tokio::test]
async fn only_ranges_of_the_partitions_are_executed() {
    let connection = connection();
    for (begin, end, is_allowed) in [
        (0, 1, true),
        (0, 2, true),
        (1, 2, true),
        (2, 1, false),
        (0, 3, false),
        (0, 1 << 40, false),
        (u64::MAX, 0, false),
        (1 << 63, u64::MAX, false),
    ] {
        let message = execute(begin, end).encode_to_vec();
        let executed = connection.execute(&message).await;
        assert_eq!(executed.is_ok(), is_allowed, "{begin} to {end}");
    }
}

/// A field that comes twice, or that is not checked, would be read by the engine in its own way.
#[tokio::test]
async fn what_is_checked_is_all_that_the_engine_reads() {
    let connection = connection();
    let good = execute(0, 2).encode_to_vec();
    assert!(connection.execute(&good).await.is_ok());
    for more in [
        // The end of the range again, the key again, a head of the engine, an unknown field.
        &[0x18, 0x7f][..],
        &[0x0a, 0x03, b'k', b'e', b'y'],
        &[0x3a, 0x00],
        &[0x78, 0x01],
    ] {
        let message = [&good[..], more].concat();
        let status = connection.execute(&message).await.expect_err("refused");
        assert!(
            status.message().contains("not allowed"),
            "{more:?}: {status}"
        );
    }
}

/// Each turn wraps a plan in a node that takes it as its input.
#[test]
fn a_deep_plan_is_refused_without_recursion_into_it() {
    let mut plan = Vec::new();
    for _ in 0..3_000 {
        // A coalescing node, number 13, with its input, number 1.
        for key in [0x0a, 0x6a] {
            let mut outer = vec![key];
            prost::encoding::encode_varint(plan.len() as u64, &mut outer);
            outer.extend_from_slice(&plan);
            plan = outer;
        }
    }
    assert_eq!(leaf_of(&plan), None);
}

/// A message of `count` questions of `bytes` bytes each.
fn questions(count: usize, bytes: usize, partition: u64) -> Vec<u8> {
    let unit = Unit {
        partition,
        question: vec![0; bytes].into(),
    };
    let batch = Some(UnitBatch {
        units: vec![unit; count],
    });
    Questions { batch }.encode_to_vec()
}

/// Questions that are taken make room for others.
#[test]
fn the_questions_that_wait_are_bounded() {
    let connection = connection();
    for (count, bytes) in [(1_000, 200), (100, 60_000), (4, 1_000_000)] {
        let message = questions(1, bytes, 0);
        for _ in 0..3 {
            (0..count).for_each(|_| connection.add(&message).expect("room"));
            (0..count).for_each(|_| connection.take());
        }
    }
    let mut added = 0;
    let refused = loop {
        match connection.add(&questions(16, 100, 0)) {
            Ok(()) => added += 16,
            Err(status) => break status,
        }
    };
    assert!((5_000..9_000).contains(&added), "{added}");
    assert!(
        refused.message().contains("too many questions"),
        "{refused}"
    );
    // A further one is taken once they are.
    (0..added + 16).for_each(|_| connection.take());
    connection.add(&questions(1, 100, 0)).expect("room");
}

/// The engine would keep them, and nobody would take them.
#[test]
fn questions_through_the_second_partition_are_refused() {
    let status = connection()
        .add(&questions(1, 100, 1))
        .expect_err("refused");
    assert!(status.message().contains("first partition"), "{status}");
}

/// Messages come whole, however a body is cut.
#[tokio::test]
async fn messages_are_read_one_by_one() {
    let (one, two) = (questions(3, 50, 0), questions(1, 10, 0));
    let framed = |message: &[u8]| {
        let length = u32::try_from(message.len()).expect("a short message");
        [&[0], &length.to_be_bytes()[..], message].concat()
    };
    let all = [framed(&one), framed(&two)].concat();
    for length in 1..all.len() {
        let parts = all
            .chunks(length)
            .map(|part| Ok::<_, ()>(Bytes::copy_from_slice(part)));
        let mut messages = Messages {
            body: futures_util::stream::iter(parts),
            read: BytesMut::new(),
        };
        for expected in [&one, &two] {
            let message = messages.next(1_000).await.expect("a message");
            assert_eq!(message.expect("a message")[HEADER_BYTES..], expected[..]);
        }
        assert_eq!(messages.next(1_000).await.expect("the end"), None);
    }
    let mut cut = Messages {
        body: futures_util::stream::iter([Ok::<_, ()>(Bytes::copy_from_slice(&all[..20]))]),
        read: BytesMut::new(),
    };
    assert!(cut.next(1_000).await.is_err());
    let mut long = Messages {
        body: futures_util::stream::iter([Ok::<_, ()>(Bytes::from(all))]),
        read: BytesMut::new(),
    };
    assert!(long.next(10).await.is_err());
}
