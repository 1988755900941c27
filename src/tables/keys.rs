//! Keys that a table lacks: slugs from names and titles, companies by their names, ids from the order of records.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::cell::Value;
use super::draft::Draft;
use super::error::RecordError;
use super::fields::RecordKind;
use crate::signal::SignalId;
use crate::text::{fold_value, quoted};

/// Makes keys, and remembers for which companies.
#[derive(Debug, Default)]
pub(crate) struct KeyMaker {
    /// The slug of each name; `None` if several companies have it.
    slugs: HashMap<String, Option<String>>,
    /// The name for which a slug was made.
    names: HashMap<String, String>,
}

impl KeyMaker {
    /// Gives a company a slug, and a signal a slug and a company, where it has none. `id` is for a signal without one.
    pub(crate) fn complete(
        &mut self,
        kind: RecordKind,
        draft: &mut Draft<'_>,
        id: Option<SignalId>,
    ) {
        match kind {
            RecordKind::Company => self.complete_company(draft),
            RecordKind::Signal => self.complete_signal(draft, id),
        }
    }

    /// Remembers a company that was loaded, by its name.
    pub(crate) fn remember(&mut self, name: &str, slug: &str) {
        match self.slugs.entry(fold_value(name).into_owned()) {
            Entry::Vacant(vacant) => {
                vacant.insert(Some(slug.to_owned()));
            }
            Entry::Occupied(mut known) => {
                if known.get().as_deref() != Some(slug) {
                    known.insert(None);
                }
            }
        }
    }

    fn complete_company(&mut self, draft: &mut Draft<'_>) {
        let Some(name) = draft.text("name").map(|name| name.to_string()) else {
            return;
        };
        if !draft.is_missing("slug") {
            return;
        }
        let slug = slug_of(&name);
        if slug.is_empty() {
            let reason = "cannot be made from the name, which has no letter or digit";
            draft
                .faults
                .push(RecordError::of_field("slug", reason).with_value(quoted(&name)));
            return;
        }
        let earlier = self
            .names
            .entry(slug.clone())
            .or_insert_with(|| name.clone());
        if *earlier != name {
            let reason = format!(
                "and {} both make the slug {slug}; two names need slugs of their own",
                quoted(earlier)
            );
            draft
                .faults
                .push(RecordError::of_field("slug", reason).with_value(quoted(&name)));
            return;
        }
        draft.set("slug", Value::Text(Cow::Owned(slug)));
    }

    fn complete_signal(&mut self, draft: &mut Draft<'_>, id: Option<SignalId>) {
        if let Some(id) = id.filter(|_| draft.is_missing("id")) {
            draft.set("id", Value::Id(id));
        }
        let title = draft.text("title").map(|title| slug_of(title));
        if let Some(slug) = title.filter(|_| draft.is_missing("slug")) {
            draft.set("slug", Value::Text(Cow::Owned(slug)));
        }
        if !draft.is_missing("companySlug") {
            return;
        }
        let Some(name) = draft.company_name.take() else {
            return;
        };
        match self.slugs.get(&*fold_value(&name)) {
            Some(Some(slug)) => draft.set("companySlug", Value::Text(Cow::Owned(slug.clone()))),
            known => {
                let reason = match known {
                    Some(_) => "is the name of several companies; a column companySlug says which",
                    None => "is no company's name; companies are loaded before their signals",
                };
                draft
                    .faults
                    .push(RecordError::of_field("companySlug", reason).with_value(quoted(&name)));
            }
        }
    }
}

/// The words of a folded text with `-` between them.
pub(super) fn slug_of(text: &str) -> String {
    let folded = fold_value(text);
    let words = folded.split(|letter: char| !letter.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("-")
}
