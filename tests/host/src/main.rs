//! Uses the public API as an independent crate does, with each feature alone.

use signaldex::query::Order;
use signaldex::{Company, ErrorKind, Facet, Filter, Index, Query, Signal, SignalId};
use time::macros::date;
use time::Date;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const TODAY: Date = date!(2026 - 06 - 30);

fn main() -> Outcome {
    let index = index()?;
    ask(&index)?;
    keep(&index)?;
    #[cfg(feature = "serde")]
    serialised(&index)?;
    #[cfg(feature = "json")]
    json(&index)?;
    #[cfg(feature = "synthetic")]
    synthetic()?;
    #[cfg(feature = "server")]
    server(index.clone())?;
    #[cfg(feature = "replicate")]
    replicate()?;
    println!("{index:?}");
    Ok(())
}

/// Three signals of one company, written one commit after the other.
fn index() -> Outcome<Index> {
    let index = Index::in_memory()?;
    let mut writer = index.writer()?;
    assert!(index
        .writer()
        .is_err_and(|error| error.kind() == ErrorKind::Locked));
    let mut acme = Company::new("acme", "Acme GmbH");
    acme.country = Some("Germany".into());
    writer.upsert_company(&acme)?;
    for number in 1..=3 {
        let id = SignalId::new(number).ok_or("an id")?;
        let mut signal = Signal::new(id, "acme", format!("Acme raises Series A, part {number}"));
        signal.date = Some(TODAY);
        writer.upsert_signal(&signal)?;
        let report = writer.commit()?;
        assert_eq!(report.signals_written, 1);
    }
    Ok(index)
}

fn ask(index: &Index) -> Outcome {
    let snapshot = index.snapshot();
    let query = Query::builder()
        .keywords("\"series a\"")
        .country("Germany")
        .limit(2)
        .build()?;
    let page = snapshot.search(&query, TODAY)?;
    assert_eq!(snapshot.records(&page)?.len(), 2);
    let next = query
        .clone()
        .into_builder()
        .after(page.next_cursor())
        .build()?;
    assert_eq!(snapshot.search(&next, TODAY)?.len(), 1);
    assert_eq!(snapshot.count(query.filter(), TODAY)?, 3);
    assert_eq!(
        snapshot
            .facets(query.filter(), TODAY)?
            .values(Facet::Country)[0]
            .count(),
        3
    );
    let filter = Filter::default();
    assert_eq!(
        snapshot.matches(&filter, TODAY, Order::OldestFirst).count(),
        3
    );
    assert_eq!(snapshot.explain(&query, TODAY)?.matches, 3);
    let invalid = Query::from_query_string("limit=0&contry=x").expect_err("two errors");
    assert_eq!(invalid.errors().len(), 2);
    Ok(())
}

/// Records that outlive the snapshot that they come from.
fn keep(index: &Index) -> Outcome {
    let found = index
        .snapshot()
        .signal(SignalId::MIN)?
        .map(|found| found.into_owned());
    let profile = index
        .snapshot()
        .company("acme")?
        .map(|profile| profile.into_owned());
    assert_eq!(found.ok_or("a signal")?.company.slug, "acme");
    assert_eq!(profile.ok_or("a company")?.signal_count, 3);
    Ok(())
}

#[cfg(feature = "serde")]
fn serialised(index: &Index) -> Outcome {
    let query = Query::from_query_string("q=series&days=30")?;
    let text = serde_json::to_string(&query)?;
    assert_eq!(serde_json::from_str::<Query>(&text)?, query);
    let facets = index.snapshot().facets(query.filter(), TODAY)?;
    let text = serde_json::to_string(&facets)?;
    assert_eq!(serde_json::from_str::<signaldex::Facets>(&text)?, facets);
    Ok(())
}

#[cfg(feature = "json")]
fn json(index: &Index) -> Outcome {
    let line = br#"{"id": "4", "slug": "four", "title": "Acme hires", "companySlug": "acme"}"#;
    let signal = signaldex::json::parse_signal(line)?;
    let mut writer = index.writer()?;
    writer.upsert_signal(&signal)?;
    writer.commit()?;
    assert!(index.snapshot().contains(signal.id)?);
    assert!(signaldex::sample::index()?.snapshot().signal_count() > 1_000);
    Ok(())
}

#[cfg(feature = "synthetic")]
fn synthetic() -> Outcome {
    let corpus = signaldex_synthetic::Corpus::new(10, 1)?;
    assert_eq!(corpus.signals().count(), 10);
    Ok(())
}

/// The server's state is a file that the host's own bindings read, too.
#[cfg(feature = "server")]
fn server(index: Index) -> Outcome {
    use signaldex_server::{Limits, Service, State, Today};

    let path = std::env::temp_dir().join(format!("signaldex-host-{}.db", std::process::id()));
    let state = State::open(&path)?;
    let tables = "SELECT count(*) FROM sqlite_schema WHERE type = 'table'";
    let tables: i64 = rusqlite::Connection::open(&path)?.query_row(tables, [], |row| row.get(0))?;
    assert!(tables > 3, "{tables}");
    let service = Service::new(index, state, Today::Fixed(TODAY), Limits::default())?;
    drop(service.router());
    service.close();
    std::fs::remove_file(&path)?;
    Ok(())
}

#[cfg(feature = "replicate")]
fn replicate() -> Outcome {
    let store = signaldex::replicate::Store::in_memory();
    println!("{store:?}");
    Ok(())
}
