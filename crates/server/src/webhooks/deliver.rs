//! The deliverer: it follows the corpus, gives each search with matches its turn, and sends what is charged.
//!
//! Invariants:
//! - Only the holder of the lease begins turns. An attempt that outlives the lease may meet another of the same event.
//! - Everything that has to survive a crash is in the state before it has an effect (`state::webhook_queue`): matches are
//!   charged before the first attempt, and an event is sent again until its end is recorded.
//! - What a key sees is judged at each attempt.

mod turn;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::{JoinSet, spawn_blocking};

use super::client::WebhookClient;
use super::logged_error::LoggedError;
use super::slots::AttemptSlots;
use super::watch::WatchedSearches;
use super::{RetryPauses, WebhookRules};
use crate::corpus::{CorpusView, FeedPosition, Unanswered};
use crate::instants::milliseconds;
use crate::keys::random_text;
use crate::service::{Service, ServiceCore};
use crate::state::{DueSearch, FeedMove, StateError};
use signaldex::{Index, PositionError};

/// How long a lease lasts, in milliseconds.
const LEASE_TIME: i64 = 15_000;
/// How much of it is left when it is renewed.
const LEASE_RENEWED_AT: i64 = 10_000;
/// Attempts under way by default.
const CONCURRENCY: usize = 64;
/// The pause after a turn that could not be recorded.
const FAILURE_PAUSE: Duration = Duration::from_secs(1);

/// How webhooks are delivered.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WebhookOptions {
    /// Which URLs and addresses are asked.
    pub rules: WebhookRules,
    /// The pauses between the attempts of an event.
    pub pauses: RetryPauses,
    /// Attempts under way: in all, at most 4 for each host, and at most half for endpoints whose last attempt was not accepted.
    pub concurrency: usize,
}

impl Default for WebhookOptions {
    fn default() -> WebhookOptions {
        WebhookOptions {
            rules: WebhookRules::default(),
            pauses: RetryPauses::default(),
            concurrency: CONCURRENCY,
        }
    }
}

/// What delivers for one process.
pub(super) struct Deliverer {
    service: Arc<ServiceCore>,
    /// Runs what the corpus is asked, which may reach other machines: that of the service, if it has one.
    runtime: Option<Handle>,
    client: WebhookClient,
    pauses: RetryPauses,
    /// The name of this process in the lease.
    holder: String,
    /// Until when the lease is held, in milliseconds since 1970.
    held_until: Mutex<i64>,
    slots: Mutex<AttemptSlots>,
    watched: Mutex<WatchedSearches>,
    error: LoggedError,
    /// Told when a turn has ended.
    pub(super) freed: Notify,
}

impl Deliverer {
    /// A deliverer of a service; `None` if its corpus has no saved searches.
    ///
    /// # Errors
    /// There is no TLS, or there are no random bytes.
    pub(super) fn new(
        service: &Service,
        options: WebhookOptions,
    ) -> Result<Option<Arc<Deliverer>>, StateError> {
        let client = WebhookClient::new(options.rules)?;
        let service = Arc::clone(&service.0);
        if !service.corpus.for_operator().has_saved_searches() {
            return Ok(None);
        }
        Ok(Some(Arc::new(Deliverer {
            service,
            runtime: Handle::try_current().ok(),
            client,
            pauses: options.pauses,
            holder: random_text::<12>()?,
            held_until: Mutex::new(0),
            slots: Mutex::new(AttemptSlots::new(options.concurrency)),
            watched: Mutex::new(WatchedSearches::default()),
            error: LoggedError::of("webhooks are not delivered"),
            freed: Notify::new(),
        })))
    }

    /// Follows the corpus, and begins the turns of the searches that are due and have a slot.
    pub(super) async fn step(self: &Arc<Self>, turns: &mut JoinSet<()>) {
        // Those that have ended need nothing more.
        while turns.try_join_next().is_some() {}
        let deliverer = Arc::clone(self);
        let due = spawn_blocking(move || deliverer.due()).await;
        let due = due.unwrap_or_else(|_| Err("looking for due searches has failed".to_owned()));
        self.error.note(due.as_ref().err());
        for due in due.unwrap_or_default() {
            let deliverer = Arc::clone(self);
            turns.spawn(async move {
                if let Err(error) = deliverer.turn(due.search).await {
                    deliverer.error.note(Some(&error));
                    tokio::time::sleep(FAILURE_PAUSE).await;
                }
                lock(&deliverer.slots).release(due.search);
                deliverer.freed.notify_one();
            });
        }
    }

    /// The searches whose turns begin now; none without the lease. Blocks.
    fn due(&self) -> Result<Vec<DueSearch>, String> {
        let metrics = &self.service.metrics.webhooks;
        let has_lease = self.watch()? && self.hold_lease().map_err(shown)?;
        metrics.is_sending.set(has_lease.into());
        let mut found = Vec::new();
        if has_lease {
            self.service.begin_searches().map_err(shown)?;
            self.follow_feed()?;
            let mut slots = lock(&self.slots);
            let take = |due: DueSearch| {
                if slots.take(&due) {
                    found.push(due);
                }
                !slots.is_full()
            };
            self.service.state.due_webhooks(take).map_err(shown)?;
        }
        let under_way = lock(&self.slots).count();
        metrics
            .under_way
            .set(i64::try_from(under_way).unwrap_or(i64::MAX));
        Ok(found)
    }

