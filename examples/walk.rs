//! Walks through every match: lazily, and page by page as a client of an API does.
//!
//! `cargo run --example walk`

use std::io::{self, BufWriter, Write};

use signaldex::query::Order;
use signaldex::{Filter, Query, sample};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let index = sample::index()?;
    let snapshot = index.snapshot();
    let filter = Filter::from_query_string("q=raises")?;

    // An export: an iterator that holds at most 1,000 signals, however many match.
    let mut output = BufWriter::new(io::stdout().lock());
    let mut exported = 0_u64;
    for item in snapshot.matches(&filter, sample::AS_OF, Order::OldestFirst) {
        let item = item?;
        writeln!(output, "{}\t{}", item.signal.id, item.signal.title)?;
        exported += 1;
    }
    assert_eq!(exported, snapshot.count(&filter, sample::AS_OF)?);

    // Pages: each request passes the previous cursor and is answered from the newest snapshot.
    // A signal that matches throughout is returned exactly once, whatever is committed in between.
    let mut cursor: Option<String> = None;
    let mut seen = 0;
    loop {
        let query = Query::builder()
            .keywords("raises")
            .cursor(&cursor)
            .build()?;
        let page = index.snapshot().search(&query, sample::AS_OF)?;
        seen += page.len() as u64;
        cursor = page.next_cursor().map(ToString::to_string);
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, exported);
    writeln!(output, "{seen} signals, twice")?;
    Ok(())
}
