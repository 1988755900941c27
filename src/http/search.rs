//! `GET /api/v1/signals`: searches and counts, charged by the item.

use axum::body::Bytes;
use axum::http::header::{CACHE_CONTROL, ETAG, HeaderName, VARY};

use super::charging::{self, Units};
use super::corpus::{FoundPage, Moment};
use super::etag;
use super::metering::Counter;
use super::problem::{Code, Problem};
use super::replay::{self, Claim};
use super::router::{Answer, Call};
use super::slow::Asked;
use super::state::NewReplay;
use crate::json::{self, Data, SearchData};
use crate::query::{Cursor, Start};
use crate::segment::Shown;
use crate::{Query, SignalId};

const CHARGED: HeaderName = HeaderName::from_static("x-usage-charged");
const REMAINING: HeaderName = HeaderName::from_static("x-usage-remaining");
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// An answer that waits for its charge.
struct Prepared<'s> {
    content: Content<'s>,
    tag: String,
    units: Units,
}

/// What an answer says. Nothing about it can fail any more.
enum Content<'s> {
    Count(Vec<u8>),
    /// Written only when it has been charged: hundreds of answers wait for one commit, and their
    /// bytes would have left the processor's caches by then. The service answers 1.1 times as many
    /// searches so (`benches/load`). An answer with an idempotency key is written before too.
    Page {
        items: Vec<Shown<'s>>,
        next_cursor: Option<String>,
    },
}

/// What came of looking for an answer.
enum Outcome<'s> {
    /// The client has it already.
    Held(String),
    /// It has to be sent.
    New(Prepared<'s>),
}

/// Whether a request with an idempotency key is the first.
enum Turn {
    First(Claim),
    Repeated(Answer),
}

pub(super) async fn answer(call: &Call<'_>) -> Result<Answer, Problem> {
    let query = Query::parse(call.query())?;
    let name = replay::name_of(&call.parts.headers)?.filter(|_| !call.is_head());
    let claim = match &name {
        None => None,
        Some(name) => match turn(call, name, &query)? {
            Turn::Repeated(answer) => return Ok(answer),
            Turn::First(claim) => Some(claim),
        },
    };
    let moment = call.service.corpus.moment();
    let prepared = match prepare(call, &moment, &query).await? {
        Outcome::Held(tag) => return Ok(tagged(Answer::not_modified(), &tag).with(CHARGED, 0)),
        Outcome::New(prepared) => prepared,
    };
    let replay = name.map(|name| kept(name, &query, &prepared)).transpose()?;
    let answer = tagged(Answer::json(Bytes::new()), &prepared.tag);
    let answer = settle(call, answer, prepared.units, replay, claim).await?;
    Ok(Answer {
        body: prepared.content.written().into(),
        ..answer
    })
}

impl Content<'_> {
    fn written(&self) -> Vec<u8> {
        match self {
            Content::Count(body) => body.clone(),
            Content::Page { items, next_cursor } => {
                json::search_answer(items, next_cursor.as_deref())
            }
        }
    }
}

/// Charges what an answer costs and says so in its headers.
pub(super) async fn settle(
    call: &Call<'_>,
    answer: Answer,
    units: Units,
    replay: Option<NewReplay>,
    claim: Option<Claim>,
) -> Result<Answer, Problem> {
    let count = units.count();
    if call.is_head() || (count == 0 && replay.is_none()) {
        return Ok(answer.with(CHARGED, 0));
    }
    let counter = units.counter();
    let charged = charging::record(call, units, replay, claim).await?;
    let answer = answer.with(CHARGED, count);
    Ok(match call.key.record.quota(counter) {
        Some(quota) => answer.with(REMAINING, quota.saturating_sub(charged.total)),
        None => answer,
    })
}

/// The headers by which an answer can be asked for again at no cost. It is the key's own, so no
/// shared cache may keep it.
pub(super) fn tagged(answer: Answer, tag: &str) -> Answer {
    answer
        .with(ETAG, tag)
        .with(CACHE_CONTROL, "private, no-cache")
        .with(VARY, "Authorization")
}

