//! `GET /api/v1/signals`: searches and counts, charged per item.

use std::sync::Arc;

use super::answer::{Answer, Price};
use super::asking::{self, AskedQuery};
use super::call::Call;
use super::charging::{self, ChargeRefusal};
use super::etag;
use super::hints;
use super::idempotency_keys::IdempotencyGuard;
use super::metering::Counter;
use super::problem::Problem;
use super::replay::{self, Attempt, Replay};
use super::state::NewReplay;
use super::unsent::Room;
use crate::corpus::{CorpusView, QueryKind, RenderedPage};
use signaldex::json::{Data, Rendering, SearchData};
use signaldex::query::limits::PAGE_BYTES_MAX;
use signaldex::query::{
    Cursor, ErrorCode, InvalidQuery, Parameter, ParameterError, ParameterSet, QueryBuilder, Start,
};
use signaldex::{Filter, Query};

/// A page before it is charged.
struct UnchargedPage {
    found: RenderedPage,
    tag: String,
    hints: Vec<String>,
}

/// The outcome of a search.
enum SearchOutcome {
    /// The client's cached answer with this tag is current.
    NotModified(String),
    /// A count, which is free.
    Count(Answer),
    Page(UnchargedPage),
}

/// A search with everything that its answer depends on.
struct SearchCall<'a> {
    call: &'a Call<'a>,
    view: &'a Arc<CorpusView>,
    query: &'a Arc<Query>,
    rendering: Rendering,
}

/// The query of a request, whose cursor is bound to the key's filter.
pub(super) fn parse(call: &Call<'_>) -> Result<Query, InvalidQuery> {
    let (builder, []) = QueryBuilder::from_query_string(call.query(), ParameterSet::SEARCH, []);
    builder.for_key(call.filter()).build()
}

pub(super) async fn page_or_count(call: &Call<'_>) -> Result<Answer, Problem> {
    let query = Arc::new(parse(call)?);
    let parameters = || replay::parameters_of(&[query.fingerprint().as_bytes()]);
    let (replay, guard) = match Attempt::begin(call, parameters).await? {
        Attempt::Repeated(answer) => {
            // Only pages that were charged are kept, so something was found. They are answered from a damaged index, too.
            let hints = match asking::trusted_view(call).await {
                Ok(view) => hints::find(call, &view, &query, false).await,
                Err(_) => Vec::new(),
            };
            return Ok(answer.hinted(hints));
        }
        Attempt::First(replay, guard) => (replay, guard),
    };
    let view = asking::trusted_view(call).await?;
    let search = SearchCall {
        call,
        view: &view,
        query: &query,
        rendering: call.rendering(replay.is_some()),
    };
    match prepare(&search).await? {
        SearchOutcome::NotModified(tag) => {
            Ok(Answer::not_modified().tagged(&tag).priced(Price::FREE))
        }
        SearchOutcome::Count(answer) => Ok(answer.priced(Price::FREE)),
        SearchOutcome::Page(page) => deliver(&search, page, replay, guard).await,
    }
}

/// Charges a page and sends it, shortened if the key's quota does not cover all of it.
async fn deliver(
    search: &SearchCall<'_>,
    mut page: UnchargedPage,
    replay: Option<Replay>,
    guard: Option<Arc<IdempotencyGuard>>,
) -> Result<Answer, Problem> {
    let call = search.call;
    if call.is_head() || page.units() == 0 {
        if let Some(left) = charging::left(call, Counter::Signals).await? {
            page.cut(search, left);
        }
        return Ok(page.into_answer(None).priced(Price::FREE));
    }
    let room = call.service.room_for(page.found.answer.byte_count())?;
    // The loop ends because each attempt charges fewer units than the previous one.
    loop {
        let units = page.units();
        let kept = replay
            .as_ref()
            .map(|replay| page.kept(replay))
            .transpose()?;
        let charge = charging::charge(call, Counter::Signals, units, kept, guard.as_ref());
        match charge.await {
            Ok(charged) => {
                let answer = page.into_answer(Some(room));
                return Ok(answer.priced(charging::price(call, Counter::Signals, units, charged)));
            }
            Err(ChargeRefusal::Left(_, _, left)) if left > 0 => page.cut(search, left),
            Err(refusal) => return Err(refusal.into()),
        }
    }
}

impl UnchargedPage {
    fn units(&self) -> u64 {
        self.found.keys.len() as u64
    }

