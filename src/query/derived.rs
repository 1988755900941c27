//! What follows from a query, computed when it is first asked for and at most once.

use std::sync::OnceLock;

use sha2::Sha256;

use super::{Filter, Fingerprint, Query, canonical};

/// The fingerprints of a query and of its filter. They follow from the rest of the query, so two
/// queries are equal whether or not they have been computed.
///
/// Every page but the last has the fingerprint of the filter in its cursor, and every answer of
/// the service has that of the query in its `ETag`. Both hash the canonical text of the filter
/// first, so the hash is kept where that text ends.
#[derive(Clone, Debug, Default)]
pub(super) struct Derived {
    hashed_filter: OnceLock<Sha256>,
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
        let fingerprint = || Fingerprint::of(self.hashed_filter(filter).clone());
        *self.filter.get_or_init(fingerprint)
    }

    /// The fingerprint of `query`, which must be the one that this belongs to.
    pub(super) fn query_fingerprint(&self, query: &Query) -> Fingerprint {
        *self.query.get_or_init(|| {
            let hash = self.hashed_filter(&query.filter).clone();
            Fingerprint::of(canonical::hash_rest(hash, query))
        })
    }

    /// What is derived for another part of the same result.
    pub(super) fn of_other_part(&self) -> Derived {
        Derived {
            query: OnceLock::new(),
            ..self.clone()
        }
    }

    fn hashed_filter(&self, filter: &Filter) -> &Sha256 {
        self.hashed_filter
            .get_or_init(|| canonical::hash_filter(&canonical::of_filter(filter)))
    }
}
