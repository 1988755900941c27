//! The parameters and headers of endpoints, in words and as JSON schemas.

mod companies;

use serde_json::{Value, json};

use crate::corpus::ExportFormat;
use crate::words;
use signaldex::query::{
    AggregateOrder, Facet, GroupBy, Measure, Parameter, ParameterDescription, ParameterKind, list,
};

pub(super) use companies::{CONDITIONS, OF_COMPANIES};

/// The pattern of a signal id in parameters and paths.
pub(super) const ID_PATTERN: &str = "^[1-9][0-9]{0,18}$";

/// A parameter of an endpoint.
#[derive(Clone, Copy)]
pub(super) enum EndpointParameter {
    /// One of the search.
    Search(&'static ParameterDescription),
    Own(&'static OwnParameter),
}

/// A parameter that the search does not have, or a header.
pub(super) struct OwnParameter {
    pub(super) name: &'static str,
    pub(super) location: Location,
    pub(super) values: ParameterValues,
    /// The meaning, with names in backticks.
    pub(super) meaning: &'static str,
    pub(super) example: &'static str,
}

/// Where a request has a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Location {
    Path,
    Query,
    Header,
}

/// The values of a parameter.
pub(super) enum ParameterValues {
    /// In words, and as a schema.
    Described(&'static str, fn() -> Value),
    /// A list of at most that many of these.
    Names(usize, &'static [&'static str]),
    /// One of these.
    Choice(&'static [&'static str]),
}

pub(super) const ID: OwnParameter = OwnParameter {
    name: "id",
    location: Location::Path,
    values: ParameterValues::Described("A signal id", id_schema),
    meaning: "The id of the signal, as a search returns it. It is a string in JSON.",
    example: "7477456168553964859",
};

pub(super) const SLUG: OwnParameter = OwnParameter {
    name: "slug",
    location: Location::Path,
    values: ParameterValues::Described("A company slug", text_schema),
    meaning: "The `companySlug` of a signal.",
    example: "sao-bento-agro",
};

pub(super) const FACETS: OwnParameter = OwnParameter {
    name: "facets",
    location: Location::Query,
    values: ParameterValues::Names(Facet::LIST_NAMES.len(), &Facet::LIST_NAMES),
    meaning: "The lists to return; all of them by default.",
    example: "countries,sizes",
};

pub(super) const BY: OwnParameter = OwnParameter {
    name: "by",
    location: Location::Query,
    values: ParameterValues::Names(2, &GroupBy::NAMES),
    meaning: "What to group by: one unit of time, of `date`; lists of filter options; or `company`, alone. Without it, only `totals` has figures.",
    example: "month,countries",
};

pub(super) const MEASURES: OwnParameter = OwnParameter {
    name: "measures",
    location: Location::Query,
    values: ParameterValues::Names(Measure::NAMES.len(), &Measure::NAMES),
    meaning: "The figures: `count`, which is always there, the number of different `companies`, and figures of amounts, for each currency.",
    example: "companies,sum,median",
};

pub(super) const GROUP_ORDER: OwnParameter = OwnParameter {
    name: "order",
    location: Location::Query,
    values: ParameterValues::Choice(&AggregateOrder::NAMES),
    meaning: "The order of groups; by default `key` if the first of `by` is a unit of time, else `-count`. `-sum` needs `fundingCurrency`. Null keys, and groups without an amount, come last.",
    example: "-count",
};

pub(super) const GROUP_LIMIT: OwnParameter = OwnParameter {
    name: "limit",
    location: Location::Query,
    values: ParameterValues::Described(
        "A whole number from 1 to 1000",
        || json!({"type": "integer", "minimum": 1, "maximum": 1_000}),
    ),
    meaning: "The maximum number of groups; by default 1,000, with `by=company` 50.",
    example: "12",
};

pub(super) const SINCE: OwnParameter = OwnParameter {
    name: "since",
    location: Location::Query,
    values: ParameterValues::Described("A position", text_schema),
    meaning: "The `next` of an earlier answer, or `start` for everything that matches; without it, only the present position is returned.",
    example: "start",
};

pub(super) const SEARCH_ID: OwnParameter = OwnParameter {
    name: "id",
    location: Location::Path,
    values: ParameterValues::Described("The id of a saved search", text_schema),
    meaning: "The id of the saved search, as the list has it.",
    example: "srch_Zp1c0tZyNcQ",
};

/// The position from which the matches of a saved search are returned.
pub(super) const MATCHES_SINCE: OwnParameter = OwnParameter {
    meaning: "The `next` of an earlier answer, or `start` for everything that matches; without it, the answer begins where the search does.",
    ..SINCE
};

pub(super) const AFTER: OwnParameter = OwnParameter {
    name: "after",
    location: Location::Query,
    values: ParameterValues::Described("A signal id, or VALUE,ID", after_schema),
    meaning: "Starts after this signal, even if it no longer matches: its id by `newest` and `oldest`, `VALUE,ID` by other orders, with `date` or `funding.amount` of the last whole line, and nothing for null (`2026-03-01,123`, `4700000,123`, `,123`).",
    example: "7471864829972502442",
};

