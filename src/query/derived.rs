//! Lazily computed fingerprints of a query.

use std::sync::OnceLock;

use super::{Filter, Fingerprint};

/// The fingerprints of a query and of its filter. They depend only on the query, so equality ignores
/// whether they have been computed.
///
/// Cursors contain the fingerprint of the filter, and the `ETag`s of the service depend on that of the
/// query.
#[derive(Clone, Debug, Default)]
pub(super) struct Derived {
    filter: OnceLock<Fingerprint>,
    query: OnceLock<Fingerprint>,
}

impl PartialEq for Derived {
    fn eq(&self, _: &Derived) -> bool {
        true
    }
}

impl Derived {
    /// The fingerprint of `filter`, which must be the query's.
    pub(super) fn filter_fingerprint(&self, filter: &Filter) -> Fingerprint {
        *self.filter.get_or_init(|| filter.fingerprint())
    }

    /// The fingerprint of the query, which `compute` finds.
    pub(super) fn query_fingerprint(&self, compute: impl FnOnce() -> Fingerprint) -> Fingerprint {
        *self.query.get_or_init(compute)
    }

    /// The derived values for another page of the same result.
    pub(super) fn of_other_part(&self) -> Derived {
        Derived {
            query: OnceLock::new(),
            ..self.clone()
        }
    }
}
