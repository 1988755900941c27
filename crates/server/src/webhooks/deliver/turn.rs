//! The turn of one search: find its next batch, charge it, send it, and record what came of it.

use std::sync::Arc;
use std::time::Duration;

use time::UtcDateTime;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::{Deliverer, shown, unanswered};
use crate::corpus::{FeedPosition, MatchesRequest, RenderedMatches};
use crate::instants;
use crate::keys::{KeyRecord, Scope};
use crate::metering::{Counter, Month};
use crate::state::{
    BatchIds, Charge, ChargeError, DueWork, KeptContent, NewBatch, StateError, StoredBatch, TurnEnd,
};
use crate::webhooks::client::AttemptAnswer;
use crate::webhooks::event::WebhookEvent;
use crate::webhooks::{AfterAttempt, DeliveryAttempt, SearchStatus};
use signaldex::PositionError;
use signaldex::json::Rendering;

/// Matches and removed signals of an event.
const BATCH_MAX: usize = 50;
/// Bytes of an event of more than one match, of which a part is left for what is not a match.
const EVENT_BYTES: usize = 1 << 20;
const REST_BYTES: usize = 8 << 10;
/// Pages of the feed that a turn reads: each of some thousands of changed signals, or of 50 that match.
const PAGES_MAX: usize = 64;
/// How long a charge may wait.
const CHARGE_TIME: Duration = Duration::from_secs(10);
/// When a search goes on that waits for the state or the index.
const SOON: Duration = Duration::from_secs(5);
/// When a search is looked at again whose key has ended or has used its quota: either may be changed.
const LATER: Duration = Duration::from_secs(600);

/// What a step of a turn finds, or how the turn ends.
type TurnStep<T> = Result<T, TurnEnd>;

impl Deliverer {
    /// Gives a search its turn.
    ///
    /// # Errors
    /// The state cannot be read or written. The turn comes again.
    pub(super) async fn turn(self: &Arc<Self>, number: i64) -> Result<(), String> {
        let Some(mut work) = self.work(number).await? else {
            return Ok(());
        };
        let key = match self.key_of(&work).await? {
            Ok(key) => Arc::new(key),
            Err(end) => return self.end(work, None, end).await,
        };
        if work.batch.is_none() {
            if let Err(end) = self.charge_next(&work, &key).await? {
                return self.end(work, None, end).await;
            }
            // It has a batch now, unless it was changed meanwhile.
            match self.work(number).await? {
                Some(charged) => work = charged,
                None => return Ok(()),
            }
        }
        let Some(batch) = work.batch.clone() else {
            return Ok(());
        };
        self.deliver(work, &key, &batch).await
    }

    async fn work(self: &Arc<Self>, number: i64) -> Result<Option<DueWork>, String> {
        self.blocking(move |deliverer| deliverer.service.state.due_work(number))
            .await
    }

    /// The key of a search, while it may read signals.
    async fn key_of(self: &Arc<Self>, work: &DueWork) -> Result<TurnStep<KeyRecord>, String> {
        let number = work.search.key;
        let key = self.blocking(move |deliverer| deliverer.service.state.key_of_number(number));
        let Some(key) = key.await? else {
            return Ok(Err(TurnEnd::Stopped(SearchStatus::KeyEnded)));
        };
        let now = self.service.state.now();
        if key.revoked_at.is_some() {
            return Ok(Err(TurnEnd::Stopped(SearchStatus::KeyEnded)));
        }
        if !key.is_valid_at(now) || !key.settings.scopes.contains(Scope::SignalsRead) {
            return Ok(Err(later(SearchStatus::KeyEnded, now, LATER)));
        }
        Ok(Ok(key))
    }

    /// Finds the next batch of a search, and charges it with its ids.
    async fn charge_next(
        self: &Arc<Self>,
        work: &DueWork,
        key: &Arc<KeyRecord>,
    ) -> Result<TurnStep<()>, String> {
        let mut matches_max = usize::MAX;
        // Ends because each attempt to charge is for fewer units than the one before.
        loop {
            let page = match self.next_page(work, key, matches_max).await? {
                Ok(page) => page,
                Err(end) => return Ok(Err(end)),
            };
            if page.matches.is_empty() && page.removed.is_empty() {
                return Ok(Err(TurnEnd::Empty(page.next)));
            }
            let units = page.matches.len() as u64;
            let now = self.service.state.now();
            let batch = NewBatch {
                search: work.number,
                since: work.position.to_string(),
                ids: BatchIds {
                    matches: page.matches.into_iter().map(|found| found.id).collect(),
                    removed: page.removed.iter().map(ToString::to_string).collect(),
                },
                next: page.next.to_string(),
                at: now,
            };
            let status = work.search.status;
            match self.charge(key, units, batch, now).await? {
                Ok(()) | Err(ChargeError::BatchTaken) => return Ok(Ok(())),
                Err(ChargeError::QuotaExceeded { left: 0 }) => {
                    return Ok(Err(later(SearchStatus::Quota, now, LATER)));
                }
                Err(ChargeError::QuotaExceeded { left }) => {
                    matches_max = usize::try_from(left).unwrap_or(usize::MAX);
                }
                Err(_) => return Ok(Err(later(status, now, SOON))),
            }
        }
    }

