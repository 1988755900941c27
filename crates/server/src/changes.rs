//! `GET /api/v1/changes`: the changes after a position, charged by the signals in the answer.

use std::sync::Arc;

use super::answer::{Answer, Price};
use super::asking::{self, AskedQuery};
use super::call::Call;
use super::endpoint::Endpoint;
use super::etag;
use super::hints;
use super::parameters;
use super::problem::{Problem, ProblemCode};
use super::replay::{self, Attempt};
use super::selling::{self, FeedPart, SoldFeed};
use super::slow::AskedFilter;
use crate::corpus::{ChangesRequest, CorpusView, FeedPosition, QueryKind};
use signaldex::json::Rendering;
use signaldex::query::{ErrorCode, InvalidQuery, ParameterError, QueryBuilder};
use signaldex::{PositionError, Query};

/// The name of the parameter for the position.
const SINCE: &str = parameters::SINCE.name;

/// A request for changes, with its answer.
struct Poll<'a> {
    call: &'a Call<'a>,
    view: &'a Arc<CorpusView>,
    request: ChangesRequest,
    hints: Vec<String>,
}

pub(super) async fn changes(call: &Call<'_>) -> Result<Answer, Problem> {
    let (mut request, query) = parse(call.query())?;
    let (replay, guard) = match Attempt::begin(call, || parameters_of(&request)).await? {
        Attempt::Repeated(answer) => return Ok(answer),
        Attempt::First(replay, guard) => (replay, guard),
    };
    let view = asking::trusted_view(call).await?;
    request.rendering = call.rendering(replay.is_some());
    let mut poll = Poll {
        call,
        view: &view,
        request,
        hints: Vec::new(),
    };
    if etag::is_current(&call.parts.headers, &poll.tag()) {
        return Ok(Answer::not_modified()
            .tagged(&poll.tag())
            .priced(Price::FREE));
    }
    if poll.request.since.is_none() {
        // Nothing is asked for yet, so whatever finds nothing should be known before one follows it.
        poll.hints = hints::find(call, &view, &Arc::new(query), true).await;
    }
    // Only an answer without signals, which is free, has hints.
    let hints = std::mem::take(&mut poll.hints);
    let answer = selling::sell_feed(call, poll, replay, guard).await?;
    Ok(answer.hinted(hints))
}

impl SoldFeed for Poll<'_> {
    async fn find(&self) -> Result<FeedPart, Problem> {
        let (call, view, request) = (self.call, self.view, &self.request);
        let corpus = call.corpus();
        let asked = AskedQuery {
            kind: QueryKind::Changes,
            filter: AskedFilter::Signals(&request.filter),
            cost: corpus.changes_cost(view, request),
        };
        let changes = corpus.changes(Arc::clone(view), request.clone(), call.today);
        let found = asking::ask(call, asked, changes).await?.map_err(refused)?;
        Ok(FeedPart {
            units: found.upserts,
            tag: self.tag(),
            body: found.body,
        })
    }

    fn bound(&mut self, units: usize) {
        self.request.upserts_max = units;
    }
}

impl Poll<'_> {
    fn tag(&self) -> String {
        let today = self.call.today.to_julian_day().to_le_bytes();
        let most = (self.request.upserts_max as u64).to_le_bytes();
        etag::of(&[
            b"changes",
            &self.view.tag_seed,
            &parameters_of(&self.request),
            &today,
            &most,
        ])
    }
}

/// Parses a query string of an endpoint, in which a parameter has a position.
pub(super) fn parse_since(
    text: &str,
    endpoint: Endpoint,
    name: &'static str,
) -> (QueryBuilder, Option<FeedPosition>) {
    let accepted = endpoint.description().search;
    let (mut builder, [since]) = QueryBuilder::from_query_string(text, accepted, [name]);
    let since = since.map(|since| since.parse::<FeedPosition>()).transpose();
    let since = since.unwrap_or_else(|error| {
        builder.add_error(position_error(&format!("{name} {error}")));
        None
    });
    (builder, since)
}

/// Parses the filters of a query string, `limit` and `since`; also returns the query as typed.
pub(super) fn parse(text: &str) -> Result<(ChangesRequest, Query), InvalidQuery> {
    let (builder, since) = parse_since(text, Endpoint::Changes, SINCE);
    let query = builder.build()?;
    let request = ChangesRequest {
        filter: query.filter().clone(),
        limit: query.limit(),
        since,
        upserts_max: usize::MAX,
        rendering: Rendering::Whole,
    };
    Ok((request, query))
}

/// Identifies equal requests.
fn parameters_of(request: &ChangesRequest) -> [u8; 32] {
    let since = request.since.as_ref().map(ToString::to_string);
    replay::parameters_of(&[
        b"changes",
        request.filter.fingerprint().as_bytes(),
        &(request.limit as u64).to_le_bytes(),
        since.unwrap_or_default().as_bytes(),
    ])
}

/// The problem for a position that cannot be used.
pub(super) fn refused(error: PositionError) -> Problem {
    match error {
        PositionError::Ahead => Problem::of_errors(vec![position_error(&format!(
            "{SINCE} is ahead of this service, which may be a replica that is behind; try again later"
        ))]),
        // Of another index or branch, or too old: the client copies again.
        _ => Problem::new(
            ProblemCode::PositionExpired,
            format!("The position {error}."),
        ),
    }
}

pub(super) fn position_error(message: &str) -> ParameterError {
    ParameterError::new(SINCE, ErrorCode::InvalidPosition, message)
}
