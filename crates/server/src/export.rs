//! `GET /api/v1/export`: every match, streamed, each slice charged before it is sent.
//!
//! The first slice is found and charged before the answer begins, so errors up to then have a normal
//! problem body. After that, a task finds, charges and sends one slice after another, and finds the
//! next slice while a charge is being written. A later error aborts the response.

mod body;
mod format;
mod price;
mod query;
mod slots;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, VARY};
use axum::http::{HeaderValue, Version};
use time::Date;
use tokio::sync::mpsc;
use tokio::time::Instant;

pub(super) use self::body::{ExportBody, ExportPart};
pub(super) use self::format::content_type;
use self::price::{Named, check_quota, check_room, keys_of};
use self::query::ExportQuery;
use self::slots::ExportSlot;
pub(super) use self::slots::ExportSlots;
use super::answer::Answer;
use super::asking;
use super::call::Call;
use super::charging::{self, ChargeRefusal, NewCharge};
use super::endpoint::Endpoint;
use super::hints;
use super::keyring::KnownKey;
use super::keys::KeyHash;
use super::metering::Counter;
use super::problem::{Problem, ProblemCode};
use super::query_pool::NotRun;
use super::replay::{self, Replay};
use super::service::ServiceCore;
use super::state::{Charged, ExportCharge, KeptContent};
use super::unsent::Room;
use crate::corpus::{
    Corpus, CorpusView, ExportFormat, ExportRequest, ExportSlice, Unanswered, export_header,
};
use signaldex::Query;

/// How long an export pauses before it retries when too many expensive queries, or bytes of answers, are waiting.
const BUSY_PAUSE: Duration = Duration::from_millis(100);

/// How long an export waits for nodes that do not answer before it is broken off.
const UNAVAILABLE_TIME: Duration = Duration::from_secs(10);

const NEEDS_HTTP_1_1: &str = "Exports need HTTP/1.1, which lets clients tell an interrupted download from a complete \
     one. A proxy in front of this service may need a setting for it (nginx: proxy_http_version 1.1).";

/// A running export.
struct ExportRun {
    service: Arc<ServiceCore>,
    corpus: Arc<dyn Corpus>,
    view: Arc<CorpusView>,
    key: Arc<KnownKey>,
    /// The hash of the key that was sent; `None` if the host has authenticated the request.
    key_hash: Option<KeyHash>,
    today: Date,
    name: Option<Named>,
    request_id: String,
    /// Held until the export ends.
    _kept_view: Box<dyn Send + Sync>,
    _slot: ExportSlot,
}

/// Why an export was aborted.
enum BrokenOff {
    ClientGone,
    KeyEnded,
    FilterChanged,
    NotCharged(Problem),
    NotFound(String),
}

impl BrokenOff {
    /// The reason, for the log.
    fn reason(&self) -> &str {
        match self {
            BrokenOff::ClientGone => "the client has gone",
            BrokenOff::KeyEnded => "the key was revoked or has expired",
            BrokenOff::FilterChanged => "the key's filter was changed",
            BrokenOff::NotCharged(problem) => &problem.detail,
            BrokenOff::NotFound(reason) => reason,
        }
    }
}

pub(super) async fn export(call: &Call<'_>) -> Result<Answer, Problem> {
    let query = ExportQuery::parse(call.query())?;
    if call.parts.version < Version::HTTP_11 {
        return Err(Problem::new(ProblemCode::InvalidRequest, NEEDS_HTTP_1_1));
    }
    let format = query
        .format
        .unwrap_or_else(|| format::accepted(&call.parts.headers));
    let replay = Replay::of(call, || parameters_of(&query.query))?;
    let name = match &replay {
        None => None,
        Some(replay) => Some(Named::resume(call, replay).await?),
    };
    let view = asking::trusted_view(call).await?;
    let kept_view = call.corpus().keep(&view)?;
    let is_whole_file = query.after.is_none();
    let searched = Arc::new(query.query);
    let request = ExportRequest {
        filter: searched.filter().clone(),
        order: searched.order(),
        format,
        after: query.after,
        items_max: query.max_items.unwrap_or(u64::MAX),
    };
    check_quota(call, &view, &request, name.as_ref()).await?;
    check_room(call, &view, &request, name.as_ref()).await?;
    if call.is_head() {
        let first = keys_of(call, &view, &request, 1).await?;
        let hints = hints_of(call, &view, &searched, &request, first.is_empty()).await;
        return Ok(answer_of(format, ExportBody::unknown()).hinted(hints));
    }
    let export = ExportRun {
        service: Arc::clone(call.service),
        corpus: call.corpus(),
        view,
        key: Arc::clone(&call.key),
        key_hash: call.key_hash,
        today: call.today,
        name,
        request_id: call.request_id.clone(),
        _kept_view: kept_view,
        _slot: call.service.exports.begin(call.key.record.number)?,
    };
    let found = export.find(&request).await;
    let mut first = found.map_err(|reason| asking::not_run(call, &reason))??;
    let room = call.service.room_for(first.body.len())?;
    let deadline = call.deadline.of_charge();
    let charged = export.charge(&first, &call.key, deadline).await?;
    let is_empty = first.keys.is_empty();
    let hints = hints_of(call, &export.view, &searched, &request, is_empty).await;
    if is_whole_file {
        first.body.splice(..0, export_header(format));
    }
    let (parts, body) = ExportBody::new();
    tokio::spawn(async move {
        if parts.begun.await.is_ok() {
            export.note_charged(charged);
            export.run(request, (first, room), parts.sender).await;
        }
    });
    Ok(answer_of(format, body).hinted(hints))
}

