//! The page of keys: making one, which is shown once, and revoking one.

use askama::Template;
use axum::http::StatusCode;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use time::{Date, UtcDateTime};

use super::figures;
use super::form::Form;
use super::guard::Visit;
use super::layout::{self, PageLayout};
use super::overview::name_of;
use super::{Admin, Answer};
use crate::http::keys::{KeyRecord, NewKey, Scope, Scopes};
use crate::http::metering::{Counter, Counts, Month, Quotas};
use crate::http::state::StateError;

#[derive(Template)]
#[template(path = "keys.html", config = "src/http/admin/askama.toml")]
struct Page<'a> {
    layout: PageLayout<'a>,
    form: &'a Form,
    faults: Vec<Fault>,
    scopes: Vec<ScopeChoice>,
    new_key: Option<NewlyCreated>,
    active: Vec<Card>,
    past: Vec<Card>,
    month: String,
    default_rate: u32,
    default_burst: u32,
    tomorrow: String,
    public_url: &'a str,
}

/// What is wrong with a field of the form.
struct Fault {
    field: &'static str,
    text: String,
}

struct ScopeChoice {
    name: &'static str,
    description: &'static str,
    is_chosen: bool,
}

/// A key in the clear, this once.
struct NewlyCreated {
    name: String,
    key: String,
}

/// A key as the list shows it.
struct Card {
    id: String,
    name: String,
    scopes: String,
    status: &'static str,
    created: String,
    /// "Expires", "Expired" or "Revoked": what `end` is the time of.
    end_label: &'static str,
    end: String,
    rate: u32,
    burst: u32,
    used: Vec<Used>,
}

/// What a key has used this month.
struct Used {
    name: &'static str,
    count: String,
    quota: Option<String>,
    /// Of the quota, in percent.
    share: u64,
}

pub(super) fn list(admin: &Admin, visit: &Visit) -> Answer {
    show(admin, visit, StatusCode::OK, Vec::new())
}

/// Makes a key and leads to the list, which shows it; reloading that page makes no further key.
pub(super) fn create(admin: &Admin, visit: &Visit) -> Answer {
    let now = UtcDateTime::now();
    let new = match read(&visit.form, now) {
        Ok(new) => new,
        Err(faults) => return show(admin, visit, StatusCode::BAD_REQUEST, faults),
    };
    let (record, key) = admin.0.service.0.state.create_key(&new)?;
    tracing::info!(key = record.id, "a key was made in the dashboard");
    admin.0.service.follow_keys();
    visit.session.keep_new_key(record, key);
    layout::see("/keys#created")
}

/// Revokes a key. The service refuses it from now on.
pub(super) fn revoke(admin: &Admin, visit: &Visit) -> Answer {
    let id = visit.form.value("id");
    if admin.0.service.0.state.revoke_key(id)? {
        tracing::info!(key = id, "a key was revoked in the dashboard");
    }
    admin.0.service.follow_keys();
    layout::see("/keys")
}

fn show(admin: &Admin, visit: &Visit, status: StatusCode, faults: Vec<Fault>) -> Answer {
    let now = UtcDateTime::now();
    let (active, past) = cards(admin, now)?;
    let new_key = visit.take_new_key().map(|(record, key)| NewlyCreated {
        name: record.settings.name,
        key: key.as_str().to_owned(),
    });
    let page = Page {
        layout: PageLayout::of(visit, "API keys"),
        form: &visit.form,
        scopes: scopes(&visit.form, !faults.is_empty()),
        faults,
        new_key,
        active,
        past,
        month: Month::of(now).to_string(),
        default_rate: NewKey::DEFAULT_RATE,
        default_burst: NewKey::DEFAULT_BURST,
        tomorrow: now.date().next_day().unwrap_or(Date::MAX).to_string(),
        public_url: &admin.0.settings.public_url,
    };
    layout::render(status, &page)
}

impl Page<'_> {
    /// What is wrong with a field; empty where nothing is.
    fn fault(&self, field: &str) -> &str {
        let fault = self.faults.iter().find(|fault| fault.field == field);
        fault.map_or("", |fault| &fault.text)
    }

    /// What was typed into a field, or its default.
    fn typed(&self, field: &str, default: impl ToString) -> String {
        if self.faults.is_empty() {
            default.to_string()
        } else {
            self.form.value(field).to_owned()
        }
    }
}

/// The keys that are accepted, and those that are not any more; the newest first.
fn cards(admin: &Admin, now: UtcDateTime) -> Result<(Vec<Card>, Vec<Card>), StateError> {
    let state = &admin.0.service.0.state;
    let usage = state.usage(Some(Month::of(now)))?;
    let counts_of = |id: &str| {
        let line = usage.iter().find(|line| line.key_id == id);
        line.map_or([0; Counter::ALL.len()], |line| line.counts)
    };
    let keys = state.keys()?;
    let (active, past): (Vec<&KeyRecord>, Vec<&KeyRecord>) =
        keys.iter().rev().partition(|key| key.is_valid_at(now));
    let cards = |keys: Vec<&KeyRecord>| {
        let card = |key: &KeyRecord| Card::new(key, counts_of(&key.id));
        keys.into_iter().map(card).collect()
    };
    Ok((cards(active), cards(past)))
}

