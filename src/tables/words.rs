//! Words that people use for fields: told as suggestions, never taken.

use super::fields::RecordKind;

/// Words as [`folded_name`](super::header::folded_name) folds them, and the field that each probably means.
pub(super) const COMPANY_WORDS: &[(&str, &str)] = &[
    ("company", "name"),
    ("account", "name"),
    ("accountname", "name"),
    ("organization", "name"),
    ("organisation", "name"),
    ("companyid", "slug"),
    ("accountid", "slug"),
    ("recordid", "slug"),
    ("description", "about"),
    ("aboutus", "about"),
    ("accountdescription", "about"),
    ("slogan", "tagline"),
    ("logo", "logoUrl"),
    ("country/region", "country"),
    ("billingcountry", "country"),
    ("hqcountry", "country"),
    ("billingcity", "city"),
    ("town", "city"),
    ("headcount", "employees"),
    ("numberofemployees", "employees"),
    ("employeecount", "employees"),
    ("companysize", "employees"),
    ("staff", "employees"),
    ("sector", "industry"),
    ("founded", "foundedYear"),
    ("yearfounded", "foundedYear"),
    ("yearstarted", "foundedYear"),
    ("linkedin", "linkedinUrl"),
    ("linkedincompanypage", "linkedinUrl"),
    ("updated", "updatedAt"),
    ("lastmodified", "updatedAt"),
    ("lastmodifieddate", "updatedAt"),
];

pub(super) const SIGNAL_WORDS: &[(&str, &str)] = &[
    ("signalnumber", "id"),
    ("recordid", "id"),
    ("signalkey", "slug"),
    ("headline", "title"),
    ("subject", "title"),
    ("dealname", "title"),
    ("company", "companySlug"),
    ("account", "companySlug"),
    ("accountname", "companySlug"),
    ("organization", "companySlug"),
    ("organisation", "companySlug"),
    ("companyid", "companySlug"),
    ("accountid", "companySlug"),
    ("associatedcompanyids", "companySlug"),
    ("summary", "evidence"),
    ("description", "evidence"),
    ("type", "category"),
    ("signaltype", "category"),
    ("closedate", "date"),
    ("duedate", "date"),
    ("day", "date"),
    ("published", "publishedAt"),
    ("publicationdate", "publishedAt"),
    ("updated", "updatedAt"),
    ("lastmodified", "updatedAt"),
    ("lastmodifieddate", "updatedAt"),
    ("link", "activityUrl"),
    ("url", "activityUrl"),
    ("source", "activityUrl"),
    ("author", "authorName"),
    ("round", "funding.stage"),
    ("amount", "funding.amount"),
    ("raised", "funding.amount"),
    ("currency", "funding.currency"),
];

/// The words for fields of a kind of record.
pub(super) fn words(kind: RecordKind) -> &'static [(&'static str, &'static str)] {
    match kind {
        RecordKind::Company => COMPANY_WORDS,
        RecordKind::Signal => SIGNAL_WORDS,
    }
}

/// The words that a refused header is told to be this field for, as they are compared: in lower case, without white
/// space, `_`, `-` and `.`.
///
/// ```
/// use signaldex::json::{RecordKind, field_words};
///
/// assert!(field_words(RecordKind::Signal, "title").any(|word| word == "headline"));
/// ```
pub fn field_words(kind: RecordKind, field: &str) -> impl Iterator<Item = &'static str> {
    words(kind)
        .iter()
        .filter(move |(_, meant)| *meant == field)
        .map(|(word, _)| *word)
}