    /// The next page with anything in it, or the last one.
    async fn next_page(
        self: &Arc<Self>,
        work: &DueWork,
        key: &Arc<KeyRecord>,
        matches_max: usize,
    ) -> Result<TurnStep<RenderedMatches>, String> {
        let mut since = work.position.clone();
        for page in 1.. {
            let found = match self.find(work, key, since, matches_max).await? {
                Ok(found) => found,
                Err(end) => return Ok(Err(end)),
            };
            let is_empty = found.matches.is_empty() && found.removed.is_empty();
            if !is_empty || !found.more || page == PAGES_MAX {
                return Ok(Ok(found));
            }
            since = found.next;
        }
        Ok(Err(TurnEnd::Empty(since)))
    }

    async fn charge(
        self: &Arc<Self>,
        key: &KeyRecord,
        units: u64,
        batch: NewBatch,
        now: UtcDateTime,
    ) -> Result<Result<(), ChargeError>, String> {
        if units == 0 {
            let store =
                move |deliverer: &Deliverer| deliverer.service.state.store_free_batch(&batch);
            let is_stored = self.blocking(store).await?;
            return Ok(is_stored.then_some(()).ok_or(ChargeError::BatchTaken));
        }
        let charge = Charge {
            key: key.number,
            month: Month::of(now),
            day: now.date(),
            counter: Counter::Signals,
            units,
            quota: key.settings.quotas.signals,
            kept: Some(KeptContent::Batch(batch)),
            guard: None,
            arrival: None,
        };
        let charged = self
            .service
            .writer
            .charge(charge, Instant::now() + CHARGE_TIME);
        Ok(charged.await.map(|_| ()))
    }

    /// Sends what the key still sees of a batch, and records what came of it.
    async fn deliver(
        self: &Arc<Self>,
        work: DueWork,
        key: &Arc<KeyRecord>,
        batch: &StoredBatch,
    ) -> Result<(), String> {
        let matches = match self.remaining(&work, key, batch).await? {
            Ok(matches) => matches,
            Err(end) => return self.end(work, None, end).await,
        };
        if matches.is_empty() && batch.ids.removed.is_empty() {
            return self
                .end(work, None, TurnEnd::Empty(batch.next.clone()))
                .await;
        }
        let Some(webhook) = work.search.webhook.as_ref().filter(|_| self.has_lease()) else {
            return Ok(());
        };
        let now = self.service.state.now();
        let event = WebhookEvent::of_batch(&work.search, &batch.ids, &matches, batch.at);
        let headers = event.headers(&work.secrets, now);
        let answered = self.client.send(&webhook.url, headers, event.body).await;
        let number = work.attempts.saturating_add(1);
        let end = self.after(&work, batch, number, &answered)?;
        let attempt = DeliveryAttempt {
            at: now,
            id: event.id,
            attempt: number,
            status: answered.status,
            reason: answered.reason,
            milliseconds: u64::try_from(answered.time.as_millis()).unwrap_or(u64::MAX),
            matches: matches.len(),
        };
        self.end(work, Some(attempt), end).await
    }

    /// The matches of a batch that the key still sees as they were charged, as JSON, in the order of the feed.
    async fn remaining(
        self: &Arc<Self>,
        work: &DueWork,
        key: &Arc<KeyRecord>,
        batch: &StoredBatch,
    ) -> Result<TurnStep<Vec<Vec<u8>>>, String> {
        let (mut since, mut remaining) = (work.position.clone(), Vec::new());
        // Invariant: `remaining` has the matches of the batch up to `since`.
        for _ in 0..PAGES_MAX {
            let page = match self.find(work, key, since, usize::MAX).await? {
                Ok(page) => page,
                Err(end) => return Ok(Err(end)),
            };
            let charged = page.matches.into_iter();
            let charged = charged.filter(|found| batch.ids.matches.contains(&found.id));
            remaining.extend(charged.map(|found| found.json));
            let is_all = remaining.len() == batch.ids.matches.len();
            if is_all || !page.more || has_passed(&page.next, &batch.next) {
                break;
            }
            since = page.next;
        }
        Ok(Ok(remaining))
    }

