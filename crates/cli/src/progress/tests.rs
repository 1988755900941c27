//! White-box tests of `bin/signaldex/progress.rs`.

use super::*;

#[test]
fn a_line_has_the_share_and_the_rate() {
    let progress = |total_bytes| {
        let mut progress = Progress::default();
        progress.bytes_read = 50_000_000;
        progress.total_bytes = total_bytes;
        progress.records = 7;
        progress
    };
    let line = |total| line_of("signals", progress(total), Duration::from_secs(1));
    assert_eq!(
        line(Some(100_000_000)),
        "signals: 7 records, 50%, 1 s left, 50.0 MB/s"
    );
    assert_eq!(line(None), "signals: 7 records, 50.0 MB, 50.0 MB/s");
    assert_eq!(line(Some(0)), "signals: 7 records, 50.0 MB, 50.0 MB/s");
}
