//! The columns of signals and companies: their names, and what each is read from.

use SignalRead::{Amount, Day, Id, Instant, Text, Whole};
use time::{Date, UtcDateTime};

use super::{ColumnSource, ColumnType, ColumnValue, CompanyRead};
use crate::signal::{Currency, SignalId};

/// How a column of signals is read.
#[derive(Clone, Copy, Debug)]
pub(super) enum SignalRead {
    Id(fn(ColumnSource<'_>) -> SignalId),
    Text(for<'s> fn(ColumnSource<'s>) -> Option<&'s str>),
    Day(fn(ColumnSource<'_>) -> Option<Date>),
    Instant(fn(ColumnSource<'_>) -> Option<UtcDateTime>),
    Whole(fn(ColumnSource<'_>) -> Option<i64>),
    Amount(fn(ColumnSource<'_>) -> Option<f64>),
}

impl SignalRead {
    pub(super) fn column_type(self) -> ColumnType {
        match self {
            SignalRead::Id(_) => ColumnType::Id,
            SignalRead::Text(_) => ColumnType::Text,
            SignalRead::Day(_) => ColumnType::Day,
            SignalRead::Instant(_) => ColumnType::Instant,
            SignalRead::Whole(_) => ColumnType::Whole,
            SignalRead::Amount(_) => ColumnType::Amount,
        }
    }

    pub(super) fn value(self, source: ColumnSource<'_>) -> ColumnValue<'_> {
        match self {
            SignalRead::Id(read) => ColumnValue::Id(read(source)),
            SignalRead::Text(read) => value_of(read(source), ColumnValue::Text),
            SignalRead::Day(read) => value_of(read(source), ColumnValue::Day),
            SignalRead::Instant(read) => value_of(read(source), ColumnValue::Instant),
            SignalRead::Whole(read) => value_of(read(source), ColumnValue::Whole),
            SignalRead::Amount(read) => value_of(read(source), ColumnValue::Amount),
        }
    }
}

/// A value, or null.
fn value_of<'a, T>(value: Option<T>, make: impl FnOnce(T) -> ColumnValue<'a>) -> ColumnValue<'a> {
    value.map_or(ColumnValue::Null, make)
}

/// The columns of signals: a search item's, hiring attributes, and those of the company in a detail.
pub(super) const SIGNAL_COLUMNS: &[(&str, SignalRead)] = &[
    ("id", Id(|of| of.signal.id)),
    ("slug", Text(|of| Some(&of.signal.slug))),
    ("title", Text(|of| Some(&of.signal.title))),
    ("evidence", Text(|of| of.signal.evidence.as_deref())),
    ("category", Text(|of| of.signal.category.as_deref())),
    ("date", Day(|of| of.signal.date)),
    ("publishedAt", Instant(|of| of.signal.published_at)),
    ("updatedAt", Instant(|of| of.signal.updated_at)),
    ("companySlug", Text(|of| Some(&of.signal.company_slug))),
    ("companyName", Text(|of| Some(of.company_name))),
    ("activityUrl", Text(|of| of.signal.activity_url.as_deref())),
    ("authorName", Text(|of| of.signal.author_name.as_deref())),
    ("authorTitle", Text(|of| of.signal.author_title.as_deref())),
    ("authorUrl", Text(|of| of.signal.author_url.as_deref())),
    (
        "funding.stage",
        Text(|of| of.signal.funding.as_ref()?.stage.as_deref()),
    ),
    (
        "funding.amount",
        Amount(|of| of.signal.funding.as_ref()?.amount),
    ),
    (
        "funding.currency",
        Text(|of| {
            let currency = of.signal.funding.as_ref()?.currency.as_ref();
            currency.map(Currency::as_str)
        }),
    ),
    (
        "hiring.hiringType",
        Text(|of| of.signal.hiring.as_ref()?.hiring_type.as_deref()),
    ),
    (
        "hiring.jobFunction",
        Text(|of| of.signal.hiring.as_ref()?.job_function.as_deref()),
    ),
    (
        "hiring.seniority",
        Text(|of| of.signal.hiring.as_ref()?.seniority.as_deref()),
    ),
    (
        "hiring.employmentType",
        Text(|of| of.signal.hiring.as_ref()?.employment_type.as_deref()),
    ),
    (
        "hiring.workArrangement",
        Text(|of| of.signal.hiring.as_ref()?.work_arrangement.as_deref()),
    ),
    ("company.about", Text(|of| of.company?.about.as_deref())),
    ("company.tagline", Text(|of| of.company?.tagline.as_deref())),
    (
        "company.logoUrl",
        Text(|of| of.company?.logo_url.as_deref()),
    ),
    ("company.country", Text(|of| of.company?.country.as_deref())),
    ("company.city", Text(|of| of.company?.city.as_deref())),
    ("company.employees", Whole(|of| of.company?.employees)),
    (
        "company.industry",
        Text(|of| of.company?.industry.as_deref()),
    ),
    ("company.foundedYear", Whole(|of| of.company?.founded_year)),
    (
        "company.linkedinUrl",
        Text(|of| of.company?.linkedin_url.as_deref()),
    ),
];

/// The columns of companies, in the order of the API.
pub(super) const COMPANY_COLUMNS: &[(&str, CompanyRead)] = &[
    ("slug", |of| ColumnValue::Text(&of.company.slug)),
    ("name", |of| ColumnValue::Text(&of.company.name)),
    ("about", |of| text(of.company.about.as_deref())),
    ("tagline", |of| text(of.company.tagline.as_deref())),
    ("logoUrl", |of| text(of.company.logo_url.as_deref())),
    ("country", |of| text(of.company.country.as_deref())),
    ("city", |of| text(of.company.city.as_deref())),
    ("employees", |of| whole(of.company.employees)),
    ("industry", |of| text(of.company.industry.as_deref())),
    ("foundedYear", |of| whole(of.company.founded_year)),
    ("linkedinUrl", |of| text(of.company.linkedin_url.as_deref())),
    ("signalCount", |of| {
        whole(i64::try_from(of.signal_count).ok())
    }),
    ("latestSignalDate", |of| {
        value_of(of.latest_signal_date, ColumnValue::Day)
    }),
    ("updatedAt", |of| {
        value_of(of.company.updated_at, ColumnValue::Instant)
    }),
];

fn text(text: Option<&str>) -> ColumnValue<'_> {
    value_of(text, ColumnValue::Text)
}

fn whole(number: Option<i64>) -> ColumnValue<'static> {
    value_of(number, ColumnValue::Whole)
}
