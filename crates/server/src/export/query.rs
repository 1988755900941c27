//! The query of an export: a filter, a start, a length and a format.

use crate::corpus::ExportFormat;
use crate::endpoint::Endpoint;
use crate::parameters;
use signaldex::query::{InvalidQuery, ParameterError, QueryBuilder};
use signaldex::{Filter, SignalId};

/// The names of the parameters that only exports have.
const EXPORT_NAMES: [&str; 3] = [
    parameters::AFTER.name,
    parameters::MAX_ITEMS.name,
    parameters::FORMAT.name,
];

/// The query of an export.
#[derive(Clone, Debug)]
pub(super) struct ExportQuery {
    pub(super) filter: Filter,
    /// The export starts after this signal.
    pub(super) after: Option<SignalId>,
    /// Maximum number of signals in the export.
    pub(super) max_items: Option<u64>,
    pub(super) format: Option<ExportFormat>,
}

impl ExportQuery {
    /// Parses the filters of a query string, `after`, `maxItems` and `format`.
    ///
    /// # Errors
    /// All errors of the query string.
    pub(super) fn parse(query_string: &str) -> Result<ExportQuery, InvalidQuery> {
        let [after_name, max_items_name, format_name] = EXPORT_NAMES;
        let accepted = Endpoint::Export.description().search;
        let (mut builder, [after, max_items, format]) =
            QueryBuilder::from_query_string(query_string, accepted, EXPORT_NAMES);
        let after = value(&mut builder, after_name, after, id);
        let max_items = value(&mut builder, max_items_name, max_items, count);
        let format = value(&mut builder, format_name, format, format_of);
        Ok(ExportQuery {
            filter: builder.build()?.filter().clone(),
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
    parse: impl Fn(&str, &str) -> Result<T, ParameterError>,
) -> Option<T> {
    let text = text?;
    let parsed = if text.is_empty() {
        Err(ParameterError::empty(name))
    } else {
        parse(name, &text)
    };
    parsed.map_err(|error| builder.add_error(error)).ok()
}

fn id(name: &str, text: &str) -> Result<SignalId, ParameterError> {
    let allowed = "whole numbers of 1 to 19 digits without a leading zero";
    text.parse()
        .map_err(|_| ParameterError::invalid(name, text, allowed))
}

/// A number of signals without an upper limit.
fn count(name: &str, text: &str) -> Result<u64, ParameterError> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    let count = is_number.then(|| text.parse().ok()).flatten();
    count.ok_or_else(|| ParameterError::invalid(name, text, "whole numbers from 1"))
}

fn format_of(name: &str, text: &str) -> Result<ExportFormat, ParameterError> {
    match text {
        "ndjson" => Ok(ExportFormat::Ndjson),
        "csv" => Ok(ExportFormat::Csv),
        _ => Err(ParameterError::not_a_choice(
            name,
            text,
            &ExportFormat::NAMES,
        )),
    }
}
