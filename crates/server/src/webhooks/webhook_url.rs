//! The URLs of webhooks: what may be saved, and which addresses may be asked.

use std::fmt;
use std::net::IpAddr;

use url::{Host, Url};

use super::{AddressRange, is_public};

/// Maximum bytes of a URL.
const BYTES_MAX: usize = 2_000;

/// Which webhooks are permitted beyond `https:` at public addresses.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WebhookRules {
    /// Ranges that are permitted though they are not public.
    pub allowed: Vec<AddressRange>,
    /// Whether `http:` is permitted.
    pub http: bool,
}

/// The URL of a webhook, in the form of the URL standard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookUrl(Url);

/// Why a text is not the URL of a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidWebhook {
    /// It has too many bytes.
    TooLong(usize),
    /// It is not a URL.
    NotUrl(url::ParseError),
    /// Its scheme is not permitted.
    Scheme,
    /// It has a user or a password.
    User,
    /// It has a fragment, which is never sent.
    Fragment,
    /// Its address is not public.
    Address(IpAddr),
}

impl WebhookRules {
    /// Whether an address may be asked.
    ///
    /// ```
    /// use signaldex_server::webhooks::WebhookRules;
    ///
    /// let mut rules = WebhookRules::default();
    /// assert!(!rules.allows([10, 1, 0, 1].into()));
    /// rules.allowed.push("10.1.0.0/16".parse()?);
    /// assert!(rules.allows([10, 1, 0, 1].into()));
    /// # Ok::<(), signaldex_server::webhooks::ParseRangeError>(())
    /// ```
    pub fn allows(&self, address: IpAddr) -> bool {
        is_public(address) || self.allowed.iter().any(|range| range.contains(address))
    }
}

impl WebhookUrl {
    /// Reads a URL. An address in it is judged here, in every spelling that the URL standard reads; a name is judged when it
    /// has been resolved, at each attempt.
    ///
    /// ```
    /// use signaldex_server::webhooks::{WebhookRules, WebhookUrl};
    ///
    /// let rules = WebhookRules::default();
    /// let url = WebhookUrl::parse("https://hooks.example:8443/in?a=b", &rules)?;
    /// assert_eq!(url.as_str(), "https://hooks.example:8443/in?a=b");
    /// for refused in ["http://hooks.example/", "https://0x7f.1/", "https://a:b@hooks.example/"] {
    ///     assert!(WebhookUrl::parse(refused, &rules).is_err());
    /// }
    /// # Ok::<(), signaldex_server::webhooks::InvalidWebhook>(())
    /// ```
    ///
    /// # Errors
    /// The text is too long or not a URL, or the URL has another scheme, a user, a fragment, or an address that the rules do
    /// not allow.
    pub fn parse(text: &str, rules: &WebhookRules) -> Result<WebhookUrl, InvalidWebhook> {
        if text.len() > BYTES_MAX {
            return Err(InvalidWebhook::TooLong(text.len()));
        }
        let url = Url::parse(text).map_err(InvalidWebhook::NotUrl)?;
        let is_permitted = match url.scheme() {
            "https" => true,
            "http" => rules.http,
            _ => false,
        };
        if !is_permitted {
            return Err(InvalidWebhook::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(InvalidWebhook::User);
        }
        if url.fragment().is_some() {
            return Err(InvalidWebhook::Fragment);
        }
        match address(&url).filter(|&address| !rules.allows(address)) {
            Some(refused) => Err(InvalidWebhook::Address(refused)),
            None if url.as_str().len() > BYTES_MAX => {
                Err(InvalidWebhook::TooLong(url.as_str().len()))
            }
            None => Ok(WebhookUrl(url)),
        }
    }

    /// A URL that was read before, whatever rules hold now: they are asked again at each attempt.
    pub(crate) fn of_stored(text: &str) -> Result<WebhookUrl, url::ParseError> {
        Url::parse(text).map(WebhookUrl)
    }

    /// The name or the address that is asked.
    pub(crate) fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// The URL as text, which [`parse`](Self::parse) reads back.
    ///
    /// ```
    /// use signaldex_server::webhooks::{WebhookRules, WebhookUrl};
    ///
    /// let url = WebhookUrl::parse("HTTPS://Hooks.Example", &WebhookRules::default())?;
    /// assert_eq!(url.as_str(), "https://hooks.example/");
    /// # Ok::<(), signaldex_server::webhooks::InvalidWebhook>(())
    /// ```
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

/// The address that stands in a URL in place of a name.
fn address(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Domain(_) => None,
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
    }
}

impl fmt::Display for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for InvalidWebhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InvalidWebhook::TooLong(bytes) => {
                write!(f, "the URL has {bytes} bytes; use at most {BYTES_MAX}")
            }
            InvalidWebhook::NotUrl(error) => write!(
                f,
                "the URL cannot be read ({error}); give one such as https://hooks.example/signals"
            ),
            InvalidWebhook::Scheme => f.write_str(
                "the URL has to begin with https:// (http:// only where it is permitted)",
            ),
            InvalidWebhook::User => f.write_str(
                "the URL has a user or a password; leave them out, and check the signature instead",
            ),
            InvalidWebhook::Fragment => {
                f.write_str("the URL has a fragment, which is never sent; leave out what follows #")
            }
            InvalidWebhook::Address(address) => write!(
                f,
                "the address {address} is not public; give a public one, or permit its range"
            ),
        }
    }
}

impl std::error::Error for InvalidWebhook {}

#[cfg(test)]
mod tests;