/// The hints for an export from its beginning.
async fn hints_of(
    call: &Call<'_>,
    view: &Arc<CorpusView>,
    query: &Arc<Query>,
    request: &ExportRequest,
    is_empty: bool,
) -> Vec<String> {
    match request.after {
        None => hints::find(call, view, query, is_empty).await,
        Some(_) => Vec::new(),
    }
}

fn answer_of(format: ExportFormat, body: ExportBody) -> Answer {
    let answer = Answer::new(content_type(format), Body::new(body));
    answer
        .with(CACHE_CONTROL, "private, no-store")
        .with(VARY, HeaderValue::from_static("Authorization, Accept"))
}

/// Identifies requests for the same export.
fn parameters_of(query: &Query) -> [u8; 32] {
    let (filter, order) = (query.filter_fingerprint(), query.order().as_str());
    replay::parameters_of(&[b"export", filter.as_bytes(), order.as_bytes()])
}

impl ExportRun {
    async fn find(
        &self,
        request: &ExportRequest,
    ) -> Result<Result<ExportSlice, Unanswered>, NotRun> {
        let (corpus, view) = (Arc::clone(&self.corpus), Arc::clone(&self.view));
        let (request, today) = (request.clone(), self.today);
        let key = self.key.record.number;
        let slice = corpus.export(view, request, today);
        self.service.query_pool.run(key, slice).await
    }

    /// Charges the signals of a slice that are not paid yet. Returns their number.
    async fn charge(
        &self,
        slice: &ExportSlice,
        key: &KnownKey,
        deadline: Instant,
    ) -> Result<u64, ChargeRefusal> {
        if slice.keys.is_empty() {
            return Ok(0);
        }
        let kept = self.name.as_ref().map(|named| {
            KeptContent::Export(ExportCharge {
                name: named.name.clone(),
                ids: slice.ids(),
            })
        });
        let charge = NewCharge {
            key,
            now: self.service.state.now(),
            counter: Counter::Signals,
            units: slice.keys.len() as u64,
            kept,
            // Finding the next slice takes longer than a commit should wait.
            arrival: None,
        };
        let guard = self.name.as_ref().map(|named| &named.guard);
        let charging = charging::record(&self.service, charge, guard, deadline);
        let Charged { units, .. } = charging.await?;
        Ok(units)
    }

    /// Adds a charge to the dashboard's list of requests and to the series.
    fn note_charged(&self, units: u64) {
        let (service, key) = (&self.service, self.key.record.number);
        let endpoint = Endpoint::Export.description().name;
        let charged = (units, service.state.now());
        service.activity.add_charged(key, endpoint, charged);
        if let Some(log) = &service.request_log {
            log.add_charged(&self.request_id, units);
        }
    }

    /// Sends a charged slice and all slices after it.
    async fn run(
        self,
        request: ExportRequest,
        first: (ExportSlice, Room),
        parts: mpsc::Sender<ExportPart>,
    ) {
        let mut sent = 0;
        let outcome = self.send_all(request, first, &parts, &mut sent).await;
        let (request_id, signals) = (&self.request_id, sent);
        if let Err(broken_off) = outcome {
            let reason = broken_off.reason();
            self.service.metrics.exports_broken_off.inc();
            tracing::warn!(request_id, signals, reason, "an export was broken off");
            return;
        }
        tracing::info!(request_id, signals, "exported");
        // Release the slot first: a client that has read the end may start another export.
        drop(self);
        // If the client has gone, it has everything but the end.
        let _ = parts.send(ExportPart::End).await;
    }

