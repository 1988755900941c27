//! The API reference in HTML: `/docs`, and a page for each endpoint that needs a key.
//!
//! The pages are generated once, from the same tables that validate requests. Example answers are files
//! next to this one; a test compares them with the service. Links are relative, so the pages work under
//! any path.

mod form;
mod parameters;

use std::sync::LazyLock;

use self::parameters::parameter_row;
use super::problem::Code;
use crate::query::PARAMETERS;

pub(super) use form::CONTENT_POLICY;

/// The head of every page, with `TITLE` for its title.
const HEAD: &str = include_str!("reference/head.html");

/// How to send a request, with `SERVICE_URL` for the address; the first section of every page.
const SETUP: &str = "<p>The examples read the address of the service and an API key from two variables:</p>\n\
     <pre>export SIGNALDEX_URL=SERVICE_URL\nexport SIGNALDEX_KEY=sdx_…</pre>\n";

/// Errors of every endpoint that needs a key.
const COMMON_ERRORS: [Code; 5] = [
    Code::Unauthorized,
    Code::Forbidden,
    Code::RateLimited,
    Code::Internal,
    Code::Overloaded,
];

/// An endpoint that has a page of its own.
struct Page {
    slug: &'static str,
    title: &'static str,
    path: &'static str,
    summary: &'static str,
    scope: &'static str,
    cost: &'static str,
    limits: &'static [&'static str],
    parameters: Parameters,
    /// The path and query of the example.
    request: &'static str,
    /// The answer of the sample corpus.
    answer: &'static str,
    /// Beyond [`COMMON_ERRORS`].
    errors: &'static [Code],
}

