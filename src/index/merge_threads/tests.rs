//! Which segments a thread takes while another one merges.

use super::*;
use crate::index::Index;
use crate::signal::{Company, Signal, SignalId};

/// The threads of a writer that start nothing, however many commits come.
fn idle_threads() -> MergeThreads {
    MergeThreads {
        schedule: Arc::new(Schedule::new(Weak::new(), IDLE)),
        threads: Vec::new(),
    }
}

#[test]
fn what_is_committed_during_a_merge_is_merged_beside_it() {
    let index = Index::in_memory().expect("memory");
    let mut writer = index.writer().expect("nobody else writes");
    writer.merges = idle_threads();
    writer
        .upsert_company(&Company::new("acme", "Acme"))
        .expect("a company");
    let mut commit = |ids: std::ops::Range<u64>| {
        for id in ids {
            let id = SignalId::new(id).expect("an id");
            let signal = Signal::new(id, "acme", "Acme raises");
            writer.upsert_signal(&signal).expect("a known company");
        }
        writer.commit().expect("memory");
        index.snapshot().segments.last().expect("a segment").number
    };
    commit(1..3000);
    let last_of_merge = commit(3000..5000);
    commit(5000..5010);
    commit(5010..5020);
    let schedule = Schedule::new(Arc::downgrade(&writer.core), IDLE);
    let first_due = || {
        let due = schedule.due(&schedule.lock())?;
        assert_eq!(
            due.snapshot.segments.len(),
            5,
            "an index in memory starts with an empty one"
        );
        Some(due.first)
    };
    assert_eq!(first_due(), Some(0));
    schedule.lock().under_way.push(last_of_merge);
    assert_eq!(first_due(), Some(3), "what came after that merge began");
    let last = index.snapshot().segments[4].number;
    schedule.lock().under_way.push(last);
    assert_eq!(first_due(), None);
    schedule.lock().under_way.clear();
    schedule.lock().has_failed = true;
    assert_eq!(first_due(), None, "the next commit says why");
}
