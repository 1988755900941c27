//! Saved searches in the service: kept in the state for a key, which lists them and pulls their matches.
//!
//! A match is an upsert of the feed of changes under the search's query and the key's filter. Which signals match is what
//! the feed says (`corpus::find_matches`); nothing is stored but where a search begins.

mod list;
mod pull;
mod record;

use super::service::Service;

pub(super) use list::list;
pub(super) use pull::matches;
pub use record::{NewSearch, SearchRecord, SearchSettings};

impl Service {
    /// Lets new searches begin at the present snapshot.
    pub(super) fn begin_searches(&self) {
        if let Err(error) = self.0.begin_searches() {
            tracing::error!(
                error = format_args!("{error:#}"),
                "new saved searches cannot begin"
            );
        }
    }
}

impl super::service::ServiceCore {
    /// As [`Service::begin_searches`]. While nothing is loaded, none begins.
    ///
    /// # Errors
    /// The state cannot be read or written.
    pub(super) fn begin_searches(&self) -> Result<(), super::StateError> {
        let corpus = self.corpus.for_operator();
        self.state
            .begin_searches(|| corpus.position(&corpus.view()))
    }
}
