//! What follows from a query, computed when it is first asked for and at most once.

use std::sync::OnceLock;

use super::{Filter, Fingerprint, Query, canonical};

/// The fingerprints of a query and of its filter. They follow from the rest of the query, so two
/// queries are equal whether or not they have been computed.
///
/// Every page but the last has the fingerprint of the filter in its cursor, and every answer of
/// the service has that of the query in its `ETag`.
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

    /// The fingerprint of `query`, which must be the one that this belongs to.
    pub(super) fn query_fingerprint(&self, query: &Query) -> Fingerprint {
        *self.query.get_or_init(|| {
            let filter = self.filter_fingerprint(&query.filter);
            canonical::fingerprint_of_query(filter, query)
        })
    }

    /// What is derived for another part of the same result.
    pub(super) fn of_other_part(&self) -> Derived {
        Derived {
            query: OnceLock::new(),
            ..self.clone()
        }
    }
}
