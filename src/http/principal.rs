//! Who sends a request, where the host has authenticated it by itself: by a session, a certificate, a
//! token of its own.

use super::keys::{NewKey, Scopes};
use super::metering::Quotas;

/// The sender of a request, as the host knows it, with what it may do.
///
/// A middleware of the host puts it into the extensions of the request. It then stands for an API key,
/// and `Authorization` is not looked at. Requests without one need an API key of the state file.
///
/// ```
/// use signaldex::http::{Principal, Quotas, Scope};
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
    /// A metered principal with every scope, the default rate and no quota. The id is the host's own and
    /// stays the same; usage is recorded under `host:ID`.
    pub fn new(id: impl Into<String>) -> Principal {
        let id = id.into();
        Principal {
            settings: NewKey::named(id.clone()),
            id,
            is_metered: true,
        }
    }

    /// The name in lists of usage; by default the id. Recorded with the first request.
    pub fn name(mut self, name: impl Into<String>) -> Principal {
        self.settings.name = name.into();
        self
    }

    /// What the principal may read.
    pub fn scopes(mut self, scopes: Scopes) -> Principal {
        self.settings.scopes = scopes;
        self
    }

    /// Sustained requests per second, and how many may come at once. Each is at least 1.
    pub fn rate(mut self, per_second: u32, burst: u32) -> Principal {
        (self.settings.rate, self.settings.burst) = (per_second.max(1), burst.max(1));
        self
    }

    /// The most units a month.
    pub fn quotas(mut self, quotas: Quotas) -> Principal {
        self.settings.quotas = quotas;
        self
    }

    /// Charges nothing and has no quota. An `Idempotency-Key` then has no effect.
    pub fn unmetered(mut self) -> Principal {
        self.is_metered = false;
        self
    }
}
