//! The endpoints, described once: router, OpenAPI document, API reference, tools and metrics read this table.

use super::keys::Scope;
use super::metering::Counter;
use super::parameters::{self, EndpointParameter, OwnParameter};
use super::problem::ProblemCode;
use signaldex::query::{PARAMETERS, Parameter, ParameterSet};

/// An endpoint. [`ENDPOINTS`] has the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Signals,
    Signal,
    Company,
    FilterOptions,
    Changes,
    Export,
    Aggregates,
    Health,
    Ready,
    OpenApi,
    Docs,
    /// A page of the API reference.
    DocsPage,
    /// Redirects to the API reference.
    Root,
    /// The tools for agents.
    Mcp,
}

/// The description of an endpoint.
pub(super) struct EndpointDescription {
    pub(super) endpoint: Endpoint,
    /// The path, with its variable segment in braces.
    pub(super) path: &'static str,
    /// The name in metrics, the log and the dashboard.
    pub(super) name: &'static str,
    /// The scope that a key needs; `None` if the endpoint needs no key.
    pub(super) scope: Option<Scope>,
    /// The counter that answers are charged to; of a free endpoint, that of the endpoint asked next.
    pub(super) counter: Counter,
    /// The function in generated clients, and the page of the API reference; empty if it is not documented.
    pub(super) operation: &'static str,
    pub(super) summary: &'static str,
    /// What it returns; `{base}` stands for the path under which the service is mounted.
    pub(super) description: &'static str,
    pub(super) cost: &'static str,
    pub(super) limits: &'static [&'static str],
    /// The search parameters that it accepts.
    pub(super) search: ParameterSet,
    /// The other parameters and headers.
    pub(super) own: &'static [OwnParameter],
    /// The component of the OpenAPI document that describes the answer.
    pub(super) schema: &'static str,
    /// The media type of the answer, then others for the same content.
    pub(super) media_types: &'static [&'static str],
    pub(super) examples: &'static [Example],
    /// Beyond [`KEYED_ERRORS`] if it needs a key.
    pub(super) errors: &'static [ProblemCode],
}

/// A request to the sample corpus, and its answer.
pub(super) struct Example {
    pub(super) name: &'static str,
    pub(super) request: &'static str,
    pub(super) answer: &'static str,
}

/// Errors of every endpoint that needs a key.
const KEYED_ERRORS: [ProblemCode; 5] = [
    ProblemCode::Unauthorized,
    ProblemCode::Forbidden,
    ProblemCode::RateLimited,
    ProblemCode::Internal,
    ProblemCode::Overloaded,
];

const RATE_LIMIT: &str =
    "Each key has a rate limit and a burst; requests above it get status 429 with `Retry-After`.";
const EXPENSIVE: &str = "Expensive queries run two at a time per key; one that waits more than \
     2 seconds gets status 429.";
const URI_LENGTH: &str = "Path and query have at most 64,000 bytes; a longer URI gets status 414.";

/// An endpoint without a key.
const OPEN: EndpointDescription = EndpointDescription {
    endpoint: Endpoint::Root,
    path: "/",
    name: "root",
    scope: None,
    counter: Counter::Signals,
    operation: "",
    summary: "",
    description: "",
    cost: "nothing",
    limits: &[],
    search: ParameterSet::NONE,
    own: &[],
    schema: "",
    media_types: &["application/json"],
    examples: &[],
    errors: &[ProblemCode::InvalidRequest],
};

