//! Which options would read a cell that has no value: tried, by the function that says what cells mean.

use super::cell::{Cell, FieldType, read_cell};
use super::money::SHARED_SIGNS;
use super::options::CellOptions;

/// The formats of dates that are tried, each alone and with a time.
const DATE_FORMATS: [&str; 16] = [
    "%Y-%m-%d",
    "%d.%m.%Y",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%d-%m-%Y",
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%d-%b-%Y",
    "%d-%b-%y",
    "%m/%d/%y",
    "%d/%m/%y",
    "%d.%m.%y",
];

const TIMES: [&str; 3] = ["", " %H:%M", " %H:%M:%S"];

/// An option and its value.
type Given = (&'static str, String);

/// The options that would read a cell, as they are typed; those that are enough alone come first, and only the
/// shortest combinations are told.
pub(crate) fn options_that_read(
    field_type: FieldType,
    cell: Cell<'_>,
    options: &CellOptions,
) -> Vec<String> {
    let candidates = candidates(field_type);
    for length in 1..=2 {
        let of_length = candidates.iter().filter(|given| given.len() == length);
        let reading = of_length.filter(|given| reads(field_type, cell, options, given));
        let reading: Vec<String> = reading.map(|given| typed(given)).collect();
        if !reading.is_empty() {
            return reading;
        }
    }
    Vec::new()
}

fn reads(field_type: FieldType, cell: Cell<'_>, options: &CellOptions, given: &[Given]) -> bool {
    let mut options = options.clone();
    let are_set = given
        .iter()
        .all(|(name, value)| !options.has(name) && options.clone().set(name, value).is_ok());
    for (name, value) in given {
        if options.set(name, value).is_err() {
            return false;
        }
    }
    are_set && matches!(read_cell(field_type, cell, &options), Ok(Some(_)))
}

/// The options as they are typed into a shell.
fn typed(given: &[Given]) -> String {
    let typed = given.iter().map(|(name, value)| match &**value {
        "" => format!("--{name}"),
        value => format!("--{name} {}", shell_quoted(value)),
    });
    typed.collect::<Vec<String>>().join(" ")
}

/// A text as one word of a shell.
pub(crate) fn shell_quoted(text: &str) -> String {
    let is_plain = |letter: char| {
        letter.is_alphanumeric()
            || matches!(letter, '.' | ',' | '/' | '_' | '-' | '+' | ':' | '=' | '@')
    };
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn candidates(field_type: FieldType) -> Vec<Vec<Given>> {
    let decimals: [Given; 2] = [("decimal", ".".to_owned()), ("decimal", ",".to_owned())];
    let signs = || SHARED_SIGNS.map(|(sign, code)| ("currency", format!("{sign}={code}")));
    let pairs_of = |first: Vec<Given>, second: &[Given]| {
        let mut all: Vec<Vec<Given>> = Vec::new();
        for one in &first {
            all.push(vec![one.clone()]);
            all.extend(second.iter().map(|other| vec![one.clone(), other.clone()]));
        }
        all
    };
    let mut all: Vec<Vec<Given>> = Vec::new();
    match field_type {
        FieldType::Text | FieldType::Key | FieldType::Id => {}
        FieldType::WholeNumber => all.extend(decimals.map(|given| vec![given])),
        FieldType::Employees => {
            all.extend(pairs_of(
                vec![("employee-ranges", "lower".to_owned())],
                &decimals,
            ));
            all.extend(decimals.map(|given| vec![given]));
        }
        FieldType::Amount => {
            let suffixes = ("amount-suffixes", String::new());
            let mut second = decimals.to_vec();
            second.push(suffixes.clone());
            all.extend(pairs_of(signs().to_vec(), &second));
            all.extend(pairs_of(vec![suffixes], &decimals));
            all.extend(decimals.map(|given| vec![given]));
        }
        FieldType::Currency => all.extend(signs().map(|given| vec![given])),
        FieldType::Day => {
            all.extend(formats().map(|format| vec![("date-format", format)]));
            all.push(vec![("excel-dates", "1900".to_owned())]);
        }
        FieldType::Instant => {
            let offset: Given = ("utc-offset", "Z".to_owned());
            all.push(vec![offset.clone()]);
            let formats = formats().map(|format| ("date-format", format)).collect();
            all.extend(pairs_of(formats, std::slice::from_ref(&offset)));
            all.extend(pairs_of(
                vec![("excel-dates", "1900".to_owned())],
                &[offset],
            ));
        }
    }
    all
}

fn formats() -> impl Iterator<Item = String> {
    let days = DATE_FORMATS.into_iter();
    days.flat_map(|day| TIMES.map(|time| format!("{day}{time}")))
}
