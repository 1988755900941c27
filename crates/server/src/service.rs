//! The service: an index, its state, and everything that requests share.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use time::{Date, UtcDateTime};
use tokio::sync::Semaphore;

use super::activity::Activity;
use super::admin::TokenHash;
use super::cors::{AllowedOrigin, AllowedOrigins};
use super::deprecation::Deprecation;
use super::export::ExportSlots;
use super::follow_report::Reported;
use super::free_answers::FreeAnswers;
use super::idempotency_keys::KeysInUse;
use super::keyring::Keyring;
use super::limits::Limits;
use super::log_writer::LogWriter;
use super::metering::Counter;
use super::metrics::Metrics;
use super::people::Role;
use super::problem::Problem;
use super::query_pool::QueryPool;
use super::request_log::{RequestLog, RequestLogLimits};
use super::slow::SlowQueries;
use super::state::{ChargeWriter, Readers, State, StateError};
use super::unsent::{Room, Unsent};
use super::webhooks::WebhookRules;
use crate::corpus::{Corpus, LocalCorpus, WholeCorpus};
use signaldex::Index;

/// How long closing waits for the log of requests.
const LOG_CLOSE_TIME: Duration = Duration::from_secs(2);

/// The source of today's date. Each request reads it once.
#[derive(Clone)]
pub enum Today {
    /// The UTC date of the state's [clock](State::with_clock).
    Clock,
    /// A fixed date, for tests and demonstrations.
    Fixed(Date),
    /// A function of the host, such as another clock. It must not block.
    Source(Arc<dyn Fn() -> Date + Send + Sync>),
}

/// The API over an index. Clones share everything.
///
/// ```no_run
/// use signaldex::Index;
/// use signaldex_server::{Limits, Service, State, Today};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let index = Index::open("/var/lib/signals")?;
/// let service = Service::new(index, State::open("signaldex.db")?, Today::Clock, Limits::default())?;
/// let router = axum::Router::new().merge(service.router());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Service(pub(super) Arc<ServiceCore>);

pub(super) struct ServiceCore {
    pub(super) corpus: WholeCorpus,
    pub(super) state: State,
    pub(super) writer: ChargeWriter,
    pub(super) readers: Readers,
    pub(super) keyring: Keyring,
    pub(super) today: Today,
    pub(super) limits: Limits,
    pub(super) metrics: Metrics,
    pub(super) in_flight: Semaphore,
    pub(super) idempotency_keys: KeysInUse,
    pub(super) slow_queries: SlowQueries,
    pub(super) activity: Activity,
    /// None if no request is to be kept.
    pub(super) request_log: Option<RequestLog>,
    pub(super) free_answers: FreeAnswers,
    pub(super) exports: ExportSlots,
    pub(super) unsent: Unsent,
    pub(super) query_pool: QueryPool,
    pub(super) following: ArcSwapOption<Reported>,
    /// The last error of following the index.
    pub(super) index_error: Mutex<Option<String>>,
    pub(super) log: OnceLock<LogWriter>,
    pub(super) origins: OnceLock<AllowedOrigins>,
    pub(super) admin_hosts: OnceLock<Vec<String>>,
    pub(super) public_url: OnceLock<String>,
    pub(super) sign_in: OnceLock<String>,
    pub(super) webhook_rules: OnceLock<WebhookRules>,
    /// Set once the version of the API has an end.
    pub(super) deprecation: OnceLock<Deprecation>,
    /// Whether the server has been told to stop and waits for the load balancer to notice.
    pub(super) is_draining: AtomicBool,
}

impl Service {
    /// Creates a service from an index and a state.
    ///
    /// # Errors
    /// The state cannot be read, or the threads that read and write it cannot be started.
    pub fn new(
        index: Index,
        state: State,
        today: Today,
        limits: Limits,
    ) -> Result<Service, StateError> {
        Service::over(Arc::new(LocalCorpus::new(index)), state, today, limits)
    }

