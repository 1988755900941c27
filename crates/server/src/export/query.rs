//! The query of an export: a filter, a start, a length and a format.

use crate::corpus::ExportFormat;
use crate::endpoint::Endpoint;
use crate::parameters;
use signaldex::Query;
use signaldex::query::{InvalidQuery, Order, ParameterError, QueryBuilder, SortKey};

/// The names of the parameters that only exports have.
const EXPORT_NAMES: [&str; 3] = [
    parameters::AFTER.name,
    parameters::MAX_ITEMS.name,
    parameters::FORMAT.name,
];

/// The query of an export.
#[derive(Clone, Debug)]
pub(super) struct ExportQuery {
    /// The filters as typed.
    pub(super) query: Query,
    /// The export starts after this signal.
    pub(super) after: Option<SortKey>,
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
        let order = builder.chosen_order();
        let after = value(&mut builder, after_name, after, |name, text| {
            key(order, name, text)
        });
        let max_items = value(&mut builder, max_items_name, max_items, count);
        let format = value(&mut builder, format_name, format, format_of);
        Ok(ExportQuery {
            query: builder.build()?,
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

/// Where an export in an order goes on.
fn key(order: Order, name: &str, text: &str) -> Result<SortKey, ParameterError> {
    order.parse_key(text).map_err(|_| {
        let allowed = match order {
            Order::NewestFirst | Order::OldestFirst => {
                "ids, which are whole numbers of 1 to 19 digits without a leading zero"
            }
            Order::LatestDate | Order::EarliestDate => {
                "DATE,ID of the last whole line, such as 2026-03-01,123, or ,123 without a date"
            }
            Order::LargestAmount | Order::SmallestAmount => {
                "AMOUNT,ID of the last whole line, such as 4700000,123, or ,123 without an amount"
            }
        };
        ParameterError::invalid(name, text, allowed)
    })
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
