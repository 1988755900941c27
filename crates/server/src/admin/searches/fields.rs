//! The form fields of a saved search: values, validation and errors.

use crate::admin::form::FormData;
use crate::admin::text_fields::{FieldError, TextFields};
use crate::corpus::FeedPosition;
use crate::keys::{NameError, check_name};
use crate::saved_searches::SearchSettings;
use crate::webhooks::{WebhookRules, WebhookUrl};
use signaldex::Filter;

/// The text fields.
const TEXTS: [&str; 4] = ["name", "query", "webhook", SINCE];
/// The field that says where a new search begins.
const SINCE: &str = "since";
/// What it has for the present snapshot.
const NOW: &str = "now";

/// The values of a form.
pub(super) struct SearchFields {
    pub(super) texts: TextFields,
    pub(super) only_new: bool,
    pub(super) removals: bool,
    /// Why the state has refused what was submitted; empty if it has not.
    pub(super) refusal: String,
}

impl SearchFields {
    /// The defaults of a new search.
    pub(super) fn of_new(query: &str) -> SearchFields {
        let query = ("query", query.to_owned());
        SearchFields {
            texts: TextFields::of([query, (SINCE, NOW.to_owned())]),
            only_new: false,
            removals: false,
            refusal: String::new(),
        }
    }

    /// The fields of a search.
    pub(super) fn of(settings: &SearchSettings) -> SearchFields {
        let webhook = settings.webhook.as_ref();
        let webhook = webhook.map_or_else(String::new, ToString::to_string);
        let (name, query) = (settings.name.clone(), settings.filter.to_string());
        SearchFields {
            texts: TextFields::of([("name", name), ("query", query), ("webhook", webhook)]),
            only_new: settings.only_new,
            removals: settings.removals,
            refusal: String::new(),
        }
    }

    /// The submitted values with their errors.
    pub(super) fn typed(form: &FormData, errors: Vec<FieldError>) -> SearchFields {
        SearchFields {
            texts: TextFields::typed(&TEXTS, form, errors),
            only_new: is_checked(form, "only_new"),
            removals: is_checked(form, "removals"),
            refusal: String::new(),
        }
    }

    /// The submitted values, of which the state has refused something.
    pub(super) fn refused(form: &FormData, refusal: String) -> SearchFields {
        SearchFields {
            refusal,
            ..SearchFields::typed(form, Vec::new())
        }
    }

    /// Whether anything is wrong.
    pub(super) fn is_refused(&self) -> bool {
        !self.refusal.is_empty() || !self.texts.errors.is_empty()
    }
}

fn is_checked(form: &FormData, name: &str) -> bool {
    !form.value(name).is_empty()
}

/// Parses the settings of a search and where it begins, or returns all errors. A search may keep its webhook, whatever the
/// rules are now: they hold at each attempt.
pub(super) fn read(
    form: &FormData,
    rules: &WebhookRules,
    present: Option<&WebhookUrl>,
) -> Result<(SearchSettings, Option<FeedPosition>), Vec<FieldError>> {
    let mut errors = Vec::new();
    let name = read_name(form).map_err(|error| errors.push(error));
    let filter = read_query(form).map_err(|error| errors.push(error));
    let webhook = read_webhook(form, rules, present).map_err(|error| errors.push(error));
    let since = read_since(form).map_err(|error| errors.push(error));
    let (Ok(name), Ok(filter), Ok(webhook), Ok(since)) = (name, filter, webhook, since) else {
        return Err(errors);
    };
    let settings = SearchSettings {
        only_new: is_checked(form, "only_new"),
        removals: is_checked(form, "removals"),
        webhook,
        ..SearchSettings::new(name, filter)
    };
    Ok((settings, since))
}

fn read_name(form: &FormData) -> Result<&str, FieldError> {
    let name = form.value("name");
    match check_name(name) {
        Ok(()) => Ok(name),
        Err(NameError::Empty) => Err(FieldError::new("name", "Enter a name.")),
        Err(error) => Err(FieldError::new("name", format!("The name {error}."))),
    }
}

/// The query; the error has all its faults, one a line.
fn read_query(form: &FormData) -> Result<Filter, FieldError> {
    Filter::from_query_string(form.value("query")).map_err(|invalid| {
        let faults = invalid.errors().iter();
        let faults: Vec<&str> = faults.map(|fault| fault.message.as_str()).collect();
        FieldError::new("query", faults.join("\n"))
    })
}

fn read_webhook(
    form: &FormData,
    rules: &WebhookRules,
    present: Option<&WebhookUrl>,
) -> Result<Option<WebhookUrl>, FieldError> {
    let typed = form.value("webhook");
    let kept = present.filter(|present| present.as_str() == typed);
    if typed.is_empty() || kept.is_some() {
        return Ok(kept.cloned());
    }
    let url = WebhookUrl::parse(typed, rules).map(Some);
    url.map_err(|error| FieldError::new("webhook", format!("Webhook: {error}.")))
}

/// Where a new search begins; `None` for now.
fn read_since(form: &FormData) -> Result<Option<FeedPosition>, FieldError> {
    match form.value(SINCE) {
        "" | NOW => Ok(None),
        typed => typed.parse().map(Some).map_err(|error| {
            FieldError::new(
                SINCE,
                format!("The position {error}. Enter now, start, or a position."),
            )
        }),
    }
}