/// The parameters of an endpoint.
enum Parameters {
    /// All search parameters, and the header that makes a repeated request free.
    Search,
    /// The search filters except lists of ids.
    Filters,
    /// The search filters, a length and a position.
    Changes,
    /// The search filters and the parameters of an export.
    Export,
    /// One path parameter: name, value, meaning, example.
    Path([&'static str; 4]),
}

const RATE_LIMIT: &str =
    "Each key has a rate limit and a burst; requests above it get status 429 with `Retry-After`.";
const EXPENSIVE: &str = "Expensive queries run two at a time per key; one that waits more than \
     2 seconds gets status 429.";
const URI_LENGTH: &str = "Path and query have at most 64,000 bytes; a longer URI gets status 414.";

const PAGES: [Page; 6] = [
    Page {
        slug: "search-signals",
        title: "Search signals",
        path: "/api/v1/signals",
        summary: "Returns the signals that match all filters, newest id first. `nextCursor` leads \
                  to the next page and is `null` on the last one.",
        scope: "signals:read",
        cost: "One `signals` unit for each item returned. Counts and empty pages are free.",
        limits: &[
            "A page has at most 50 signals.",
            URI_LENGTH,
            EXPENSIVE,
            RATE_LIMIT,
        ],
        parameters: Parameters::Search,
        request: "/api/v1/signals?q=%22series+a%22&country=Germany&limit=1",
        answer: include_str!("reference/search-signals.json"),
        errors: &[
            Code::InvalidRequest,
            Code::QuotaExceeded,
            Code::RequestInProgress,
            Code::UriTooLong,
            Code::IdempotencyKeyReused,
        ],
    },
    Page {
        slug: "get-signal",
        title: "Get a signal",
        path: "/api/v1/signals/{id}",
        summary: "Returns one signal with its company.",
        scope: "signals:read",
        cost: "One `activities` unit.",
        limits: &[RATE_LIMIT],
        parameters: Parameters::Path([
            "id",
            "A signal id",
            "The id of the signal, as a search returns it. It is a string in JSON.",
            "7477456168553964859",
        ]),
        request: "/api/v1/signals/7477456168553964859",
        answer: include_str!("reference/get-signal.json"),
        errors: &[Code::InvalidRequest, Code::QuotaExceeded, Code::NotFound],
    },
    Page {
        slug: "get-company",
        title: "Get a company",
        path: "/api/v1/companies/{slug}",
        summary: "Returns one company.",
        scope: "companies:read",
        cost: "One `companies` unit.",
        limits: &[RATE_LIMIT],
        parameters: Parameters::Path([
            "slug",
            "A company slug",
            "The `companySlug` of a signal.",
            "sao-bento-agro",
        ]),
        request: "/api/v1/companies/sao-bento-agro",
        answer: include_str!("reference/get-company.json"),
        errors: &[Code::InvalidRequest, Code::QuotaExceeded, Code::NotFound],
    },
    Page {
        slug: "get-filter-options",
        title: "Get filter options",
        path: "/api/v1/filter-options",
        summary: "Returns the values to filter on, with counts. Each list counts under all filters \
                  but its own, so it shows what choosing another value would return.",
        scope: "signals:read",
        cost: "Free. The key may have a quota of free answers.",
        limits: &[URI_LENGTH, EXPENSIVE, RATE_LIMIT],
        parameters: Parameters::Filters,
        request: "/api/v1/filter-options?companySlug=sao-bento-agro",
        answer: include_str!("reference/get-filter-options.json"),
        errors: &[Code::InvalidRequest, Code::QuotaExceeded, Code::UriTooLong],
    },
    Page {
        slug: "get-changes",
        title: "Get changes",
        path: "/api/v1/changes",
        summary: "Returns what has changed since a position: signals that changed and match all filters \
                  (`upsert`), and ids of signals that were deleted or match no longer (`remove`). Begin \
                  empty at `since=start`, and follow from the position that each answer returns.",
        scope: "signals:read",
        cost: "One `signals` unit for each `upsert`. Removals and empty answers are free.",
        limits: &[
            "An answer has at most 50 changes; `more` says whether there are more.",
            "Deletions are remembered for a number of commits, 100,000 unless the operator has chosen \
             another; an older position gets status 410, as does one of another index.",
            URI_LENGTH,
            EXPENSIVE,
            RATE_LIMIT,
        ],
        parameters: Parameters::Changes,
        request: "/api/v1/changes?country=Germany",
        answer: include_str!("reference/get-changes.json"),
        errors: &[
            Code::InvalidRequest,
            Code::QuotaExceeded,
            Code::RequestInProgress,
            Code::PositionExpired,
            Code::UriTooLong,
            Code::IdempotencyKeyReused,
        ],
    },
    Page {
        slug: "export-signals",
        title: "Export signals",
        path: "/api/v1/export",
        summary: "Returns every match, newest id first: one search item a line (NDJSON), or one row each \
                  (CSV, with a header unless `after` is given). An answer that breaks off ends without its \
                  last chunk, so clients see an error; resume it with `after` set to the id of the last whole \
                  line, and the same `Idempotency-Key`.",
        scope: "signals:read",
        cost: "One `signals` unit for each signal; under one `Idempotency-Key`, each is charged once within 24 \
               hours. `countOnly=true` on a search says the price first.",
        limits: &[
            "An export that would take more units than the key has left gets status 402 before its first byte.",
            "A key has up to four exports at once; a further one gets status 429.",
            "An export needs HTTP/1.1.",
            URI_LENGTH,
            RATE_LIMIT,
        ],
        parameters: Parameters::Export,
        request: "/api/v1/export?q=%22series+a%22&country=Germany&maxItems=1",
        answer: include_str!("reference/export-signals.json"),
        errors: &[
            Code::InvalidRequest,
            Code::QuotaExceeded,
            Code::RequestInProgress,
            Code::UriTooLong,
            Code::IdempotencyKeyReused,
        ],
    },
];

/// Path and meaning of the endpoints that need no key and cost nothing.
const OPEN_ENDPOINTS: [[&str; 2]; 4] = [
    ["/healthz", "Whether the process is up"],
    ["/readyz", "Whether the service can answer searches"],
    ["/openapi.json", "The OpenAPI document"],
    ["/docs", "This API reference"],
];

static INDEX: LazyLock<String> = LazyLock::new(index_html);
static RENDERED: LazyLock<Vec<String>> = LazyLock::new(|| PAGES.iter().map(Page::html).collect());

/// The page `/docs`.
pub(super) fn index() -> &'static str {
    &INDEX
}

/// The page `/docs/{slug}`, if it exists.
pub(super) fn page(slug: &str) -> Option<&'static str> {
    let index = PAGES.iter().position(|page| page.slug == slug)?;
    RENDERED.get(index).map(String::as_str)
}

