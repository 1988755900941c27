//! The API reference in HTML: `/docs`, and a page for each endpoint that needs a key.
//!
//! The pages are generated once, from the table of endpoints and the one that validates requests. Example
//! answers are files next to this one; a test compares them with the service. Links are relative, so the
//! pages work under any path.

mod form;
mod notes;

use std::sync::LazyLock;

use super::endpoint::{ENDPOINTS, Endpoint, EndpointDescription, Example};
use super::fields::{self, Field};
use super::parameters::EndpointParameter;
use super::problem::{PARAMETER_ERRORS, ProblemCode};
use super::words::{self, WordExample};

pub(super) use form::CONTENT_POLICY;
pub(super) use notes::NOTES;

/// The head of every page, with `TITLE` for its title.
const HEAD: &str = include_str!("reference/head.html");

/// How to send a request; the first section of every page. [`addressed`] fills in the names in capitals.
const SETUP: &str = "<p>The examples read the address of the service and CREDENTIAL_NAME from two variables:</p>\n\
     <pre>export SIGNALDEX_URL=SERVICE_URL\nexport SIGNALDEX_KEY=CREDENTIAL_START…</pre>\n";

/// The header of requests with an API key, up to the key.
const API_KEY_HEADER: &str = "Authorization: Bearer ";

static INDEX: LazyLock<String> = LazyLock::new(index_html);
static PAGES: LazyLock<Vec<ReferencePage>> =
    LazyLock::new(|| keyed().map(ReferencePage::of).collect());

/// An endpoint's page.
struct ReferencePage {
    slug: String,
    html: String,
}

/// The endpoints with a page of their own.
fn keyed() -> impl Iterator<Item = &'static EndpointDescription> {
    ENDPOINTS.iter().filter(|known| known.scope.is_some())
}

/// The last segment of a page's path: `search-signals` for the operation `searchSignals`.
fn slug(endpoint: &EndpointDescription) -> String {
    let letters = endpoint.operation.chars().flat_map(|letter| {
        let dash = letter.is_ascii_uppercase().then_some('-');
        dash.into_iter().chain([letter.to_ascii_lowercase()])
    });
    letters.collect()
}

/// The page `/docs`.
pub(super) fn index() -> &'static str {
    &INDEX
}

/// The page `/docs/{slug}`, if it exists.
pub(super) fn page(slug: &str) -> Option<&'static str> {
    let page = PAGES.iter().find(|page| page.slug == slug)?;
    Some(&page.html)
}

/// A page as it is sent: with the address of the service, and the header that signs in, up to its secret. By
/// default, that is an API key's.
pub(super) fn addressed(page: &str, url: &str, sign_in: Option<&str>) -> String {
    let header = sign_in.unwrap_or(API_KEY_HEADER);
    let (header_name, header_start) = header.split_once(':').unwrap_or((header, ""));
    let (credential, credential_label, credential_start) = match sign_in {
        Some(_) => ("your credential", "Credential", ""),
        None => ("an API key", "API key", "sdx_"),
    };
    let values = [
        ("SERVICE_URL", url),
        ("HEADER_NAME", header_name),
        ("HEADER_START", header_start.trim_start()),
        ("CREDENTIAL_NAME", credential),
        ("CREDENTIAL_LABEL", credential_label),
        ("CREDENTIAL_START", credential_start),
    ];
    values
        .into_iter()
        .fold(page.to_owned(), |page, (name, value)| {
            page.replace(name, &escape(value))
        })
}

