//! Random tables in every form of a file, under random options: they hold what their cells mean, read one by one by the
//! function that defines it.

use std::borrow::Cow;

use time::Date;
use time::macros::date;

use super::*;
use crate::signal::{Funding, Hiring};
use crate::tables::{Cell, CellOptions};

mod files;

use files::{FORMS, Form};

/// Texts that have a meaning in some field, or nearly.
const TEXTS: [&str; 62] = [
    "120",
    "1,200",
    "1.200",
    "1 200",
    "1'200",
    "1\u{202f}200,5",
    "1,200,000.50",
    "1.200.000",
    "51-200",
    "10,001+",
    "1,001 \u{2013} 5,000",
    "-3",
    "-0",
    "about 50",
    "1968.0",
    "007",
    "A-17",
    "'09",
    "'=1",
    "=1",
    " 45 ",
    "NULL",
    "n/a",
    "Köln",
    "  ",
    "\u{a0}",
    "€12,000,000.00",
    "€1,2M",
    "12 eur",
    "US$ 5",
    "$5",
    "5 kr",
    "3bn",
    "2.5k",
    "1.2E+06",
    "eur",
    "EUR",
    "£",
    "$",
    "kr",
    "Euro",
    "2026-06-12",
    "2026-6-12",
    "2026-02-30",
    "12.06.2026",
    "6/12/26",
    "6/7/2026",
    "12 Jun 2026",
    "2026-06-12 10:00",
    "2026-06-12 00:00:00",
    "2026-06-12T10:00:00Z",
    "2026-06-12 10:00+02:00",
    "2026-06-12T00:00:00.000Z",
    "46185",
    "46185.5",
    "60",
    "acme",
    "beta",
    "nobody",
    "true",
    "9223372036854775807",
    "9223372036854775808",
];

/// Options, of which each may be given.
const OPTIONS: [(&str, &str); 13] = [
    ("decimal", ","),
    ("decimal", "."),
    ("employee-ranges", "lower"),
    ("currency", "$=USD"),
    ("currency", "kr=SEK"),
    ("amount-suffixes", ""),
    ("date-format", "%d.%m.%Y"),
    ("date-format", "%m/%d/%y"),
    ("date-format", "%Y-%m-%d %H:%M"),
    ("excel-dates", "1900"),
    ("excel-dates", "1904"),
    ("utc-offset", "+02:00"),
    ("null", "NULL"),
];

/// What is done with faults, and with unknown fields.
const MODES: [&str; 3] = ["skip-invalid", "invalid-as-null", "strict"];

/// A column that no record has.
const UNKNOWN: &str = "colour";

/// A cell as its file holds it.
#[derive(Clone, Debug)]
enum Given {
    Empty,
    Text(String),
    Number(f64),
    Day(Date),
}

impl Given {
    fn text(&self) -> String {
        match self {
            Given::Empty => String::new(),
            Given::Text(text) => text.clone(),
            Given::Number(number) => number.to_string(),
            Given::Day(day) => day.to_string(),
        }
    }

    /// Whether a row of such cells is blank.
    fn is_blank(&self, form: Form) -> bool {
        match form {
            Form::Csv(_) => self.text().trim_ascii().is_empty(),
            #[cfg(feature = "xlsx")]
            Form::Workbook => self.text().trim().is_empty(),
            _ => self.text().is_empty(),
        }
    }
}

fn given() -> impl Strategy<Value = Given> {
    let text = prop::sample::select(&TEXTS[..]).prop_map(str::to_owned);
    let number = prop::sample::select(vec![0.0, 120.0, 2.5, 46185.0, 46185.25, -7.0, 1e16]);
    let day = (0..3000i64).prop_map(|days| date!(2020 - 01 - 01) + time::Duration::days(days));
    prop_oneof![
        16 => Just(Given::Empty),
        5 => text.prop_map(Given::Text),
        1 => "[0-9.,' €$k-]{1,8}".prop_map(Given::Text),
        1 => number.prop_map(Given::Number),
        1 => day.prop_map(Given::Day),
    ]
}

/// A random table with the options of its load.
#[derive(Clone, Debug)]
struct RandomTable {
    kind: RecordKind,
    form: Form,
    rows: Vec<Vec<Given>>,
    options: Vec<(&'static str, &'static str)>,
}

impl RandomTable {
    /// The columns: those of all fields, and one that no record has.
    fn columns(&self) -> Vec<&'static str> {
        self.kind.fields().chain([UNKNOWN]).collect()
    }

    fn has(&self, option: &str) -> bool {
        self.options.iter().any(|(name, _)| *name == option)
    }

    /// The cell of a file of this form.
    fn cell<'g>(&self, given: &'g Given, text: &'g str) -> Cell<'g> {
        match (self.form, given) {
            (Form::Json, Given::Empty) => Cell::Empty,
            (Form::Json, Given::Number(_)) => Cell::JsonNumber(text),
            (Form::Json, _) => Cell::JsonString(text),
            (Form::Csv(_), _) => Cell::Text(text),
            #[cfg(any(feature = "xlsx", feature = "parquet"))]
            (_, Given::Empty) => Cell::Empty,
            #[cfg(any(feature = "xlsx", feature = "parquet"))]
            (_, Given::Text(_)) => Cell::Text(text),
            #[cfg(any(feature = "xlsx", feature = "parquet"))]
            (_, Given::Number(number)) => Cell::Float(*number),
            #[cfg(any(feature = "xlsx", feature = "parquet"))]
            (_, Given::Day(day)) => Cell::Day(*day),
        }
    }
}

