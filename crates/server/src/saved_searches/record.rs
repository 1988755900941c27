//! What is kept of a saved search.

use time::UtcDateTime;

use crate::corpus::FeedPosition;
use crate::keys;
use crate::state::StateError;
use crate::webhooks::{SearchStatus, WebhookRecord, WebhookSecret, WebhookUrl};
use signaldex::Filter;

/// Maximum bytes of a query, in its canonical form.
const QUERY_BYTES_MAX: usize = 8_000;

/// The settings of a saved search, which can be edited.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SearchSettings {
    /// A name for people, unique for the key, of 1 to 180 characters.
    pub name: String,
    /// What it searches for.
    pub filter: Filter,
    /// Whether signals that have changed but are not new are left out.
    pub only_new: bool,
    /// Whether the ids of signals that have left the search are named.
    pub removals: bool,
    /// Where matches are sent; `None` if the key pulls them.
    pub webhook: Option<WebhookUrl>,
}

/// A search to save.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NewSearch {
    /// Its settings.
    pub settings: SearchSettings,
    /// Where it begins; `None` for the first snapshot that a service sees afterwards.
    pub since: Option<FeedPosition>,
    /// The secret that signs events, with a webhook alone.
    pub secret: Option<WebhookSecret>,
}

/// A saved search.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SearchRecord {
    /// Its id, `srch_…`.
    pub id: String,
    /// The number of its key.
    pub(crate) key: i64,
    /// The id of its key.
    pub key_id: String,
    /// Its settings.
    pub settings: SearchSettings,
    /// Where it begins; `None` until a service has seen it.
    pub first_position: Option<FeedPosition>,
    /// When it was saved.
    pub created_at: UtcDateTime,
    /// Whether its matches are pulled, or delivered.
    pub status: SearchStatus,
    /// What is known of its webhook, if it has one.
    pub webhook: Option<WebhookRecord>,
}

impl SearchSettings {
    /// The settings of a search for everything that matches a filter, without removals.
    ///
    /// ```
    /// use signaldex::Filter;
    /// use signaldex_server::SearchSettings;
    ///
    /// let settings = SearchSettings::new("robots", Filter::from_query_string("q=robotics")?);
    /// assert!(!settings.only_new && !settings.removals);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn new(name: impl Into<String>, filter: Filter) -> SearchSettings {
        SearchSettings {
            name: name.into(),
            filter,
            only_new: false,
            removals: false,
            webhook: None,
        }
    }

    /// Checks what the types allow and a search must not have.
    pub(crate) fn check(&self) -> Result<(), StateError> {
        keys::check_name(&self.name)
            .map_err(|error| StateError::refused(format!("the name of the search {error}")))?;
        let bytes = self.filter.to_string().len();
        if bytes > QUERY_BYTES_MAX {
            return Err(StateError::refused(format!(
                "the query of the search has {bytes} bytes; use at most {QUERY_BYTES_MAX}"
            )));
        }
        Ok(())
    }
}

impl NewSearch {
    /// A search that begins now, whose matches are sent to a webhook under a new secret.
    ///
    /// ```
    /// use signaldex::Filter;
    /// use signaldex_server::webhooks::{WebhookRules, WebhookUrl};
    /// use signaldex_server::{NewSearch, SearchSettings};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let url = WebhookUrl::parse("https://hooks.example/in", &WebhookRules::default())?;
    /// let new = NewSearch::with_webhook(SearchSettings::new("everything", Filter::default()), url)?;
    /// assert!(new.secret.is_some());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The operating system has no random bytes.
    pub fn with_webhook(
        settings: SearchSettings,
        url: WebhookUrl,
    ) -> Result<NewSearch, StateError> {
        let webhook = Some(url);
        Ok(NewSearch {
            secret: Some(WebhookSecret::generate()?),
            ..NewSearch::of(SearchSettings {
                webhook,
                ..settings
            })
        })
    }

    /// A search that begins now.
    ///
    /// ```
    /// use signaldex::Filter;
    /// use signaldex_server::{NewSearch, SearchSettings};
    ///
    /// let new = NewSearch::of(SearchSettings::new("everything", Filter::default()));
    /// assert!(new.since.is_none());
    /// ```
    pub fn of(settings: SearchSettings) -> NewSearch {
        NewSearch {
            settings,
            since: None,
            secret: None,
        }
    }
}