fn index_html() -> String {
    let search = Endpoint::Signals.description();
    let listed = ENDPOINTS.iter().filter(|known| !known.summary.is_empty());
    let endpoints = listed.map(|known| {
        let path = format!("<code>{}</code>", known.path);
        let path = match known.scope {
            Some(_) => format!("<a href=\"docs/{}\">{path}</a>", slug(known)),
            None => path,
        };
        let cost = with_code(known.cost);
        format!(
            "<tr><td>{path}<td>{}<td data-label=\"Cost\">{cost}\n",
            known.summary
        )
    });
    [
        head("API reference"),
        "<p>Send <code>HEADER_NAME: HEADER_START…</code> with CREDENTIAL_NAME in every request below \
         <code>/api/v1</code>. <a href=\"openapi.json\">/openapi.json</a> describes the API for \
         programs.</p>\n"
            .to_owned(),
        SETUP.to_owned(),
        format!(
            "<pre>{}</pre>\n",
            escape(&curl("/api/v1/signals?q=%22series+a%22&limit=5"))
        ),
        table("Endpoints", &["Path", "Answer", "Cost"], endpoints),
        table(
            "Search parameters",
            &PARAMETER_COLUMNS,
            search
                .parameters()
                .map(|parameter| parameter_row(parameter, "")),
        ),
        words_html(),
        NOTES.map(|note| note_html(&note)).concat(),
        table("Errors", &ERROR_COLUMNS, error_rows(ProblemCode::ALL, true)),
        table(
            "Errors of parameters",
            &["Code in errors", "Meaning"],
            PARAMETER_ERRORS.map(|(code, meaning)| {
                format!("<tr><td><code>{code}</code><td>{}\n", with_code(meaning))
            }),
        ),
        FOOT.to_owned(),
    ]
    .concat()
}

const FOOT: &str = "</main>\n</body>\n</html>\n";
const PARAMETER_COLUMNS: [&str; 4] = ["Name", "Value", "Meaning", "Example"];
const FIELD_COLUMNS: [&str; 4] = ["Field", "Value", "Meaning", "Example"];
const EXAMPLE_COLUMNS: [&str; 5] = ["Rule", "Query", "Finds", "Does not find", "Why"];
const ERROR_COLUMNS: [&str; 3] = ["Code", "Status", "Meaning"];

impl ReferencePage {
    fn of(endpoint: &'static EndpointDescription) -> ReferencePage {
        let slug = slug(endpoint);
        let EndpointDescription {
            path,
            summary,
            description,
            cost,
            limits,
            examples,
            ..
        } = endpoint;
        let scope = endpoint.scope.map_or("", |scope| scope.as_str());
        let limits: String = limits
            .iter()
            .map(|limit| format!("<li>{}\n", with_code(limit)))
            .collect();
        let html = [
            head(summary),
            navigation(&slug),
            format!(
                "<p><code>GET {path}</code></p>\n<p>{}</p>\n<p>Scope: <code>{scope}</code>. Cost: {}</p>\n",
                with_code(description),
                with_code(cost)
            ),
            table(
                "Parameters",
                &PARAMETER_COLUMNS,
                endpoint
                    .parameters()
                    .map(|parameter| parameter_row(parameter, "../docs")),
            ),
            examples
                .first()
                .map_or(String::new(), |example| example_html(endpoint, example)),
            table(
                "Fields",
                &FIELD_COLUMNS,
                fields::paths_of(endpoint.schema).iter().map(field_row),
            ),
            format!("<h2>Limits</h2>\n<ul>\n{limits}</ul>\n"),
            table("Errors", &ERROR_COLUMNS, error_rows(endpoint.all_errors(), false)),
            FOOT.to_owned(),
        ]
        .concat();
        ReferencePage { slug, html }
    }
}

/// The example in several languages, its answer, and the form that sends it.
fn example_html(endpoint: &EndpointDescription, example: &Example) -> String {
    let Example {
        request, answer, ..
    } = example;
    // An export answers in lines.
    let has_lines = endpoint.endpoint == Endpoint::Export;
    [
        "<h2>Example</h2>\n".to_owned(),
        SETUP.to_owned(),
        code("curl", &curl(request)),
        code("Python", &python(request, has_lines)),
        code("JavaScript", &javascript(request, has_lines)),
        code("Answer", answer.trim_end()),
        form::html(
            &format!("..{}", endpoint.path),
            &form::fields(endpoint, request),
        ),
    ]
    .concat()
}

fn python(request: &str, has_lines: bool) -> String {
    let read = if has_lines {
        "for line in response:\n        print(json.loads(line)[\"title\"])"
    } else {
        "print(json.load(response)[\"data\"])"
    };
    format!(
        "import json, os, urllib.request\n\n\
         request = urllib.request.Request(\n    \
             os.environ[\"SIGNALDEX_URL\"] + \"{request}\",\n    \
             headers={{\"HEADER_NAME\": \"HEADER_START\" + os.environ[\"SIGNALDEX_KEY\"]}},\n\
         )\n\
         with urllib.request.urlopen(request) as response:\n    \
             {read}"
    )
}