/// Lets each column have cells of one type, as Parquet needs.
#[cfg(feature = "parquet")]
fn with_typed_columns(mut table: RandomTable) -> RandomTable {
    let kind_of = |given: &Given| std::mem::discriminant(given);
    for column in 0..table.columns().len() {
        let cells = table.rows.iter().map(|row| &row[column]);
        let Some(first) = cells
            .filter(|given| !matches!(given, Given::Empty))
            .map(kind_of)
            .next()
        else {
            continue;
        };
        for row in &mut table.rows {
            if kind_of(&row[column]) != first {
                row[column] = Given::Empty;
            }
        }
    }
    table
}

/// Gives required fields a value, but for one in twelve.
fn with_keys(mut table: RandomTable, keys: &[u8]) -> RandomTable {
    let columns = table.columns();
    for (index, row) in table.rows.iter_mut().enumerate() {
        for (column, name) in columns.iter().enumerate() {
            let key = keys[(index * 5 + column) % keys.len()];
            let text = match (table.kind, *name) {
                (RecordKind::Company, "slug") => format!("c{index}"),
                (RecordKind::Signal, "id") => (index + 1).to_string(),
                (RecordKind::Signal, "companySlug") => ["acme", "beta"][index % 2].to_owned(),
                (_, "slug" | "name" | "title") => format!("{name} {index}"),
                _ => continue,
            };
            if key > 0 {
                row[column] = Given::Text(text);
            }
        }
    }
    table
}

fn random_table() -> impl Strategy<Value = RandomTable> {
    let kind = prop::sample::select(vec![RecordKind::Company, RecordKind::Signal]);
    let rows = prop::collection::vec(prop::collection::vec(given(), 22), 1..6);
    let keys = prop::collection::vec(0..12u8, 31);
    let are_given = prop::collection::vec(prop::bool::weighted(0.25), OPTIONS.len());
    let modes = prop::collection::vec(prop::bool::weighted(0.6), MODES.len());
    let all = (
        kind,
        prop::sample::select(FORMS),
        rows,
        keys,
        are_given,
        modes,
    );
    all.prop_map(|(kind, form, mut rows, keys, are_given, modes)| {
        let columns = kind.fields().len() + 1;
        rows.iter_mut().for_each(|row| row.truncate(columns));
        let given = OPTIONS
            .iter()
            .zip(are_given)
            .filter(|(_, is_given)| *is_given);
        let mut options: Vec<_> = given.map(|(option, _)| *option).collect();
        let modes = MODES.iter().zip(modes).filter(|(_, is_given)| *is_given);
        options.extend(modes.map(|(mode, _)| (*mode, "")));
        let table = with_keys(
            RandomTable {
                kind,
                form,
                rows,
                options,
            },
            &keys,
        );
        match form {
            #[cfg(feature = "parquet")]
            Form::Parquet => with_typed_columns(table),
            _ => table,
        }
    })
}

/// The values of a record in the order of its fields.
type Values = Vec<Option<Value<'static>>>;

/// What a load must come to.
#[derive(Debug, Default)]
struct Expected {
    loaded: Vec<Values>,
    rejected: u64,
    nulled: u64,
    is_stopped: bool,
}

impl Expected {
    fn of(table: &RandomTable) -> Expected {
        let mut expected = Expected::default();
        let rows = table.rows.iter();
        for row in rows.filter(|row| {
            table.form == Form::Json || !row.iter().all(|given| given.is_blank(table.form))
        }) {
            match record(table, row) {
                Some((values, nulled)) => {
                    expected.loaded.push(values);
                    expected.nulled += nulled;
                }
                None if table.has("skip-invalid") => expected.rejected += 1,
                None => {
                    expected.is_stopped = true;
                    break;
                }
            }
        }
        expected
    }

    /// Whether the load is an error.
    fn is_error(&self) -> bool {
        self.is_stopped || (self.loaded.is_empty() && self.rejected > 0)
    }
}

