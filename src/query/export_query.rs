//! Queries of exports: a filter, a start, a length and a format.

use super::params::{self, Accepted, EXPORT_NAMES};
use super::values::{self, ValueError};
use super::{Filter, InvalidQuery, QueryBuilder};
use crate::signal::SignalId;

/// The format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExportFormat {
    /// One JSON object per line.
    Ndjson,
    /// One row per signal (RFC 4180).
    Csv,
}

/// The query of an export.
#[derive(Clone, Debug)]
pub(crate) struct ExportQuery {
    pub(crate) filter: Filter,
    /// The export starts after this signal.
    pub(crate) after: Option<SignalId>,
    /// Maximum number of signals in the export.
    pub(crate) max_items: Option<u64>,
    pub(crate) format: Option<ExportFormat>,
}

impl ExportFormat {
    /// The names of the formats, in their order.
    pub(crate) const NAMES: [&str; 2] = ["ndjson", "csv"];

    fn of_name(name: &str) -> Result<ExportFormat, ValueError> {
        match name {
            "ndjson" => Ok(ExportFormat::Ndjson),
            "csv" => Ok(ExportFormat::Csv),
            _ => Err(values::not_a_choice(name, &ExportFormat::NAMES)),
        }
    }
}

impl ExportQuery {
    /// Parses the filters of a query string, `after`, `maxItems` and `format`.
    ///
    /// # Errors
    /// As [`Filter::parse`], and errors of the other three parameters.
    pub(crate) fn parse(query_string: &str) -> Result<ExportQuery, InvalidQuery> {
        let (mut builder, [after, max_items, format]) =
            params::parse_with(query_string, EXPORT_NAMES, Accepted::Export);
        let [after_name, max_items_name, format_name] = EXPORT_NAMES;
        let after = value(&mut builder, after_name, after, values::id);
        let max_items = value(&mut builder, max_items_name, max_items, values::count);
        let format = value(&mut builder, format_name, format, ExportFormat::of_name);
        Ok(ExportQuery {
            filter: builder.build()?.filter,
            after,
            max_items,
            format,
        })
    }
}

/// The value of a parameter, if it is given and valid. Errors are added to the builder.
fn value<T>(
    builder: &mut QueryBuilder,
    name: &str,
    text: Option<String>,
    parse: impl Fn(&str) -> Result<T, ValueError>,
) -> Option<T> {
    let text = text?;
    let parsed = if text.is_empty() {
        Err(values::empty())
    } else {
        parse(&text)
    };
    parsed.map_err(|error| builder.error_of(name, error)).ok()
}
