//! Measures what each call costs, for the page "Choosing an entry point" of the documentation.
//!
//! `cargo run --profile dist --example costs -- 1000000`

use std::hint::black_box;
use std::time::{Duration, Instant};

use signaldex::query::Order;
use signaldex::{Facet, Index, IndexBuilder, Query, SignalId};
use signaldex_synthetic::Corpus;

/// How long each call is repeated.
const TIME: Duration = Duration::from_millis(500);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let signals = std::env::args().nth(1).map_or(Ok(20_000), |n| n.parse())?;
    let corpus = Corpus::new(signals, 1)?;
    let mut builder = IndexBuilder::in_memory();
    for company in corpus.companies() {
        builder.add_company(&company)?;
    }
    for signal in corpus.signals() {
        builder.add_signal(&signal)?;
    }
    let index = builder.finish()?;
    let today = corpus.as_of();
    let text = "q=raises&country=germany";
    let query = Query::from_query_string(text)?;
    let filter = query.filter();
    let snapshot = index.snapshot();
    let page = snapshot.search(&query, today)?;
    let id = page.ids().next().unwrap_or(SignalId::MIN);
    let item = snapshot.records(&page)?.swap_remove(0);
    let slug = item.signal.company_slug.clone();
    println!(
        "{index:?}\n{text}: {} matches",
        snapshot.count(filter, today)?
    );

    measure("Query::from_query_string", || {
        Query::from_query_string(text)
    });
    measure("Index::snapshot", || index.snapshot());
    measure("Index::refresh", || index.refresh().is_ok());
    measure("Snapshot::search", || snapshot.search(&query, today));
    measure("Snapshot::records, 50", || {
        snapshot.records(&page).map(|items| items.len())
    });
    measure("Item::into_owned", || item.clone().into_owned());
    measure("Snapshot::count", || snapshot.count(filter, today));
    measure("Snapshot::facets", || snapshot.facets(filter, today));
    measure("Snapshot::facets_of, one", || {
        snapshot.facets_of(filter, today, &[Facet::Size])
    });
    measure("Snapshot::matches, 1,000", || {
        let matches = snapshot.matches(filter, today, Order::NewestFirst);
        matches.take(1_000).count()
    });
    measure("Snapshot::explain", || snapshot.explain(&query, today));
    measure("Snapshot::contains", || snapshot.contains(id));
    measure("Snapshot::signal", || snapshot.signal(id).is_ok());
    measure("Snapshot::company", || snapshot.company(&slug).is_ok());
    measure("Snapshot::hints", || snapshot.hints(&query, true));
    // Eight of them, the dearest kinds first.
    let mistaken = Query::from_query_string(
        "country=germny&industry=softwear&fundingStage=sead&categories=foundng&companies=Nobody Inc,Pomelora SARL&all=zebraa gnuu",
    )?;
    measure("Snapshot::hints, 8", || snapshot.hints(&mistaken, true));
    commit(&index, &corpus)?;
    Ok(())
}

/// The median time of a call.
fn measure<T>(name: &str, mut call: impl FnMut() -> T) {
    let (started, mut times) = (Instant::now(), Vec::new());
    while started.elapsed() < TIME {
        let before = Instant::now();
        black_box(call());
        times.push(before.elapsed());
    }
    times.sort_unstable();
    println!("{name:<26} {:>12?}", times[times.len() / 2]);
}

fn commit(index: &Index, corpus: &Corpus) -> signaldex::Result<()> {
    let mut writer = index.writer()?;
    let signals: Vec<_> = corpus.signals().take(100).collect();
    measure("Writer::commit, 100", || {
        for signal in &signals {
            writer.upsert_signal(signal).expect("its company is known");
        }
        writer.commit().expect("memory can be written to")
    });
    Ok(())
}
