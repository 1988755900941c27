//! One text for one meaning, and its fingerprint.
//!
//! The canonical form of a filter names its parts in a fixed order: `all=series a&country=germany`.
//! Terms of a phrase are separated by spaces, items by commas, and whatever could be taken for
//! a separator is percent-encoded. It is part of the interface: fingerprints of stored cursors
//! and idempotency records depend on it, so a change needs a new version in `DOMAIN`.

use std::fmt::{self, Write};

use sha2::{Digest, Sha256};

use super::{CompanyReference, DateRange, Days, Filter, Order, Phrase, Query, Start};
use crate::signal::{SignalId, SizeBucket};

/// What is hashed before the canonical form, so that no other hash is like it.
const DOMAIN: &str = "signaldex query 1\n";

/// Room for the canonical forms that are usual, so that they are written into one allocation.
const FORM_BYTES: usize = 128;

/// The first 128 bits of the SHA-256 of a canonical form: the same for the same meaning, in every
/// process, on every platform, in every release.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "cluster", derive(serde::Serialize, serde::Deserialize))]
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
    let mut form = Form(String::with_capacity(FORM_BYTES));
    form.list("all", &filter.all, phrase);
    form.list("any", &filter.any, phrase);
    form.list("none", &filter.none, phrase);
    form.list("company", &filter.company_words, phrase);
    form.text("companySlug", filter.company_slug.as_deref());
    let slug = |form: &mut String, company: &CompanyReference| escaped(form, &company.slug);
    form.list("companies", &filter.companies, slug);
    form.text("country", filter.country.as_deref());
    form.text("industry", filter.industry.as_deref());
    form.value("size", filter.size.map(SizeBucket::as_str));
    form.value("days", filter.days.map(Days::count));
    form.list("dateRanges", &filter.date_ranges, date_range);
    form.value("dateFrom", filter.date_from);
    form.value("dateTo", filter.date_to);
    form.texts("categories", &filter.categories);
    form.texts("hiringType", &filter.hiring_types);
    form.texts("jobFunction", &filter.job_functions);
    form.texts("seniority", &filter.seniorities);
    form.texts("employmentType", &filter.employment_types);
    form.texts("workArrangement", &filter.work_arrangements);
    form.text("fundingStage", filter.funding_stage.as_deref());
    form.value("fundingCurrency", filter.funding_currency);
    form.value("fundingMin", filter.funding_min);
    form.value("fundingMax", filter.funding_max);
    form.ids("ids", filter.ids.as_deref());
    form.ids("activityIds", filter.activity_ids.as_deref());
    form.0
}

/// The fingerprint of all that a query wants.
pub(super) fn of_query(query: &Query) -> Fingerprint {
    let mut form = Form(of_filter(&query.filter));
    let order = match query.order {
        Order::NewestFirst => "newest",
        Order::OldestFirst => "oldest",
    };
    form.value("order", Some(order));
    form.value("limit", Some(query.limit));
    match &query.start {
        Start::First => {}
        Start::After(cursor) => form.value("start", Some(cursor)),
        Start::Page(number) => form.value("start", Some(number)),
    }
    form.value("countOnly", query.count_only.then_some("true"));
    Fingerprint::of(&form.0)
}

/// A canonical form as it grows.
struct Form(String);

impl Form {
    fn value(&mut self, name: &str, value: Option<impl fmt::Display>) {
        if let Some(value) = value {
            self.name(name);
            write!(self.0, "{value}").expect("a string can be written to");
        }
    }

    fn text(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.name(name);
            escaped(&mut self.0, value);
        }
    }

    fn texts(&mut self, name: &str, values: &[String]) {
        self.list(name, values, |form, value| escaped(form, value));
    }

    fn ids(&mut self, name: &str, ids: Option<&[SignalId]>) {
        self.list(name, ids.unwrap_or_default(), |form, id| {
            write!(form, "{id}").expect("a string can be written to");
        });
    }

    fn list<T>(&mut self, name: &str, values: &[T], append: impl Fn(&mut String, &T)) {
        for (place, value) in values.iter().enumerate() {
            match place {
                0 => self.name(name),
                _ => self.0.push(','),
            }
            append(&mut self.0, value);
        }
    }

    fn name(&mut self, name: &str) {
        if !self.0.is_empty() {
            self.0.push('&');
        }
        self.0.push_str(name);
        self.0.push('=');
    }
}

fn phrase(form: &mut String, phrase: &Phrase) {
    for (place, term) in phrase.terms().iter().enumerate() {
        if place > 0 {
            form.push(' ');
        }
        escaped_with(form, term, "%&,= ");
    }
}

fn date_range(form: &mut String, range: &DateRange) {
    match range {
        DateRange::Last(days) => write!(form, "{}", days.count()),
        DateRange::Older => write!(form, "older"),
    }
    .expect("a string can be written to");
}

/// Appends a value with its separators percent-encoded.
fn escaped(form: &mut String, value: &str) {
    escaped_with(form, value, "%&,=");
}

fn escaped_with(form: &mut String, value: &str, separators: &str) {
    for letter in value.chars() {
        if separators.contains(letter) {
            write!(form, "%{:02X}", u32::from(letter)).expect("a string can be written to");
        } else {
            form.push(letter);
        }
    }
}