/// A page as it is sent, with the address of the service.
pub(super) fn addressed(page: &str, url: &str) -> String {
    page.replacen("SERVICE_URL", &escape(url), 1)
}

fn index_html() -> String {
    let keyed = PAGES.iter().map(|page| {
        format!(
            "<tr><td><a href=\"docs/{}\"><code>{}</code></a><td>{}<td data-label=\"Cost\">{}\n",
            page.slug,
            page.path,
            page.title,
            with_code(page.cost)
        )
    });
    let open = OPEN_ENDPOINTS.iter().map(|[path, meaning]| {
        format!("<tr><td><code>{path}</code><td>{meaning}<td data-label=\"Cost\">nothing\n")
    });
    [
        head("API reference"),
        "<p>Send <code>Authorization: Bearer …</code> with an API key in every request below \
         <code>/api/v1</code>. <a href=\"openapi.json\">/openapi.json</a> describes the API for \
         programs.</p>\n"
            .to_owned(),
        SETUP.to_owned(),
        format!(
            "<pre>{}</pre>\n",
            escape(&curl("/api/v1/signals?q=%22series+a%22&limit=5"))
        ),
        table("Endpoints", &["Path", "Answer", "Cost"], keyed.chain(open)),
        table(
            "Search parameters",
            &PARAMETER_COLUMNS,
            PARAMETERS.iter().map(parameter_row),
        ),
        table("Errors", &ERROR_COLUMNS, error_rows(&Code::ALL, true)),
        FOOT.to_owned(),
    ]
    .concat()
}

const FOOT: &str = "</main>\n</body>\n</html>\n";
const PARAMETER_COLUMNS: [&str; 4] = ["Name", "Value", "Meaning", "Example"];
const ERROR_COLUMNS: [&str; 3] = ["Code", "Status", "Meaning"];

impl Page {
    fn html(&self) -> String {
        let limits = self.limits.iter();
        let limits: String = limits
            .map(|limit| format!("<li>{}\n", with_code(limit)))
            .collect();
        let errors: Vec<Code> = Code::ALL
            .into_iter()
            .filter(|code| self.errors.contains(code) || COMMON_ERRORS.contains(code))
            .collect();
        [
            head(self.title),
            self.navigation(),
            format!(
                "<p><code>GET {}</code></p>\n<p>{}</p>\n<p>Scope: <code>{}</code>. Cost: {}</p>\n",
                self.path,
                with_code(self.summary),
                self.scope,
                with_code(self.cost)
            ),
            table("Parameters", &PARAMETER_COLUMNS, self.parameter_rows()),
            "<h2>Example</h2>\n".to_owned(),
            SETUP.to_owned(),
            code("curl", &curl(self.request)),
            code("Python", &self.python()),
            code("JavaScript", &self.javascript()),
            code("Answer", self.answer.trim_end()),
            form::html(&format!("..{}", self.path), &self.fields()),
            format!("<h2>Limits</h2>\n<ul>\n{limits}</ul>\n"),
            table("Errors", &ERROR_COLUMNS, error_rows(&errors, false)),
            FOOT.to_owned(),
        ]
        .concat()
    }