/// Claims the name, or finds the answer that was given under it.
fn turn(call: &Call<'_>, name: &str, query: &Query) -> Result<Turn, Problem> {
    let key = call.key.record.number;
    let claim = call
        .service
        .names_under_way
        .claim(key, name)
        .ok_or_else(charging::in_progress)?;
    let stored = call
        .service
        .state
        .replay(key, name, call.now.unix_timestamp())
        .map_err(|error| Problem::internal(&error))?;
    let Some(stored) = stored else {
        return Ok(Turn::First(claim));
    };
    if stored.parameters != replay::parameters_of(query) {
        let detail =
            "This Idempotency-Key was used with other parameters within the last 24 hours.";
        return Err(Problem::new(Code::IdempotencyKeyReused, detail));
    }
    call.service.metrics.replays.inc();
    let answer = match etag::is_held(&call.parts.headers, &stored.etag) {
        true => Answer::not_modified(),
        false => Answer::json(stored.body),
    };
    Ok(Turn::Repeated(
        tagged(answer, &stored.etag)
            .with(CHARGED, 0)
            .with(REPLAYED, "true"),
    ))
}

fn kept(name: String, query: &Query, prepared: &Prepared<'_>) -> Result<NewReplay, Problem> {
    let parameters = replay::parameters_of(query);
    let body = prepared.content.written();
    NewReplay::compress(name, parameters, prepared.tag.clone(), &body)
        .map_err(|error| Problem::internal(&error))
}

async fn prepare<'s>(
    call: &'s Call<'_>,
    moment: &'s Moment,
    query: &'s Query,
) -> Result<Outcome<'s>, Problem> {
    let tag = tag(call, moment, query, None);
    if etag::is_held(&call.parts.headers, &tag) {
        return Ok(Outcome::Held(tag));
    }
    if query.count_only() {
        return count(call, moment, query, tag).await.map(Outcome::New);
    }
    let page = call
        .service
        .corpus
        .page(moment, query, call.service.today());
    let page = call.timed(Asked::Page, query.filter(), page).await?;
    let found = page.ids.len();
    call.service.metrics.rows_checked.inc_by(page.rows_checked);
    let units = charging::take(call, Counter::Signals, found as u64)?;
    let shown = usize::try_from(units.count())
        .unwrap_or(usize::MAX)
        .min(found);
    let tag = match shown == found {
        true => tag,
        false => self::tag(call, moment, query, Some(shown)),
    };
    Ok(Outcome::New(Prepared {
        content: content(call, query, page, shown),
        tag,
        units,
    }))
}

async fn count(
    call: &Call<'_>,
    moment: &Moment,
    query: &Query,
    tag: String,
) -> Result<Prepared<'static>, Problem> {
    let today = call.service.today();
    let count = call.service.corpus.count(moment, query.filter(), today);
    let count = call.timed(Asked::Count, query.filter(), count).await?;
    let data = SearchData {
        items: &[],
        next_cursor: None,
        count: Some(count),
    };
    let body = serde_json::to_vec(&Data { data }).map_err(|error| Problem::internal(&error))?;
    Ok(Prepared {
        content: Content::Count(body),
        tag,
        units: Units::none(call, Counter::Signals),
    })
}

/// The first `shown` signals of a page; fewer than all where a quota leaves no more.
fn content<'s>(
    call: &Call<'_>,
    query: &Query,
    mut page: FoundPage<'s>,
    shown: usize,
) -> Content<'s> {
    let is_cut = shown < page.ids.len();
    let ids = page.ids.get(..shown).unwrap_or_default();
    let next_cursor = match ids.last() {
        Some(&last) if is_cut => Some(cursor_behind(call, query, last).to_string()),
        _ => page.next_cursor.as_ref().map(Cursor::to_string),
    };
    page.items.truncate(shown);
    Content::Page {
        items: page.items,
        next_cursor,
    }
}

fn cursor_behind(call: &Call<'_>, query: &Query, last: SignalId) -> Cursor {
    let day = match query.start() {
        Start::After(cursor) => cursor.day(),
        Start::First | Start::Page(_) => call.service.today(),
    };
    Cursor::new(query.filter_fingerprint(), query.order(), day, last)
}

fn tag(call: &Call<'_>, moment: &Moment, query: &Query, shown: Option<usize>) -> String {
    let today = call.service.today().to_julian_day().to_le_bytes();
    let shown = shown.map_or(u64::MAX, |shown| shown as u64).to_le_bytes();
    etag::of(&[
        b"search",
        &moment.tag_seed,
        query.fingerprint().as_bytes(),
        &today,
        &shown,
    ])
}
