//! The law of dumps: what is built of a dump answers as the index did, and its dump is the same.

use std::fs;

use tempfile::TempDir;
use time::macros::{date, datetime};

use super::*;
use crate::fixtures::{Random, Records};
use crate::json::{
    CompanyDetail, FilterOptions, LoadOptions, Loader, SignalDetail, write_item_line,
};
use crate::signal::{Funding, Hiring};
use crate::{CompanyDeletion, Facet, Index, IndexBuilder, SignalId, Writer};

/// Both files of a dump.
#[derive(Debug, PartialEq)]
struct Files {
    companies: Vec<u8>,
    signals: Vec<u8>,
}

fn dump(snapshot: &Snapshot) -> Files {
    let (mut companies, mut signals) = (Vec::new(), Vec::new());
    let dumped = snapshot.dump(&mut companies, &mut signals).expect("memory");
    let lines = |bytes: &[u8]| bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
    assert_eq!(dumped.companies, lines(&companies));
    assert_eq!(dumped.signals, lines(&signals));
    Files { companies, signals }
}

fn rebuilt(files: &Files) -> Index {
    let folder = TempDir::new().expect("a temporary directory");
    let path = |name: &str| folder.path().join(name);
    fs::write(path("companies"), &files.companies).expect("a writable file");
    fs::write(path("signals"), &files.signals).expect("a writable file");
    let mut builder = IndexBuilder::in_memory();
    let mut options = LoadOptions::default();
    options.set("strict", "").expect("an option");
    let mut loader = Loader::with_options(options);
    loader
        .companies(path("companies"), &mut builder)
        .expect("records that load");
    loader
        .signals(path("signals"), &mut builder)
        .expect("records that load");
    let report = loader.report();
    assert_eq!((report.companies_replaced, report.signals_replaced), (0, 0));
    builder.finish().expect("memory")
}

/// Everything that a snapshot answers to some queries, as bytes.
fn answers(snapshot: &Snapshot, queries: &[Query]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for query in queries {
        let filter = query.filter();
        for page in snapshot.pages(query, Records::AS_OF).take(3) {
            let page = page.expect("a whole index");
            bytes.extend(format!("{:?}", page.next_cursor().map(ToString::to_string)).bytes());
            for item in snapshot.records(&page).expect("a whole index") {
                write_item_line(&mut bytes, &item.signal, &item.company_name);
            }
        }
        let count = snapshot
            .count(filter, Records::AS_OF)
            .expect("a whole index");
        bytes.extend(format!("{count}\n").bytes());
        let counts = &snapshot
            .facets(filter, Records::AS_OF)
            .expect("a whole index");
        let facets = &Facet::ALL;
        let options = FilterOptions { counts, facets };
        serde_json::to_writer(&mut bytes, &options).expect("memory");
        let matches = snapshot.matches(filter, Records::AS_OF, Order::NewestFirst);
        for item in matches {
            let item = item.expect("a whole index");
            write_item_line(&mut bytes, &item.signal, &item.company_name);
        }
    }
    for found in snapshot.scan() {
        let found = found.expect("a whole index");
        assert!(snapshot.contains(found.signal.id).expect("a whole index"));
    }
    bytes
}

/// The details of all records, in the order of a dump.
fn details(snapshot: &Snapshot) -> Vec<u8> {
    let mut bytes = Vec::new();
    let all = snapshot.matches(&Filter::default(), Records::AS_OF, Order::OldestFirst);
    for found in all.with_companies() {
        let found = found.expect("a whole index");
        let (signal, company) = (&found.signal, &found.company);
        serde_json::to_writer(&mut bytes, &SignalDetail { signal, company }).expect("memory");
    }
    for company in snapshot.companies_by_slug().expect("a whole index") {
        let slug = company.expect("a whole index").slug;
        let profile = snapshot.company(&slug).expect("a whole index");
        let profile = &profile.expect("a live company");
        serde_json::to_writer(&mut bytes, &CompanyDetail { profile }).expect("memory");
    }
    bytes
}

