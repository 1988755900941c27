//! Loads into a sink that keeps what it is given.

use std::collections::BTreeMap;
use std::io::Write;

use proptest::prelude::*;
use tempfile::NamedTempFile;

use super::*;
use crate::json::Progress;
use crate::signal::{Company, Signal};
use crate::tables::{Value, read_cell};
use crate::{ErrorKind, SignalId};

mod random_tables;

/// Keeps the records by id and slug.
#[derive(Debug, Default)]
struct Kept {
    companies: BTreeMap<String, Company<'static>>,
    signals: BTreeMap<SignalId, Signal<'static>>,
}

impl Sink for Kept {
    fn has_company(&mut self, slug: &str) -> Result<bool> {
        Ok(self.companies.contains_key(slug))
    }

    fn add_company(&mut self, company: &Company<'_>) -> Result<bool> {
        let former = self
            .companies
            .insert(company.slug.to_string(), company.clone().into_owned());
        Ok(former.is_some())
    }

    fn add_signal(&mut self, signal: &Signal<'_>) -> Result<bool> {
        if !self.companies.contains_key(&*signal.company_slug) {
            return Err(Error::unknown_company(&signal.company_slug));
        }
        let former = self.signals.insert(signal.id, signal.clone().into_owned());
        Ok(former.is_some())
    }
}

fn file(text: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary file can be made");
    file.write_all(text.as_bytes()).expect("it can be written");
    file
}

fn options(given: &[(&str, &str)]) -> LoadOptions {
    let mut options = LoadOptions::default();
    for (name, value) in given {
        options.set(name, value).expect("an option");
    }
    options
}

fn company(slug: &str, name: &str) -> String {
    format!("{{\"slug\":\"{slug}\",\"name\":\"{name}\"}}\n")
}

fn signal(id: u64, title: &str, company: &str) -> String {
    format!("{{\"id\":{id},\"slug\":\"s\",\"title\":\"{title}\",\"companySlug\":\"{company}\"}}\n")
}

#[test]
fn the_later_of_two_records_wins_and_is_counted() {
    let companies = file(
        &[
            company("a", "one"),
            company("b", "two"),
            company("a", "three"),
        ]
        .concat(),
    );
    let signals = file(
        &[
            signal(5, "one", "a"),
            signal(4, "two", "b"),
            signal(5, "three", "b"),
        ]
        .concat(),
    );
    let mut kept = Kept::default();
    let report = load(companies.path(), signals.path(), &mut kept, OnInvalid::Stop);
    let expected = LoadReport {
        companies: 3,
        signals: 3,
        companies_replaced: 1,
        signals_replaced: 1,
        ..LoadReport::default()
    };
    assert_eq!(report.expect("every record is valid"), expected);
    assert_eq!(kept.companies["a"].name, "three");
    let five = SignalId::new(5).expect("5 is an id");
    assert_eq!(
        (&*kept.signals[&five].title, kept.signals.len()),
        ("three", 2)
    );
}

#[test]
fn a_load_stops_at_the_first_invalid_record() {
    let companies = file(&company("a", "one"));
    let table = [
        ("{\"id\":-1}\n".to_owned(), "id: -1 is not a whole number"),
        (
            signal(1, "t", "unknown"),
            "companySlug: \"unknown\" is no company's slug; companies are loaded before their signals",
        ),
        (
            "oops\n".to_owned(),
            "column 1: malformed JSON: expected value",
        ),
    ];
    for (line, expected) in table {
        let signals = file(
            &[
                signal(1, "one", "a"),
                "\n".to_owned(),
                line,
                signal(2, "two", "a"),
            ]
            .concat(),
        );
        let mut kept = Kept::default();
        let error = load(companies.path(), signals.path(), &mut kept, OnInvalid::Stop)
            .expect_err("a record is invalid");
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let expected = format!("{}:3: {expected}", signals.path().display());
        assert!(error.to_string().starts_with(&expected), "{error}");
        assert_eq!(kept.signals.len(), 1);
    }
}

