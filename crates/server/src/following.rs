//! Follows what other processes change: the index, the keys, the files of the state.

use std::sync::PoisonError;

use super::follow_report::{Following, Reported};
use super::service::Service;
use signaldex::{Error, Index, Refreshed};

impl Service {
    /// Follows changes by other processes: reloads the index and the keys, and checks that the files of the
    /// state still exist and that those of the index were not overwritten.
    ///
    /// Cost: two small reads and some calls of `stat` if nothing has changed; else that of [`Index::refresh`]. Blocks,
    /// so do not call it on an async worker. [`maintain`](Self::maintain) does this four times a second.
    pub fn follow(&self) {
        self.follow_state();
        self.follow_kept();
        self.follow_index();
    }

    /// Reloads the keys, and checks the files of the state.
    pub(super) fn follow_state(&self) {
        self.follow_keys();
        // Errors are logged there, and stop requests.
        let _ = self.0.state.check_files();
        self.0.writer.log_failures();
    }

    /// Notices overwritten files of the index, without reading any.
    pub(super) fn look(&self) {
        // An error is met again, and logged, where the index is followed.
        let _ = self.0.corpus.for_operator().index().map(Index::look);
    }

    /// Reloads the index, for as long as it takes to read its new files.
    pub(super) fn follow_index(&self) {
        let Some(refreshed) = self.0.corpus.for_operator().index().map(Index::refresh) else {
            return;
        };
        match refreshed {
            Ok(Refreshed::Changed) => {
                // Releases the previous snapshot now instead of with the next request.
                let generation = self.0.corpus.for_operator().view().generation;
                tracing::info!(generation, "a new snapshot is served");
            }
            Ok(Refreshed::Replaced) => {
                let generation = self.0.corpus.for_operator().view().generation;
                tracing::warn!(
                    generation,
                    "the directory holds another index, which is loaded whole and served"
                );
            }
            Ok(Refreshed::Reloaded) => {
                tracing::info!("files of the index have changed, were read again and are whole");
            }
            // Nothing has changed, or the error is logged below.
            _ => {}
        }
        self.log_index_error(refreshed.err());
    }

    /// Logs why the index cannot be followed, once for each reason.
    fn log_index_error(&self, error: Option<Error>) {
        let error = error.map(|error| format!("{error:#}"));
        let logged = self.0.index_error.lock();
        let mut logged = logged.unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = &error
            && Some(error) != logged.as_ref()
        {
            tracing::error!(%error, "the index cannot be followed");
        }
        *logged = error;
    }

    /// Reads how many bytes are kept, for the metrics, which must not wait for the state.
    pub(super) fn follow_kept(&self) {
        match self.0.state.kept_bytes() {
            Ok(bytes) => self.0.metrics.set_kept(bytes, self.0.limits.kept_bytes),
            Err(error) => tracing::error!(
                error = format_args!("{error:#}"),
                "the bytes that are kept cannot be read"
            ),
        }
    }

    pub(super) fn follow_keys(&self) {
        if let Err(error) = self.0.keyring.follow(&self.0.state) {
            tracing::error!(
                error = format_args!("{error:#}"),
                "the keys cannot be followed"
            );
        }
    }

    /// Accepts a report of the loader, for `/readyz` and the metrics. Only hosts that copy their index from
    /// elsewhere need this.
    pub fn report_following(&self, report: Following) {
        let shared = &self.0;
        shared.metrics.following.followed(&report);
        let known = shared.following.load_full();
        let reported = Reported::new(report, known.as_deref());
        shared.following.store(Some(reported.into()));
        // Creates the next view now and releases the previous snapshot.
        shared.corpus.for_operator().view();
    }
}
