//! The tools over standard input and output, for an index of this process: nothing is metered.

use std::io::{self, BufRead, Read, Write};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use time::{Date, UtcDateTime};

use super::arguments::{self, ToolTarget};
use super::compact::EndpointResult;
use super::message::{self, ClientMessage, INVALID_REQUEST, RpcError, RpcRequest};
use super::outcome::ToolOutcome;
use super::protocol::{self, Dispatch, Era, Transport};
use super::tools::Tool;
use crate::corpus::{ChangesRequest, Corpus, CorpusFuture, LocalCorpus};
use crate::limits::MCP_MESSAGE_BYTES_MAX;
use crate::options::FoundOptions;
use crate::problem::Problem;
use crate::service::Today;
use crate::{aggregates, changes, companies, details, options, search};
use signaldex::json::Rendering;
use signaldex::query::Start;
use signaldex::{Index, Query};

/// Answers messages of the Model Context Protocol, one per line, until the input ends: the tools of
/// `POST /mcp` over an index, without keys or metering. Commits by other processes to the index's
/// directory are followed.
///
/// # Errors
/// Reading the input or writing the output fails.
pub fn serve_mcp(
    index: Index,
    today: Today,
    mut input: impl BufRead,
    mut output: impl Write,
) -> io::Result<()> {
    let mut server = Stdio {
        corpus: Arc::new(LocalCorpus::new(index)),
        today,
        after_handshake: false,
    };
    let mut line = Vec::new();
    // Each iteration reads one line, truncated if it is too long.
    while read_line(&mut input, &mut line)? {
        let answer = if line.len() > MCP_MESSAGE_BYTES_MAX {
            Some(too_long().to_message(None))
        } else {
            server.answer_line(&line)
        };
        if let Some(answer) = answer {
            output.write_all(&answer)?;
            output.write_all(b"\n")?;
            output.flush()?;
        }
    }
    Ok(())
}

/// Reads the next non-empty line. A line that is too long is truncated to more than the length limit of a
/// message, so that it is refused.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    let bytes_max = MCP_MESSAGE_BYTES_MAX as u64 + 1;
    loop {
        line.clear();
        if input.by_ref().take(bytes_max).read_until(b'\n', line)? == 0 {
            return Ok(false);
        }
        if line.last() != Some(&b'\n') && line.len() > MCP_MESSAGE_BYTES_MAX {
            input.skip_until(b'\n')?;
            return Ok(true);
        }
        line.truncate(line.trim_ascii_end().len());
        if !line.is_empty() {
            return Ok(true);
        }
    }
}

fn too_long() -> RpcError {
    let message = format!("A message has at most {MCP_MESSAGE_BYTES_MAX} bytes.");
    RpcError::new(INVALID_REQUEST, message)
}

struct Stdio {
    corpus: Arc<LocalCorpus>,
    today: Today,
    after_handshake: bool,
}

impl Stdio {
    /// The answer to a message; `None` for a notification.
    fn answer_line(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        let request = match message::parse(line) {
            Ok(ClientMessage::Request(request)) => request,
            Ok(ClientMessage::Notification) => return None,
            Err((id, error)) => return Some(error.to_message(id.as_ref())),
        };
        let id = request.id.clone();
        let answer = self.answer_request(request);
        Some(answer.unwrap_or_else(|error| error.to_message(Some(&id))))
    }

    fn answer_request(&mut self, request: RpcRequest) -> Result<Vec<u8>, RpcError> {
        let transport = Transport::Stdio {
            after_handshake: self.after_handshake,
        };
        let era = protocol::era_of(&request, transport)?;
        self.after_handshake |= era == Era::Handshake;
        let id = request.id.clone();
        Ok(match protocol::dispatch(request, era)? {
            Dispatch::Result(result) => message::result_message(&id, &result),
            Dispatch::Call(tool, arguments) => {
                let outcome = self.call(tool, &arguments);
                let outcome =
                    outcome.unwrap_or_else(|problem| ToolOutcome::of_problem(&problem, None));
                message::result_message(&id, &outcome.result(era))
            }
        })
    }