    /// A page of the feed as the key of a search sees it now. Its position is of the whole corpus, so that an edit of the key's
    /// filter forgets none.
    async fn find(
        self: &Arc<Self>,
        work: &DueWork,
        key: &Arc<KeyRecord>,
        since: FeedPosition,
        matches_max: usize,
    ) -> Result<TurnStep<RenderedMatches>, String> {
        let (settings, search) = (work.search.settings.clone(), work.search.id.clone());
        let (deliverer, key) = (Arc::clone(self), Arc::clone(key));
        let found = spawn_blocking(move || {
            let today = deliverer.service.today();
            let filter = key.settings.filter.as_ref();
            let corpus = deliverer.service.corpus.for_key(filter, today);
            let view = corpus.trusted_view()?;
            let request = MatchesRequest {
                search,
                filter: settings.filter,
                since: corpus.position_at(&view, &since),
                limit: BATCH_MAX,
                matches_max,
                bytes_max: EVENT_BYTES - REST_BYTES,
                only_new: settings.only_new,
                removals: settings.removals,
                rendering: Rendering::Whole,
            };
            deliverer.block_on(corpus.matches(view, request, today))
        });
        let (status, now) = (work.search.status, self.service.state.now());
        let found = found.await.map_err(|_| "a search has failed".to_owned())?;
        Ok(match found {
            Ok(Ok(page)) => Ok(RenderedMatches {
                next: self.service.corpus.for_operator().whole_position(page.next),
                ..page
            }),
            Ok(Err(PositionError::Ahead)) => Err(later(status, now, SOON)),
            Ok(Err(_)) => Err(TurnEnd::Stopped(SearchStatus::Expired)),
            Err(error) => {
                self.error.note(Some(&unanswered(error)));
                Err(later(status, now, SOON))
            }
        })
    }

    /// What follows an attempt.
    fn after(
        &self,
        work: &DueWork,
        batch: &StoredBatch,
        number: u32,
        answered: &AttemptAnswer,
    ) -> Result<TurnEnd, String> {
        let metrics = &self.service.metrics.webhooks;
        let random = getrandom::u64().map_err(shown)?;
        let after = self
            .pauses
            .after(number, answered.status, answered.retry_after, random);
        let now = self.service.state.now();
        metrics.attempted(after == AfterAttempt::Accepted, answered.time);
        Ok(match after {
            AfterAttempt::Accepted => TurnEnd::Delivered(batch.next.clone()),
            AfterAttempt::Retry(pause) => TurnEnd::Later {
                status: SearchStatus::Failing,
                at: instants::after(now, pause),
                failed: true,
            },
            AfterAttempt::Disable => {
                metrics.disabled.inc();
                tracing::warn!(
                    search = work.search.id,
                    attempts = number,
                    status = answered.status,
                    "a webhook is disabled; `signaldex searches resume` goes on where it was"
                );
                TurnEnd::Stopped(SearchStatus::Disabled)
            }
        })
    }

    async fn end(
        self: &Arc<Self>,
        work: DueWork,
        attempt: Option<DeliveryAttempt>,
        end: TurnEnd,
    ) -> Result<(), String> {
        let write = move |deliverer: &Deliverer| {
            let state = &deliverer.service.state;
            state.end_turn(&work, attempt.as_ref(), &end)
        };
        self.blocking(write).await
    }

    /// Reads or writes the state.
    async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Deliverer) -> Result<T, StateError> + Send + 'static,
    ) -> Result<T, String> {
        let deliverer = Arc::clone(self);
        let done = spawn_blocking(move || work(&deliverer)).await;
        done.map_err(|_| "a thread has failed".to_owned())?
            .map_err(shown)
    }
}

fn later(status: SearchStatus, now: UtcDateTime, pause: Duration) -> TurnEnd {
    TurnEnd::Later {
        status,
        at: instants::after(now, pause),
        failed: false,
    }
}

/// Whether a page that ends at a position has everything of a batch that ends at another.
fn has_passed(page: &FeedPosition, batch: &FeedPosition) -> bool {
    match (page, batch) {
        (FeedPosition::Index(page), FeedPosition::Index(batch)) => page.step() >= batch.step(),
        (FeedPosition::Cluster(page), FeedPosition::Cluster(batch)) => {
            page.progress() >= batch.progress()
        }
        // The position of the search is of another corpus by now.
        _ => true,
    }
}
