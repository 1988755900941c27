//! Answers as rows: read as they were written, whatever is damaged.

use axum::body::Bytes;
use proptest::prelude::*;

use super::{AnswerRows, COUNT_MAX, Reply, replies_of};
use crate::aggregates::AggregatesPart;
use crate::answer::{AnswerRow, ChangeOrigin, FacetValue, FoundChanges, ShardAnswer, ShardChange};
use crate::companies::CompanyRow;
use crate::worker::{ReplyStatus, WorkerRefusal};
use signaldex::query::CompanyKey;
use signaldex::{PositionError, SignalId};

fn row((id, value): (u64, u64), bytes: &[u8]) -> AnswerRow {
    AnswerRow {
        id,
        value,
        bytes: Bytes::copy_from_slice(bytes),
    }
}

fn answers() -> impl Strategy<Value = ShardAnswer> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..40);
    let rows = prop::collection::vec((any::<(u64, u64)>(), bytes()), 0..20);
    let rows = rows.prop_map(|rows| rows.iter().map(|(key, bytes)| row(*key, bytes)).collect());
    let value = (any::<u8>(), ".{0,12}", 0..=COUNT_MAX);
    let value = value.prop_map(|(facet, label, count)| FacetValue {
        facet,
        label: label.into(),
        count,
    });
    let step = || any::<(u64, u64)>();
    let signal =
        (SignalId::MIN.get()..=SignalId::MAX.get()).prop_filter_map("an id", SignalId::new);
    let origin = (signal, step()).prop_map(|(signal, (commit, added))| ChangeOrigin {
        signal,
        commit,
        added,
    });
    let change = (step(), prop::option::of(origin), bytes());
    let change = change.prop_map(|(step, origin, item)| ShardChange {
        step,
        origin,
        item: item.into(),
    });
    let found = (prop::collection::vec(change, 0..20), step(), any::<bool>());
    let found = found.prop_map(|(changes, step, is_last)| FoundChanges {
        changes,
        step,
        is_last,
    });
    let refused = prop_oneof![
        Just(PositionError::OtherIndex),
        Just(PositionError::Expired),
        Just(PositionError::Diverged),
        Just(PositionError::Ahead),
        Just(PositionError::OtherKeyFilter),
    ];
    let key = (any::<Option<i64>>(), ".{0,12}");
    let company = (key, bytes()).prop_map(|((value, slug), item)| CompanyRow {
        key: CompanyKey::new(value, &slug),
        bytes: item.into(),
    });
    prop_oneof![
        prop_oneof![found.prop_map(Ok), refused.prop_map(Err)].prop_map(ShardAnswer::Changes),
        rows.prop_map(ShardAnswer::Rows),
        prop::collection::vec(company, 0..20).prop_map(ShardAnswer::Companies),
        Just(ShardAnswer::Aggregates(AggregatesPart::TooManyGroups)),
        (0..=COUNT_MAX).prop_map(ShardAnswer::Count),
        prop::collection::vec(value, 0..20).prop_map(ShardAnswer::Facets),
        prop::collection::vec(".{0,12}", 0..20)
            .prop_map(|facts| ShardAnswer::Hints(facts.into_iter().collect())),
    ]
}

fn refusal() -> WorkerRefusal {
    WorkerRefusal {
        status: ReplyStatus::Overloaded,
        reason: "too much".to_owned(),
    }
}

proptest! {
    #[test]
    fn answers_are_read_as_they_were_written(
        answers in prop::collection::vec(prop::option::of(answers()), 0..5),
    ) {
        let mut rows = AnswerRows::default();
        let replies: Vec<Reply> = answers.into_iter().map(|answer| answer.ok_or_else(refusal)).collect();
        for (number, reply) in (1..).zip(&replies) {
            rows.push(number, reply);
        }
        let batch = rows.batch().expect("a batch");
        let mut read = Vec::new();
        replies_of(&batch, |number, reply| read.push((number, reply))).expect("replies");
        let texts = |replies: &mut dyn Iterator<Item = (u64, &Reply)>| -> Vec<String> {
            replies.map(|reply| format!("{reply:?}")).collect()
        };
        let read = texts(&mut read.iter().map(|(number, reply)| (*number, reply)));
        prop_assert_eq!(read, texts(&mut (1..).zip(&replies)));
    }

    /// Bytes that a node has damaged are read without a panic, and a part of an answer with items is refused.
    #[test]
    fn no_damage_makes_a_node_panic(
        answer in answers(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut rows = AnswerRows::default();
        rows.push(1, &Ok(answer));
        let whole = rows.bytes;
        let mut damaged = whole.clone();
        damaged[at.index(whole.len())] = byte;
        let mut cut = whole;
        cut.truncate(at.index(cut.len()));
        for bytes in [damaged, cut] {
            let ends = vec![bytes.len()];
            let batch = AnswerRows { bytes, ends }.batch().expect("a batch");
            let _ = replies_of(&batch, |_, _| {});
        }
    }
}

#[test]
fn counts_that_could_overflow_are_refused() {
    let value = |count| FacetValue {
        facet: 0,
        label: Bytes::new(),
        count,
    };
    for (count, is_read) in [(COUNT_MAX, true), (COUNT_MAX + 1, false), (u64::MAX, false)] {
        for answer in [
            ShardAnswer::Count(count),
            ShardAnswer::Facets(vec![value(count)]),
        ] {
            let mut rows = AnswerRows::default();
            rows.push(1, &Ok(answer));
            let batch = rows.batch().expect("a batch");
            assert_eq!(replies_of(&batch, |_, _| {}).is_ok(), is_read, "{count}");
        }
    }
}