    fn python(&self) -> String {
        let read = match self.parameters {
            Parameters::Export => {
                "for line in response:\n        print(json.loads(line)[\"title\"])"
            }
            _ => "print(json.load(response)[\"data\"])",
        };
        format!(
            "import json, os, urllib.request\n\n\
             request = urllib.request.Request(\n    \
                 os.environ[\"SIGNALDEX_URL\"] + \"{}\",\n    \
                 headers={{\"Authorization\": \"Bearer \" + os.environ[\"SIGNALDEX_KEY\"]}},\n\
             )\n\
             with urllib.request.urlopen(request) as response:\n    \
                 {read}",
            self.request
        )
    }

    fn javascript(&self) -> String {
        let (imports, read) = match self.parameters {
            Parameters::Export => (
                "import { createInterface } from \"node:readline\";\n\
                 import { Readable } from \"node:stream\";\n\n",
                "if (!response.ok) throw new Error((await response.json()).code);\n\
                 for await (const line of createInterface({ input: Readable.fromWeb(response.body) })) {\n  \
                     console.log(JSON.parse(line).title);\n\
                 }",
            ),
            _ => (
                "",
                "const { data, code } = await response.json();\n\
                 if (!response.ok) throw new Error(code);\n\
                 console.log(data);",
            ),
        };
        format!(
            "{imports}const response = await fetch(`${{process.env.SIGNALDEX_URL}}{}`, {{\n  \
                 headers: {{ Authorization: `Bearer ${{process.env.SIGNALDEX_KEY}}` }},\n\
             }});\n\
             {read}",
            self.request
        )
    }

    fn navigation(&self) -> String {
        let links = PAGES.iter().map(|page| {
            let current = if page.slug == self.slug {
                " aria-current=\"page\""
            } else {
                ""
            };
            format!(
                "<li><a href=\"{}\"{current}>{}</a>\n",
                page.slug, page.title
            )
        });
        let links: String = links.collect();
        format!(
            "<nav aria-label=\"Endpoints\"><ul>\n<li><a href=\"../docs\">API reference</a>\n{links}</ul></nav>\n"
        )
    }
}

/// Rows of a table of errors. On the index each row has the id that the `type` of a problem links to;
/// rows on other pages link there.
fn error_rows(codes: &[Code], is_index: bool) -> Vec<String> {
    // Two statuses share a code, but an id must be unique.
    let mut last = "";
    let row = |code: &Code| {
        let (name, status, title) = (code.as_str(), code.status().as_u16(), code.title());
        let is_first = std::mem::replace(&mut last, name) != name;
        let id = if is_index && is_first {
            format!(" id=\"{name}\"")
        } else {
            String::new()
        };
        let name = if is_index {
            format!("<code>{name}</code>")
        } else {
            format!("<a href=\"../docs#{name}\"><code>{name}</code></a>")
        };
        format!("<tr{id}><td>{name}<td>{status}<td>{title}\n")
    };
    codes.iter().map(row).collect()
}

fn curl(request: &str) -> String {
    format!("curl -H \"Authorization: Bearer $SIGNALDEX_KEY\" \\\n  \"$SIGNALDEX_URL{request}\"")
}

fn head(title: &str) -> String {
    HEAD.replace("TITLE", title)
}

/// A code block with a caption.
fn code(name: &str, text: &str) -> String {
    format!("<h3>{name}</h3>\n<pre>{}</pre>\n", escape(text))
}

fn table(heading: &str, columns: &[&str], rows: impl IntoIterator<Item = String>) -> String {
    let head: String = columns
        .iter()
        .map(|column| format!("<th scope=\"col\">{column}"))
        .collect();
    let rows: String = rows.into_iter().collect();
    format!(
        "<h2>{heading}</h2>\n<table><thead><tr>{head}</thead>\n<tbody>\n{rows}</tbody></table>\n"
    )
}

/// Replaces backticks by `<code>`.
fn with_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let marked = parts.map(|(index, part)| {
        if index % 2 == 0 {
            escape(part)
        } else {
            format!("<code>{}</code>", escape(part))
        }
    });
    marked.collect()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
