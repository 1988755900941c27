//! Assets of the pages: style sheets, scripts and an icon, embedded in the program. Charts are drawn by uPlot, as published.

use std::sync::LazyLock;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("assets/style.css");
const SCRIPT: &str = include_str!("assets/script.js");
const ICON: &str = include_str!("assets/icon.svg");
const CHARTS: &str = include_str!("assets/charts.js");
/// uPlot 1.6.32 with its licence, which has to be in every copy.
const PLOT: &str = concat!(
    "/*\n",
    include_str!("assets/uplot/LICENSE"),
    "*/\n",
    include_str!("assets/uplot/uPlot.iife.min.js")
);
const PLOT_STYLE: &str = concat!(
    "/*! https://github.com/leeoniya/uPlot (v1.6.32), MIT */\n",
    include_str!("assets/uplot/uPlot.min.css")
);

/// Bytes of the hash in the version: enough to distinguish releases.
const VERSION_BYTES: usize = 6;

static VERSION: LazyLock<String> = LazyLock::new(|| {
    let hash = Sha256::new()
        .chain_update(STYLE)
        .chain_update(SCRIPT)
        .chain_update(ICON)
        .chain_update(CHARTS)
        .chain_update(PLOT)
        .chain_update(PLOT_STYLE)
        .finalize();
    hash[..VERSION_BYTES]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
});

/// A hash of all assets, which is part of their URLs.
pub(super) fn version() -> &'static str {
    &VERSION
}

/// Serves an asset. Its URL contains the version, so it may be cached for ever.
pub(super) async fn asset(request: Request) -> Response {
    let (content_type, text) = match request.uri().path() {
        "/assets/style.css" => ("text/css; charset=utf-8", STYLE),
        "/assets/script.js" => ("text/javascript; charset=utf-8", SCRIPT),
        "/assets/charts.js" => ("text/javascript; charset=utf-8", CHARTS),
        "/assets/uplot.js" => ("text/javascript; charset=utf-8", PLOT),
        "/assets/uplot.css" => ("text/css; charset=utf-8", PLOT_STYLE),
        "/assets/icon.svg" => ("image/svg+xml", ICON),
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    let keep = "public, max-age=31536000, immutable";
    ([(CONTENT_TYPE, content_type), (CACHE_CONTROL, keep)], text).into_response()
}