    fn call(
        &self,
        tool: Tool,
        arguments: &serde_json::Map<String, serde_json::Value>,
    ) -> Result<ToolOutcome, Problem> {
        let target = arguments::target(tool, arguments)?;
        if let Some(Err(error)) = self.corpus.index().map(Index::refresh) {
            tracing::error!(
                error = format_args!("{error:#}"),
                "the index cannot be followed"
            );
        }
        let (found, hints) = self.ask(tool, &target)?;
        ToolOutcome::of_found(tool, &target, (&found, &hints), None)
    }

    /// What the tool's endpoint would find, and the hints for it.
    fn ask(
        &self,
        tool: Tool,
        target: &ToolTarget,
    ) -> Result<(EndpointResult, Vec<String>), Problem> {
        let view = self.corpus.trusted_view()?;
        let today = self.today();
        let corpus = Arc::clone(&self.corpus);
        let hints = |query: Arc<Query>, is_empty| match query.start() {
            Start::First | Start::Page(1) => {
                now(Arc::clone(&self.corpus).hints(Arc::clone(&view), query, is_empty))
            }
            Start::After(_) | Start::Page(_) => Ok(Vec::new()),
        };
        let mut found_hints = Vec::new();
        let body = match tool {
            Tool::Search => {
                let query = Arc::new(Query::from_query_string(&target.query)?);
                let (view, owned) = (Arc::clone(&view), Arc::clone(&query));
                let page = corpus.page(view, owned, today, Rendering::Short);
                let page = search::without_gap(now(page)?, &query)?;
                found_hints = hints(query, page.keys.is_empty())?;
                search::body(page)
            }
            Tool::Count => {
                let query = Arc::new(Query::from_query_string(&target.query)?);
                let filter = query.filter().clone();
                let count = now(corpus.count(Arc::clone(&view), filter, today))?;
                let hints = hints(query, count == 0)?;
                return Ok((EndpointResult::Count(count), hints));
            }
            Tool::Options => {
                let query = options::parse(&target.query)?;
                let facets = query.facets.clone();
                let counts = now(corpus.facets(view, Arc::new(query), today))?;
                let options = Box::new(FoundOptions { counts, facets });
                return Ok((EndpointResult::Options(options), Vec::new()));
            }
            Tool::Signal => {
                let id = details::parse_id(&target.segment)?;
                now(corpus.signal(view, id))?.ok_or_else(details::no_signal)?
            }
            Tool::Company => {
                let slug = crate::request::decode_segment(&target.segment)?;
                now(corpus.company(view, slug.into_owned()))?.ok_or_else(details::no_company)?
            }
            Tool::Changes => {
                let (request, query) = changes::parse(&target.query)?;
                let request = ChangesRequest {
                    rendering: Rendering::Short,
                    ..request
                };
                if request.since.is_none() {
                    found_hints = hints(Arc::new(query), true)?;
                }
                let found = now(corpus.changes(Arc::clone(&view), request, today))?;
                found.map_err(changes::refused)?.body
            }
            Tool::Aggregate => {
                let query = Arc::new(aggregates::parse(&target.query)?);
                let found = now(corpus.aggregate(view, Arc::clone(&query), today))?;
                aggregates::body(&query, &found?)
            }
            Tool::Companies => {
                let query = Arc::new(companies::parse(&target.query, None)?);
                if query.count_only() {
                    let counts = companies::counts(corpus, view, Arc::clone(&query), today);
                    companies::count_body(&query, &now(counts)?)?
                } else {
                    let page = now(corpus.companies(view, Arc::clone(&query), today))?;
                    companies::body(companies::without_gap(page, &query)?)
                }
            }
        };
        Ok((EndpointResult::Body(body), found_hints))
    }

    fn today(&self) -> Date {
        self.today.at(UtcDateTime::now())
    }
}

/// The answer of a future of a local index, which is ready at the first poll.
fn now<T>(mut answer: CorpusFuture<T>) -> Result<T, Problem> {
    match pin!(&mut answer).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => Ok(answer?),
        Poll::Pending => Err(Problem::overloaded("The index does not answer at once.")),
    }
}
