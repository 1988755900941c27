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
    let last_of_merge = commit(3000..6000);
    commit(6000..9000);
    let last_of_both = commit(9000..12_000);
    commit(12_000..12_010);
    commit(12_010..12_020);
    let schedule = Schedule::new(Arc::downgrade(&writer.core), IDLE);
    let due = || {
        let due = schedule.due(&schedule.lock())?;
        let segments = due.snapshot.segments.len();
        assert_eq!(segments, 5, "commits take what is small before them");
        Some(due.segments)
    };
    assert_eq!(due(), Some(0..4), "what is small is left to commits");
    schedule.lock().under_way.push(last_of_merge);
    assert_eq!(due(), Some(2..4), "what came after that merge began");
    schedule.lock().under_way.push(last_of_both);
    assert_eq!(due(), None);
    schedule.lock().under_way.clear();
    schedule.lock().has_failed = true;
    assert_eq!(due(), None, "the next commit says why");
}
