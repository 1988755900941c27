//! `GET /api/v1/saved-searches/{id}/matches`: the matches of a saved search after a position, charged by the match.
//!
//! The request is its own idempotency key: an equal one within 24 hours returns the same bytes and is free.

use std::sync::Arc;

use super::SearchRecord;
use crate::answer::{Answer, Price};
use crate::asking::{self, AskedQuery};
use crate::call::Call;
use crate::changes;
use crate::corpus::{
    ChangesRequest, CorpusView, FeedPosition, MatchesRequest, QueryKind, RenderedMatches,
};
use crate::endpoint::Endpoint;
use crate::etag;
use crate::parameters;
use crate::problem::{Problem, ProblemCode};
use crate::replay::{self, Attempt};
use crate::selling::{self, FeedPart, SoldFeed};
use crate::service::ServiceCore;
use crate::slow::AskedFilter;
use signaldex::query::InvalidQuery;
use signaldex::query::limits::PAGE_BYTES_MAX;

const SINCE: &str = parameters::MATCHES_SINCE.name;

/// What the name of a pull's kept answer begins with.
const KIND: &str = "matches";

/// Bytes of an answer that are not matches: removed ids, the position, and the members' names.
const REST_BYTES: usize = 4_096;

/// A pull under way.
struct Pull<'a> {
    call: &'a Call<'a>,
    view: &'a Arc<CorpusView>,
    request: MatchesRequest,
    /// Equal for equal requests.
    parameters: [u8; 32],
}

pub(crate) async fn matches(call: &Call<'_>, id: &str) -> Result<Answer, Problem> {
    let (limit, since) = parse(call.query())?;
    let search = find(call, id).await?;
    let view = asking::trusted_view(call).await?;
    let since = since.or_else(|| {
        let first = search.first_position.as_ref()?;
        Some(call.corpus().position_at(&view, first))
    });
    let since = since.ok_or_else(not_begun)?;
    let parameters = parameters_of(&search, limit, &since);
    let (replay, guard) = match Attempt::begin_unnamed(call, KIND, parameters).await? {
        Attempt::Repeated(answer) => return Ok(answer),
        Attempt::First(replay, guard) => (replay, guard),
    };
    let request = MatchesRequest {
        search: search.id,
        filter: search.settings.filter,
        since,
        limit,
        matches_max: usize::MAX,
        bytes_max: PAGE_BYTES_MAX - REST_BYTES,
        only_new: search.settings.only_new,
        removals: search.settings.removals,
        rendering: call.rendering(replay.is_some()),
    };
    let pull = Pull {
        call,
        view: &view,
        request,
        parameters,
    };
    if etag::is_current(&call.parts.headers, &pull.tag()) {
        return Ok(Answer::not_modified()
            .tagged(&pull.tag())
            .priced(Price::FREE));
    }
    selling::sell_feed(call, pull, replay, guard).await
}

/// Reads the number of matches and the position.
fn parse(text: &str) -> Result<(usize, Option<FeedPosition>), InvalidQuery> {
    let (builder, since) = changes::parse_since(text, Endpoint::Matches, SINCE);
    Ok((builder.build()?.limit(), since))
}

/// The key's search of an id, which begins now if no service has seen it yet.
async fn find(call: &Call<'_>, id: &str) -> Result<SearchRecord, Problem> {
    let (wanted, key) = (id.to_owned(), call.key.record.number);
    let find = move |service: &ServiceCore| {
        let of_key = |found: Option<SearchRecord>| found.filter(|search| search.key == key);
        let found = of_key(service.state.search(&wanted)?);
        if found
            .as_ref()
            .is_none_or(|search| search.first_position.is_some())
        {
            return Ok(found);
        }
        service.begin_searches()?;
        Ok(of_key(service.state.search(&wanted)?))
    };
    let found = call.service.read(call.deadline.at(), find).await?;
    found.ok_or_else(|| {
        let detail = "The key has no saved search of this id; /api/v1/saved-searches lists them.";
        Problem::new(ProblemCode::NotFound, detail)
    })
}

/// Identifies equal pulls: an edited search is another one.
fn parameters_of(search: &SearchRecord, limit: usize, since: &FeedPosition) -> [u8; 32] {
    let settings = &search.settings;
    replay::parameters_of(&[
        b"matches",
        &(search.id.len() as u64).to_le_bytes(),
        search.id.as_bytes(),
        settings.filter.fingerprint().as_bytes(),
        &[settings.only_new.into(), settings.removals.into()],
        &(limit as u64).to_le_bytes(),
        since.to_string().as_bytes(),
    ])
}

fn not_begun() -> Problem {
    Problem::overloaded("The saved search begins once the service has loaded the corpus.")
}

impl SoldFeed for Pull<'_> {
    async fn find(&self) -> Result<FeedPart, Problem> {
        let (call, view, request) = (self.call, self.view, &self.request);
        let corpus = call.corpus();
        let as_changes = ChangesRequest {
            filter: request.filter.clone(),
            limit: request.limit,
            since: Some(request.since.clone()),
            upserts_max: request.matches_max,
            rendering: request.rendering,
        };
        let asked = AskedQuery {
            kind: QueryKind::Changes,
            filter: AskedFilter::Signals(&request.filter),
            cost: corpus.changes_cost(view, &as_changes),
        };
        let finding = corpus.matches(Arc::clone(view), request.clone(), call.today);
        let found = asking::ask(call, asked, finding).await?;
        let found = found.map_err(changes::refused)?;
        Ok(FeedPart {
            units: found.matches.len() as u64,
            tag: self.tag(),
            body: body(&found),
        })
    }

    fn bound(&mut self, units: usize) {
        self.request.matches_max = units;
    }
}

impl Pull<'_> {
    fn tag(&self) -> String {
        let today = self.call.today.to_julian_day().to_le_bytes();
        let most = (self.request.matches_max as u64).to_le_bytes();
        etag::of(&[
            b"matches",
            &self.view.tag_seed,
            &self.parameters,
            &today,
            &most,
        ])
    }
}

/// The answer to a pull.
fn body(found: &RenderedMatches) -> Vec<u8> {
    let matches = found.matches.iter().map(|found| found.json.as_slice());
    let matches: Vec<&[u8]> = matches.collect();
    let removed: Vec<String> = found.removed.iter().map(|id| format!("\"{id}\"")).collect();
    let (removed, next, more) = (removed.join(","), &found.next, found.more);
    let end = format!("],\"removed\":[{removed}],\"next\":\"{next}\",\"more\":{more}}}}}");
    let start = br#"{"data":{"matches":["#.as_slice();
    [start, &matches.join(&b","[..]), end.as_bytes()].concat()
}