pub(super) static ENDPOINTS: [EndpointDescription; 14] = [
    EndpointDescription {
        endpoint: Endpoint::Signals,
        path: "/api/v1/signals",
        name: "search",
        scope: Some(Scope::SignalsRead),
        operation: "searchSignals",
        summary: "Search signals",
        description: "Returns the signals that match all filters, newest id first. `nextCursor` leads \
                      to the next page and is `null` on the last one.",
        cost: "One `signals` unit for each item returned. Counts and empty pages are free.",
        limits: &[
            "A page has at most 50 signals.",
            URI_LENGTH,
            EXPENSIVE,
            RATE_LIMIT,
        ],
        search: ParameterSet::SEARCH,
        own: &[parameters::REPEATED_KEY, parameters::IF_NONE_MATCH],
        schema: "SearchResult",
        examples: &[
            Example {
                name: "page",
                request: "/api/v1/signals?q=%22series+a%22&country=Germany&limit=1",
                answer: include_str!("reference/search-signals.json"),
            },
            Example {
                name: "count",
                request: "/api/v1/signals?q=%22series+a%22&country=Germany&countOnly=true",
                answer: "{\"data\": {\"items\": [], \"nextCursor\": null, \"count\": 15}}",
            },
        ],
        errors: &[
            ProblemCode::InvalidRequest,
            ProblemCode::QuotaExceeded,
            ProblemCode::RequestInProgress,
            ProblemCode::IdempotencyKeyReused,
            ProblemCode::UriTooLong,
        ],
        ..OPEN
    },
    EndpointDescription {
        endpoint: Endpoint::Signal,
        path: "/api/v1/signals/{id}",
        name: "signal",
        scope: Some(Scope::SignalsRead),
        counter: Counter::Activities,
        operation: "getSignal",
        summary: "Get a signal",
        description: "Returns one signal with its company.",
        cost: "One `activities` unit.",
        limits: &[RATE_LIMIT],
        own: &[parameters::ID, parameters::IF_NONE_MATCH],
        schema: "SignalResult",
        examples: &[Example {
            name: "signal",
            request: "/api/v1/signals/7477456168553964859",
            answer: include_str!("reference/get-signal.json"),
        }],
        errors: &[
            ProblemCode::InvalidRequest,
            ProblemCode::QuotaExceeded,
            ProblemCode::NotFound,
        ],
        ..OPEN
    },
    EndpointDescription {
        endpoint: Endpoint::Company,
        path: "/api/v1/companies/{slug}",
        name: "company",
        scope: Some(Scope::CompaniesRead),
        counter: Counter::Companies,
        operation: "getCompany",
        summary: "Get a company",
        description: "Returns one company.",
        cost: "One `companies` unit.",
        limits: &[RATE_LIMIT],
        own: &[parameters::SLUG, parameters::IF_NONE_MATCH],
        schema: "CompanyResult",
        examples: &[Example {
            name: "company",
            request: "/api/v1/companies/sao-bento-agro",
            answer: include_str!("reference/get-company.json"),
        }],
        errors: &[
            ProblemCode::InvalidRequest,
            ProblemCode::QuotaExceeded,
            ProblemCode::NotFound,
        ],
        ..OPEN
    },
    EndpointDescription {
        endpoint: Endpoint::FilterOptions,
        path: "/api/v1/filter-options",
        name: "filter-options",
        scope: Some(Scope::SignalsRead),
        operation: "getFilterOptions",
        summary: "Get filter options",
        description: "Returns the values to filter on, with counts. Each list counts under all filters \
                      but its own, so it shows what choosing another value would return.",
        cost: "Free. The key may have a quota of free answers.",
        limits: &[URI_LENGTH, EXPENSIVE, RATE_LIMIT],
        search: ParameterSet::FILTERS_WITHOUT_IDS,
        own: &[parameters::FACETS],
        schema: "FilterOptionsResult",
        examples: &[Example {
            name: "options",
            request: "/api/v1/filter-options?companySlug=sao-bento-agro",
            answer: include_str!("reference/get-filter-options.json"),
        }],
        errors: &[
            ProblemCode::InvalidRequest,
            ProblemCode::QuotaExceeded,
            ProblemCode::UriTooLong,
        ],
        ..OPEN
    },
    EndpointDescription {
        endpoint: Endpoint::Changes,
        path: "/api/v1/changes",
        name: "changes",
        scope: Some(Scope::SignalsRead),
        operation: "getChanges",
        summary: "Get changes",
        description: "Returns what has changed since a position, in the order of commits: signals that \
                      changed and match all filters (`upsert`), and ids of signals that were deleted or no longer \
                      match (`remove`). Begin empty at `since=start`, apply the changes in order, and \
                      continue from the `next` of each answer: the copy then holds the signals that match. \
                      Without `since`, only the present position is returned. In a cluster, \
                      the removals between two generations come before their upserts.",
        cost: "One `signals` unit for each `upsert`. Removals and empty answers are free.",
        limits: &[
            "An answer has at most 50 changes; `more` says whether there are more.",
            "Deletions are remembered for a number of commits, 100,000 unless the operator has chosen \
             another; an older position gets status 410, as does one of another index.",
            URI_LENGTH,
            EXPENSIVE,
            RATE_LIMIT,
        ],
        search: ParameterSet::FILTERS.with(Parameter::Limit),
        own: &[
            parameters::SINCE,
            parameters::REPEATED_KEY,
            parameters::IF_NONE_MATCH,
        ],
        schema: "ChangesResult",
        examples: &[Example {
            name: "position",
            request: "/api/v1/changes?country=Germany",
            answer: include_str!("reference/get-changes.json"),
        }],
        errors: &[
            ProblemCode::InvalidRequest,
            ProblemCode::QuotaExceeded,
            ProblemCode::RequestInProgress,
            ProblemCode::PositionExpired,
            ProblemCode::IdempotencyKeyReused,
            ProblemCode::UriTooLong,
        ],
        ..OPEN
    },
    EndpointDescription {
        endpoint: Endpoint::Export,
        path: "/api/v1/export",
        name: "export",
        scope: Some(Scope::SignalsRead),
        operation: "exportSignals",
        summary: "Export signals",
        description: "Returns every match, newest id first: one search item per line (NDJSON), or one row \
                      each (CSV, RFC 4180, with a header unless `after` is given). The answer is streamed. If it \
                      is interrupted, it ends without its last chunk, so clients see an error; resume it with \
                      `after` set to the id of the last whole line, and the same `Idempotency-Key`.",
        cost: "One `signals` unit for each signal; under one `Idempotency-Key`, each is charged once within 24 \
               hours. A search with `countOnly=true` returns the price in advance.",
        limits: &[
            "An export that would take more units than the key has left gets status 402 before its first byte.",
            "A key has up to four exports at once; a further one gets status 429.",
            "An export needs HTTP/1.1.",
            URI_LENGTH,
            RATE_LIMIT,
        ],
        search: ParameterSet::FILTERS.with(Parameter::Order),
        own: &[
            parameters::AFTER,
            parameters::MAX_ITEMS,
            parameters::FORMAT,
            parameters::EXPORT_KEY,
        ],
        schema: "Signal",
        media_types: &["application/x-ndjson", "text/csv"],
        examples: &[Example {
            name: "line",
            request: "/api/v1/export?q=%22series+a%22&country=Germany&maxItems=1",
            answer: include_str!("reference/export-signals.json"),
        }],
        errors: &[
            ProblemCode::InvalidRequest,
            ProblemCode::QuotaExceeded,
            ProblemCode::RequestInProgress,
            ProblemCode::IdempotencyKeyReused,
            ProblemCode::UriTooLong,
        ],
        ..OPEN
    },
    EndpointDescription {
        endpoint: Endpoint::Aggregates,
        path: "/api/v1/aggregates",
        name: "aggregates",
        scope: Some(Scope::SignalsRead),
        counter: Counter::Companies,
        operation: "aggregateSignals",
        summary: "Aggregate signals",
        description: "Returns figures over every signal that matches all filters, in groups: by a unit of time, by the \
                      lists of filter options, or by company. Each match is in exactly one group; the key `null` \
                      has those without a value. Sums are exact. No filter is lifted. `by=company` needs the scope \
                      `companies:read`, too.",
        cost: "Free. The key may have a quota of free answers. With `by=company`, one `companies` unit for each group \
               returned.",
        limits: &[
            "With two in `by`, at most 100,000 groups are computed; more get status 400 with `too_many_groups`.",
            URI_LENGTH,
            EXPENSIVE,
            RATE_LIMIT,
        ],
        search: ParameterSet::FILTERS_WITHOUT_IDS,
        own: &[
            parameters::BY,
            parameters::MEASURES,
            parameters::GROUP_ORDER,
            parameters::GROUP_LIMIT,
            parameters::REPEATED_KEY,
            parameters::IF_NONE_MATCH,
        ],
        schema: "AggregatesResult",
        examples: &[Example {
            name: "months",
            request: "/api/v1/aggregates?fundingCurrency=EUR&by=month&measures=companies,sum,median&order=-key&limit=3",
            answer: include_str!("reference/aggregate-signals.json"),
        }],
        errors: &[
            ProblemCode::InvalidRequest,
            ProblemCode::QuotaExceeded,
            ProblemCode::RequestInProgress,
            ProblemCode::IdempotencyKeyReused,
            ProblemCode::UriTooLong,
        ],
        ..OPEN
    },
    EndpointDescription {
        endpoint: Endpoint::Health,
        path: "/healthz",
        name: "health",
        operation: "getHealth",
        summary: "Get the health of the process",
        description: "Answers while the process is up.",
        schema: "Health",
        examples: &[Example {
            name: "up",
            request: "/healthz",
            answer: "{\"status\": \"ok\"}",
        }],
        ..OPEN
    },
    EndpointDescription {
        endpoint: Endpoint::Ready,
        path: "/readyz",
        name: "ready",
        operation: "getReadiness",
        summary: "Get the readiness of the service",
        description: "Answers 200 while the service can answer searches, and 503 with the reason otherwise.",
        schema: "Readiness",
        examples: &[Example {
            name: "ready",
            request: "/readyz",
            answer: "{\"status\": \"ready\", \"generation\": 1}",
        }],
        errors: &[ProblemCode::InvalidRequest, ProblemCode::Overloaded],
        ..OPEN
    },
    EndpointDescription {
        endpoint: Endpoint::OpenApi,
        path: "/openapi.json",
        name: "openapi",
        operation: "getOpenApi",
        summary: "Get the OpenAPI document",
        description: "Returns this document. `{base}/docs` describes the same for people.",
        schema: "OpenApiDocument",
        ..OPEN
    },
    EndpointDescription {
        endpoint: Endpoint::Docs,
        path: "/docs",
        name: "docs",
        summary: "Read the API reference",
        ..OPEN
    },
    EndpointDescription {
        endpoint: Endpoint::DocsPage,
        path: "/docs/{page}",
        name: "docs",
        ..OPEN
    },
    OPEN,
    EndpointDescription {
        endpoint: Endpoint::Mcp,
        path: "/mcp",
        name: "mcp",
        ..OPEN
    },
];