/// The values of a row and the number of those made null; `None` if the record is rejected.
fn record(table: &RandomTable, row: &[Given]) -> Option<(Values, u64)> {
    let mut options = CellOptions::default();
    for (name, value) in table
        .options
        .iter()
        .filter(|(name, _)| !MODES.contains(name))
    {
        options.set(name, value).expect("an option of cells");
    }
    let (mut values, mut nulled, mut is_rejected) = (Values::new(), 0, false);
    let mut refuse = |is_required: bool| {
        let is_nulled = table.has("invalid-as-null") && !is_required;
        nulled += u64::from(is_nulled);
        is_rejected |= !is_nulled;
    };
    for (path, given) in table.kind.fields().zip(row) {
        let text = given.text();
        let field_type = table.kind.field_type(path).expect("a field");
        let is_required = table.kind.is_required(path);
        let read = read_cell(field_type, table.cell(given, &text), &options);
        let value = match read {
            Ok(None) if is_required => {
                refuse(true);
                None
            }
            Ok(value) => value.map(Value::into_owned),
            Err(_) => {
                refuse(is_required);
                None
            }
        };
        values.push(value);
    }
    let place = |path| table.kind.fields().position(|field| field == path);
    if let (Some(amount), Some(currency)) = (place("funding.amount"), place("funding.currency"))
        && let Some(Value::Amount(number, Some(beside))) = values[amount]
    {
        let own = values[currency].replace(Value::Currency(beside));
        if own.is_some_and(|own| own != Value::Currency(beside)) {
            refuse(false);
        }
        values[amount] = Some(Value::Amount(number, None));
    }
    let unknown = row.last().expect("a column without a field");
    let text = unknown.text();
    let is_unknown = match table.form {
        Form::Json => !matches!(unknown, Given::Empty),
        _ => !table.cell(unknown, &text).is_blank(),
    };
    let company = place("companySlug").and_then(|index| values[index].clone());
    let is_known = |slug: &str| ["acme", "beta"].contains(&slug);
    let has_company = match (table.kind, &company) {
        (RecordKind::Signal, Some(Value::Text(slug))) => is_known(slug),
        (kind, _) => kind == RecordKind::Company,
    };
    let is_rejected = is_rejected || !has_company || (is_unknown && table.has("strict"));
    (!is_rejected).then_some((values, nulled))
}

fn text(text: &Option<Cow<'static, str>>) -> Option<Value<'static>> {
    text.clone().map(Value::Text)
}

fn company_values(company: &Company<'static>) -> Values {
    vec![
        Some(Value::Text(company.slug.clone())),
        Some(Value::Text(company.name.clone())),
        text(&company.about),
        text(&company.tagline),
        text(&company.logo_url),
        text(&company.country),
        text(&company.city),
        company.employees.map(Value::WholeNumber),
        text(&company.industry),
        company.founded_year.map(Value::WholeNumber),
        text(&company.linkedin_url),
        company.updated_at.map(Value::Instant),
    ]
}

fn signal_values(signal: &Signal<'static>) -> Values {
    let funding: Funding<'_> = signal.funding.clone().unwrap_or_default();
    let hiring: Hiring<'_> = signal.hiring.clone().unwrap_or_default();
    vec![
        Some(Value::Id(signal.id)),
        Some(Value::Text(signal.slug.clone())),
        Some(Value::Text(signal.title.clone())),
        text(&signal.evidence),
        text(&signal.category),
        signal.date.map(Value::Day),
        signal.published_at.map(Value::Instant),
        signal.updated_at.map(Value::Instant),
        Some(Value::Text(signal.company_slug.clone())),
        text(&signal.activity_url),
        text(&signal.author_name),
        text(&signal.author_title),
        text(&signal.author_url),
        text(&funding.stage),
        funding.amount.map(|amount| Value::Amount(amount, None)),
        funding.currency.map(Value::Currency),
        text(&hiring.hiring_type),
        text(&hiring.job_function),
        text(&hiring.seniority),
        text(&hiring.employment_type),
        text(&hiring.work_arrangement),
    ]
}

/// Keeps all records in the order of the file.
#[derive(Default)]
struct InOrder(Vec<Values>);

impl Sink for InOrder {
    fn has_company(&mut self, slug: &str) -> Result<bool> {
        Ok(["acme", "beta"].contains(&slug))
    }

    fn add_company(&mut self, company: &Company<'_>) -> Result<bool> {
        self.0.push(company_values(&company.clone().into_owned()));
        Ok(false)
    }

    fn add_signal(&mut self, signal: &Signal<'_>) -> Result<bool> {
        if !["acme", "beta"].contains(&&*signal.company_slug) {
            return Err(Error::unknown_company(&signal.company_slug));
        }
        self.0.push(signal_values(&signal.clone().into_owned()));
        Ok(false)
    }
}

fn check(table: &RandomTable) -> Result<(), TestCaseError> {
    let (expected, file) = (Expected::of(table), table.write());
    let mut sink = InOrder::default();
    let mut loader = Loader::with_options(options(&table.options));
    let loaded = match table.kind {
        RecordKind::Company => loader.companies(file.path(), &mut sink),
        RecordKind::Signal => loader.signals(file.path(), &mut sink),
    };
    prop_assert_eq!(&sink.0, &expected.loaded, "{:?}", loaded);
    prop_assert_eq!(loaded.is_err(), expected.is_error(), "{:?}", loaded);
    let report = loader.report();
    let records = report.companies + report.signals;
    let counts = (records, report.rejected, report.nulled);
    let expected_counts = (
        expected.loaded.len() as u64,
        expected.rejected,
        expected.nulled,
    );
    prop_assert_eq!(counts, expected_counts);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn tables_of_every_form_hold_what_their_cells_mean(table in random_table()) {
        check(&table)?;
    }
}
