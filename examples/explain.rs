//! Logs the plan of every search that takes long.
//!
//! `cargo run --example explain --features json`

use std::time::{Duration, Instant};

use signaldex::{Page, Query, Snapshot, sample};
use time::Date;

/// From here on a search is slow. Real services take some milliseconds; here every search is.
const SLOW: Duration = Duration::ZERO;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt().init();
    let snapshot = sample::index()?.snapshot();
    for text in [
        "q=\"series a\"&country=germany",
        "any=robotics \"head of\"&days=30",
        "country=Germny",
    ] {
        let page = search(&snapshot, &Query::parse(text)?, sample::AS_OF);
        println!("{text}: {} signals", page.len());
    }
    Ok(())
}

/// As [`Snapshot::search`]; what is slow is searched again and logged with its plan.
fn search(snapshot: &Snapshot, query: &Query, today: Date) -> Page {
    let started = Instant::now();
    let page = snapshot.search(query, today);
    let took = started.elapsed();
    if took >= SLOW {
        // Several times the cost of the search itself: only for what is slow anyway.
        let plan = snapshot.explain(query, today);
        let (rows, blocks) = (page.rows_checked(), page.blocks_visited());
        let filter = query.filter().canonical();
        tracing::warn!(filter, ?took, rows, blocks, %plan, "slow search");
        for value in &plan.unknown {
            tracing::warn!("{value}");
        }
    }
    page
}