    /// Truncates the page to `left` signals. The cursor then follows the last one.
    fn cut(&mut self, search: &SearchCall<'_>, left: u64) {
        let shown = usize::try_from(left).unwrap_or(usize::MAX);
        if shown >= self.found.keys.len() {
            return;
        }
        let SearchCall { call, query, .. } = search;
        self.found.truncate(shown, query, call.today);
        self.tag = tag(search, Some(shown));
    }

    /// The answer, in its room if its body is sent.
    fn into_answer(self, room: Option<Room>) -> Answer {
        let body = body(self.found);
        let answer = match room {
            Some(room) => Answer::json(room.hold(body)),
            None => Answer::json(body),
        };
        answer.tagged(&self.tag).hinted(self.hints)
    }

    /// The answer to store under an idempotency key.
    fn kept(&self, replay: &Replay) -> Result<NewReplay, Problem> {
        replay.keep(&self.tag, &body(self.found.clone()))
    }
}

/// The page, unless it is a numbered one that has ended early.
///
/// # Errors
/// It is such a page.
pub(super) fn without_gap(
    found: RenderedPage,
    query: &Query,
) -> Result<RenderedPage, ParameterError> {
    match query.start() {
        Start::Page(_) if found.ends_early => Err(too_large(found.keys.len())),
        _ => Ok(found),
    }
}

/// The error of a numbered page of which only some signals fit: the next number would skip the others.
pub(super) fn too_large(fitting: usize) -> ParameterError {
    let message = format!(
        "limit has to be at most {fitting} for this page, which would exceed {} MiB; without page, such a page ends \
         early and continues with its cursor",
        PAGE_BYTES_MAX >> 20,
    );
    ParameterError::new(Parameter::Limit.name(), ErrorCode::InvalidValue, message)
}

pub(super) fn body(found: RenderedPage) -> Vec<u8> {
    let next_cursor = found.next_cursor.as_ref().map(Cursor::to_string);
    found.answer.finish(next_cursor.as_deref())
}

async fn prepare(search: &SearchCall<'_>) -> Result<SearchOutcome, Problem> {
    let (call, query) = (search.call, search.query);
    let tag = tag(search, None);
    if etag::is_current(&call.parts.headers, &tag) {
        return Ok(SearchOutcome::NotModified(tag));
    }
    if query.count_only() {
        let count = count(call, search.view, query.filter()).await?;
        let hints = hints::find(call, search.view, query, count == 0).await;
        let answer = Answer::json(count_body(count)?).tagged(&tag);
        return Ok(SearchOutcome::Count(answer.hinted(hints)));
    }
    call.expect_charge();
    let asked = AskedQuery::of_page(call, search.view, query);
    let (view, owned) = (Arc::clone(search.view), Arc::clone(query));
    let page = call
        .corpus()
        .page(view, owned, call.today, search.rendering);
    let found = asking::ask(call, asked, page).await?;
    let found = without_gap(found, query)?;
    call.service.metrics.rows_checked.inc_by(found.rows_checked);
    let hints = hints::find(call, search.view, query, found.keys.is_empty()).await;
    Ok(SearchOutcome::Page(UnchargedPage { found, tag, hints }))
}

/// The number of matches.
pub(super) async fn matches(
    call: &Call<'_>,
    view: &Arc<CorpusView>,
    filter: &Filter,
) -> Result<u64, Problem> {
    let asked = AskedQuery::over_matches(call, view, QueryKind::Count, (filter, &[]));
    let count = call
        .corpus()
        .count(Arc::clone(view), filter.clone(), call.today);
    asking::ask(call, asked, count).await
}

/// The number of matches, which is a free answer.
pub(super) async fn count(
    call: &Call<'_>,
    view: &Arc<CorpusView>,
    filter: &Filter,
) -> Result<u64, Problem> {
    let free = charging::take_free(call).await?;
    let count = matches(call, view, filter).await?;
    charging::count_free(call, free);
    Ok(count)
}

pub(super) fn count_body(count: u64) -> Result<Vec<u8>, Problem> {
    let data = SearchData {
        items: &[],
        next_cursor: None,
        count: Some(count),
    };
    serde_json::to_vec(&Data { data }).map_err(|error| Problem::internal(&error))
}

fn tag(search: &SearchCall<'_>, shown: Option<usize>) -> String {
    let query = search.query.fingerprint();
    etag::of_page(
        b"search",
        (search.call, search.view),
        query.as_bytes(),
        shown,
    )
}
