//! What the service says of a host that loads the index from elsewhere.

use super::service::Service;

/// How the index keeps up with what it is a copy of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Following {
    /// The newest generation that is known to be there.
    pub newest: u64,
    /// Why it does not answer yet, for untrusted clients: without addresses and credentials.
    pub error: Option<String>,
    /// Objects fetched since the last report.
    pub objects_fetched: u64,
    /// Bytes fetched since the last report.
    pub bytes_fetched: u64,
}

impl Service {
    /// Takes the report of the loader, which `/readyz` and the metrics then show. A host
    /// that changes its index in another way has nothing to report.
    pub fn report_following(&self, report: Following) {
        let shared = &self.0;
        shared.metrics.followed(&report);
        shared.following.store(Some(report.into()));
        // What answers the next request is derived now, and the snapshot before is let go.
        shared.corpus.view();
    }
}

impl Following {
    /// The member of `/readyz`'s answer.
    pub(super) fn json(&self) -> String {
        let error = match &self.error {
            Some(error) => serde_json::Value::from(error.as_str()).to_string(),
            None => "null".to_owned(),
        };
        format!("{{\"newest\":{},\"error\":{error}}}", self.newest)
    }
}
