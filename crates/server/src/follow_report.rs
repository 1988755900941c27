//! How current a copy of an index is, as the host that loads it from elsewhere reports; shown by `/readyz` and
//! the metrics.

use std::time::Instant;

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

/// The last report, and when the store last answered.
#[derive(Debug)]
pub(super) struct Reported {
    report: Following,
    answered_at: Option<Instant>,
}

impl Reported {
    /// A report that has just come, after `known`.
    pub(super) fn new(report: Following, known: Option<&Reported>) -> Reported {
        let answered_at = if report.store_answered {
            Some(Instant::now())
        } else {
            known.and_then(|known| known.answered_at)
        };
        Reported {
            report,
            answered_at,
        }
    }

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
