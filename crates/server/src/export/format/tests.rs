//! Which format an `Accept` header asks for.

use axum::http::HeaderValue;

use super::*;

#[test]
fn the_format_is_the_one_that_the_client_prefers() {
    let cases = [
        (None, ExportFormat::Ndjson),
        (Some("*/*"), ExportFormat::Ndjson),
        (Some("application/json"), ExportFormat::Ndjson),
        (Some("text/csv"), ExportFormat::Csv),
        (Some("TEXT/CSV; header=present"), ExportFormat::Csv),
        (Some("text/*"), ExportFormat::Csv),
        (Some("text/csv, */*"), ExportFormat::Ndjson),
        (Some("text/csv, */*;q=0.5"), ExportFormat::Csv),
        (
            Some("text/csv;q=0.4, application/x-ndjson"),
            ExportFormat::Ndjson,
        ),
        (Some("text/csv;q=0, text/*"), ExportFormat::Ndjson),
        (Some("no media type, text/csv"), ExportFormat::Csv),
    ];
    for (accept, format) in cases {
        let headers = accept.map(|accept| (ACCEPT, HeaderValue::from_static(accept)));
        let headers: HeaderMap = headers.into_iter().collect();
        assert_eq!(accepted(&headers), format, "{accept:?}");
    }
}
