//! What `/metrics` says of the process itself.

use std::collections::BTreeMap;

use crate::dashboard::{Dashboard, text};

/// The samples of the process and of the build, by name and labels.
fn samples(dashboard: &Dashboard) -> BTreeMap<String, f64> {
    let answer = crate::client::request(dashboard.address, "GET", "/metrics", &[]);
    assert_eq!(answer.status, 200);
    let text = text(&answer);
    assert!(text.ends_with("# EOF\n"), "{text}");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.map(|line| line.rsplit_once(' ').expect("a value"));
    pairs
        .filter(|(name, _)| name.starts_with("process_") || name.contains("build_info"))
        .map(|(name, value)| (name.to_owned(), value.parse().expect("a number")))
        .collect()
}

#[test]
#[cfg(target_os = "linux")]
fn the_process_is_measured_by_the_names_of_prometheus() {
    let dashboard = Dashboard::start();
    let first = samples(&dashboard);
    let of = |name: &str| {
        *first
            .get(name)
            .unwrap_or_else(|| panic!("{name}: {first:?}"))
    };
    assert!(of("process_resident_memory_bytes") > 1e6);
    assert!(of("process_virtual_memory_bytes") >= of("process_resident_memory_bytes"));
    assert!((1.0..of("process_max_fds")).contains(&of("process_open_fds")));
    assert!(of("process_threads") >= 2.0);
    let now = std::time::SystemTime::now();
    let now = now.duration_since(std::time::UNIX_EPOCH).expect("a time");
    let age = now.as_secs_f64() - of("process_start_time_seconds");
    assert!((-2.0..3600.0).contains(&age), "started {age} s ago");

    let files: Vec<_> = (0..200)
        .map(|_| std::fs::File::open("/dev/null").expect("a file"))
        .collect();
    let mut sum = 0_u64;
    for number in 0..50_000_000_u64 {
        sum = std::hint::black_box(sum ^ number);
    }
    let second = samples(&dashboard);
    let grown = |name: &str| second[name] - first[name];
    // Other tests open and close files meanwhile, so only those held here are sure.
    assert!(second["process_open_fds"] >= files.len() as f64);
    assert!(grown("process_cpu_seconds_total") > 0.0, "{sum}");
}

#[test]
fn the_build_names_its_version() {
    let samples = samples(&Dashboard::start());
    let name = format!(
        "signaldex_build_info{{version=\"{}\"}}",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(samples.get(&name), Some(&1.0), "{samples:?}");
}

#[test]
fn latencies_of_refusals_are_apart_from_those_of_answers() {
    let dashboard = Dashboard::start();
    assert_eq!(dashboard.ask("/api/v1/signals", "sdx_none").status, 401);
    assert_eq!(dashboard.ask("/healthz", "").status, 200);
    let answer = crate::client::request(dashboard.address, "GET", "/metrics", &[]);
    let metrics = text(&answer);
    let count = |labels: &str| format!("signaldex_request_seconds_count{{{labels}}} 1\n");
    for labels in [
        "endpoint=\"search\",class=\"4xx\"",
        "endpoint=\"health\",class=\"2xx\"",
    ] {
        assert!(metrics.contains(&count(labels)), "{labels}: {metrics}");
    }
    assert!(!metrics.contains("endpoint=\"search\",class=\"2xx\""));
}
