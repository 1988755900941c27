//! Opens a file of records: JSON lines or a table, told apart by their content.

use std::path::Path;

use super::csv::CsvTable;
use super::encoding;
use super::forms::FileForm;
use super::lines::Lines;
use super::options::FileOptions;
use super::rows::TableSource;
use crate::{Error, Result};

/// An open file of records.
pub(crate) enum Source {
    Json(Lines),
    Table(Box<dyn TableSource>),
}

impl Source {
    /// Opens a file, or standard input if the path is `-`, and reads the header if it is a table.
    ///
    /// # Errors
    /// The file cannot be read, or is nothing that can be loaded; the error says what it is and the way out.
    pub(crate) fn open(path: &Path, options: &FileOptions) -> Result<Source> {
        let mut lines = Lines::open(path)?;
        let beginning = lines.peek_bytes()?;
        let refused = |reason: &str| Error::invalid(reason).at(lines.path());
        match FileForm::of(&beginning) {
            FileForm::Text => {}
            FileForm::Workbook => return workbook(path, options).map(Source::Table),
            FileForm::Parquet => return parquet(path).map(Source::Table),
            FileForm::Refused(reason) => return Err(refused(reason)),
        }
        let label = options.encoding.as_deref();
        lines.decode(|reader| encoding::decoded(reader, &beginning, label))?;
        let first = lines
            .peek_line()?
            .and_then(|line| line.content.ok())
            .unwrap_or_default();
        match first.trim_ascii_start().first() {
            Some(b'{' | b'[') => {
                let file = path.display();
                match json_that_is_no_lines(first, &file.to_string()) {
                    Some(reason) => Err(Error::invalid(reason).at(lines.path())),
                    None => Ok(Source::Json(lines)),
                }
            }
            // An empty file has no records in either form.
            None => Ok(Source::Json(lines)),
            Some(_) => Ok(Source::Table(Box::new(CsvTable::open(lines, options)?))),
        }
    }

    /// The path of the file, for messages.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Source::Json(lines) => lines.path(),
            Source::Table(table) => table.path(),
        }
    }
}

/// Why JSON is not one record a line, and the command that makes it so.
fn json_that_is_no_lines(first: &[u8], file: &str) -> Option<String> {
    let (filter, is) = match serde_json::from_slice::<Outer<'_>>(first) {
        _ if first.trim_ascii_start().starts_with(b"[") => (".[]".to_owned(), "is a JSON array"),
        Ok(Outer(Some(name))) => (
            format!(".{name}[]"),
            "is a JSON object that holds the records",
        ),
        Err(error) if error.is_eof() => (".".to_owned(), "has JSON objects of several lines"),
        _ => return None,
    };
    let file = super::hints::shell_quoted(file);
    Some(format!(
        "{is}; one object a line is needed: jq -c '{filter}' {file} > lines.jsonl"
    ))
}

/// The name of the first member that is an array of objects.
struct Outer<'de>(Option<std::borrow::Cow<'de, str>>);

impl<'de> serde::Deserialize<'de> for Outer<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Outer<'de>, D::Error> {
        struct OuterVisitor;
        impl<'de> serde::de::Visitor<'de> for OuterVisitor {
            type Value = Outer<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Outer<'de>, A::Error> {
                let mut found = None;
                while let Some(name) = map.next_key::<String>()? {
                    let value = map.next_value::<&'de serde_json::value::RawValue>()?.get();
                    let is_records = value
                        .strip_prefix('[')
                        .is_some_and(|rest| rest.trim_start().starts_with('{'));
                    if is_records && found.is_none() {
                        found = Some(std::borrow::Cow::Owned(name));
                    }
                }
                Ok(Outer(found))
            }
        }
        deserializer.deserialize_map(OuterVisitor)
    }
}

#[cfg(feature = "xlsx")]
fn workbook(path: &Path, options: &FileOptions) -> Result<Box<dyn TableSource>> {
    Ok(Box::new(super::xlsx::Workbook::open(path, options)?))
}

#[cfg(not(feature = "xlsx"))]
fn workbook(path: &Path, _: &FileOptions) -> Result<Box<dyn TableSource>> {
    Err(not_built_in(path, "an .xlsx workbook", "xlsx"))
}

#[cfg(feature = "parquet")]
fn parquet(path: &Path) -> Result<Box<dyn TableSource>> {
    Ok(Box::new(super::parquet::ParquetTable::open(path)?))
}

#[cfg(not(feature = "parquet"))]
fn parquet(path: &Path) -> Result<Box<dyn TableSource>> {
    Err(not_built_in(path, "a Parquet file", "parquet"))
}

#[cfg(not(all(feature = "xlsx", feature = "parquet")))]
fn not_built_in(path: &Path, what: &str, feature: &str) -> Error {
    Error::invalid(format!(
        "is {what}, and this program was built without the feature `{feature}`; \
         `cargo build --release --features {feature}` builds it with the feature, or save the file as CSV"
    ))
    .at(path)
}
