//! Logs the plan of every search that takes long.
//!
//! `cargo run --example explain`

use std::time::{Duration, Instant};

use signaldex::{Page, Query, Result, Snapshot, sample};
use time::Date;

/// Searches that take at least this long are slow: some milliseconds in a real service, all of them here.
const SLOW: Duration = Duration::ZERO;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt().init();
    let snapshot = sample::index()?.snapshot();
    for text in [
        "q=\"series a\"&country=germany",
        "any=robotics \"head of\"&days=30",
        "country=Germny",
    ] {
        let page = search(&snapshot, &Query::from_query_string(text)?, sample::AS_OF)?;
        println!("{text}: {} signals", page.len());
    }
    Ok(())
}

/// Like [`Snapshot::search`], but a slow search is explained and its plan is logged.
fn search(snapshot: &Snapshot, query: &Query, today: Date) -> Result<Page> {
    let started = Instant::now();
    let page = snapshot.search(query, today)?;
    let took = started.elapsed();
    if took >= SLOW {
        // Explaining costs several times the search itself, so only slow searches are explained.
        let plan = snapshot.explain(query, today)?;
        let (rows, blocks) = (page.rows_checked(), page.blocks_visited());
        let filter = query.filter();
        tracing::warn!(%filter, ?took, rows, blocks, %plan, "slow search");
        for hint in &plan.hints {
            tracing::warn!("{hint}");
        }
    }
    Ok(page)
}
