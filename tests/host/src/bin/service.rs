//! An HTTP service over an index, from the public API of the library alone: `service ADDR [DIR]`, without DIR over the
//! sample. `GET /signals?…` answers as the API does, with `ETag` and 304; the header `X-Items-Max: N` cuts pages, and
//! the cursor goes on after the last item given. A query that costs more than the environment's `COST_MAX` gets
//! 429. `GET /export?…` streams every match as NDJSON. A damaged index gives 500.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io::{self, Cursor, Write};
use std::ops::ControlFlow;
use std::sync::LazyLock;

use signaldex::json::{self, Rendering, SearchAnswer};
use signaldex::query::{InvalidQuery, Order};
use signaldex::{sample, Cost, Error, Filter, Index, Matches, Query, Snapshot};
use time::Date;
use tiny_http::{Header, Request, Response, Server};

const TODAY: Date = sample::AS_OF;

static COST_MAX: LazyLock<Cost> = LazyLock::new(|| match std::env::var("COST_MAX") {
    Ok(text) => text.parse().expect("COST_MAX is a number"),
    Err(_) => Cost::MAX,
});

type Tags = BuildHasherDefault<DefaultHasher>;
type Answer = Response<Cursor<Vec<u8>>>;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().ok_or("usage: service ADDR [DIR]")?;
    let index = match arguments.next() {
        Some(directory) => Index::open(directory)?,
        None => sample::index()?,
    };
    let server = Server::http(address)?;
    println!("{}", server.server_addr());
    for request in server.incoming_requests() {
        let snapshot = index.snapshot();
        let url = request.url().to_owned();
        let (path, query) = url.split_once('?').unwrap_or((&url, ""));
        let answer = match path {
            "/signals" => signals(&snapshot, &request, query),
            "/export" => match export(&snapshot, query) {
                Ok(matches) => {
                    // As below.
                    let _ = stream(request, matches);
                    continue;
                }
                Err(refusal) => Err(refusal),
            },
            _ => Err(text(404, "there are /signals and /export")),
        };
        // A client that has gone is no failure of the service.
        let _ = request.respond(answer.unwrap_or_else(|refusal| refusal));
    }
    Ok(())
}

fn signals(snapshot: &Snapshot, request: &Request, query: &str) -> Result<Answer, Answer> {
    let query = Query::from_query_string(query).map_err(invalid)?;
    let items_max = sent(request, "X-Items-Max").map_or(usize::MAX, |n| n.parse().unwrap_or(1));
    let key = (snapshot.revision(), query.fingerprint(), TODAY, items_max);
    let tag = format!("\"{:016x}\"", Tags::default().hash_one(key));
    if sent(request, "If-None-Match") == Some(&tag) {
        return Err(text(304, ""));
    }
    check(snapshot.page_cost(&query, TODAY, *COST_MAX))?;
    let body = if query.count_only() {
        let count = snapshot.count(query.filter(), TODAY).map_err(damaged)?;
        format!(r#"{{"data":{{"items":[],"nextCursor":null,"count":{count}}}}}"#).into_bytes()
    } else {
        page(snapshot, &query, items_max).map_err(damaged)?
    };
    let answer = answer("application/json", body);
    Ok(answer.with_header(header("ETag", &tag)))
}

/// A page that ends early, with its cursor, after `items_max` items or the bytes that an answer may have.
fn page(snapshot: &Snapshot, query: &Query, items_max: usize) -> Result<Vec<u8>, Error> {
    let page = snapshot.search(query, TODAY)?;
    let mut body = SearchAnswer::with_capacity(page.len(), Rendering::Whole);
    let mut last = None;
    snapshot.visit_records(&page, |signal, company_name| {
        if body.len() >= items_max.max(1) || !body.push(signal, company_name) {
            return ControlFlow::Break(());
        }
        last = Some(signal.id);
        ControlFlow::Continue(())
    })?;
    let cut = last.filter(|_| body.len() < page.len());
    let cut = cut.map(|last| query.cursor_after(last, TODAY));
    let cursor = cut.as_ref().or(page.next_cursor()).map(ToString::to_string);
    Ok(body.finish(cursor.as_deref()))
}

fn export<'s>(snapshot: &'s Snapshot, query: &str) -> Result<Matches<'s>, Answer> {
    let filter = Filter::from_query_string(query).map_err(invalid)?;
    check(snapshot.cost(&filter, TODAY, *COST_MAX))?;
    Ok(snapshot.matches(&filter, TODAY, Order::NewestFirst))
}

/// Sends a line for each match. After a damaged record the last chunk is missing.
fn stream(request: Request, matches: Matches<'_>) -> io::Result<()> {
    let mut output = request.into_writer();
    output.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n")?;
    output.write_all(b"Transfer-Encoding: chunked\r\n\r\n")?;
    for item in matches {
        let (item, mut line) = (item.map_err(io::Error::other)?, Vec::new());
        json::write_item_line(&mut line, &item.signal, &item.company_name);
        write!(output, "{:x}\r\n", line.len())?;
        output.write_all(&[&line[..], b"\r\n"].concat())?;
    }
    output.write_all(b"0\r\n\r\n")
}

/// Refuses what costs more than `COST_MAX`.
fn check(cost: Result<Cost, Error>) -> Result<(), Answer> {
    match cost.map_err(damaged)? {
        cost if cost > *COST_MAX => Err(text(429, &format!("the query costs {cost}; narrow it"))),
        _ => Ok(()),
    }
}

fn sent<'r>(request: &'r Request, name: &'static str) -> Option<&'r str> {
    let mut headers = request.headers().iter();
    let header = headers.find(|header| header.field.equiv(name))?;
    Some(header.value.as_str())
}

fn header(name: &str, value: &str) -> Header {
    Header::from_bytes(name, value).expect("names and values are ASCII")
}

fn answer(kind: &str, body: Vec<u8>) -> Answer {
    Response::from_data(body).with_header(header("Content-Type", kind))
}

fn text(status: u16, text: &str) -> Answer {
    answer("text/plain", text.into()).with_status_code(status)
}

fn invalid(invalid: InvalidQuery) -> Answer {
    let errors = serde_json::json!({ "errors": invalid.errors() });
    text(400, &errors.to_string())
}

fn damaged(error: Error) -> Answer {
    text(500, &error.public_reason())
}
