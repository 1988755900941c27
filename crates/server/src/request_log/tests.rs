//! What the log keeps, finds and drops.

use super::*;

const DAY: i64 = 24 * 60 * 60;
const LIMITS: RequestLogLimits = RequestLogLimits {
    days: 7,
    bytes: 256 << 20,
};

fn request(number: u64, at: i64) -> LoggedRequest {
    let is_refused = number.is_multiple_of(3);
    LoggedRequest {
        number: 0,
        key: (number % 2).cast_signed(),
        at: UtcDateTime::from_unix_timestamp(1_795_000_000 + at).expect("an instant"),
        request_id: format!("request{number}"),
        endpoint: ["search", "signal"][number as usize % 2].into(),
        status: if is_refused { 404 } else { 200 },
        code: is_refused.then(|| "not_found".into()),
        time: Duration::from_micros(number),
        charged: number,
        query: None,
    }
}

fn found(log: &RequestLog, wanted: &RequestsWanted<'_>) -> Vec<LoggedRequest> {
    log.flush_for(Duration::from_secs(10));
    let wanted = RequestsWanted {
        rows: wanted.rows.max(1_000),
        ..wanted.clone()
    };
    log.requests(&wanted).expect("requests")
}

#[test]
fn pages_have_what_was_pushed_latest_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state.db-requests");
    let logs = [0, 1].map(|_| RequestLog::start(path.clone(), LIMITS).expect("a log"));
    let pushed: Vec<LoggedRequest> = (0..60)
        .map(|number| request(number, number.cast_signed()))
        .collect();
    for request in &pushed {
        logs[request.time.as_micros() as usize % 2].push(request.clone());
        logs[request.time.as_micros() as usize % 2].flush_for(Duration::from_secs(10));
    }
    let at = |seconds| Some(request(0, seconds).at);
    for wanted in [
        RequestsWanted::default(),
        RequestsWanted {
            key: Some(1),
            ..RequestsWanted::default()
        },
        RequestsWanted {
            endpoint: "signal",
            statuses: Some((400, 499)),
            ..RequestsWanted::default()
        },
        RequestsWanted {
            request_id: "request7",
            ..RequestsWanted::default()
        },
        RequestsWanted {
            from: at(10),
            to: at(20),
            ..RequestsWanted::default()
        },
    ] {
        let is_wanted = |request: &&LoggedRequest| {
            wanted.key.is_none_or(|key| key == request.key)
                && (wanted.endpoint.is_empty() || wanted.endpoint == request.endpoint)
                && wanted
                    .statuses
                    .is_none_or(|(low, high)| (low..=high).contains(&request.status))
                && (wanted.request_id.is_empty() || wanted.request_id == request.request_id)
                && wanted.from.is_none_or(|from| from <= request.at)
                && wanted.to.is_none_or(|to| request.at < to)
        };
        let expected: Vec<&LoggedRequest> = pushed.iter().filter(is_wanted).rev().collect();
        let all = found(&logs[0], &wanted);
        let without_number = all.iter().map(|request| LoggedRequest {
            number: 0,
            ..request.clone()
        });
        assert_eq!(
            without_number
                .collect::<Vec<_>>()
                .iter()
                .collect::<Vec<_>>(),
            expected
        );
        // The pages of a walk are the whole.
        let mut walked = Vec::new();
        loop {
            let before = walked.last().map(|last: &LoggedRequest| last.number);
            let page = RequestsWanted {
                before,
                rows: 7,
                ..wanted.clone()
            };
            let page = logs[0].requests(&page).expect("a page");
            if page.is_empty() {
                break;
            }
            walked.extend(page);
        }
        assert_eq!(walked, all);
    }
    assert_eq!(logs[0].dropped() + logs[1].dropped(), 0);
}

#[test]
fn units_are_added_and_old_requests_are_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = RequestLog::start(folder.path().join("requests"), LIMITS).expect("a log");
    log.push(request(1, 0));
    log.add_charged("request1", 40);
    assert_eq!(found(&log, &RequestsWanted::default())[0].charged, 41);
    log.push(request(2, 8 * DAY));
    let kept = found(&log, &RequestsWanted::default());
    assert_eq!((kept.len(), kept[0].charged), (1, 2));
}

#[test]
fn the_file_stays_within_its_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("requests");
    let limits = RequestLogLimits {
        days: 7,
        bytes: 1 << 20,
    };
    let log = RequestLog::start(path.clone(), limits).expect("a log");
    for number in 0..30_000 {
        let query = Some("q".repeat(100));
        log.push(LoggedRequest {
            query,
            ..request(number, 1)
        });
        if number.is_multiple_of(1_000) {
            log.flush_for(Duration::from_secs(10));
        }
    }
    let kept = found(
        &log,
        &RequestsWanted {
            rows: 100_000,
            ..RequestsWanted::default()
        },
    );
    assert_eq!(kept[0].request_id, "request29999");
    assert!(kept.len() > 1_000, "{}", kept.len());
    let bytes = std::fs::metadata(&path).expect("a file").len();
    assert!(bytes <= limits.bytes, "{bytes}");
    assert_eq!(log.dropped(), 0);
}

#[test]
fn lines_that_cannot_be_written_are_dropped_and_no_push_waits() {
    let folder = tempfile::tempdir().expect("a folder");
    let foreign = folder.path().join("foreign");
    let other = rusqlite::Connection::open(&foreign).expect("a file");
    other
        .execute_batch("CREATE TABLE theirs (x)")
        .expect("a table");
    drop(other);
    for path in [folder.path().join("nowhere/requests"), foreign] {
        let log = RequestLog::start(path, LIMITS).expect("a log");
        let started = Instant::now();
        for number in 0..100_000 {
            log.push(request(number, 0));
        }
        assert!(started.elapsed() < Duration::from_secs(5));
        log.flush_for(Duration::from_secs(10));
        assert!(log.dropped() > 0);
        assert!(log.requests(&RequestsWanted::default()).is_err());
    }
}
