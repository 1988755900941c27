//! What a page searches: everything, or what a key sees.

use std::sync::Arc;

use axum::http::StatusCode;
use time::Date;

use super::messages::no_index;
use super::query_text::QueryText;
use crate::admin::dashboard::Admin;
use crate::admin::failed::{Failed, PageResult};
use crate::admin::figures;
use crate::admin::form::FormData;
use crate::admin::layout;
use crate::admin::visit::Visit;
use crate::keys::KeyRecord;
use signaldex::query::{InvalidQuery, KeyFilter, ParameterSet, QueryBuilder};
use signaldex::{Query, Snapshot};

/// The parameter that names the key.
const KEY: &str = "key";

/// What a page searches.
pub(super) struct Viewpoint {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) today: Date,
    /// The key that sees it; everything without one.
    pub(super) key: Option<ViewingKey>,
}

/// The key as which a page searches.
pub(super) struct ViewingKey {
    pub(super) id: String,
    pub(super) name: String,
    filter: Option<Arc<KeyFilter>>,
}

impl Viewpoint {
    /// What the address of a page names, or the page that says why it cannot be searched.
    pub(super) fn of(
        admin: &Admin,
        visit: &Visit,
        title: &str,
    ) -> Result<Viewpoint, Box<PageResult>> {
        let service = &admin.0.service.0;
        let Some(index) = service.corpus.for_operator().index() else {
            return Err(Box::new(no_index(visit, title)));
        };
        let everything = Viewpoint {
            snapshot: index.snapshot(),
            today: service.today(),
            key: None,
        };
        let form = FormData::parse(visit.query.as_bytes());
        let id = form.value(KEY);
        if id.is_empty() {
            return Ok(everything);
        }
        let failed = |failed: Failed| Box::new(Err(failed));
        let key = service.state.key(id);
        let Some(key) = key.map_err(|error| failed(error.into()))? else {
            let text = "There is no key with this id.";
            let page = layout::message_of(visit, StatusCode::NOT_FOUND, title, text);
            return Err(Box::new(page));
        };
        everything.seen_by(key).map_err(failed)
    }

    /// What a key sees of it.
    fn seen_by(self, key: KeyRecord) -> Result<Viewpoint, Failed> {
        let filter = key.settings.filter;
        let snapshot = match &filter {
            None => self.snapshot,
            Some(filter) => self.snapshot.narrowed(filter, self.today)?,
        };
        Ok(Viewpoint {
            snapshot,
            key: Some(ViewingKey {
                name: figures::key_name(&key.id, &key.settings.name),
                id: key.id,
                filter,
            }),
            ..self
        })
    }

    /// The filter that cursors are bound to, as those that the key gets from the API.
    pub(super) fn filter(&self) -> Option<&KeyFilter> {
        self.key.as_ref()?.filter.as_deref()
    }

    /// Reads a search.
    pub(super) fn query(&self, text: &str) -> Result<Query, InvalidQuery> {
        let (builder, []) = QueryBuilder::from_query_string(text, ParameterSet::SEARCH, []);
        builder.for_key(self.filter()).build()
    }

    /// The query string that leads to another page from the same viewpoint.
    pub(super) fn suffix(&self) -> String {
        let key = self.key.as_ref();
        key.map_or_else(String::new, |key| format!("?{KEY}={}", key.id))
    }

    /// The same as a further parameter of a query string.
    pub(super) fn parameter(&self) -> String {
        self.suffix().replacen('?', "&", 1)
    }

    /// A query string that has the key, too.
    pub(super) fn within(&self, text: QueryText) -> QueryText {
        match &self.key {
            Some(key) => text.with(KEY, &key.id),
            None => text,
        }
    }
}

/// A query string without the key, as the API takes it.
pub(super) fn without_key(text: &QueryText) -> QueryText {
    text.without(KEY)
}

/// The same of a query string as it was sent.
pub(super) fn sent_without_key(query: &str) -> String {
    let is_key = |pair: &&str| pair.split('=').next() == Some(KEY);
    let others = query.split('&').filter(|pair| !is_key(pair));
    others.collect::<Vec<_>>().join("&")
}