    /// Creates a service from any corpus, such as a cluster of machines.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn over(
        corpus: Arc<dyn Corpus>,
        state: State,
        today: Today,
        limits: Limits,
    ) -> Result<Service, StateError> {
        let limits = limits.bounded();
        let writer = ChargeWriter::start(&state, limits.charge_queue, limits.kept())?;
        let readers = Readers::start()?;
        let keyring = Keyring::read(&state)?;
        let request_log = request_log(&state, limits)?;
        Ok(Service(Arc::new(ServiceCore {
            corpus: WholeCorpus::new(corpus),
            state,
            writer,
            readers,
            keyring,
            today,
            limits,
            metrics: Metrics::new(),
            in_flight: Semaphore::new(limits.in_flight),
            idempotency_keys: KeysInUse::default(),
            free_answers: FreeAnswers::default(),
            exports: ExportSlots::new(limits.exports),
            unsent: Unsent::new(limits.unsent_bytes),
            slow_queries: SlowQueries::over(limits.slow_query_time),
            activity: Activity::new(),
            request_log,
            query_pool: QueryPool::new(
                limits.query_threads,
                limits.query_wait,
                // Half of the concurrent requests are reserved for cheap queries and /healthz.
                (limits.in_flight / 2).max(1),
            ),
            following: ArcSwapOption::empty(),
            index_error: Mutex::default(),
            log: OnceLock::new(),
            origins: OnceLock::new(),
            admin_hosts: OnceLock::new(),
            public_url: OnceLock::new(),
            sign_in: OnceLock::new(),
            webhook_rules: OnceLock::new(),
            deprecation: OnceLock::new(),
            is_draining: AtomicBool::new(false),
        })))
    }

    /// Adds the dropped lines of a log writer to the metrics. Only the first call has an effect.
    pub fn report_log(&self, log: LogWriter) {
        // A second writer is ignored, so that the metric never decreases.
        let _ = self.0.log.set(log);
    }

    /// Lets web pages of these origins send requests and read the answers. By default, no page of another
    /// origin can. Only the first call has an effect.
    pub fn allow_origins(&self, origins: Vec<AllowedOrigin>) {
        let _ = self.0.origins.set(AllowedOrigins::new(origins));
    }

    /// Lets [`serve_admin`](super::serve_admin) and [`serve_metrics`](super::serve_metrics) answer requests to
    /// these host names, without ports. By default, they answer only to IP addresses and `localhost`, so that
    /// no web page reads them under a name of its own. Only the first call has an effect.
    pub fn allow_admin_hosts(&self, names: Vec<String>) {
        let _ = self.0.admin_hosts.set(names);
    }

    /// Sets the URL under which clients find the service, without a final `/`, which the API reference then
    /// names. By default, it names the address that was asked. Only the first call has an effect.
    pub fn set_public_url(&self, url: impl Into<String>) {
        let _ = self.0.public_url.set(url.into());
    }

    /// Sets the header with which clients of the host sign in, up to its secret, such as `Cookie: session=`. The
    /// API reference then shows it in place of an API key. Only the first call has an effect.
    pub fn set_sign_in(&self, header: impl Into<String>) {
        let _ = self.0.sign_in.set(header.into());
    }

    /// Sets which webhooks the dashboard saves and tries, as [`deliver_webhooks`](Self::deliver_webhooks) does by its options.
    /// By default, they are at public addresses over `https:`. Only the first call has an effect.
    ///
    /// ```
    /// use signaldex::sample;
    /// use signaldex_server::webhooks::WebhookRules;
    /// use signaldex_server::{Limits, Service, State, Today};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("signaldex.db");
    /// let service = Service::new(sample::index()?, State::open(path)?, Today::Clock, Limits::default())?;
    /// let mut rules = WebhookRules::default();
    /// rules.allowed.push("10.1.0.0/16".parse()?);
    /// service.set_webhook_rules(rules);
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_webhook_rules(&self, rules: WebhookRules) {
        let _ = self.0.webhook_rules.set(rules);
    }

    /// The day that counts as today for a request now.
    ///
    /// ```no_run
    /// use signaldex::sample;
    /// use signaldex_server::{Limits, Service, State, Today};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let today = Today::Fixed(sample::AS_OF);
    /// let service = Service::new(sample::index()?, State::open("signaldex.db")?, today, Limits::default())?;
    /// assert_eq!(service.today(), sample::AS_OF);
    /// # Ok(())
    /// # }
    /// ```
    pub fn today(&self) -> Date {
        self.0.today()
    }

    /// Whether a text is the token of a person whose [`Role`](super::Role) is that of an admin: for listeners of the host
    /// that operators alone may use. Reads the state, so it blocks for some microseconds, or for as long as the state is
    /// written.
    ///
    /// ```no_run
    /// use signaldex::sample;
    /// use signaldex_server::{Limits, Service, State, Today};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let state = State::open("signaldex.db")?;
    /// let token = state.new_admin_token()?;
    /// let today = Today::Fixed(sample::AS_OF);
    /// let service = Service::new(sample::index()?, state, today, Limits::default())?;
    /// assert!(service.is_admin_token(token.as_str())?);
    /// assert!(!service.is_admin_token("another")?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The state cannot be read.
    pub fn is_admin_token(&self, text: &str) -> Result<bool, StateError> {
        let person = self.0.state.person_of(TokenHash::of(text))?;
        Ok(person.is_some_and(|person| person.role == Role::Admin))
    }

    /// The metrics in the text format of Prometheus.
    pub fn metrics(&self) -> String {
        let shared = &self.0;
        shared
            .metrics
            .generation
            .set(shared.corpus.for_operator().view().generation);
        shared
            .metrics
            .charge_queue
            .set(i64::try_from(shared.writer.depth()).unwrap_or(i64::MAX));
        shared
            .metrics
            .state_reads_waiting
            .set(i64::try_from(shared.readers.waiting()).unwrap_or(i64::MAX));
        shared
            .metrics
            .exports_under_way
            .set(i64::try_from(shared.exports.count()).unwrap_or(i64::MAX));
        let is_damaged = shared.corpus.for_operator().is_damaged();
        shared.metrics.index_damaged.set(is_damaged.into());
        shared.metrics.unsent_bytes.set(shared.unsent.bytes());
        if let Some(cluster) = shared.corpus.for_operator().cluster() {
            shared.metrics.cluster.set(&cluster);
        }
        for counter in Counter::ALL
            .into_iter()
            .filter(|counter| counter.is_billed())
        {
            let units = shared.writer.recorded(counter);
            shared.metrics.charged(counter, units);
        }
        shared
            .metrics
            .charge_thread_failures
            .inner()
            .store(shared.writer.failures(), Ordering::Relaxed);
        if let Some(log) = shared.log.get() {
            let dropped = shared.metrics.log_lines_dropped.inner();
            dropped.store(log.dropped_lines(), Ordering::Relaxed);
        }
        if let Some(log) = &shared.request_log {
            let dropped = shared.metrics.request_log_dropped.inner();
            dropped.store(log.dropped(), Ordering::Relaxed);
        }
        shared.metrics.text()
    }

    /// Refuses further charges and returns when all charges in progress are durable. Blocks.
    pub fn close(&self) {
        self.0.writer.close();
        self.record_requests();
        if let Some(log) = &self.0.request_log {
            log.flush_for(LOG_CLOSE_TIME);
        }
    }
}

