//! Embeds the engine: builds an index in memory, searches it, changes it.
//!
//! `cargo run --example embed`

use signaldex::{Company, IndexBuilder, Query, Signal, SignalId};
use time::macros::date;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Build. `IndexBuilder::in_directory` keeps the index on disk; nothing else changes.
    let mut builder = IndexBuilder::in_memory();
    let mut acme = Company::new("acme", "Acme GmbH");
    acme.country = Some("Germany".into());
    builder.add_company(&acme)?;
    let mut round = Signal::new(SignalId::MIN, "acme", "Acme raises €12M Series A");
    round.date = Some(date!(2026 - 06 - 12));
    builder.add_signal(&round)?;
    let index = builder.finish()?;

    // Search. Pass optional inputs on as they are: `None` is no filter.
    let (country, industry) = (Some("Germany"), None::<String>);
    let query = Query::builder()
        .keywords("\"series a\"")
        .country(country)
        .industry(industry)
        .limit(10)
        .build()?;
    let today = date!(2026 - 06 - 30);
    let before = index.snapshot();
    let page = before.search(&query, today)?;
    for item in before.records(&page)? {
        println!("{} by {}", item.signal.title, item.company_name);
    }
    println!("{} in all", before.count(query.filter(), today)?);

    // Change. The next snapshot sees a commit; snapshots taken before stay as they are.
    let mut writer = index.writer()?;
    let second = SignalId::new(2).ok_or("an id is at least 1")?;
    writer.upsert_signal(&Signal::new(second, "acme", "Acme extends its Series A"))?;
    writer.delete_signal(SignalId::MIN)?;
    let report = writer.commit()?;
    println!("{} written", report.signals_written);
    let after = index.snapshot();
    assert!(after.search(&query, today)?.ids().eq([second]));
    assert!(before.search(&query, today)?.ids().eq([SignalId::MIN]));
    Ok(())
}
