//! The OpenAPI document, generated from the tables that validate requests.
//!
//! HEAD is described once, in the introduction, so that generated clients have one function per
//! endpoint. The HTML pages (`/docs`) are omitted.

mod operation;
mod parameters;
mod responses;
mod schemas;

use serde_json::{Value, json};

use self::operation::{Example, Operation};
use super::problem::Code;

pub(super) use parameters::{
    EXPORT, EXPORT_KEY, FACETS, FACETS_KIND, REPEATED_KEY, SINCE, bounds, is_of_changes,
};

/// The pattern of a signal id in parameters and paths.
pub(super) const ID_PATTERN: &str = "^[1-9][0-9]{0,18}$";
/// Minimum length of a value: empty values are refused.
const NOT_EMPTY: u32 = 1;

const DESCRIPTION: &str = "Search signals, which are dated activities of companies, and read single \
    signals and companies.\n\nSend an API key in every request below `/api/v1`: `Authorization: \
    Bearer sdx_…`. `HEAD` works wherever `GET` does and is free. Every error is an \
    `application/problem+json` body (RFC 9457) whose `code` is meant for programs.\n\nLists are one \
    comma-separated value (`style: form`, `explode: false`). An item that contains a comma is \
    written in double quotes, with quotes inside it doubled.";

/// The OpenAPI 3.1 document of the service at the root of its host.
pub fn document() -> Value {
    document_at("")
}

/// The document of a service mounted at a path, which is empty or starts with `/` and does not end with `/`.
pub(super) fn document_at(base: &str) -> Value {
    let server = if base.is_empty() { "/" } else { base };
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "signaldex",
            "version": env!("CARGO_PKG_VERSION"),
            "description": DESCRIPTION,
            "contact": {"name": "The operator of this service"},
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"}
        },
        "servers": [{"url": server}],
        "security": [{"apiKey": []}],
        "tags": [
            {"name": "Signals", "description": "Search and read signals. Needs the scope `signals:read`."},
            {"name": "Companies", "description": "Read companies. Needs the scope `companies:read`."},
            {"name": "Service", "description": "The state of the service. Needs no key and is free."}
        ],
        "paths": paths(base),
        "components": {
            "securitySchemes": {"apiKey": {
                "type": "http", "scheme": "bearer", "bearerFormat": "sdx_ and 43 base64url characters",
                "description": "An API key, which the operator of the service creates."
            }},
            "headers": responses::headers(),
            "responses": responses::problems(base),
            "schemas": schemas::all()
        }
    })
}

fn paths(base: &str) -> Value {
    json!({
        "/api/v1/signals": {"get": search().document()},
        "/api/v1/signals/{id}": {"get": signal().document()},
        "/api/v1/companies/{slug}": {"get": company().document()},
        "/api/v1/filter-options": {"get": filter_options().document()},
        "/api/v1/changes": {"get": changes().document()},
        "/api/v1/export": {"get": export().document()},
        "/healthz": {"get": health().document()},
        "/readyz": {"get": readiness().document()},
        "/openapi.json": {"get": own(base).document()}
    })
}

fn search() -> Operation {
    Operation {
        tag: "Signals",
        summary: "Search signals",
        description: "Returns the signals that match all filters, newest id first. `nextCursor` leads to \
            the next page and is `null` on the last one. Costs one `signals` unit for each item; counts \
            and empty pages are free."
            .to_owned(),
        parameters: parameters::of_search(),
        schema: "SearchResult",
        examples: &[
            Example {
                name: "page",
                request: "/api/v1/signals?q=%22series+a%22&country=Germany&limit=1",
                answer: include_str!("../reference/search-signals.json"),
            },
            Example {
                name: "count",
                request: "/api/v1/signals?q=%22series+a%22&country=Germany&countOnly=true",
                answer: "{\"data\": {\"items\": [], \"nextCursor\": null, \"count\": 15}}",
            },
        ],
        errors: &[
            Code::InvalidRequest,
            Code::QuotaExceeded,
            Code::RequestInProgress,
            Code::IdempotencyKeyReused,
            Code::UriTooLong,
        ],
        is_metered: true,
        ..Operation::keyed("searchSignals")
    }
}

fn signal() -> Operation {
    Operation {
        tag: "Signals",
        summary: "Get a signal",
        description: "Returns one signal with its company. Costs one `activities` unit.".to_owned(),
        parameters: parameters::of_signal(),
        schema: "SignalResult",
        examples: &[Example {
            name: "signal",
            request: "/api/v1/signals/7477456168553964859",
            answer: include_str!("../reference/get-signal.json"),
        }],
        errors: &[Code::InvalidRequest, Code::QuotaExceeded, Code::NotFound],
        is_metered: true,
        ..Operation::keyed("getSignal")
    }
}

