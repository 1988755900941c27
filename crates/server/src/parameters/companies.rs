//! The own parameters of queries for companies.

use serde_json::{Value, json};

use super::{IF_NONE_MATCH, Location, OwnParameter, ParameterValues, REPEATED_KEY};
use signaldex::query::limits::{
    COMPANY_CURSOR_CHARS_MAX, CONDITIONS_CHARS_MAX, EMPLOYEES_DIGITS_MAX, TEXT_CHARS_MAX,
    YEAR_DIGITS_MAX,
};
use signaldex::query::{CompanyOrder, Facet};

/// The parameters with conditions.
pub(crate) const CONDITIONS: [&str; 2] = ["has", "hasNot"];

/// The parameters that searches do not have, or not so, and headers.
pub(crate) static OF_COMPANIES: [OwnParameter; 12] = [
    own(
        "city",
        ParameterValues::Described("At most 180 characters", || text(TEXT_CHARS_MAX)),
        "The city of the company, compared as `country` is.",
        "Berlin",
    ),
    own(
        "foundedFrom",
        YEAR,
        "Founded in this year or later; a company without `foundedYear` does not match.",
        "2015",
    ),
    own(
        "foundedTo",
        YEAR,
        "Founded in this year or earlier.",
        "2020",
    ),
    own(
        "employeesMin",
        EMPLOYEES,
        "At least this number of employees; a company without `employees` does not match.",
        "10",
    ),
    own(
        "employeesMax",
        EMPLOYEES,
        "At most this number of employees.",
        "250",
    ),
    own(
        CONDITIONS[0],
        CONDITION_LIST,
        "Conditions on the company's signals, all of which it fulfils.",
        "(hiringType=new-role;days=90;min=2),(fundingStage=series a)",
    ),
    own(
        CONDITIONS[1],
        CONDITION_LIST,
        "Conditions on the company's signals, none of which it fulfils.",
        "(q=\"layoffs\";days=30)",
    ),
    own(
        "order",
        ParameterValues::Choice(&CompanyOrder::NAMES),
        "By slug, or most matches or latest match of the first condition of `has` first; without `has`, of all signals.",
        "-matches",
    ),
    own(
        "cursor",
        ParameterValues::Described("A cursor, at most 2048 characters", || {
            text(COMPANY_CURSOR_CHARS_MAX)
        }),
        "Continues after the page that returned this `nextCursor`, with the same filters and order.",
        "QAGaUAAA1ZYRaFv-fVLYZutZhIcKQwEFAAAAAAAAAGZlbm5tYXJrLW11dHVhbMeNEuk",
    ),
    own(
        "facets",
        ParameterValues::Names(Facet::COMPANY_LIST_NAMES.len(), &Facet::COMPANY_LIST_NAMES),
        "The lists of numbers of companies to return with `countOnly=true`.",
        "countries,sizes",
    ),
    REPEATED_KEY,
    IF_NONE_MATCH,
];

const YEAR: ParameterValues =
    ParameterValues::Described("A whole number of at most 4 digits", || {
        whole(YEAR_DIGITS_MAX)
    });
const EMPLOYEES: ParameterValues =
    ParameterValues::Described("A whole number of at most 15 digits", || {
        whole(EMPLOYEES_DIGITS_MAX)
    });
const CONDITION_LIST: ParameterValues = ParameterValues::Described(
    "1 to 4 conditions in parentheses, at most 8000 characters",
    || text(CONDITIONS_CHARS_MAX),
);

const fn own(
    name: &'static str,
    values: ParameterValues,
    meaning: &'static str,
    example: &'static str,
) -> OwnParameter {
    OwnParameter {
        name,
        location: Location::Query,
        values,
        meaning,
        example,
    }
}

fn text(chars: usize) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": chars})
}

fn whole(digits: usize) -> Value {
    json!({"type": "integer", "minimum": 0, "maximum": 10_u64.pow(digits as u32) - 1})
}
