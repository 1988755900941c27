//! Form data from a body or a query string.

use std::time::Duration;

use axum::body::{Body, to_bytes};

use signaldex::query::decode;
use signaldex::query::limits::{KEY_FILTER_BYTES_MAX, KEY_FILTERS_MAX};

/// Maximum bytes of the form of a sign-in, which anyone may send.
pub(super) const SIGN_IN_BYTES_MAX: usize = 16 * 1024;
/// Maximum bytes of a form within a session: all filters and exceptions of a key, percent-encoded twice, as they are
/// stored and then as a form.
pub(super) const FORM_BYTES_MAX: usize =
    SIGN_IN_BYTES_MAX + 2 * KEY_FILTERS_MAX * KEY_FILTER_BYTES_MAX * ENCODED_BYTES_MAX;
/// How many bytes one of a filter becomes there.
const ENCODED_BYTES_MAX: usize = 12;
/// Time limit for receiving a form.
const BODY_TIME: Duration = Duration::from_secs(5);

/// The fields of a form in order. Names may repeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FormData(Vec<(String, String)>);

/// Why a form was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormUnread {
    /// It has more bytes than it may have, or its sender has gone.
    TooLong,
    /// It did not arrive in time.
    TooLate,
}

/// A value of a drop-down list.
pub(super) struct SelectOption {
    pub(super) value: String,
    pub(super) label: String,
    pub(super) is_chosen: bool,
}

impl FormData {
    /// Parses `name=value&name=value`.
    pub(super) fn parse(text: &[u8]) -> FormData {
        let text = String::from_utf8_lossy(text);
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        FormData(pairs.map(decoded).collect())
    }

    /// A form of these fields.
    pub(super) fn of(fields: impl IntoIterator<Item = (String, String)>) -> FormData {
        FormData(fields.into_iter().collect())
    }

    /// The fields whose names begin with a prefix, without it.
    pub(super) fn within(&self, prefix: &str) -> FormData {
        let inner = |(name, value): &(String, String)| {
            let name = name.strip_prefix(prefix)?;
            Some((name.to_owned(), value.clone()))
        };
        FormData(self.0.iter().filter_map(inner).collect())
    }

    /// Reads a form of at most this many bytes from a body.
    pub(super) async fn read(body: Body, bytes_max: usize) -> Result<FormData, FormUnread> {
        let bytes = tokio::time::timeout(BODY_TIME, to_bytes(body, bytes_max)).await;
        let bytes = bytes.map_err(|_| FormUnread::TooLate)?;
        Ok(FormData::parse(&bytes.map_err(|_| FormUnread::TooLong)?))
    }

    /// The first value of a name, trimmed; empty if there is none.
    pub(super) fn value(&self, name: &str) -> &str {
        self.values(name).next().unwrap_or_default()
    }

    /// Every value of a name.
    pub(super) fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        let fields = self.0.iter().filter(move |(known, _)| known == name);
        fields.map(|(_, value)| value.trim())
    }

    /// All fields, unchanged.
    pub(super) fn fields(&self) -> &[(String, String)] {
        &self.0
    }
}

/// A pair as the API reads it. What the API refuses is read as far as possible, so that a page can show it.
fn decoded(pair: &str) -> (String, String) {
    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
    if let (Ok(name), Ok(value)) = (decode(name), decode(value)) {
        return (name.into_owned(), value.into_owned());
    }
    let mut pairs = form_urlencoded::parse(pair.as_bytes());
    let (name, value) = pairs.next().unwrap_or_default();
    (name.into_owned(), value.into_owned())
}
