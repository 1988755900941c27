//! `GET /api/v1/signals`: searches and counts, charged by the item.

use axum::http::header::{CACHE_CONTROL, ETAG, HeaderName, VARY};

use super::charging::{self, Units};
use super::etag;
use super::metering::Counter;
use super::problem::{Code, Problem};
use super::replay::{self, Claim};
use super::router::{Answer, Call};
use super::service::Current;
use super::slow::Asked;
use super::state::NewReplay;
use crate::json::{self, Data, SearchData};
use crate::query::{Cursor, Start};
use crate::segment::Shown;
use crate::{Page, Query, SignalId};

const CHARGED: HeaderName = HeaderName::from_static("x-usage-charged");
const REMAINING: HeaderName = HeaderName::from_static("x-usage-remaining");
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// An answer that waits for its charge.
struct Prepared {
    body: Vec<u8>,
    tag: String,
    units: Units,
}

/// What came of looking for an answer.
enum Outcome {
    /// The client has it already.
    Held(String),
    /// It has to be sent.
    New(Prepared),
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
    let prepared = match prepare(call, &query)? {
        Outcome::Held(tag) => return Ok(tagged(Answer::not_modified(), &tag).with(CHARGED, 0)),
        Outcome::New(prepared) => prepared,
    };
    let replay = name.map(|name| kept(name, &query, &prepared)).transpose()?;
    let answer = tagged(Answer::json(prepared.body), &prepared.tag);
    settle(call, answer, prepared.units, replay, claim).await
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

fn kept(name: String, query: &Query, prepared: &Prepared) -> Result<NewReplay, Problem> {
    let parameters = replay::parameters_of(query);
    NewReplay::compress(name, parameters, prepared.tag.clone(), &prepared.body)
        .map_err(|error| Problem::internal(&error))
}

fn prepare(call: &Call<'_>, query: &Query) -> Result<Outcome, Problem> {
    let current = call.service.current();
    let tag = tag(call, &current, query, None);
    if etag::is_held(&call.parts.headers, &tag) {
        return Ok(Outcome::Held(tag));
    }
    if query.count_only() {
        return count(call, &current, query, tag).map(Outcome::New);
    }
    let search = || current.snapshot.search(query, call.service.today());
    let page = call
        .timed(Asked::Page, query.filter(), search)
        .map_err(|error| Problem::internal(&error))?;
    call.service
        .metrics
        .rows_checked
        .inc_by(page.rows_checked());
    let units = charging::take(call, Counter::Signals, page.len() as u64)?;
    let shown = usize::try_from(units.count())
        .unwrap_or(usize::MAX)
        .min(page.len());
    let body = write_page(call, &current, query, &page, shown)?;
    let tag = if shown == page.len() {
        tag
    } else {
        self::tag(call, &current, query, Some(shown))
    };
    Ok(Outcome::New(Prepared { body, tag, units }))
}

fn count(
    call: &Call<'_>,
    current: &Current,
    query: &Query,
    tag: String,
) -> Result<Prepared, Problem> {
    let count = || current.snapshot.count(query.filter(), call.service.today());
    let count = call
        .timed(Asked::Count, query.filter(), count)
        .map_err(|error| Problem::internal(&error))?;
    let data = SearchData {
        items: &[],
        next_cursor: None,
        count: Some(count),
    };
    let body = serde_json::to_vec(&Data { data }).map_err(|error| Problem::internal(&error))?;
    Ok(Prepared {
        body,
        tag,
        units: Units::none(call, Counter::Signals),
    })
}

/// Writes the first `shown` signals of a page; fewer than all where a quota leaves no more.
fn write_page(
    call: &Call<'_>,
    current: &Current,
    query: &Query,
    page: &Page,
    shown: usize,
) -> Result<Vec<u8>, Problem> {
    let ids = page.ids().get(..shown).unwrap_or_default();
    let items = current.snapshot.shown(page).take(shown);
    let items: Vec<Shown<'_>> = items
        .collect::<crate::Result<_>>()
        .map_err(|error| Problem::internal(&error))?;
    let next_cursor = match ids.last() {
        Some(&last) if shown < page.len() => Some(cursor_behind(call, query, last).to_string()),
        _ => page.next_cursor().map(Cursor::to_string),
    };
    Ok(json::search_answer(&items, next_cursor.as_deref()))
}

fn cursor_behind(call: &Call<'_>, query: &Query, last: SignalId) -> Cursor {
    let day = match query.start() {
        Start::After(cursor) => cursor.day(),
        Start::First | Start::Page(_) => call.service.today(),
    };
    Cursor::new(query.filter_fingerprint(), query.order(), day, last)
}

fn tag(call: &Call<'_>, current: &Current, query: &Query, shown: Option<usize>) -> String {
    let today = call.service.today().to_julian_day().to_le_bytes();
    let shown = shown.map_or(u64::MAX, |shown| shown as u64).to_le_bytes();
    etag::of(&[
        b"search",
        &current.tag_seed,
        query.fingerprint().as_bytes(),
        &today,
        &shown,
    ])
}
