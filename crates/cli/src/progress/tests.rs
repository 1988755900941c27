//! White-box tests of `crates/cli/src/progress.rs`.

use super::*;

fn phase(total: Option<u64>, counts_records: bool) -> Phase {
    let mut progress = Progress::default();
    progress.bytes_read = 50_000_000;
    progress.total_bytes = total;
    progress.records = 7;
    Phase {
        name: "signals",
        started: Instant::now(),
        progress,
        counts_records,
        share: None,
    }
}

#[test]
fn a_line_has_the_share_and_the_rate() {
    let line = |total, counts_records| phase(total, counts_records).line(Duration::from_secs(1));
    assert_eq!(
        line(Some(100_000_000), false),
        "signals: 7 records, 50%, 1 s left, 50.0 MB/s"
    );
    assert_eq!(line(None, false), "signals: 7 records, 50.0 MB, 50.0 MB/s");
    assert_eq!(
        line(Some(0), false),
        "signals: 7 records, 50.0 MB, 50.0 MB/s"
    );
    assert_eq!(
        line(Some(14), true),
        "signals: 7 records, 50%, 1 s left, 7 records/s"
    );
    assert_eq!(line(None, true), "signals: 7 records, 1 s, 7 records/s");
}

#[test]
fn a_phase_without_reports_shows_how_long_it_takes() {
    let mut phase = phase(None, false);
    phase.progress = Progress::default();
    assert_eq!(phase.line(Duration::from_secs(3)), "signals: 3 s");
    assert_eq!(phase.report(Duration::from_secs(3)), "signals: 3.0 s");
}

#[test]
fn a_phase_that_tells_its_share_shows_it_with_the_time_left() {
    let mut phase = phase(None, false);
    phase.progress = Progress::default();
    let mut line = |share| {
        phase.share = Some(share);
        phase.line(Duration::from_secs(3))
    };
    assert_eq!(line(0.0), "signals: 3 s");
    assert_eq!(line(0.259), "signals: 25%, 9 s left");
    assert_eq!(line(1.0), "signals: 100%, 0 s left");
}

#[test]
fn the_thread_ends_with_its_owner() {
    let mut bar = ProgressLine::new();
    bar.is_terminal = true;
    bar.begin("writing");
    bar.add(1);
    bar.begin_counting("syncing", Some(3));
    assert!(bar.thread.is_some());
    drop(bar);
}
