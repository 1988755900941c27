//! What an export is asked: a filter, where to begin and to end, and a format.

use super::params::{self, Accepted, EXPORT_NAMES};
use super::values::{self, ValueError};
use super::{Filter, InvalidQuery, QueryBuilder};
use crate::signal::SignalId;

/// How the signals of an export are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExportFormat {
    /// One JSON object a line.
    Ndjson,
    /// One row a signal, as RFC 4180 has it.
    Csv,
}

/// What a request for an export asks.
#[derive(Clone, Debug)]
pub(crate) struct ExportQuery {
    pub(crate) filter: Filter,
    /// The signal after which the export begins.
    pub(crate) after: Option<SignalId>,
    /// The most signals of the export.
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
    /// As [`Filter::parse`], and those of the other three.
    pub(crate) fn parse(query_string: &str) -> Result<ExportQuery, InvalidQuery> {
        let (mut builder, [after, max_items, format]) =
            params::parse_with(query_string, EXPORT_NAMES, Accepted::Export)?;
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

/// The value of a parameter where it is given and valid; the builder is told why it is not.
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
