//! The form with which a page of the API reference sends a request.
//!
//! A script sends it, since a form alone cannot send a key in a header. Without scripts it stays hidden,
//! and the lines to copy are what a reader has.

use std::borrow::Cow;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::escape;
use crate::endpoint::EndpointDescription;
use crate::parameters::{EndpointParameter, Location};

/// The script of every page with a form.
const SCRIPT: &str = include_str!("try.js");

/// Pages load nothing from elsewhere and run only [`SCRIPT`], which may send requests to this service.
pub(crate) static CONTENT_POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = STANDARD.encode(Sha256::digest(SCRIPT));
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hash}'; \
         connect-src 'self'; base-uri 'none'; form-action 'none'"
    )
});

/// A value of a request that a reader may type.
pub(super) struct TryField {
    parameter: EndpointParameter,
    value: String,
}

/// The fields of an endpoint's form, with the values of an example.
pub(super) fn fields(endpoint: &EndpointDescription, request: &str) -> Vec<TryField> {
    let (path, query) = request.split_once('?').unwrap_or((request, ""));
    let field = |parameter: EndpointParameter| {
        let value = match parameter.location() {
            Location::Path => path.strip_prefix(endpoint.path_start()).map(Cow::from),
            Location::Query => form_urlencoded::parse(query.as_bytes())
                .find(|(name, _)| name == parameter.name())
                .map(|(_, value)| value),
            Location::Header => None,
        };
        TryField {
            parameter,
            value: value.unwrap_or_default().into_owned(),
        }
    };
    endpoint.parameters().map(field).collect()
}

/// The form of an endpoint, whose path is relative to the page. Fields without a value are folded away.
pub(super) fn html(path: &str, fields: &[TryField]) -> String {
    let (shown, folded): (Vec<&TryField>, Vec<&TryField>) =
        fields.iter().partition(|field| !field.value.is_empty());
    let inputs =
        |fields: &[&TryField]| -> String { fields.iter().map(|field| input(field)).collect() };
    let more = if folded.is_empty() {
        String::new()
    } else {
        format!(
            "<details><summary>More parameters</summary>\n<div class=\"fields\">\n{}</div></details>\n",
            inputs(&folded)
        )
    };
    format!(
        "<section id=\"try\" hidden>\n<h2>Try it</h2>\n\
         <form data-path=\"{}\" data-header=\"HEADER_NAME\" data-start=\"HEADER_START\">\n\
         <label for=\"try-key\">CREDENTIAL_LABEL</label> \
         <input id=\"try-key\" type=\"password\" autocomplete=\"off\" placeholder=\"CREDENTIAL_START…\">\n\
         <div class=\"fields\">\n{}</div>\n{more}<button>Send</button>\n</form>\n\
         <div class=\"answer\" hidden>\n<p role=\"status\" class=\"status\"></p>\n\
         <pre class=\"curl\"></pre>\n<pre class=\"headers\"></pre>\n\
         <pre class=\"body\" tabindex=\"0\" role=\"region\" aria-label=\"Body\"></pre>\n</div>\n\
         <script>{SCRIPT}</script>\n</section>\n",
        escape(path),
        inputs(&shown)
    )
}

fn input(field: &TryField) -> String {
    let parameter = field.parameter;
    let (name, location) = (parameter.name(), parameter.location());
    let required = if location == Location::Path {
        " required"
    } else {
        ""
    };
    format!(
        "<label>{name} <input name=\"{name}\" data-in=\"{}\" value=\"{}\" placeholder=\"{}\"{required}></label>\n",
        location.as_str(),
        escape(&field.value),
        escape(parameter.example())
    )
}
