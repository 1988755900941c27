//! The parameters of an endpoint: as rows of a table, and as fields of a form.

use super::form::{Field, Location};
use super::{Page, Parameters, escape, with_code};
use crate::http::openapi;
use crate::query::{PARAMETERS, ParameterDescription};

impl Page {
    /// The fields of the form, with the values of the example.
    pub(super) fn fields(&self) -> Vec<Field> {
        let query = self.request.split_once('?').map_or("", |(_, query)| query);
        let asked = |name, example| {
            let mut values = form_urlencoded::parse(query.as_bytes());
            let value = values.find(|(known, _)| known == name);
            Field {
                name,
                location: Location::Query,
                value: value.map_or_else(String::new, |(_, value)| value.into_owned()),
                example,
            }
        };
        let of_query = |known: &ParameterDescription| asked(known.name, known.example);
        let empty = |location, name, example| Field {
            name,
            location,
            value: String::new(),
            example,
        };
        let header = |name, example| empty(Location::Header, name, example);
        let if_none_match = header("If-None-Match", "W/\"0123456789abcdef01234567\"");
        match &self.parameters {
            Parameters::Search => {
                let headers = [header(IDEMPOTENCY_KEY, KEY_EXAMPLE), if_none_match];
                PARAMETERS.iter().map(of_query).chain(headers).collect()
            }
            Parameters::Changes => {
                let [name, _, _, example] = openapi::SINCE;
                let since = empty(Location::Query, name, example);
                let others = [since, header(IDEMPOTENCY_KEY, KEY_EXAMPLE), if_none_match];
                of_changes().map(of_query).chain(others).collect()
            }
            Parameters::Export => {
                let own = openapi::EXPORT.map(|[name, _, _, example]| asked(name, example));
                let header = header(IDEMPOTENCY_KEY, KEY_EXAMPLE);
                let fields = all_filters().map(of_query).chain(own);
                fields.chain([header]).collect()
            }
            Parameters::Filters => {
                let [name, _, example] = openapi::FACETS;
                let facets = empty(Location::Query, name, example);
                filters().map(of_query).chain([facets]).collect()
            }
            Parameters::Path([name, _, _, example]) => {
                let of_path = Field {
                    name,
                    location: Location::Path,
                    value: (*example).to_owned(),
                    example,
                };
                vec![of_path, if_none_match]
            }
        }
    }

    pub(super) fn parameter_rows(&self) -> Vec<String> {
        let if_none_match = row([
            "If-None-Match",
            "A header",
            "The `ETag` of a stored answer; if it is unchanged, the answer is 304 and free.",
            "W/\"0123456789abcdef01234567\"",
        ]);
        match &self.parameters {
            Parameters::Search => {
                let parameters = PARAMETERS.iter().map(parameter_row);
                parameters
                    .chain([key_row(openapi::REPEATED_KEY), if_none_match])
                    .collect()
            }
            Parameters::Changes => {
                let key = key_row(openapi::REPEATED_KEY);
                let others = [row(openapi::SINCE), key, if_none_match];
                of_changes().map(parameter_row).chain(others).collect()
            }
            Parameters::Export => {
                let own = openapi::EXPORT.map(row);
                let filters = all_filters().map(parameter_row);
                filters
                    .chain(own)
                    .chain([key_row(openapi::EXPORT_KEY)])
                    .collect()
            }
            Parameters::Filters => {
                let [name, meaning, example] = openapi::FACETS;
                let bounds = openapi::bounds(openapi::FACETS_KIND);
                let facets = row([name, &bounds, meaning, example]);
                filters().map(parameter_row).chain([facets]).collect()
            }
            Parameters::Path(parameter) => vec![row(*parameter), if_none_match],
        }
    }
}

/// The header that makes a repeated request free.
const IDEMPOTENCY_KEY: &str = "Idempotency-Key";
const KEY_EXAMPLE: &str = "0f8fad5b-d9cb-469f";

fn key_row(meaning: &str) -> String {
    let value = "A header, 8 to 128 visible ASCII characters";
    row([IDEMPOTENCY_KEY, value, meaning, KEY_EXAMPLE])
}

/// The parameters that the feed of changes shares with the search.
fn of_changes() -> impl Iterator<Item = &'static ParameterDescription> {
    let known = PARAMETERS.iter();
    known.filter(|known| openapi::is_of_changes(known))
}

/// The search's filters.
fn all_filters() -> impl Iterator<Item = &'static ParameterDescription> {
    PARAMETERS
        .iter()
        .filter(|known| known.parameter.is_filter())
}

/// The search's filters without lists of ids.
fn filters() -> impl Iterator<Item = &'static ParameterDescription> {
    all_filters().filter(|known| !known.parameter.is_of_ids())
}

pub(super) fn parameter_row(known: &ParameterDescription) -> String {
    let bounds = openapi::bounds(known.kind);
    row([known.name, &bounds, known.description, known.example])
}

/// A row of a table of parameters: name, value, meaning, example.
fn row([name, value, meaning, example]: [&str; 4]) -> String {
    let label = if example.is_empty() {
        ""
    } else {
        " data-label=\"Example\""
    };
    format!(
        "<tr><td><code>{name}</code><td>{}<td>{}<td{label}><code>{}</code>\n",
        escape(value),
        with_code(meaning),
        escape(example)
    )
}
