//! How long gzip takes on a page, by level: `cargo bench -p signaldex-server --bench gzip -- FILE`.
//!
//! FILE is an answer, such as one of `signaldex search`. The fastest of many short runs counts, which neighbours on the
//! machine have not disturbed. For the other backend of flate2, change its feature in Cargo.toml.

use std::io::Write;
use std::time::Instant;

use flate2::Compression;
use flate2::write::GzEncoder;

/// Pages between two looks at the clock, and how often that is done.
const PAGES: u32 = 10;
const RUNS: u32 = 300;

fn main() {
    let path = std::env::args()
        .nth(1)
        .filter(|path| !path.starts_with('-'));
    // `cargo test --benches` gives no file.
    let Some(path) = path else { return };
    let page = std::fs::read(&path).expect("a readable file");
    for level in [1, 2, 6] {
        let mut bytes = 0;
        let mut run = || {
            let start = Instant::now();
            for _ in 0..PAGES {
                bytes = compressed(&page, level).len();
            }
            start.elapsed().as_secs_f64() * 1e6 / f64::from(PAGES)
        };
        let times = (0..RUNS).map(|_| run());
        let fastest = times.fold(f64::INFINITY, f64::min);
        println!(
            "level {level}: {} -> {bytes} bytes, {fastest:.0} µs",
            page.len()
        );
    }
}

/// A page as the service compresses it, with a compressor of its own.
fn compressed(page: &[u8], level: u32) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level));
    encoder.write_all(page).expect("memory can be written to");
    encoder.finish().expect("memory can be written to")
}
