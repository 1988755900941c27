//! The fields of signals and companies.

use super::FieldValues::{
    Amount, Currency, Day, Id, Instant, Link, Object, Text, Whole, WholeFrom,
};
use super::{Field, field};

/// Why a field of a record is null.
const NOT_KNOWN: &str = "if it is not known";

pub(super) const SIGNAL: &[Field] = &[
    field(
        "id",
        Id,
        "Identifies the signal; newer signals have greater ids. A string, because JavaScript numbers cannot hold 19 digits.",
        "\"7477456168553964859\"",
    ),
    field(
        "slug",
        Text,
        "The title as part of a URL, for links of your own.",
        "\"acme-raises-series-a\"",
    ),
    field(
        "title",
        Text,
        "What happened, in one line. `q`, `all`, `exact`, `any` and `exclude` search it.",
        "\"Acme raises €12M Series A\"",
    ),
    field(
        "evidence",
        Text,
        "What the signal rests on, such as a sentence of its source.",
        "\"The round was led by Hazelmere Ventures.\"",
    )
    .null(NOT_KNOWN),
    field(
        "category",
        Text,
        "The ID of its category, as `categories` takes it.",
        "\"funding\"",
    )
    .null("if it has none"),
    field(
        "date",
        Day,
        "The day of the event; all that `days`, `dateRanges`, `dateFrom` and `dateTo` read.",
        "\"2026-06-12\"",
    )
    .null("if it is not known; such a signal matches no date filter"),
    field(
        "publishedAt",
        Instant,
        "When its source published it.",
        "\"2026-06-12T08:00:00Z\"",
    )
    .null(NOT_KNOWN),
    field(
        "updatedAt",
        Instant,
        "When the operator last changed the record.",
        "\"2026-06-13T08:00:00Z\"",
    )
    .null(NOT_KNOWN),
    field(
        "companySlug",
        Text,
        "Identifies the company, as `companySlug` and `GET /api/v1/companies/{slug}` take it.",
        "\"acme\"",
    ),
    field(
        "companyName",
        Text,
        "The name of the company.",
        "\"Acme GmbH\"",
    ),
    field(
        "activityUrl",
        Link,
        "Where the source is.",
        "\"https://acme.example/news/1\"",
    )
    .null(NOT_KNOWN),
    field("authorName", Text, "Who published it.", "\"Ada Example\"").null(NOT_KNOWN),
    field("authorTitle", Text, "The author's position.", "\"CEO\"").null(NOT_KNOWN),
    field(
        "authorUrl",
        Link,
        "The author's page.",
        "\"https://acme.example/ada\"",
    )
    .null(NOT_KNOWN),
    field(
        "funding",
        Object("Funding"),
        "The money that the signal is about.",
        "",
    )
    .null("if it is about none"),
];

pub(super) const OF_DETAIL: &[Field] = &[field(
    "company",
    Object("CompanyProfile"),
    "The company as it is now.",
    "",
)];

pub(super) const FUNDING: &[Field] = &[
    field(
        "stage",
        Text,
        "The stage, as `fundingStage` takes it.",
        "\"Series A\"",
    )
    .null(NOT_KNOWN),
    field(
        "amount",
        Amount,
        "The amount, in the signal's own `currency`; nothing is converted.",
        "12000000",
    )
    .null("if it was not disclosed"),
    field(
        "currency",
        Currency,
        "The currency of the amount.",
        "\"EUR\"",
    )
    .null(NOT_KNOWN),
];

pub(super) const PROFILE: &[Field] = &[
    field(
        "about",
        Text,
        "What the company does.",
        "\"Acme makes robots.\"",
    )
    .null(NOT_KNOWN),
    field(
        "tagline",
        Text,
        "The same in a few words.",
        "\"Robots for all\"",
    )
    .null(NOT_KNOWN),
    field(
        "logoUrl",
        Link,
        "Its logo.",
        "\"https://acme.example/logo.svg\"",
    )
    .null(NOT_KNOWN),
    field(
        "country",
        Text,
        "Its country, as `country` takes it.",
        "\"Germany\"",
    )
    .null(NOT_KNOWN),
    field("city", Text, "Its city.", "\"Berlin\"").null(NOT_KNOWN),
    field(
        "employees",
        WholeFrom(0),
        "The number of its employees, which `size` reads.",
        "120",
    )
    .null(NOT_KNOWN),
    field(
        "industry",
        Text,
        "Its industry, as `industry` takes it.",
        "\"Robotics\"",
    )
    .null(NOT_KNOWN),
    field("foundedYear", Whole, "The year of its foundation.", "2019").null(NOT_KNOWN),
    field(
        "linkedinUrl",
        Link,
        "Its page at LinkedIn.",
        "\"https://linkedin.com/company/acme\"",
    )
    .null(NOT_KNOWN),
];

pub(super) const COMPANY_NAME: &[Field] = &[
    field("slug", Text, "Identifies the company.", "\"acme\""),
    field(
        "name",
        Text,
        "Its name. `company` searches it, `companies` takes it whole.",
        "\"Acme GmbH\"",
    ),
];

pub(super) const COMPANY_FIGURES: &[Field] = &[
    field(
        "signalCount",
        WholeFrom(0),
        "The number of its signals.",
        "15",
    ),
    field(
        "latestSignalDate",
        Day,
        "The greatest `date` of its signals.",
        "\"2026-06-29\"",
    )
    .null("if no signal has a date"),
    field(
        "updatedAt",
        Instant,
        "When the operator last changed the record.",
        "\"2026-06-30T12:00:00Z\"",
    )
    .null(NOT_KNOWN),
];

pub(super) const CONDITION_MATCHES: &[Field] = &[
    field(
        "count",
        WholeFrom(0),
        "How many signals of the company match the condition's filters.",
        "3",
    ),
    field(
        "latestDate",
        Day,
        "The greatest `date` of these signals.",
        "\"2026-03-01\"",
    )
    .null("if none of them has a date"),
];
