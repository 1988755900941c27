//! Who may ask: the admin token, as bearer or as password of basic authentication.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use tonic::Status;
use tonic::codegen::http::header::AUTHORIZATION;
use tonic::codegen::http::{HeaderMap, Request};
use tonic::metadata::{AsciiMetadataValue, MetadataMap};

use super::connection_info::ConnectionInfo;
use super::host::FlightHost;

/// Longest secret that is looked at.
const SECRET_BYTES_MAX: usize = 1024;

/// Most characters of a user name in logs.
const NAME_CHARS_MAX: usize = 64;

/// What is said to clients without the token.
const REFUSAL: &str = "SQL takes the admin token, as a bearer token or as the password of basic authentication; an API key \
                       does not open it, and `signaldex admin-token` creates a new token";

/// Checks the token of each call.
#[derive(Clone)]
pub(super) struct TokenCheck(Arc<dyn FlightHost>);

/// Who has shown the token.
#[derive(Clone)]
pub(super) struct SqlOperator {
    /// The user name of basic authentication, which only logs show.
    pub(super) name: String,
    pub(super) peer: String,
    pub(super) token: String,
}

/// What a call shows.
struct ShownToken {
    name: Option<String>,
    token: String,
}

impl TokenCheck {
    pub(super) fn new(host: Arc<dyn FlightHost>) -> TokenCheck {
        TokenCheck(host)
    }

    /// Notes in a call who makes it.
    ///
    /// # Errors
    /// The call does not show the token.
    pub(super) async fn check<B>(&self, mut request: Request<B>) -> Result<Request<B>, Status> {
        let connection = request.extensions().get::<ConnectionInfo>().cloned();
        let connection = connection.ok_or_else(|| Status::internal("the connection is unknown"))?;
        let shown = ShownToken::of(request.headers()).ok_or_else(refused)?;
        let (host, token) = (Arc::clone(&self.0), shown.token.clone());
        // It may read a file.
        let is_admin = tokio::task::spawn_blocking(move || host.is_admin(&token)).await;
        let is_admin = is_admin.map_err(|error| Status::internal(error.to_string()))?;
        if !is_admin.map_err(|error| Status::unavailable(error.to_string()))? {
            tracing::warn!(peer = connection.peer(), "SQL refused: wrong admin token");
            return Err(refused());
        }
        let operator = SqlOperator {
            name: connection.known_as(shown.name),
            peer: connection.peer().to_owned(),
            token: shown.token,
        };
        request.extensions_mut().insert(operator);
        Ok(request)
    }
}

fn refused() -> Status {
    Status::unauthenticated(REFUSAL)
}

impl ShownToken {
    fn of(headers: &HeaderMap) -> Option<ShownToken> {
        let header = headers.get(AUTHORIZATION)?.to_str().ok()?;
        let (scheme, value) = header.split_once(' ')?;
        let value = value.trim();
        if value.len() > 2 * SECRET_BYTES_MAX {
            return None;
        }
        if scheme.eq_ignore_ascii_case("bearer") {
            return Some(ShownToken {
                name: None,
                token: value.to_owned(),
            });
        }
        if !scheme.eq_ignore_ascii_case("basic") {
            return None;
        }
        let decoded = STANDARD_NO_PAD.decode(value.trim_end_matches('='));
        let decoded = String::from_utf8(decoded.ok()?).ok()?;
        let (name, token) = decoded.split_once(':')?;
        Some(ShownToken {
            name: Some(name.chars().take(NAME_CHARS_MAX).collect()),
            token: token.to_owned(),
        })
    }
}

impl SqlOperator {
    /// The header with which later calls show the token.
    pub(super) fn bearer(&self, metadata: &mut MetadataMap) {
        // A token that came in a header can leave in one; one of basic authentication that cannot is none of ours.
        if let Ok(value) = AsciiMetadataValue::try_from(format!("Bearer {}", self.token)) {
            metadata.insert("authorization", value);
        }
    }
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    fn credentials(header: &str) -> Option<(Option<String>, String)> {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, header.parse().expect("a header"));
        ShownToken::of(&headers).map(|shown| (shown.name, shown.token))
    }

    #[test]
    fn a_token_is_read_in_both_forms() {
        let of =
            |name: Option<&str>, token: &str| Some((name.map(str::to_owned), token.to_owned()));
        assert_eq!(credentials("Bearer abc"), of(None, "abc"));
        assert_eq!(credentials("bearer  abc"), of(None, "abc"));
        for (text, name, token) in [
            ("ada:se:cret", "ada", "se:cret"),
            (":abcd", "", "abcd"),
            ("ada:", "ada", ""),
        ] {
            let encoded = STANDARD.encode(text);
            assert_eq!(
                credentials(&format!("Basic {encoded}")),
                of(Some(name), token)
            );
            let unpadded = STANDARD_NO_PAD.encode(text);
            assert_eq!(
                credentials(&format!("basic {unpadded}")),
                of(Some(name), token)
            );
        }
        for wrong in ["abc", "Digest abc", "Basic !!!", "Basic YWJj", "Basic /w=="] {
            assert_eq!(credentials(wrong), None, "{wrong}");
        }
        assert_eq!(credentials(&format!("Bearer {}", "x".repeat(5000))), None);
    }
}