fn company() -> Operation {
    Operation {
        tag: "Companies",
        summary: "Get a company",
        description: "Returns one company. Costs one `companies` unit.".to_owned(),
        parameters: parameters::of_company(),
        schema: "CompanyResult",
        examples: &[Example {
            name: "company",
            request: "/api/v1/companies/sao-bento-agro",
            answer: include_str!("../reference/get-company.json"),
        }],
        errors: &[Code::InvalidRequest, Code::QuotaExceeded, Code::NotFound],
        is_metered: true,
        ..Operation::keyed("getCompany")
    }
}

fn filter_options() -> Operation {
    Operation {
        tag: "Signals",
        summary: "Get filter options",
        description: "Returns the values to filter on, with counts. Each list counts under all filters but \
            its own, so it shows what choosing another value would return. Free; the key may have a quota \
            of free answers."
            .to_owned(),
        parameters: parameters::of_filter_options(),
        schema: "FilterOptionsResult",
        examples: &[Example {
            name: "options",
            request: "/api/v1/filter-options?companySlug=sao-bento-agro",
            answer: include_str!("../reference/get-filter-options.json"),
        }],
        errors: &[Code::InvalidRequest, Code::QuotaExceeded, Code::UriTooLong],
        ..Operation::keyed("getFilterOptions")
    }
}

fn changes() -> Operation {
    Operation {
        tag: "Signals",
        summary: "Get changes",
        description: "Returns what has changed since a position, in the order of commits: signals that \
            changed and match all filters (`upsert`), and ids of signals that were deleted or match no \
            longer (`remove`). A copy of the signals that matched at the position, with these changes, \
            holds those that match now. Without `since` it returns the present position alone. Costs \
            one `signals` unit for each `upsert`. A cluster answers 501."
            .to_owned(),
        parameters: parameters::of_changes(),
        schema: "ChangesResult",
        examples: &[Example {
            name: "position",
            request: "/api/v1/changes?country=Germany",
            answer: include_str!("../reference/get-changes.json"),
        }],
        errors: &[
            Code::InvalidRequest,
            Code::QuotaExceeded,
            Code::RequestInProgress,
            Code::PositionExpired,
            Code::IdempotencyKeyReused,
            Code::UriTooLong,
        ],
        is_metered: true,
        ..Operation::keyed("getChanges")
    }
}

fn export() -> Operation {
    Operation {
        tag: "Signals",
        summary: "Export signals",
        description: "Returns every match, newest id first: one search item a line (NDJSON), or one row each \
            (CSV, RFC 4180, with a header unless `after` is given). The answer is streamed; one that is \
            broken off ends without its last chunk. Resume it with `after` set to the id of the last whole \
            line, and the same `Idempotency-Key`. Costs one `signals` unit for each signal. A cluster \
            answers 501."
            .to_owned(),
        parameters: parameters::of_export(),
        schema: "Signal",
        media_type: "application/x-ndjson",
        other_media_types: &["text/csv"],
        examples: &[Example {
            name: "line",
            request: "/api/v1/export?q=%22series+a%22&country=Germany&maxItems=1",
            answer: include_str!("../reference/export-signals.json"),
        }],
        errors: &[
            Code::InvalidRequest,
            Code::QuotaExceeded,
            Code::RequestInProgress,
            Code::IdempotencyKeyReused,
            Code::UriTooLong,
        ],
        ..Operation::keyed("exportSignals")
    }
}

fn health() -> Operation {
    Operation {
        summary: "Get the health of the process",
        description: "Answers while the process is up.".to_owned(),
        schema: "Health",
        examples: &[Example {
            name: "up",
            request: "/healthz",
            answer: "{\"status\": \"ok\"}",
        }],
        ..Operation::open("getHealth")
    }
}

fn readiness() -> Operation {
    Operation {
        summary: "Get the readiness of the service",
        description:
            "Answers 200 while the service can answer searches, and 503 with the reason otherwise."
                .to_owned(),
        schema: "Readiness",
        examples: &[Example {
            name: "ready",
            request: "/readyz",
            answer: "{\"status\": \"ready\", \"generation\": 1}",
        }],
        errors: &[Code::InvalidRequest, Code::Overloaded],
        ..Operation::open("getReadiness")
    }
}

fn own(base: &str) -> Operation {
    Operation {
        summary: "Get the OpenAPI document",
        description: format!("Returns this document. `{base}/docs` describes the same for people."),
        schema: "OpenApiDocument",
        ..Operation::open("getOpenApi")
    }
}