impl Endpoint {
    /// The endpoint of a path, with the variable segment of the path.
    pub(super) fn of(path: &str) -> Option<(&'static EndpointDescription, &str)> {
        ENDPOINTS
            .iter()
            .find_map(|known| Some((known, known.segment_of(path)?)))
    }

    pub(super) fn description(self) -> &'static EndpointDescription {
        &ENDPOINTS[self as usize]
    }
}

impl EndpointDescription {
    /// The path up to the variable segment.
    pub(super) fn path_start(&self) -> &'static str {
        self.path.split('{').next().unwrap_or_default()
    }

    /// The variable segment of a path of this endpoint; empty if it has none.
    fn segment_of<'p>(&self, path: &'p str) -> Option<&'p str> {
        let rest = path.strip_prefix(self.path_start())?;
        let is_right = if self.path.ends_with('}') {
            !rest.is_empty() && !rest.contains('/')
        } else {
            rest.is_empty()
        };
        is_right.then_some(rest)
    }

    /// The errors of the endpoint, in the order of [`ProblemCode::ALL`].
    pub(super) fn all_errors(&self) -> impl Iterator<Item = ProblemCode> {
        let keyed = self.scope.map_or(&[][..], |_| &KEYED_ERRORS);
        let is_known = |code: &ProblemCode| self.errors.contains(code) || keyed.contains(code);
        ProblemCode::ALL.into_iter().filter(is_known)
    }

    /// The parameters of the endpoint: those of the search, then its own.
    pub(super) fn parameters(&self) -> impl Iterator<Item = EndpointParameter> {
        let known = PARAMETERS.iter();
        let known = known.filter(|known| self.search.contains(known.parameter));
        let own = self.own.iter().map(EndpointParameter::Own);
        known.map(EndpointParameter::Search).chain(own)
    }

    /// Whether an answer has an `ETag`, and headers with its charge.
    pub(super) fn is_revalidated(&self) -> bool {
        let mut own = self.own.iter();
        own.any(|own| own.name == parameters::IF_NONE_MATCH.name)
    }
}

#[cfg(test)]
mod tests;
