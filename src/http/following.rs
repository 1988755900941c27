//! What the service says of a host that loads the index from elsewhere.

use std::time::Instant;

use super::service::Service;

/// How the index keeps up with what it is a copy of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Following {
    /// The newest generation that is known to be there.
    pub newest: u64,
    /// Whether what it is a copy of could be asked.
    pub store_answered: bool,
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
        let known = shared.following.load_full();
        let answered_at = match report.store_answered {
            true => Some(Instant::now()),
            false => known.and_then(|known| known.answered_at),
        };
        let reported = Reported {
            report,
            answered_at,
        };
        shared.following.store(Some(reported.into()));
        // What answers the next request is derived now, and the snapshot before is let go.
        shared.corpus.view();
    }
}

/// The last report, and when the store last answered.
#[derive(Debug)]
pub(super) struct Reported {
    report: Following,
    answered_at: Option<Instant>,
}

impl Reported {
    /// The member of `/readyz`'s answer.
    pub(super) fn json(&self) -> String {
        let error = serde_json::Value::from(self.report.error.as_deref());
        let seconds = self.answered_at.map(|at| at.elapsed().as_secs());
        let seconds = serde_json::Value::from(seconds);
        let newest = self.report.newest;
        format!("{{\"newest\":{newest},\"error\":{error},\"secondsSinceAnswer\":{seconds}}}")
    }
}