impl Card {
    fn new(key: &KeyRecord, counts: Counts) -> Card {
        let settings = &key.settings;
        let (status, end_label, end) = match (key.revoked_at, settings.expires_at) {
            (Some(at), _) => ("revoked", "Revoked", figures::instant(at)),
            (None, Some(at)) if at <= UtcDateTime::now() => {
                ("expired", "Expired", at.date().to_string())
            }
            (None, Some(at)) => ("active", "Expires", at.date().to_string()),
            (None, None) => ("active", "Expires", "never".to_owned()),
        };
        Card {
            id: key.id.clone(),
            name: match settings.name.as_str() {
                "" => "(no name)".to_owned(),
                name => name.to_owned(),
            },
            scopes: settings.scopes.to_string().replace(',', ", "),
            status,
            created: figures::instant(key.created_at),
            end_label,
            end,
            rate: settings.rate,
            burst: settings.burst,
            used: Counter::ALL
                .map(|counter| Used::new(counter, counts, key.quota(counter)))
                .into(),
        }
    }
}

impl Used {
    fn new(counter: Counter, counts: Counts, quota: Option<u64>) -> Used {
        let count = counts[counter.index()];
        let share = quota.map_or(0, |quota| count.saturating_mul(100) / quota.max(1));
        Used {
            name: name_of(counter),
            count: figures::grouped(count),
            quota: quota.map(figures::grouped),
            share: share.min(100),
        }
    }
}

fn scopes(form: &Form, is_typed: bool) -> Vec<ScopeChoice> {
    let choice = |scope: Scope| ScopeChoice {
        name: scope.as_str(),
        description: match scope {
            Scope::SignalsRead => "search, signal details, filter options",
            Scope::CompaniesRead => "company details",
        },
        is_chosen: !is_typed || form.values("scope").any(|typed| typed == scope.as_str()),
    };
    Scope::ALL.map(choice).into()
}

/// Reads the form of a new key, or says everything that is wrong with it.
fn read(form: &Form, now: UtcDateTime) -> Result<NewKey, Vec<Fault>> {
    let mut reading = Reading {
        form,
        faults: Vec::new(),
    };
    let new = NewKey {
        name: reading.name(),
        scopes: reading.scopes(),
        expires_at: reading.expiry(now),
        rate: reading.at_least_one("rate"),
        burst: reading.at_least_one("burst"),
        quotas: Quotas {
            signals: reading.quota("quota_signals"),
            activities: reading.quota("quota_activities"),
            companies: reading.quota("quota_companies"),
            free_answers: reading.quota("quota_free_answers"),
        },
    };
    if reading.faults.is_empty() {
        Ok(new)
    } else {
        Err(reading.faults)
    }
}

/// A form that is being read. Each method answers a stand-in where it notes a fault.
struct Reading<'a> {
    form: &'a Form,
    faults: Vec<Fault>,
}

impl Reading<'_> {
    fn fault(&mut self, field: &'static str, text: impl Into<String>) {
        let text = text.into();
        self.faults.push(Fault { field, text });
    }

    fn name(&mut self) -> String {
        let name = self.form.value("name").to_owned();
        if name.is_empty() {
            self.fault("name", "Enter a name.");
        }
        if name.chars().count() > NewKey::MAX_NAME_CHARACTERS {
            let most = NewKey::MAX_NAME_CHARACTERS;
            self.fault("name", format!("Use at most {most} characters."));
        }
        name
    }

    fn scopes(&mut self) -> Scopes {
        let names: Vec<&str> = self.form.values("scope").collect();
        let scopes = Scopes::parse(&names.join(","));
        if scopes.is_none() {
            self.fault("scope", "Choose at least one scope.");
        }
        scopes.unwrap_or_default()
    }

    fn expiry(&mut self, now: UtcDateTime) -> Option<UtcDateTime> {
        const FORMAT: &[BorrowedFormatItem<'_>] = format_description!("[year]-[month]-[day]");
        let typed = self.form.value("expires");
        if typed.is_empty() {
            return None;
        }
        let end = Date::parse(typed, FORMAT)
            .ok()
            .map(|day| day.midnight().as_utc());
        match end {
            Some(end) if end > now => Some(end),
            Some(_) => {
                self.fault("expires", "Choose a day after today (UTC).");
                None
            }
            None => {
                self.fault("expires", "Enter a date as YYYY-MM-DD.");
                None
            }
        }
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
            self.fault(field, format!("Enter a whole number from 1 to {most}."));
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
            self.fault(field, "Enter a whole number, or leave the field empty.");
        }
        quota
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<NewKey, Vec<&'static str>> {
        let noon = UtcDateTime::from_unix_timestamp(1_795_000_000).expect("an instant");
        super::read(&Form::parse(text.as_bytes()), noon)
            .map_err(|faults| faults.iter().map(|fault| fault.field).collect())
    }

    #[test]
    fn a_whole_form_makes_a_key() {
        let text = "name=+Shop+&scope=signals%3Aread&expires=2999-01-01&rate=5&burst=10\
                    &quota_signals=100&quota_activities=&quota_companies=0";
        let new = read(text).expect("a key");
        assert_eq!((new.name.as_str(), new.rate, new.burst), ("Shop", 5, 10));
        assert_eq!(new.scopes.to_string(), "signals:read");
        assert_eq!(new.quotas.signals, Some(100));
        assert_eq!(
            (new.quotas.activities, new.quotas.companies),
            (None, Some(0))
        );
        assert!(new.expires_at.is_some());
    }

    #[test]
    fn every_fault_is_named_at_once() {
        let all = ["name", "scope", "expires", "rate", "burst", "quota_signals"];
        let text = "scope=all&expires=soon&rate=0&burst=-1&quota_signals=many";
        assert_eq!(read(text).expect_err("faults"), all);
        let past = "name=a&scope=signals:read&rate=1&burst=1&expires=2001-01-01";
        assert_eq!(read(past).expect_err("faults"), ["expires"]);
    }
}
