//! The format of an export, from the `Accept` header if no parameter gives it.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

use crate::corpus::ExportFormat;

pub(crate) const fn content_type(format: ExportFormat) -> &'static str {
    match format {
        ExportFormat::Ndjson => "application/x-ndjson",
        ExportFormat::Csv => "text/csv; charset=utf-8",
    }
}

/// The format that a client prefers; NDJSON by default.
pub(super) fn accepted(headers: &HeaderMap) -> ExportFormat {
    let values = headers.get_all(ACCEPT).iter();
    let ranges: Vec<&str> = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .collect();
    let quality = |kind| quality(&ranges, kind);
    if quality(["text", "csv"]) > quality(["application", "x-ndjson"]) {
        ExportFormat::Csv
    } else {
        ExportFormat::Ndjson
    }
}

/// The quality of a media type, from 0 to 1, given by the most specific range (RFC 9110, section
/// 12.5.1).
fn quality(ranges: &[&str], [kind, subtype]: [&str; 2]) -> f32 {
    let of_range = |range: &&str| {
        let mut parts = range.split(';').map(str::trim);
        let (given_kind, given_subtype) = parts.next()?.split_once('/')?;
        let specificity = match (given_kind, given_subtype) {
            ("*", "*") => 0,
            (given, "*") if given.eq_ignore_ascii_case(kind) => 1,
            (given, sub)
                if given.eq_ignore_ascii_case(kind) && sub.eq_ignore_ascii_case(subtype) =>
            {
                2
            }
            _ => return None,
        };
        let quality = parts.find_map(|part| part.strip_prefix("q=")?.parse::<f32>().ok());
        Some((specificity, quality.unwrap_or(1.0)))
    };
    let fitting = ranges.iter().filter_map(of_range);
    fitting
        .max_by_key(|&(specificity, _)| specificity)
        .map_or(0.0, |(_, quality)| quality)
}

#[cfg(test)]
mod tests;