#[test]
fn invalid_records_can_be_skipped_and_are_told() {
    let companies = file(&["{}\n".to_owned(), company("a", "one")].concat());
    let lines = [
        signal(1, "one", "a"),
        signal(2, "two", "b"),
        "{\n".to_owned(),
        signal(3, "3", "a"),
    ];
    let signals = file(&lines.concat());
    let mut told = Vec::new();
    let mut loader =
        Loader::new(OnInvalid::Skip).on_rejected(|rejected| told.push(rejected.clone()));
    let mut kept = Kept::default();
    loader
        .companies(companies.path(), &mut kept)
        .expect("the file can be read");
    loader
        .signals(signals.path(), &mut kept)
        .expect("the file can be read");
    let report = loader.report();
    drop(loader);
    assert_eq!(
        (report.companies, report.signals, report.rejected),
        (1, 2, 3)
    );
    assert_eq!(
        (report.companies_rejected, report.signals_without_company),
        (1, 1)
    );
    let positions: Vec<_> = told
        .iter()
        .map(|r| (r.path.as_path(), r.line, r.errors[0].field()))
        .collect();
    let expected = [
        (companies.path(), 1, Some("slug")),
        (signals.path(), 2, Some("companySlug")),
        (signals.path(), 3, None),
    ];
    assert_eq!(positions, expected);
}

#[test]
fn unknown_fields_are_counted_or_refused() {
    let text = r#"{"slug":"a","name":"n","contry":"x","signalCount":4}
{"slug":"b","name":"n","contry":"x","tags":[]}
"#;
    let companies = file(text);
    let mut kept = Kept::default();
    let mut loader = Loader::new(OnInvalid::Stop);
    loader
        .companies(companies.path(), &mut kept)
        .expect("they are passed over");
    let shown: Vec<String> = loader
        .unknown_fields()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        shown,
        [
            "2 companies have an unknown field \"contry\"; did you mean country?",
            "1 company has an unknown field \"tags\"",
        ]
    );
    let mut loader = Loader::with_options(options(&[("strict", "")]));
    let error = loader
        .companies(companies.path(), &mut kept)
        .expect_err("it is refused");
    assert!(
        error
            .to_string()
            .ends_with(":1: \"contry\" is not a field of a company; did you mean country?"),
        "{error}"
    );
    let mut kept = Kept::default();
    let mut loader = Loader::with_options(options(&[("map", "contry=country")]));
    loader
        .companies(companies.path(), &mut kept)
        .expect("they are renamed");
    assert_eq!(kept.companies["b"].country.as_deref(), Some("x"));
    assert_eq!(loader.unknown_fields().len(), 1);
}

#[test]
fn unknown_fields_of_inner_objects_have_their_whole_path() {
    let companies = file(&company("a", "one"));
    let line = r#"{"id":1,"slug":"s","title":"t","companySlug":"a","funding":{"stge":"Seed"}}"#;
    let signals = file(&format!("{line}\n"));
    let mut kept = Kept::default();
    let mut loader = Loader::new(OnInvalid::Stop);
    for _ in 0..2 {
        loader
            .companies(companies.path(), &mut kept)
            .expect("it is valid");
        loader
            .signals(signals.path(), &mut kept)
            .expect("it is valid");
    }
    let [field] = &loader.unknown_fields()[..] else {
        panic!("one field is unknown")
    };
    assert_eq!(
        (&*field.name, field.count, field.nearest),
        ("funding.stge", 2, Some("funding.stage"))
    );
}

