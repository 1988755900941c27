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

/// Segments are left while large commits follow each other, until eight can be merged at once.
#[test]
fn in_a_stream_of_large_commits_eight_segments_are_merged_at_once() {
    let index = Index::in_memory().expect("memory");
    let mut writer = index.writer().expect("nobody else writes");
    writer.merges = idle_threads();
    let company = Company::new("acme", "Acme");
    writer.upsert_company(&company).expect("a company");
    let schedule = Schedule::new(Arc::downgrade(&writer.core), IDLE);
    let mut next_id = 1;
    let mut commit = |signals: u64| {
        for id in next_id..next_id + signals {
            let id = SignalId::new(id).expect("an id");
            let signal = Signal::new(id, "acme", "Acme raises");
            writer.upsert_signal(&signal).expect("a known company");
        }
        next_id += signals;
        writer.commit().expect("memory");
    };
    let due = || Some(schedule.due(&schedule.lock())?.segments);
    let stream = |until| schedule.lock().stream_until = until;
    let long = Instant::now() + Duration::from_secs(3600);
    commit(3000);
    for segments in 2..STREAMED_SEGMENTS {
        commit(100);
        stream(Some(long));
        assert_eq!(due(), None, "{segments} segments");
        stream(None);
        assert_eq!(due().is_some(), segments > 2, "{segments} segments");
    }
    commit(100);
    stream(Some(long));
    assert_eq!(due(), Some(1..STREAMED_SEGMENTS), "without the large one");
    schedule.lock().is_closing = true;
    assert_eq!(due(), Some(0..STREAMED_SEGMENTS), "a writer that closes");
    schedule.lock().is_closing = false;
    stream(Some(Instant::now()));
    let next = schedule.next(&mut schedule.lock());
    let Task::Merge(merge) = next else {
        panic!("nothing to merge after the stream");
    };
    assert_eq!(merge.segments, 0..STREAMED_SEGMENTS);
}

/// A large segment and eight others.
const STREAMED_SEGMENTS: usize = 9;

/// Large commits are a stream from the second one on, until none has come for two seconds; small ones do not
/// count.
#[test]
fn a_stream_begins_with_the_second_large_commit() {
    let threads = idle_threads();
    let in_stream = || threads.schedule.lock().stream_until.is_some();
    threads.wake(10_000);
    assert!(!in_stream());
    threads.wake(1);
    assert!(!in_stream());
    threads.wake(10_000);
    assert!(in_stream());
    threads.schedule.lock().large_commit_at = Some(Instant::now() - STREAM_PAUSE);
    threads.wake(10_000);
    assert!(!in_stream(), "after a pause");
}