    async fn send_all(
        &self,
        request: ExportRequest,
        (first, room): (ExportSlice, Room),
        parts: &mpsc::Sender<ExportPart>,
        sent: &mut u64,
    ) -> Result<(), BrokenOff> {
        let mut following = request.after_slice(&first);
        send(parts, first, room, sent).await?;
        let mut found = match &following {
            None => return Ok(()),
            Some(request) => self.find_patiently(request, parts).await?,
        };
        while let Some(request) = &following {
            let next = request.after_slice(&found);
            let room = self.room_patiently(&found, parts).await?;
            let finding = async {
                match &next {
                    None => Ok(None),
                    Some(next) => self.find_patiently(next, parts).await.map(Some),
                }
            };
            let (charged, next_found) = tokio::join!(self.charge_now(&found), finding);
            charged?;
            send(parts, found, room, sent).await?;
            let Some(next_found) = next_found? else {
                return Ok(());
            };
            (found, following) = (next_found, next);
        }
        Ok(())
    }

    /// Charges the key in its current state: it may have expired since the export began.
    async fn charge_now(&self, slice: &ExportSlice) -> Result<(), BrokenOff> {
        let deadline = Instant::now() + self.service.limits.request_time;
        let key = self.present_key(deadline).await?;
        let charging = self.charge(slice, &key, deadline);
        let charged = charging.await;
        let units = charged.map_err(|refusal| BrokenOff::NotCharged(refusal.into()))?;
        self.note_charged(units);
        Ok(())
    }

    async fn present_key(&self, until: Instant) -> Result<Arc<KnownKey>, BrokenOff> {
        let Some(hash) = self.key_hash else {
            return Ok(Arc::clone(&self.key));
        };
        let key = self.service.find_key(hash, until).await;
        let key = key.map_err(BrokenOff::NotCharged)?;
        let now = self.service.state.now();
        let valid = key.filter(|key| key.refusal(now).is_none());
        let valid = valid.ok_or(BrokenOff::KeyEnded)?;
        // What is left was found under the former filter.
        if valid.record.settings.filter == self.key.record.settings.filter {
            Ok(valid)
        } else {
            Err(BrokenOff::FilterChanged)
        }
    }

    /// Takes room for a slice, retrying while other answers take it all.
    async fn room_patiently(
        &self,
        slice: &ExportSlice,
        parts: &mpsc::Sender<ExportPart>,
    ) -> Result<Room, BrokenOff> {
        loop {
            if let Some(room) = self.service.unsent.room_for(slice.body.len()) {
                return Ok(room);
            }
            if parts.is_closed() {
                return Err(BrokenOff::ClientGone);
            }
            tokio::time::sleep(BUSY_PAUSE).await;
        }
    }

    /// Finds a slice, retrying while the pool is busy, and for a while where nodes of a cluster do not answer.
    async fn find_patiently(
        &self,
        request: &ExportRequest,
        parts: &mpsc::Sender<ExportPart>,
    ) -> Result<ExportSlice, BrokenOff> {
        let begun = Instant::now();
        loop {
            match self.find(request).await {
                Ok(Ok(slice)) => return Ok(slice),
                Ok(Err(Unanswered::Unavailable(_)))
                    if begun.elapsed() < UNAVAILABLE_TIME && !parts.is_closed() =>
                {
                    tokio::time::sleep(BUSY_PAUSE).await;
                }
                Ok(Err(unanswered)) => {
                    let problem = Problem::from(unanswered);
                    return Err(BrokenOff::NotFound(problem.detail));
                }
                Err(NotRun::Failed) => {
                    let reason = "finding the next signals has failed";
                    return Err(BrokenOff::NotFound(reason.to_owned()));
                }
                Err(NotRun::Busy) if parts.is_closed() => return Err(BrokenOff::ClientGone),
                Err(NotRun::Busy) => tokio::time::sleep(BUSY_PAUSE).await,
            }
        }
    }
}

async fn send(
    parts: &mpsc::Sender<ExportPart>,
    slice: ExportSlice,
    room: Room,
    sent: &mut u64,
) -> Result<(), BrokenOff> {
    let data = ExportPart::Data(room.hold(slice.body));
    parts.send(data).await.map_err(|_| BrokenOff::ClientGone)?;
    *sent += slice.keys.len() as u64;
    Ok(())
}