fn queries() -> Vec<Query> {
    let texts = [
        "limit=50",
        "q=series",
        "q=\"series a\" -w1",
        "country=Germany&limit=7",
        "size=501%2B",
        "categories=Funding,Hiring",
        "days=90",
        "dateRanges=30,older",
        "fundingMin=1000000",
        "company=company 1",
        "companies=\"Company 3\",company-4",
        "any=w1 w2 w3&exclude=w4",
    ];
    let parsed = texts.map(|text| Query::from_query_string(text).expect("a query"));
    parsed.into()
}

/// An index of several segments, with replaced and deleted signals and companies.
fn changed(signals: u64, seed: u64) -> Index {
    let random = &mut Random::new(seed);
    let records = Records::new(signals, seed);
    let index = Index::in_memory().expect("memory");
    let mut writer = index.writer().expect("the only writer");
    writer
        .upsert_companies(&records.companies)
        .expect("companies");
    let step = (signals / 6).max(1) as usize;
    for (number, part) in records.signals.chunks(step).enumerate() {
        writer
            .upsert_signals(part)
            .expect("signals of known companies");
        change(&mut writer, &records, random, number as u64);
        writer.commit().expect("memory");
    }
    // Last, since signals of every part must find their companies.
    let slug = &records.companies[random.below(records.companies.len())].slug;
    let deletion = CompanyDeletion::Cascade;
    writer.delete_company(slug, deletion).expect("memory");
    writer.commit().expect("memory");
    index
}

fn change(writer: &mut Writer, records: &Records, random: &mut Random, number: u64) {
    let count = records.signals.len();
    for _ in 0..count / 20 {
        let mut signal = records.signals[random.below(count)].clone();
        if random.chance(50) {
            writer.delete_signal(signal.id).expect("memory");
            continue;
        }
        signal.title = format!("{} again \u{2028}\"{number}\"", signal.title).into();
        signal.published_at = Some(datetime!(2026-06-12 8:00:00.25 UTC).into());
        signal.hiring = Some(crate::Hiring {
            seniority: Some("senior".into()),
            ..crate::Hiring::default()
        });
        if writer.has_company(&signal.company_slug).expect("memory") {
            writer.upsert_signal(&signal).expect("a known company");
        }
    }
    let mut company = records.companies[random.below(records.companies.len())].clone();
    company.about = Some("Über \u{1f600}\n".into());
    company.updated_at = Some(datetime!(2026-06-12 8:00:00 UTC).into());
    writer.upsert_company(&company).expect("memory");
}

fn check_law(index: &Index) {
    let snapshot = index.snapshot();
    let files = dump(&snapshot);
    let built = rebuilt(&files).snapshot();
    assert_eq!(dump(&built), files, "the second dump is the first");
    let queries = queries();
    assert!(answers(&snapshot, &queries) == answers(&built, &queries));
    assert!(details(&snapshot) == details(&built));
    assert_eq!(snapshot.company_count().ok(), built.company_count().ok());
}

#[test]
fn the_law_of_dumps_holds_after_updates_and_deletions_in_several_segments() {
    for (signals, seed) in [(10_000, 1), (300, 2), (20, 3), (1, 4)] {
        let index = changed(signals, seed);
        let segments = index
            .snapshot()
            .statistics()
            .expect("a whole index")
            .segments;
        assert!(signals < 300 || segments > 1, "{segments} segments");
        check_law(&index);
        index.writer().expect("no other").compact().expect("memory");
        check_law(&index);
    }
    check_law(&Index::in_memory().expect("memory"));
    check_law(&crate::sample::index().expect("the sample"));
}

#[test]
fn records_come_in_the_order_of_slugs_and_ids() {
    let files = dump(&changed(2_000, 5).snapshot());
    let lines = |bytes: &'_ [u8]| String::from_utf8(bytes.to_vec()).expect("text");
    let (companies, signals) = (lines(&files.companies), lines(&files.signals));
    let slugs = companies
        .lines()
        .map(|line| parse_company(line.as_bytes()).expect("a company").slug);
    assert!(slugs.is_sorted());
    let ids = signals
        .lines()
        .map(|line| parse_signal(line.as_bytes()).expect("a signal").id);
    assert!(ids.is_sorted_by(|one, other| one < other));
}

