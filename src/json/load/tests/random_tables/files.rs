//! The forms of files, and a random table in each of them.

use tempfile::NamedTempFile;
#[cfg(any(feature = "xlsx", feature = "parquet"))]
use time::macros::date;

use super::{Given, RandomTable, UNKNOWN, file};
#[cfg(feature = "parquet")]
use crate::tables::parquet::tests::{TypedValue, typed_columns};
#[cfg(feature = "xlsx")]
use crate::tables::xlsx::tests::workbook;

/// How a table is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    Csv(char),
    Json,
    #[cfg(feature = "xlsx")]
    Workbook,
    #[cfg(feature = "parquet")]
    Parquet,
}

pub(super) const FORMS: &[Form] = &[
    Form::Csv(','),
    Form::Csv(';'),
    Form::Csv('\t'),
    Form::Json,
    #[cfg(feature = "xlsx")]
    Form::Workbook,
    #[cfg(feature = "parquet")]
    Form::Parquet,
];

impl RandomTable {
    /// The table as a file.
    pub(super) fn write(&self) -> NamedTempFile {
        match self.form {
            Form::Csv(separator) => file(&self.csv(separator)),
            Form::Json => file(&self.json()),
            #[cfg(feature = "xlsx")]
            Form::Workbook => self.workbook(),
            #[cfg(feature = "parquet")]
            Form::Parquet => self.parquet(),
        }
    }

    fn csv(&self, separator: char) -> String {
        let separator = separator.to_string();
        let mut text = self.columns().join(&separator) + "\n";
        for row in &self.rows {
            let cells = row.iter().map(|given| {
                if matches!(given, Given::Empty) {
                    String::new()
                } else {
                    format!("\"{}\"", given.text())
                }
            });
            text += &(cells.collect::<Vec<_>>().join(&separator) + "\n");
        }
        text
    }

    fn json(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            let mut object = serde_json::Map::new();
            let cells = self.columns().into_iter().zip(row);
            for (path, given) in
                cells.filter(|(path, given)| *path != UNKNOWN || !matches!(given, Given::Empty))
            {
                let value = match given {
                    Given::Empty => serde_json::Value::Null,
                    Given::Number(number) => {
                        serde_json::from_str(&number.to_string()).expect("a number")
                    }
                    other => other.text().into(),
                };
                match path.split_once('.') {
                    None => object.insert(path.to_owned(), value),
                    Some((outer, inner)) => object
                        .entry(outer)
                        .or_insert_with(|| serde_json::json!({}))
                        .as_object_mut()
                        .expect("an object")
                        .insert(inner.to_owned(), value),
                };
            }
            text += &format!("{}\n", serde_json::Value::Object(object));
        }
        text
    }

    #[cfg(feature = "xlsx")]
    fn workbook(&self) -> NamedTempFile {
        let inline = |text: &str| {
            let text = text.replace('&', "&amp;").replace('<', "&lt;");
            format!("<c t=\"inlineStr\"><is><t xml:space=\"preserve\">{text}</t></is></c>")
        };
        let header: String = self.columns().into_iter().map(inline).collect();
        let mut rows = format!("<row>{header}</row>");
        for row in &self.rows {
            let cells = row.iter().map(|given| match given {
                Given::Empty => "<c/>".to_owned(),
                Given::Text(text) => inline(text),
                Given::Number(number) => format!("<c><v>{number}</v></c>"),
                // The style of dates; the system of 1900 has a day that never was.
                Given::Day(day) => {
                    let days = (*day - date!(1899 - 12 - 30)).whole_days();
                    format!("<c s=\"1\"><v>{days}</v></c>")
                }
            });
            rows += &format!("<row>{}</row>", cells.collect::<String>());
        }
        workbook(&rows, 0)
    }

    #[cfg(feature = "parquet")]
    fn parquet(&self) -> NamedTempFile {
        let columns = self.columns();
        let columns = columns.iter().enumerate().map(|(index, name)| {
            let cells = self.rows.iter().map(|row| match &row[index] {
                Given::Empty => None,
                Given::Text(text) => Some(TypedValue::Text(text.clone())),
                Given::Number(number) => Some(TypedValue::Double(*number)),
                Given::Day(day) => {
                    Some(TypedValue::Day((*day - date!(1970 - 01 - 01)).whole_days()))
                }
            });
            (*name, cells.collect())
        });
        let columns: Vec<(&str, Vec<Option<TypedValue>>)> = columns.collect();
        typed_columns(&columns)
    }
}
