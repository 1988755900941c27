//! How cells and files are read: options that are set by their names.

use super::moment::{self, DateFormat, ExcelDates, MomentOptions};
use super::number::DecimalMark;
use crate::signal::Currency;
use crate::text::{nearest_name, quoted};
use crate::{Error, Result};

/// How cells are read; the default reads what has one meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CellOptions {
    /// Texts that mean null.
    pub(super) nulls: Vec<String>,
    /// Whether a range of employees stands for its lower bound.
    pub(super) employee_ranges: bool,
    /// Signs of currencies.
    pub(super) currencies: Vec<(String, Currency)>,
    /// Whether `k`, `M`, `B` and `bn` behind an amount count.
    pub(super) amount_suffixes: bool,
    /// Days and instants, and the decimal mark of all numbers.
    pub(super) moments: MomentOptions,
}

impl CellOptions {
    /// Sets an option as the command line has it, without its dashes: `decimal` to `,`, `date-format` to `%d.%m.%Y`.
    /// Options that are given several times add up.
    ///
    /// ```
    /// use signaldex::json::{Cell, CellOptions, FieldType, read_cell};
    ///
    /// let mut options = CellOptions::default();
    /// options.set("date-format", "%d.%m.%Y")?;
    /// assert!(read_cell(FieldType::Day, Cell::Text("12.06.2026"), &options).is_ok());
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such option of cells, or the value is not one of it ([`Invalid`](crate::ErrorKind::Invalid)).
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "null" => self.nulls.push(value.to_owned()),
            "decimal" => {
                self.moments.decimal = Some(match value {
                    "." => DecimalMark::Point,
                    "," => DecimalMark::Comma,
                    _ => return Err(refused(name, value, ". or ,")),
                });
            }
            "employee-ranges" if value == "lower" => self.employee_ranges = true,
            "employee-ranges" => return Err(refused(name, value, "lower")),
            "currency" => {
                let pair = value.split_once('=').and_then(|(sign, code)| {
                    let is_sign =
                        !sign.is_empty() && !sign.contains(|letter: char| letter.is_ascii_digit());
                    Some((sign, Currency::new(code).filter(|_| is_sign)?))
                });
                let (sign, currency) =
                    pair.ok_or_else(|| refused(name, value, "SIGN=CODE, such as $=USD"))?;
                self.currencies.push((sign.to_owned(), currency));
            }
            "amount-suffixes" => self.amount_suffixes = true,
            "date-format" => {
                let allowed = "a format with a year, a month and a day of %Y %y %m %d %b %B %H %M %S, such as %d.%m.%Y";
                let format =
                    DateFormat::parse(value).ok_or_else(|| refused(name, value, allowed))?;
                self.moments.date_formats.push(format);
            }
            "excel-dates" => {
                self.moments.excel_dates = Some(match value {
                    "1900" => ExcelDates::From1900,
                    "1904" => ExcelDates::From1904,
                    _ => return Err(refused(name, value, "1900 or 1904")),
                });
            }
            "utc-offset" => {
                let offset = moment::utc_offset(value);
                self.moments.utc_offset = Some(
                    offset.ok_or_else(|| refused(name, value, "Z, or an offset such as +02:00"))?,
                );
            }
            _ => return Err(unknown_option(name)),
        }
        Ok(())
    }

    /// Whether an option may change what a text means that has a meaning without options.
    pub(crate) fn changes_meanings(&self) -> bool {
        !self.nulls.is_empty()
            || self.moments.decimal.is_some()
            || !self.moments.date_formats.is_empty()
    }

    /// Whether an option that has one value is given.
    pub(super) fn has(&self, name: &str) -> bool {
        match name {
            "decimal" => self.moments.decimal.is_some(),
            "employee-ranges" => self.employee_ranges,
            "amount-suffixes" => self.amount_suffixes,
            "excel-dates" => self.moments.excel_dates.is_some(),
            "utc-offset" => self.moments.utc_offset.is_some(),
            _ => false,
        }
    }
}

/// How one of the files is read.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileOptions {
    pub(crate) cells: CellOptions,
    /// A label of the Encoding Standard.
    pub(crate) encoding: Option<String>,
    pub(crate) delimiter: Option<u8>,
    /// Lines or rows above the header.
    pub(crate) skip_rows: u64,
    pub(crate) sheet: Option<String>,
    /// Their name, and our field; `None` leaves a column out.
    pub(crate) maps: Vec<(String, Option<&'static str>)>,
    /// Fields and the texts that stand in for missing values.
    pub(crate) defaults: Vec<(&'static str, String)>,
    pub(crate) make_keys: bool,
}

impl FileOptions {
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "encoding" => self.encoding = Some(value.to_owned()),
            "delimiter" => {
                self.delimiter = Some(match value {
                    "tab" | "\\t" => b'\t',
                    _ => match *value.as_bytes() {
                        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => byte,
                        _ => return Err(refused(name, value, "one ASCII character, or tab")),
                    },
                });
            }
            "skip-rows" => {
                let rows = value
                    .parse()
                    .map_err(|_| refused(name, value, "a number of lines"))?;
                self.skip_rows = rows;
            }
            "sheet" => self.sheet = Some(value.to_owned()),
            "make-keys" => self.make_keys = true,
            _ => self.cells.set(name, value)?,
        }
        Ok(())
    }

    /// Whether records of JSON that are valid without options mean something else with them.
    pub(crate) fn changes_json(&self) -> bool {
        self.cells.changes_meanings()
            || !self.maps.is_empty()
            || !self.defaults.is_empty()
            || self.make_keys
    }
}

/// The names of all options, for messages.
const OPTIONS: [&str; 18] = [
    "map",
    "set",
    "encoding",
    "delimiter",
    "skip-rows",
    "sheet",
    "make-keys",
    "strict",
    "skip-invalid",
    "invalid-as-null",
    "null",
    "decimal",
    "employee-ranges",
    "currency",
    "amount-suffixes",
    "date-format",
    "excel-dates",
    "utc-offset",
];

pub(super) fn refused(name: &str, value: &str, allowed: &str) -> Error {
    Error::invalid(format!("--{name}: {} is not {allowed}", quoted(value)))
}

fn unknown_option(name: &str) -> Error {
    let hint = match nearest_name(name, OPTIONS) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => format!("the options are {}", OPTIONS.join(", ")),
    };
    Error::invalid(format!("there is no option {}; {hint}", quoted(name)))
}
