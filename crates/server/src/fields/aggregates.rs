//! The fields of aggregates: groups with their keys and figures, and totals.

use super::FieldValues::{Amount, Currency, Day, List, Object, Text, WholeFrom};
use super::{Field, FieldValues, field};

/// When a key has a member.
const IN_BY: &str = "if `by` names it";
/// When figures have a member.
const IN_MEASURES: &str = "if `measures` names it";
/// Why the key of a unit of time is null.
const NO_DATE: &str = "for signals without a date";
/// Why the key of a list is null.
const NO_VALUE: &str = "for signals without a value";

pub(super) const AGGREGATES: &[Field] = &[
    field(
        "groups",
        List("AggregateGroup", Some(1_000)),
        "The first groups in `order`, at most `limit`. Each has at least one signal.",
        "",
    ),
    field(
        "truncated",
        FieldValues::Flag,
        "Whether there are more groups.",
        "false",
    ),
    field(
        "totals",
        Object("AggregateTotals"),
        "The same figures over every match, and the number of groups.",
        "",
    ),
];

pub(super) const GROUP: &[Field] = &[field(
    "key",
    Object("AggregateKey"),
    "What the signals of the group have in common: a member for each item of `by`.",
    "",
)];

pub(super) const TOTALS: &[Field] = &[field(
    "groups",
    WholeFrom(0),
    "The number of all groups, shown or not; 0 without `by`.",
    "31",
)];

pub(super) const FIGURES: &[Field] = &[
    field("count", WholeFrom(0), "The number of signals.", "12"),
    field(
        "companies",
        WholeFrom(0),
        "The number of different companies.",
        "9",
    )
    .only(IN_MEASURES),
    field(
        "amounts",
        List("CurrencyAmounts", None),
        "Figures of the amounts, for each currency that has one; currencies ascend, and amounts without one come last.",
        "",
    )
    .only("if `measures` names a figure of amounts"),
];

pub(super) const CURRENCY_AMOUNTS: &[Field] = &[
    field("currency", Currency, "The currency.", "\"EUR\"").null("for amounts without one"),
    field("count", WholeFrom(1), "The number of amounts.", "7"),
    measure(
        "sum",
        "The exact decimal sum, rounded once to the nearest number.",
        "12500000.5",
    ),
    measure("min", "The smallest amount.", "120000"),
    measure("max", "The largest amount.", "4700000"),
    measure(
        "median",
        "The median; between two amounts, as spreadsheets interpolate.",
        "900000",
    ),
    measure(
        "p25",
        "The lower quartile, interpolated likewise.",
        "350000",
    ),
    measure(
        "p75",
        "The upper quartile, interpolated likewise.",
        "2100000",
    ),
];

const fn measure(name: &'static str, meaning: &'static str, example: &'static str) -> Field {
    field(name, Amount, meaning, example).only(IN_MEASURES)
}

pub(super) const GROUP_KEY: &[Field] = &[
    unit("day", Day, "The day of `date`.", "\"2026-03-15\""),
    unit("week", Day, "The Monday of its ISO week.", "\"2026-03-09\""),
    unit("month", Text, "The month.", "\"2026-03\""),
    unit("quarter", Text, "The quarter.", "\"2026-Q1\""),
    unit("year", Text, "The year.", "\"2026\""),
    list("categories", "The ID of the category.", "\"funding\""),
    list("countries", "The country of the company.", "\"Germany\""),
    list("industries", "The industry of the company.", "\"Robotics\""),
    list("sizes", "The size of the company.", "\"101-500\""),
    list("fundingStages", "The stage of the funding.", "\"Series A\""),
    list(
        "fundingCurrencies",
        "The currency of the funding.",
        "\"EUR\"",
    ),
    list("hiringTypes", "The ID of the hiring type.", "\"new-role\""),
    list(
        "jobFunctions",
        "The ID of the job function.",
        "\"engineering\"",
    ),
    list("seniorities", "The ID of the seniority.", "\"lead\""),
    list(
        "employmentTypes",
        "The ID of the employment type.",
        "\"full-time\"",
    ),
    list(
        "workArrangements",
        "The ID of the work arrangement.",
        "\"remote\"",
    ),
    field("company", Object("CompanyKey"), "The company.", "").only(IN_BY),
];

const fn unit(
    name: &'static str,
    values: FieldValues,
    meaning: &'static str,
    example: &'static str,
) -> Field {
    field(name, values, meaning, example)
        .only(IN_BY)
        .null(NO_DATE)
}

const fn list(name: &'static str, meaning: &'static str, example: &'static str) -> Field {
    field(name, Text, meaning, example)
        .only(IN_BY)
        .null(NO_VALUE)
}
