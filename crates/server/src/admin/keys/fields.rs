//! The form fields of a key's settings: values, validation and errors.

use std::sync::Arc;

use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use time::{Date, UtcDateTime};

use crate::admin::figures;
use crate::admin::form::FormData;
use crate::admin::text_fields::{FieldError, TextFields};
use crate::keys::{NameError, NewKey, Scope, Scopes, check_name};
use crate::metering::Quotas;
use signaldex::Filter;
use signaldex::query::KeyFilter;

/// The values of a form.
pub(super) struct KeyFields {
    pub(super) texts: TextFields,
    pub(super) scopes: Vec<ScopeChoice>,
}

pub(super) struct ScopeChoice {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) is_chosen: bool,
}

/// The text fields.
const TEXTS: [&str; 10] = [
    "name",
    "rate",
    "burst",
    "expires",
    "quota_signals",
    "quota_activities",
    "quota_companies",
    "quota_free_answers",
    FILTERS,
    EXCEPTIONS,
];

/// The fields with a filter or an exception a line.
const FILTERS: &str = "filters";
const EXCEPTIONS: &str = "exceptions";

impl KeyFields {
    /// The defaults for a new key.
    pub(super) fn of_new() -> KeyFields {
        KeyFields::of(&NewKey::named(""))
    }

    /// The fields of a key.
    pub(super) fn of(settings: &NewKey) -> KeyFields {
        let quota = |quota: Option<u64>| quota.map(|quota| quota.to_string()).unwrap_or_default();
        let expires = settings.expires_at.map(|at| at.date().to_string());
        let quotas = &settings.quotas;
        let values = [
            settings.name.clone(),
            settings.rate.to_string(),
            settings.burst.to_string(),
            expires.unwrap_or_default(),
            quota(quotas.signals),
            quota(quotas.activities),
            quota(quotas.companies),
            quota(quotas.free_answers),
            lines(settings.filter.as_ref().map(|filter| filter.filters())),
            lines(settings.filter.as_ref().map(|filter| filter.exceptions())),
        ];
        KeyFields {
            texts: TextFields::of(TEXTS.into_iter().zip(values)),
            scopes: scopes(|scope| settings.scopes.contains(scope)),
        }
    }

    /// The submitted values with their errors.
    pub(super) fn typed(form: &FormData, errors: Vec<FieldError>) -> KeyFields {
        KeyFields {
            texts: TextFields::typed(&TEXTS, form, errors),
            scopes: scopes(|scope| form.values("scope").any(|typed| typed == scope.as_str())),
        }
    }
}

/// The text of a field with a filter a line.
fn lines(filters: Option<&[Filter]>) -> String {
    let lines = filters.unwrap_or_default().iter().map(ToString::to_string);
    lines.collect::<Vec<_>>().join("\n")
}

fn scopes(is_chosen: impl Fn(Scope) -> bool) -> Vec<ScopeChoice> {
    let choice = |scope: Scope| ScopeChoice {
        name: scope.as_str(),
        description: match scope {
            Scope::SignalsRead => "search, signal details, filter options, aggregates",
            Scope::CompaniesRead => "companies by their signals, company details",
        },
        is_chosen: is_chosen(scope),
    };
    Scope::ALL.map(choice).into()
}

/// Parses the settings of a key, or returns all errors. A key may keep its expiry even if it has passed.
pub(super) fn read(
    form: &FormData,
    now: UtcDateTime,
    present: Option<&NewKey>,
) -> Result<NewKey, Vec<FieldError>> {
    let present_end = present.and_then(|present| present.expires_at);
    let former = present.and_then(|present| present.filter.as_deref());
    let mut reading = Reading {
        form,
        errors: Vec::new(),
    };
    let new = NewKey {
        name: reading.name(),
        scopes: reading.scopes(),
        expires_at: reading.expiry(now, present_end),
        rate: reading.at_least_one("rate"),
        burst: reading.at_least_one("burst"),
        quotas: Quotas {
            signals: reading.quota("quota_signals"),
            activities: reading.quota("quota_activities"),
            companies: reading.quota("quota_companies"),
            free_answers: reading.quota("quota_free_answers"),
        },
        filter: reading.filter(former),
    };
    if reading.errors.is_empty() {
        Ok(new)
    } else {
        Err(reading.errors)
    }
}

/// A form being parsed. Methods return a placeholder after recording an error.
struct Reading<'a> {
    form: &'a FormData,
    errors: Vec<FieldError>,
}

impl Reading<'_> {
    fn error(&mut self, field: &'static str, text: impl Into<String>) {
        self.errors.push(FieldError::new(field, text));
    }

    fn name(&mut self) -> String {
        let name = self.form.value("name").to_owned();
        match check_name(&name) {
            Ok(()) => {}
            Err(NameError::Empty) => self.error("name", "Enter a name."),
            Err(error) => self.error("name", format!("The name {error}.")),
        }
        name
    }

    fn scopes(&mut self) -> Scopes {
        let names: Vec<&str> = self.form.values("scope").collect();
        let scopes = Scopes::parse(&names.join(","));
        if scopes.is_none() {
            self.error("scope", "Choose at least one scope.");
        }
        scopes.unwrap_or_default()
    }

    fn expiry(
        &mut self,
        now: UtcDateTime,
        present_end: Option<UtcDateTime>,
    ) -> Option<UtcDateTime> {
        const FORMAT: &[BorrowedFormatItem<'_>] = format_description!("[year]-[month]-[day]");
        let typed = self.form.value("expires");
        if typed.is_empty() {
            return None;
        }
        let Ok(day) = Date::parse(typed, FORMAT) else {
            self.error("expires", "Enter a date as YYYY-MM-DD.");
            return None;
        };
        if present_end.is_some_and(|end| end.date() == day) {
            return present_end;
        }
        let end = day.midnight().as_utc();
        if end <= now {
            self.error("expires", "Choose a day after today (UTC).");
            return None;
        }
        Some(end)
    }

    /// The filters and exceptions, one a line; each fault is told at the field that it is of.
    fn filter(&mut self, former: Option<&KeyFilter>) -> Option<Arc<KeyFilter>> {
        let form = self.form;
        let [filters, exceptions] = [FILTERS, EXCEPTIONS].map(|field| {
            let lines = form.value(field).lines().map(str::trim);
            lines.filter(|line| !line.is_empty()).collect::<Vec<_>>()
        });
        let edited = KeyFilter::edited(former, Some(&filters), Some(&exceptions));
        let invalid = match edited {
            Ok(filter) => return filter.map(Arc::new),
            Err(invalid) => invalid,
        };
        for (field, name) in [(FILTERS, "filter"), (EXCEPTIONS, "exception")] {
            let faults = invalid.faults().iter();
            let faults = faults.filter(|fault| fault.which.starts_with(name));
            let texts: Vec<String> = faults.map(ToString::to_string).collect();
            if !texts.is_empty() {
                self.error(field, texts.join("\n"));
            }
        }
        None
    }

    fn at_least_one(&mut self, field: &'static str) -> u32 {
        let number = self
            .form
            .value(field)
            .parse()
            .ok()
            .filter(|&number| number > 0);
        if number.is_none() {
            let most = figures::grouped(u64::from(u32::MAX));
            self.error(field, format!("Enter a whole number from 1 to {most}."));
        }
        number.unwrap_or(1)
    }

    fn quota(&mut self, field: &'static str) -> Option<u64> {
        let typed = self.form.value(field);
        if typed.is_empty() {
            return None;
        }
        let quota = typed.parse().ok();
        if quota.is_none() {
            self.error(field, "Enter a whole number, or leave the field empty.");
        }
        quota
    }
}
