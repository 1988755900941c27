//! Reports of a host that loads the index from elsewhere, shown by `/readyz` and the metrics.

use std::time::Instant;

use super::service::Service;

/// How current a copy of an index is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Following {
    /// The newest known generation of the source.
    pub newest: u64,
    /// Whether the source answered the last request.
    pub store_answered: bool,
    /// Why the copy is not current. Shown to untrusted clients: without addresses and credentials.
    pub error: Option<String>,
    /// Objects fetched since the last report.
    pub objects_fetched: u64,
    /// Bytes fetched since the last report.
    pub bytes_fetched: u64,
}

impl Service {
    /// Accepts a report of the loader, for `/readyz` and the metrics. Only hosts that copy their index from
    /// elsewhere need this.
    pub fn report_following(&self, report: Following) {
        let shared = &self.0;
        shared.metrics.followed(&report);
        let known = shared.following.load_full();
        let answered_at = if report.store_answered {
            Some(Instant::now())
        } else {
            known.and_then(|known| known.answered_at)
        };
        let reported = Reported {
            report,
            answered_at,
        };
        shared.following.store(Some(reported.into()));
        // Creates the next view now and releases the previous snapshot.
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
    /// Why the newest generation is not served.
    pub(super) fn error(&self) -> Option<&str> {
        self.report.error.as_deref()
    }

    /// The member of `/readyz`'s answer.
    pub(super) fn json(&self) -> String {
        let error = serde_json::Value::from(self.report.error.as_deref());
        let seconds = self.answered_at.map(|at| at.elapsed().as_secs());
        let seconds = serde_json::Value::from(seconds);
        let newest = self.report.newest;
        format!("{{\"newest\":{newest},\"error\":{error},\"secondsSinceAnswer\":{seconds}}}")
    }
}