fn javascript(request: &str, has_lines: bool) -> String {
    let (imports, read) = if has_lines {
        (
            "import { createInterface } from \"node:readline\";\n\
             import { Readable } from \"node:stream\";\n\n",
            "if (!response.ok) throw new Error((await response.json()).code);\n\
             for await (const line of createInterface({ input: Readable.fromWeb(response.body) })) {\n  \
                 console.log(JSON.parse(line).title);\n\
             }",
        )
    } else {
        (
            "",
            "const { data, code } = await response.json();\n\
             if (!response.ok) throw new Error(code);\n\
             console.log(data);",
        )
    };
    format!(
        "{imports}const response = await fetch(`${{process.env.SIGNALDEX_URL}}{request}`, {{\n  \
             headers: {{ \"HEADER_NAME\": `HEADER_START${{process.env.SIGNALDEX_KEY}}` }},\n\
         }});\n\
         {read}"
    )
}

fn navigation(current: &str) -> String {
    let links = keyed().map(|known| {
        let slug = slug(known);
        let mark = if slug == current {
            " aria-current=\"page\""
        } else {
            ""
        };
        format!("<li><a href=\"{slug}\"{mark}>{}</a>\n", known.summary)
    });
    let links: String = links.collect();
    format!(
        "<nav aria-label=\"Endpoints\"><ul>\n<li><a href=\"../docs\">API reference</a>\n{links}</ul></nav>\n"
    )
}

/// A row of a table of parameters. `index` is the path of the first page.
fn parameter_row(parameter: EndpointParameter, index: &str) -> String {
    let mut meaning = with_code(parameter.meaning());
    if parameter.has_words() {
        let (title, anchor) = (words::TITLE, words::ANCHOR);
        meaning.push_str(&format!(" <a href=\"{index}#{anchor}\">{title}</a>"));
    }
    row(
        parameter.name(),
        &parameter.bounds(),
        &meaning,
        parameter.example(),
    )
}

/// A row of a table of fields.
fn field_row((path, field): &(String, &Field)) -> String {
    let meaning = with_code(&field.description());
    row(path, &field.form(), &meaning, field.example)
}

/// A row of name, value, meaning (in HTML) and example.
fn row(name: &str, values: &str, meaning: &str, example: &str) -> String {
    let label = if example.is_empty() {
        ""
    } else {
        " data-label=\"Example\""
    };
    format!(
        "<tr><td><code>{name}</code><td>{}<td>{meaning}<td{label}><code>{}</code>\n",
        escape(values),
        escape(example)
    )
}

/// How words match, with the examples.
fn words_html() -> String {
    let rules = words::RULES.iter();
    let rules: String = rules
        .map(|rule| format!("<li>{}\n", with_code(rule)))
        .collect();
    let examples = words::EXAMPLES.iter().map(|example| {
        let WordExample {
            topic,
            query,
            finds,
            misses,
            reason,
        } = example;
        format!(
            "<tr><td>{topic}<td><code>{}</code><td data-label=\"Finds\">{}<td data-label=\"Does not find\">{}<td>{}\n",
            escape(query),
            escape(finds),
            escape(misses),
            with_code(reason)
        )
    });
    let title = format!("{}, by examples over the sample corpus", words::TITLE);
    format!(
        "<h2 id=\"{}\">{}</h2>\n<ul>\n{rules}</ul>\n{}",
        words::ANCHOR,
        words::TITLE,
        table(&title, &EXAMPLE_COLUMNS, examples)
    )
}

fn note_html((title, anchor, text): &(&str, &str, &str)) -> String {
    format!(
        "<h2 id=\"{anchor}\">{title}</h2>\n<p>{}</p>\n",
        with_code(text)
    )
}

/// Rows of a table of errors. On the index each row has the id that the `type` of a problem links to;
/// rows on other pages link there.
fn error_rows(codes: impl IntoIterator<Item = ProblemCode>, is_index: bool) -> Vec<String> {
    // Two statuses share a code, but an id must be unique.
    let mut last = "";
    let row = |code: ProblemCode| {
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
    codes.into_iter().map(row).collect()
}

fn curl(request: &str) -> String {
    format!("curl -H \"HEADER_NAME: HEADER_START$SIGNALDEX_KEY\" \\\n  \"$SIGNALDEX_URL{request}\"")
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