#[test]
fn the_names_that_are_told_apart_are_bounded() {
    let many = (0..1000).map(|n| format!(r#"{{"slug":"a","name":"n","x{n}":1}}"#));
    let companies = file(&many.collect::<Vec<_>>().join("\n"));
    let mut loader = Loader::new(OnInvalid::Stop);
    loader
        .companies(companies.path(), &mut Kept::default())
        .expect("they are passed over");
    let unknown = loader.unknown_fields();
    assert!(unknown.len() <= 101, "{}", unknown.len());
    assert_eq!(unknown.iter().map(|field| field.count).sum::<u64>(), 1000);
}

#[test]
fn an_over_long_line_is_one_rejected_record() {
    let long = "x".repeat(super::super::LINE_BYTES_MAX + 1);
    let companies = file(
        &[
            company("a", "one"),
            long,
            "\n".to_owned(),
            company("b", "two"),
        ]
        .concat(),
    );
    let mut loader = Loader::new(OnInvalid::Skip);
    let mut kept = Kept::default();
    loader
        .companies(companies.path(), &mut kept)
        .expect("the file can be read");
    assert_eq!(
        (loader.report().companies, loader.report().rejected),
        (2, 1)
    );
}

#[test]
fn records_before_a_damaged_place_are_loaded() {
    let text: String = (0..50_000)
        .map(|number| company(&number.to_string(), "name"))
        .collect();
    let mut bytes = zstd::encode_all(text.as_bytes(), 1).expect("memory can be written to");
    bytes.truncate(bytes.len() - 5);
    let mut companies = NamedTempFile::new().expect("a temporary file can be made");
    companies.write_all(&bytes).expect("it can be written");
    let mut kept = Kept::default();
    let mut loader = Loader::new(OnInvalid::Skip);
    let error = loader
        .companies(companies.path(), &mut kept)
        .expect_err("the file is cut short");
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    let line = format!("at line {}: ", kept.companies.len() + 1);
    assert!(error.to_string().contains(&line), "{error}");
    assert!(!kept.companies.is_empty());
}

/// Fails at its third record.
struct Failing(u32);

impl Sink for Failing {
    fn has_company(&mut self, _: &str) -> Result<bool> {
        Ok(true)
    }

    fn add_company(&mut self, _: &Company<'_>) -> Result<bool> {
        self.0 += 1;
        if self.0 == 3 {
            return Err(Error::full("no room"));
        }
        Ok(false)
    }

    fn add_signal(&mut self, _: &Signal<'_>) -> Result<bool> {
        Ok(false)
    }
}

#[test]
fn the_failure_of_a_sink_ends_a_load_of_any_length() {
    let companies = file(&company("a", "one").repeat(200_000));
    let mut loader = Loader::new(OnInvalid::Skip);
    let mut sink = Failing(0);
    let error = loader
        .companies(companies.path(), &mut sink)
        .expect_err("the sink fails");
    assert_eq!(error.kind(), ErrorKind::Full);
    assert_eq!((sink.0, loader.report().companies), (3, 2));
}

#[test]
fn progress_ends_at_the_whole_file() {
    let text = company("a", "one").repeat(100_000);
    let companies = file(&text);
    let mut told = Vec::new();
    let mut loader = Loader::new(OnInvalid::Stop).on_progress(|_, progress| told.push(progress));
    loader
        .companies(companies.path(), &mut Kept::default())
        .expect("every record is valid");
    drop(loader);
    let size = text.len() as u64;
    let end = Progress {
        bytes_read: size,
        total_bytes: Some(size),
        records: 100_000,
    };
    assert_eq!(told.last(), Some(&end));
    assert!(told.len() > 2);
    assert!(told.is_sorted_by_key(|progress| (progress.bytes_read, progress.records)));
}

#[test]
fn the_real_corpus_has_no_error() {
    let folder = std::env::var_os("SIGNALDEX_CORPUS")
        .unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/corpus").into());
    let [companies, signals] =
        ["companies.jsonl.zst", "signals.jsonl.zst"].map(|name| Path::new(&folder).join(name));
    if !companies.exists() {
        eprintln!("skipped: there is no corpus at {}", folder.display());
        return;
    }
    let mut kept = Kept::default();
    let report =
        load(companies, signals, &mut kept, OnInvalid::Stop).expect("no record is rejected");
    let expected = LoadReport {
        companies: 43_478,
        signals: 120_517,
        ..LoadReport::default()
    };
    assert_eq!(report, expected);
}

proptest! {
    #[test]
    fn order_is_kept_across_batches(count in 1..20_000u64, width in 0..100usize) {
        let companies = file(&company("a", "one"));
        let text: String = (1..=count).map(|id| signal(id % 7 + 1, &format!("{id:0width$}"), "a")).collect();
        let mut kept = Kept::default();
        let report = load(companies.path(), file(&text).path(), &mut kept, OnInvalid::Stop)?;
        prop_assert_eq!(report.signals, count);
        prop_assert_eq!(report.signals_replaced, count - count.min(7));
        for (id, signal) in &kept.signals {
            let last: u64 = signal.title.parse().expect("the title is a number");
            prop_assert_eq!(last % 7 + 1, id.get());
            prop_assert!(last + 7 > count);
        }
    }
}
