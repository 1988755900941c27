//! Senders that the host has authenticated itself, by a session, a certificate or its own tokens.

use std::sync::Arc;

use super::keys::{NewKey, Scopes};
use super::metering::Quotas;
use signaldex::query::KeyFilter;

/// A sender that the host has authenticated, with its permissions.
///
/// Middleware of the host inserts it into the extensions of the request. It replaces the API key, and
/// `Authorization` is ignored. Requests without a principal need an API key of the state file.
///
/// ```
/// use signaldex_server::{Principal, Quotas, Scope};
///
/// let quotas = Quotas { signals: Some(10_000), ..Quotas::default() };
/// let customer = Principal::new("customer-17").name("Acme GmbH").rate(20, 40).quotas(quotas);
/// let colleague = Principal::new("staff-3").scopes([Scope::SignalsRead].into_iter().collect()).unmetered();
/// # let _ = (customer, colleague);
/// ```
#[derive(Clone, Debug)]
pub struct Principal {
    pub(super) id: String,
    pub(super) settings: NewKey,
    pub(super) is_metered: bool,
}

impl Principal {
    /// A metered principal with every scope, the default rate and no quota. The host chooses the id and
    /// must keep it stable; usage is recorded under `host:ID`.
    pub fn new(id: impl Into<String>) -> Principal {
        let id = id.into();
        Principal {
            settings: NewKey::named(id.clone()),
            id,
            is_metered: true,
        }
    }

    /// Sets the name in lists of usage. Default: the id. Recorded with the first request.
    pub fn name(mut self, name: impl Into<String>) -> Principal {
        self.settings.name = name.into();
        self
    }

    /// Sets the scopes.
    pub fn scopes(mut self, scopes: Scopes) -> Principal {
        self.settings.scopes = scopes;
        self
    }

    /// Sets the sustained rate in requests per second, and the burst size. Each is at least 1.
    pub fn rate(mut self, per_second: u32, burst: u32) -> Principal {
        (self.settings.rate, self.settings.burst) = (per_second.max(1), burst.max(1));
        self
    }

    /// Sets the monthly quotas.
    pub fn quotas(mut self, quotas: Quotas) -> Principal {
        self.settings.quotas = quotas;
        self
    }

    /// Which signals the sender may see; all by default.
    ///
    /// ```
    /// use signaldex::query::KeyFilter;
    /// use signaldex_server::Principal;
    ///
    /// let filter = KeyFilter::parse(["country=Germany"], [])?;
    /// let principal = Principal::new("tenant-7").filter(filter);
    /// # Ok::<(), signaldex::query::InvalidKeyFilter>(())
    /// ```
    pub fn filter(mut self, filter: KeyFilter) -> Principal {
        self.settings.filter = Some(Arc::new(filter));
        self
    }

    /// Turns off charges and quotas. `Idempotency-Key` then has no effect.
    pub fn unmetered(mut self) -> Principal {
        self.is_metered = false;
        self
    }
}