pub(super) const MAX_ITEMS: OwnParameter = OwnParameter {
    name: "maxItems",
    location: Location::Query,
    values: ParameterValues::Described(
        "A whole number from 1",
        || json!({"type": "integer", "minimum": 1}),
    ),
    meaning: "Ends after this many signals.",
    example: "10000",
};

pub(super) const FORMAT: OwnParameter = OwnParameter {
    name: "format",
    location: Location::Query,
    values: ParameterValues::Described(
        "ndjson or csv",
        || json!({"type": "string", "enum": ExportFormat::NAMES}),
    ),
    meaning: "The format of the answer; by default, that of the `Accept` header, else NDJSON.",
    example: "csv",
};

/// The idempotency key of requests other than exports.
pub(super) const REPEATED_KEY: OwnParameter = OwnParameter {
    name: "Idempotency-Key",
    location: Location::Header,
    values: ParameterValues::Described(
        "A header, 8 to 128 visible ASCII characters",
        || json!({"type": "string", "minLength": 8, "maxLength": 128, "pattern": "^[!-~]{8,128}$"}),
    ),
    meaning: "A repeated request with the same key and parameters returns the same items for 24 hours and is charged once.",
    example: "0f8fad5b-d9cb-469f",
};

/// The idempotency key of an export.
pub(super) const EXPORT_KEY: OwnParameter = OwnParameter {
    meaning: "Names an export with these filters: signals charged under this name are not charged again within 24 hours, for any `after`, `maxItems` and `format`.",
    ..REPEATED_KEY
};

pub(super) const IF_NONE_MATCH: OwnParameter = OwnParameter {
    name: "If-None-Match",
    location: Location::Header,
    values: ParameterValues::Described("A header", || json!({"type": "string"})),
    meaning: "The `ETag` of a stored answer; if it is unchanged, the answer is 304 and free.",
    example: "W/\"0123456789abcdef01234567\"",
};

fn id_schema() -> Value {
    json!({"type": "string", "pattern": ID_PATTERN})
}

/// The id of a signal, or its value in the order of the export and its id.
fn after_schema() -> Value {
    let id = ID_PATTERN.trim_start_matches('^').trim_end_matches('$');
    json!({"type": "string", "pattern": format!("^([0-9.eE+-]*,)?({id})$")})
}

/// Empty values are refused.
fn text_schema() -> Value {
    json!({"type": "string", "minLength": 1})
}

impl EndpointParameter {
    pub(super) fn name(self) -> &'static str {
        match self {
            EndpointParameter::Search(known) => known.name,
            EndpointParameter::Own(own) => own.name,
        }
    }

    pub(super) fn location(self) -> Location {
        match self {
            EndpointParameter::Search(_) => Location::Query,
            EndpointParameter::Own(own) => own.location,
        }
    }

    pub(super) fn meaning(self) -> &'static str {
        match self {
            EndpointParameter::Search(known) => known.description,
            EndpointParameter::Own(own) => own.meaning,
        }
    }

    /// An example, as it stands in a request.
    pub(super) fn example(self) -> &'static str {
        match self {
            EndpointParameter::Search(known) => known.example,
            EndpointParameter::Own(own) => own.example,
        }
    }

    /// The allowed values in words.
    pub(super) fn bounds(self) -> String {
        match self {
            EndpointParameter::Search(known) => bounds(known.kind),
            EndpointParameter::Own(own) => own.values.bounds(),
        }
    }

    /// Whether it has a text whose words are searched.
    pub(super) fn has_words(self) -> bool {
        matches!(self, EndpointParameter::Search(known) if words::concern(known.parameter))
    }

    /// The parameter in the OpenAPI document of a service mounted at `base`.
    pub(super) fn document(self, base: &str) -> Value {
        let (description, schema) = match self {
            EndpointParameter::Search(known) => {
                let mut description = format!("{} {}.", known.description, bounds(known.kind));
                if self.has_words() {
                    let (title, anchor) = (words::TITLE, words::ANCHOR);
                    description.push_str(&format!(" [{title}]({base}/docs#{anchor})."));
                }
                (description, search_schema(known))
            }
            EndpointParameter::Own(own) => (own.meaning.to_owned(), own.values.schema()),
        };
        let mut document = json!({
            "name": self.name(), "in": self.location().as_str(),
            "required": self.location() == Location::Path, "description": description,
            "schema": schema, "example": self.example_value(&schema)
        });
        if schema["type"] == "array" {
            document["style"] = json!("form");
            document["explode"] = json!(false);
        }
        document
    }

    /// The example as a JSON value.
    fn example_value(self, schema: &Value) -> Value {
        let text = self.example();
        if let EndpointParameter::Search(known) = self
            && matches!(known.kind, ParameterKind::Cursor(_))
        {
            return json!("AQD_UAAAkU4");
        }
        match schema["type"].as_str() {
            Some("integer" | "number") => text
                .parse::<u64>()
                .map_or_else(|_| json!(text), |number| json!(number)),
            Some("boolean") => json!(text == "true"),
            // An item that contains a comma is quoted.
            Some("array") => {
                let items = list::split(text).unwrap_or_default();
                items.iter().map(|item| list::join([item])).collect()
            }
            _ => json!(text),
        }
    }
}