fn request_log(state: &State, limits: Limits) -> Result<Option<RequestLog>, StateError> {
    if limits.request_log_days == 0 {
        return Ok(None);
    }
    let bounds = RequestLogLimits {
        days: limits.request_log_days,
        bytes: limits.request_log_bytes,
    };
    let log = RequestLog::start(state.request_log_path(), bounds);
    let log =
        log.map_err(|error| StateError::invalid(format!("cannot start a thread: {error}")))?;
    Ok(Some(log))
}

impl std::fmt::Debug for Today {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Today::Clock => f.write_str("Clock"),
            Today::Fixed(day) => f.debug_tuple("Fixed").field(day).finish(),
            Today::Source(_) => f.write_str("Source"),
        }
    }
}

impl Today {
    /// Today's date at an instant.
    pub(super) fn at(&self, now: UtcDateTime) -> Date {
        match self {
            Today::Clock => now.date(),
            Today::Fixed(day) => *day,
            Today::Source(source) => source(),
        }
    }
}

impl ServiceCore {
    /// Today's date at an instant. Read once per request, so that all parts of an answer agree, even at
    /// midnight.
    pub(super) fn today_at(&self, now: UtcDateTime) -> Date {
        self.today.at(now)
    }

    pub(super) fn today(&self) -> Date {
        self.today_at(self.state.now())
    }

    /// Takes room for an answer that is not charged yet.
    ///
    /// # Errors
    /// Clients read too little of what they asked for.
    pub(super) fn room_for(&self, bytes: usize) -> Result<Room, Problem> {
        self.unsent.room_for(bytes).ok_or_else(|| {
            self.metrics.unsent_refused.inc();
            Problem::overloaded("Too many bytes of answers wait for their clients to read them.")
        })
    }
}
