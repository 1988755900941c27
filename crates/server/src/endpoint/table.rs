//! The table of endpoints.

use super::{Endpoint, EndpointDescription, Example};
use crate::keys::Scope;
use crate::metering::Counter;
use crate::parameters;
use crate::problem::ProblemCode;
use signaldex::query::{Parameter, ParameterSet};

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

pub(crate) static ENDPOINTS: [EndpointDescription; 17] = [
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
                answer: include_str!("../reference/search-signals.json"),
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
            answer: include_str!("../reference/get-signal.json"),
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
            answer: include_str!("../reference/get-company.json"),
        }],
        errors: &[
            ProblemCode::InvalidRequest,
            ProblemCode::QuotaExceeded,
            ProblemCode::NotFound,
        ],
        ..OPEN
    },
    EndpointDescription {
        endpoint: Endpoint::Companies,
        path: "/api/v1/companies",
        name: "companies",
        scope: Some(Scope::CompaniesRead),
        counter: Counter::Companies,
        operation: "findCompanies",
        summary: "Find companies by their signals",
        description: "Returns the companies that match all filters, fulfil every condition of `has` and none of `hasNot`. A \
                      condition stands in parentheses, with the filters of a search separated by `;`, and `min` and \
                      `max`: how many signals of the company match them all, at least 1 unless given. \
                      `(hiringType=new-role;days=90;min=2)` is two new roles in 90 days, `()` any signal. Outside of \
                      double quotes, `;` ends a value and `)` the condition; `country=\"Korea (South)\"` is one value (a quote is `%22` in a URL).",
        cost: "One `companies` unit for each company returned. Counts and empty pages are free.",
        limits: &[
            "A page has at most 50 companies.",
            "`has` and `hasNot` have at most four conditions each.",
            URI_LENGTH,
            EXPENSIVE,
            RATE_LIMIT,
        ],
        search: ParameterSet::COMPANIES,
        own: &parameters::OF_COMPANIES,
        schema: "CompaniesResult",
        examples: &[
            Example {
                name: "page",
                request: "/api/v1/companies?country=Germany&has=(categories=hiring;min=2),(categories=funding)&order=-matches&limit=1",
                answer: include_str!("../reference/find-companies.json"),
            },
            Example {
                name: "count",
                request: "/api/v1/companies?has=(categories=hiring;min=2)&countOnly=true&facets=sizes",
                answer: "{\"data\": {\"items\": [], \"nextCursor\": null, \"count\": 121, \"facets\": {\"sizes\": [{\"value\": \"1-49\", \"count\": 45}, {\"value\": \"50-100\", \"count\": 24}, {\"value\": \"101-500\", \"count\": 19}, {\"value\": \"501+\", \"count\": 16}]}}}",
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
            answer: include_str!("../reference/get-filter-options.json"),
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
            answer: include_str!("../reference/get-changes.json"),
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
            answer: include_str!("../reference/export-signals.json"),
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
            answer: include_str!("../reference/aggregate-signals.json"),
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
        endpoint: Endpoint::SavedSearches,
        path: "/api/v1/saved-searches",
        name: "saved-searches",
        scope: Some(Scope::SignalsRead),
        operation: "listSavedSearches",
        summary: "List saved searches",
        description: "Returns the searches that the operator has saved for the key, oldest first.",
        cost: "Free.",
        limits: &["A key has at most 1,000 saved searches.", RATE_LIMIT],
        schema: "SavedSearchesResult",
        examples: &[Example {
            name: "none",
            request: "/api/v1/saved-searches",
            answer: "{\"data\": {\"searches\": []}}",
        }],
        errors: &[ProblemCode::InvalidRequest],
        ..OPEN
    },
    EndpointDescription {
        endpoint: Endpoint::Matches,
        path: "/api/v1/saved-searches/{id}/matches",
        name: "matches",
        scope: Some(Scope::SignalsRead),
        operation: "getMatches",
        summary: "Get the matches of a saved search",
        description: "Returns the signals that were added or changed since a position and match the search, in the order of \
                      commits. Without `since`, it begins where the search does; continue from the `next` of each answer. \
                      A match keeps its id whenever it is returned; a signal that changes is another match.",
        cost: "One `signals` unit for each match. The same request within 24 hours returns the same matches and is free; so \
               are removed ids and empty answers.",
        limits: &[
            "An answer has at most 50 matches and removed ids; `more` says whether there are more.",
            "A position that is too old, of another index, or from before the key's filter was edited gets status 410.",
            EXPENSIVE,
            RATE_LIMIT,
        ],
        search: ParameterSet::NONE.with(Parameter::Limit),
        own: &[
            parameters::SEARCH_ID,
            parameters::MATCHES_SINCE,
            parameters::IF_NONE_MATCH,
        ],
        schema: "MatchesResult",
        errors: &[
            ProblemCode::InvalidRequest,
            ProblemCode::QuotaExceeded,
            ProblemCode::NotFound,
            ProblemCode::RequestInProgress,
            ProblemCode::PositionExpired,
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