impl Location {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Location::Path => "path",
            Location::Query => "query",
            Location::Header => "header",
        }
    }
}

impl ParameterValues {
    fn bounds(&self) -> String {
        match *self {
            ParameterValues::Described(bounds, _) => bounds.to_owned(),
            ParameterValues::Names(items, choices) => {
                bounds(ParameterKind::ChoiceList { items, choices })
            }
            ParameterValues::Choice(choices) => bounds(ParameterKind::Choice(choices)),
        }
    }

    pub(super) fn schema(&self) -> Value {
        match self {
            ParameterValues::Described(_, schema) => schema(),
            ParameterValues::Names(items, choices) => self::schema(ParameterKind::ChoiceList {
                items: *items,
                choices,
            }),
            ParameterValues::Choice(choices) => self::schema(ParameterKind::Choice(choices)),
        }
    }
}

/// The schema of a search parameter in the OpenAPI document, where closed sets of values have names.
fn search_schema(known: &ParameterDescription) -> Value {
    let named = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    match (known.kind, known.parameter) {
        (ParameterKind::IdList(items), _) => array(Some(items), named("SignalId")),
        (ParameterKind::ChoiceList { items, .. }, _) => array(Some(items), named("DateRange")),
        (ParameterKind::Choice(_), Parameter::Size) => named("CompanySize"),
        (ParameterKind::Choice(_), Parameter::Days) => named("Days"),
        (ParameterKind::Choice(_), Parameter::FundingCurrency) => named("FundingCurrency"),
        (ParameterKind::Choice(_), Parameter::Order) => named("Order"),
        // A quoted item may have twice the characters of its text, so its length is given only in words.
        (ParameterKind::List { items, .. }, _) => array(Some(items), text_schema()),
        (ParameterKind::AttributeList(_), _) => array(None, text_schema()),
        (ParameterKind::Date, _) => {
            json!({"type": "string", "format": "date", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"})
        }
        (kind, Parameter::Limit) => {
            let mut schema = schema(kind);
            schema["default"] = json!(50);
            schema
        }
        (kind, _) => schema(kind),
    }
}

/// A schema of the values of a search parameter that names no others.
pub(super) fn schema(kind: ParameterKind) -> Value {
    let text = |chars: usize| json!({"type": "string", "minLength": 1, "maxLength": chars});
    match kind {
        ParameterKind::Text(chars) | ParameterKind::Cursor(chars) => text(chars),
        ParameterKind::List { items, chars } => array(Some(items), text(chars)),
        ParameterKind::AttributeList(chars) => array(None, text(chars)),
        ParameterKind::IdList(items) => array(Some(items), id_schema()),
        ParameterKind::Choice(choices) => json!({"type": "string", "enum": choices}),
        ParameterKind::ChoiceList { items, choices } => {
            array(Some(items), json!({"type": "string", "enum": choices}))
        }
        ParameterKind::Date => json!({"type": "string", "format": "date"}),
        ParameterKind::Amount => json!({"type": "number", "minimum": 0}),
        ParameterKind::Number(max) => json!({"type": "integer", "minimum": 1, "maximum": max}),
        ParameterKind::Flag => json!({"type": "boolean"}),
    }
}

fn array(items_max: Option<usize>, item: Value) -> Value {
    let mut array = json!({"type": "array", "minItems": 1, "items": item});
    if let Some(items) = items_max {
        array["maxItems"] = json!(items);
    }
    array
}

/// The limits of a search parameter as text.
fn bounds(kind: ParameterKind) -> String {
    match kind {
        ParameterKind::Text(chars) => format!("At most {chars} characters"),
        ParameterKind::Cursor(chars) => format!("A cursor, at most {chars} characters"),
        ParameterKind::List { items, chars } => {
            format!("1 to {items} items of 1 to {chars} characters, comma-separated")
        }
        ParameterKind::AttributeList(chars) => {
            format!("Comma-separated IDs, at most {chars} characters in all")
        }
        ParameterKind::IdList(items) => format!("1 to {items} signal ids, comma-separated"),
        ParameterKind::Choice(choices) => format!("One of {}", choices.join(", ")),
        ParameterKind::ChoiceList { items, choices } => {
            format!("1 to {items} of {}", choices.join(", "))
        }
        ParameterKind::Date => "A calendar date, YYYY-MM-DD".to_owned(),
        ParameterKind::Amount => "A finite number, at least 0".to_owned(),
        ParameterKind::Number(max) => format!("A whole number from 1 to {max}"),
        ParameterKind::Flag => "true or false".to_owned(),
    }
}