    /// Follows the changes of the searches. Returns whether there are any: without one, nothing is written.
    fn watch(&self) -> Result<bool, String> {
        let changes = self.service.state.webhook_changes().map_err(shown)?;
        let mut watched = lock(&self.watched);
        if watched.changes != changes {
            let snapshot = self.index().map(Index::snapshot);
            let followed = watched.follow(
                &self.service.state,
                snapshot.as_deref(),
                self.service.today(),
            );
            followed.map_err(shown)?.map_err(shown)?;
        }
        Ok(!watched.is_empty())
    }

    /// Takes or renews the lease. Returns whether it is held.
    fn hold_lease(&self) -> Result<bool, StateError> {
        let now = self.now();
        let mut until = lock(&self.held_until);
        if *until - now > LEASE_RENEWED_AT && *until - now <= LEASE_TIME {
            return Ok(true);
        }
        let is_held = self
            .service
            .state
            .take_webhook_lease(&self.holder, LEASE_TIME)?;
        *until = if is_held { now + LEASE_TIME } else { 0 };
        Ok(is_held)
    }

    /// Whether the lease is still held.
    fn has_lease(&self) -> bool {
        *lock(&self.held_until) > self.now()
    }

    /// The index, if it is in this process.
    fn index(&self) -> Option<&Index> {
        self.service.corpus.for_operator().index()
    }

    /// Asks the corpus. Blocks.
    fn block_on<T>(&self, answer: impl Future<Output = T>) -> T {
        let runtime = self.runtime.clone().unwrap_or_else(Handle::current);
        runtime.block_on(answer)
    }

    /// Moves the position of the feed to the present view, once the searches that its changes may match have their turn.
    fn follow_feed(&self) -> Result<(), String> {
        let view = self.service.corpus.for_operator().view();
        let Some(to) = self.service.corpus.for_operator().position(&view) else {
            return Ok(());
        };
        let (from, has_current) = self.service.state.webhook_feed().map_err(shown)?;
        let to = to.to_string();
        if from.as_deref() == Some(to.as_str()) {
            return Ok(());
        }
        let watched = lock(&self.watched);
        let since = from.as_deref().filter(|_| has_current).map(str::parse);
        let concerned = match since.transpose().map_err(shown)? {
            None => None,
            Some(since) => match self.concerned(&watched, &view, &since)? {
                Ok(concerned) => Some(concerned),
                // This process follows another that is ahead of it.
                Err(PositionError::Ahead) => return Ok(()),
                Err(error) => {
                    let from = from.unwrap_or_default();
                    tracing::warn!(%error, "the position of webhooks is forgotten; their searches are expired");
                    let restarted = self.service.state.restart_webhook_feed(&from, &to);
                    return restarted.map_err(shown);
                }
            },
        };
        let by = FeedMove {
            changes: watched.changes,
            from: from.as_deref(),
            to: &to,
            matched: concerned.as_deref(),
            at: self.service.state.now(),
        };
        // If searches have changed meanwhile, the next step does it.
        self.service.state.move_webhook_feed(&by).map_err(shown)?;
        Ok(())
    }

    /// The numbers of the searches that something between a position and a view concerns, maybe with others.
    fn concerned(
        &self,
        watched: &WatchedSearches,
        view: &Arc<CorpusView>,
        since: &FeedPosition,
    ) -> Result<Result<Vec<i64>, PositionError>, String> {
        let today = self.service.today();
        if let (Some(snapshot), FeedPosition::Index(since)) = (view.whole_snapshot(), since) {
            return watched.concerned(snapshot, since, today).map_err(shown);
        }
        let mut numbers = BTreeSet::new();
        for (part, filters) in watched.parts() {
            let corpus = Arc::clone(self.service.corpus.for_operator());
            let found = corpus.concerned(Arc::clone(view), since.clone(), filters, today);
            let found = match self.block_on(found).map_err(unanswered)? {
                Ok(found) => found,
                Err(error) => return Ok(Err(error)),
            };
            numbers.extend(found.matched.iter().filter_map(|index| part.get(*index)));
            if found.removals {
                numbers.extend(watched.with_removals());
            }
        }
        Ok(Ok(numbers.into_iter().collect()))
    }

    /// Gives the lease back. Blocks.
    pub(super) fn leave(&self) {
        if self.has_lease()
            && let Err(error) = self.service.state.drop_webhook_lease(&self.holder)
        {
            tracing::warn!(
                error = format_args!("{error:#}"),
                "the lease of webhooks ends by itself"
            );
        }
    }

    /// Milliseconds since 1970.
    fn now(&self) -> i64 {
        milliseconds(self.service.state.now())
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why the corpus has not answered.
fn unanswered(reason: Unanswered) -> String {
    match reason {
        Unanswered::Failed(error) => shown(error),
        Unanswered::Unavailable(reason) => reason,
    }
}

pub(super) fn shown(error: impl std::fmt::Display) -> String {
    format!("{error:#}")
}

#[cfg(test)]
mod tests;
