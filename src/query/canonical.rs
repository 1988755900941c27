//! One text for one meaning, and its fingerprint.
//!
//! The canonical form of a filter names its parts in a fixed order: `all=series a&country=germany`.
//! Terms of a phrase are separated by spaces, items by commas, and whatever could be taken for
//! a separator is percent-encoded. It is part of the interface: fingerprints of stored cursors
//! and idempotency records depend on it, so a change needs a new version in `DOMAIN`.

use std::fmt::{self, Write};

use sha2::{Digest, Sha256};

use super::{CompanyReference, DateRange, Filter, Order, Phrase, Query, Start};
use crate::signal::SignalId;

/// What is hashed before the canonical form, so that no other hash is like it.
const DOMAIN: &str = "signaldex query 1\n";

/// The first 128 bits of the SHA-256 of a canonical form: the same for the same meaning, in every
/// process, on every platform, in every release.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// The sixteen bytes.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    pub(super) fn of(canonical: &str) -> Fingerprint {
        let digest = Sha256::new()
            .chain_update(DOMAIN)
            .chain_update(canonical)
            .finalize();
        Fingerprint(std::array::from_fn(|place| digest[place]))
    }

    pub(super) fn from_bytes(bytes: [u8; 16]) -> Fingerprint {
        Fingerprint(bytes)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The canonical form of a filter; empty for none.
pub(super) fn of_filter(filter: &Filter) -> String {
    let mut form = Form::default();
    form.list("all", &filter.all, phrase);
    form.list("any", &filter.any, phrase);
    form.list("none", &filter.none, phrase);
    form.list("company", &filter.company_words, phrase);
    form.value("companySlug", filter.company_slug.as_deref().map(escaped));
    form.list(
        "companies",
        &filter.companies,
        |company: &CompanyReference| escaped(&company.slug),
    );
    form.value("country", filter.country.as_deref().map(escaped));
    form.value("industry", filter.industry.as_deref().map(escaped));
    form.value("size", filter.size.map(|size| size.as_str().to_owned()));
    form.value("days", filter.days.map(|days| days.count().to_string()));
    form.list("dateRanges", &filter.date_ranges, date_range);
    form.value("dateFrom", filter.date_from.map(|date| date.to_string()));
    form.value("dateTo", filter.date_to.map(|date| date.to_string()));
    form.texts("categories", &filter.categories);
    form.texts("hiringType", &filter.hiring_types);
    form.texts("jobFunction", &filter.job_functions);
    form.texts("seniority", &filter.seniorities);
    form.texts("employmentType", &filter.employment_types);
    form.texts("workArrangement", &filter.work_arrangements);
    form.value("fundingStage", filter.funding_stage.as_deref().map(escaped));
    form.value(
        "fundingCurrency",
        filter.funding_currency.map(|currency| currency.to_string()),
    );
    form.value(
        "fundingMin",
        filter.funding_min.map(|amount| amount.to_string()),
    );
    form.value(
        "fundingMax",
        filter.funding_max.map(|amount| amount.to_string()),
    );
    form.list(
        "ids",
        filter.ids.as_deref().unwrap_or_default(),
        SignalId::to_string,
    );
    form.list(
        "activityIds",
        filter.activity_ids.as_deref().unwrap_or_default(),
        SignalId::to_string,
    );
    form.0
}

/// The fingerprint of all that a query wants.
pub(super) fn of_query(query: &Query) -> Fingerprint {
    let mut form = Form(of_filter(&query.filter));
    let order = match query.order {
        Order::NewestFirst => "newest",
        Order::OldestFirst => "oldest",
    };
    form.value("order", Some(order.to_owned()));
    form.value("limit", Some(query.limit.to_string()));
    form.value(
        "start",
        match &query.start {
            Start::First => None,
            Start::After(cursor) => Some(cursor.to_string()),
            Start::Page(number) => Some(number.to_string()),
        },
    );
    form.value("countOnly", query.count_only.then(|| "true".to_owned()));
    Fingerprint::of(&form.0)
}

#[derive(Default)]
struct Form(String);

impl Form {
    fn value(&mut self, name: &str, value: Option<String>) {
        if let Some(value) = value {
            let ampersand = if self.0.is_empty() { "" } else { "&" };
            write!(self.0, "{ampersand}{name}={value}").expect("a string can be written to");
        }
    }

    fn list<T>(&mut self, name: &str, values: &[T], text: impl Fn(&T) -> String) {
        let texts: Vec<String> = values.iter().map(text).collect();
        self.value(name, (!texts.is_empty()).then(|| texts.join(",")));
    }

    fn texts(&mut self, name: &str, values: &[String]) {
        self.list(name, values, |value| escaped(value));
    }
}

fn phrase(phrase: &Phrase) -> String {
    let terms: Vec<String> = phrase
        .terms()
        .iter()
        .map(|term| escaped(term).replace(' ', "%20"))
        .collect();
    terms.join(" ")
}

fn date_range(range: &DateRange) -> String {
    match range {
        DateRange::Last(days) => days.count().to_string(),
        DateRange::Older => "older".to_owned(),
    }
}

/// A value with its separators percent-encoded.
fn escaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for letter in value.chars() {
        match letter {
            '%' | '&' | ',' | '=' => {
                write!(text, "%{:02X}", letter as u32).expect("a string can be written to");
            }
            _ => text.push(letter),
        }
    }
    text
}