#[test]
fn a_dump_is_of_one_snapshot_whatever_a_writer_commits_meanwhile() {
    let index = changed(2_000, 6);
    let (snapshot, mut writer) = (index.snapshot(), index.writer().expect("the only writer"));
    let before = dump(&snapshot);
    // Commits between any two writes of a dump.
    struct Committing<'w>(&'w mut Writer, u64, Vec<u8>);
    impl Write for Committing<'_> {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.1 += 1;
            if self.1.is_multiple_of(100) {
                let id = SignalId::new(self.1).expect("an id");
                self.0.delete_signal(id).expect("memory");
                self.0.commit().expect("memory");
            }
            self.2.write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut companies = Vec::new();
    let mut signals = Committing(&mut writer, 0, Vec::new());
    snapshot.dump(&mut companies, &mut signals).expect("memory");
    let signals = signals.2;
    assert!(before == Files { companies, signals });
    assert!(dump(&index.snapshot()) != before);
}

#[test]
fn a_record_that_no_load_takes_is_refused_by_name() {
    let long = "x".repeat(super::super::FIELD_BYTES_MAX + 1);
    let mut old = Signal::new(SignalId::MIN, "acme", "Acme hires");
    old.date = Some(date!(-0001 - 01 - 01));
    let mut early = Signal::new(SignalId::MIN, "acme", "Acme hires");
    early.updated_at = Some(datetime!(-0001-01-01 0:00 UTC).into());
    let signals = [
        old,
        early,
        Signal::new(SignalId::MIN, "acme", long.as_str()),
        Signal::new(SignalId::MIN, "acme", ""),
    ];
    for signal in signals {
        let mut builder = IndexBuilder::in_memory();
        builder
            .add_company(&Company::new("acme", "Acme"))
            .expect("memory");
        builder.add_signal(&signal).expect("memory");
        let snapshot = builder.finish().expect("memory").snapshot();
        let error = snapshot
            .dump(Vec::new(), Vec::new())
            .expect_err("no load takes it");
        assert!(
            error.to_string().starts_with("signal 1 cannot be written"),
            "{error}"
        );
    }
    let mut company = Company::new("acme", "Acme");
    company.employees = Some(-1);
    let mut builder = IndexBuilder::in_memory();
    builder.add_company(&company).expect("memory");
    let snapshot = builder.finish().expect("memory").snapshot();
    let error = snapshot
        .dump(Vec::new(), Vec::new())
        .expect_err("no load takes it");
    assert!(
        error.to_string().contains("company \"acme\"") && error.to_string().contains("employees"),
        "{error}"
    );
}

#[test]
fn an_empty_optional_text_is_none_in_the_index_and_in_its_dump() {
    let empty = || Some("".into());
    let company = Company {
        about: empty(),
        tagline: empty(),
        logo_url: empty(),
        country: empty(),
        city: empty(),
        industry: empty(),
        linkedin_url: empty(),
        ..Company::new("acme", "Acme")
    };
    let signal = Signal {
        evidence: empty(),
        category: empty(),
        activity_url: empty(),
        author_name: empty(),
        author_title: empty(),
        author_url: empty(),
        funding: Some(Funding {
            stage: empty(),
            ..Funding::default()
        }),
        hiring: Some(Hiring {
            hiring_type: empty(),
            job_function: empty(),
            seniority: empty(),
            employment_type: empty(),
            work_arrangement: empty(),
        }),
        ..Signal::new(SignalId::MIN, "acme", "Acme hires")
    };
    let mut builder = IndexBuilder::in_memory();
    builder.add_company(&company).expect("memory");
    builder.add_signal(&signal).expect("memory");
    let index = builder.finish().expect("memory");
    let (mut companies, mut signals) = (Vec::new(), Vec::new());
    let snapshot = index.snapshot();
    snapshot.verify().expect("what is stored agrees");
    snapshot
        .dump(&mut companies, &mut signals)
        .expect("all can be loaded");
    let stored = Signal {
        funding: Some(Funding::default()),
        hiring: Some(Hiring::default()),
        ..Signal::new(SignalId::MIN, "acme", "Acme hires")
    };
    assert_eq!(parse_company(&companies), Ok(Company::new("acme", "Acme")));
    assert_eq!(parse_signal(&signals), Ok(stored));
}

#[test]
fn an_output_that_fails_is_an_error() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let snapshot = changed(300, 7).snapshot();
    let error = snapshot.dump(Vec::new(), Full).expect_err("no room");
    assert_eq!(error.kind(), crate::ErrorKind::Io);
}
