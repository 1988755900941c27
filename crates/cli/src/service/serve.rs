//! `signaldex serve`: the HTTP service.

use std::hint::black_box;
use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
#[cfg(feature = "cluster")]
use std::sync::Arc;
use std::time::Duration;

use signaldex::{Index, sample};
#[cfg(feature = "cluster")]
use signaldex_cluster::ShardScanner;
use signaldex_server::{
    Admin, AdminSettings, AdminToken, AllowedOrigin, ApiKey, Deprecation, Limits, LogWriter,
    Server, ServerLimits, Service, State, Today, serve_admin,
};
use time::Date;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing::level_filters::LevelFilter;

use super::address::ListenAddress;
use super::keys::StateFile;
use super::log;
use super::query_threads;
use super::replica::{OpenedReplica, ReplicaOptions};
#[cfg(feature = "sql")]
use super::sql_listener::SqlOptions;
use super::values::{
    parse_concurrent, parse_host_name, parse_number, parse_seconds, parse_short_seconds,
};
use super::webhooks::WebhookDeliveryOptions;
#[cfg(feature = "cluster")]
use crate::cluster::{ClusterOptions, StartedNode};
use crate::{Failure, source, stderr};

/// Serve an index over HTTP; without DIR the sample corpus, with a key for trying it
#[derive(Debug, clap::Args)]
pub(crate) struct Serve {
    /// The directory of the index; it is followed while another process updates it
    #[arg(value_name = "DIR", env = "SIGNALDEX_DIR")]
    directory: Option<PathBuf>,
    #[command(flatten)]
    replica: ReplicaOptions,
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    cluster: ClusterOptions,
    /// Where to listen: an address or a name, or :PORT for loopback
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8080", value_parser = ListenAddress::parse, env = "SIGNALDEX_ADDR")]
    addr: ListenAddress,
    /// Let web pages of this origin read answers, such as https://app.example; repeatable, * for all
    #[arg(
        long,
        value_name = "ORIGIN",
        value_delimiter = ',',
        env = "SIGNALDEX_CORS_ORIGIN"
    )]
    cors_origin: Vec<AllowedOrigin>,
    /// Disable POST /mcp, which offers the API as tools for agents
    #[arg(long, env = "SIGNALDEX_NO_MCP")]
    no_mcp: bool,
    /// The day since which this version of the API is deprecated, which every answer then says
    #[arg(long, value_name = "DATE", requires = "sunset", value_parser = source::parse_date, env = "SIGNALDEX_DEPRECATED_SINCE")]
    deprecated_since: Option<Date>,
    /// The day on which it ends, at least a year later
    #[arg(long, value_name = "DATE", requires = "deprecated_since", value_parser = source::parse_date, env = "SIGNALDEX_SUNSET")]
    sunset: Option<Date>,
    #[command(flatten)]
    admin: AdminOptions,
    #[cfg(feature = "sql")]
    #[command(flatten)]
    sql: SqlOptions,
    #[command(flatten)]
    state: StateFile,
    /// The day that counts as today
    #[arg(long, value_name = "DATE", value_parser = source::parse_date, env = "SIGNALDEX_AS_OF")]
    as_of: Option<Date>,
    /// What is logged: off, error, warn, info (every request) or debug
    #[arg(long, default_value = "info", env = "SIGNALDEX_LOG")]
    log: LevelFilter,
    /// How it is logged: text for people, or JSON lines; by default text on a terminal, JSON elsewhere
    #[arg(long, value_enum, default_value_t = LogFormat::Auto, env = "SIGNALDEX_LOG_FORMAT")]
    log_format: LogFormat,
    #[command(flatten)]
    webhooks: WebhookDeliveryOptions,
    #[command(flatten)]
    bounds: Bounds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum LogFormat {
    Auto,
    Text,
    Json,
}

impl LogFormat {
    fn is_json(self) -> bool {
        match self {
            LogFormat::Auto => !std::io::stderr().is_terminal(),
            LogFormat::Text => false,
            LogFormat::Json => true,
        }
    }
}

/// The dashboard, the search page and the metrics.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Dashboard")]
struct AdminOptions {
    /// Where the dashboard, the search page and /metrics are served; never expose it to untrusted clients
    #[arg(
        long,
        alias = "metrics-addr",
        value_name = "HOST:PORT",
        default_value = "127.0.0.1:9464",
        value_parser = ListenAddress::parse,
        env = "SIGNALDEX_ADMIN_ADDR"
    )]
    admin_addr: ListenAddress,
    /// A host name allowed at that address besides localhost and IP addresses; repeatable
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        value_parser = parse_host_name,
        env = "SIGNALDEX_ADMIN_HOST"
    )]
    admin_host: Vec<String>,
    /// Seconds until a dashboard session expires
    #[arg(long, value_name = "SECONDS", default_value = "43200", value_parser = parse_seconds, env = "SIGNALDEX_ADMIN_SESSION")]
    admin_session: Duration,
    /// Where clients find the service, for the commands that the dashboard and the API reference show; by default
    /// --addr, and in the reference the address that was asked
    #[arg(long, value_name = "URL", env = "SIGNALDEX_PUBLIC_URL")]
    public_url: Option<String>,
}

/// Limits of the service.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Limits")]
struct Bounds {
    /// Maximum number of open connections
    #[arg(long, value_name = "N", default_value_t = ServerLimits::default().connections, value_parser = parse_concurrent(), env = "SIGNALDEX_MAX_CONNECTIONS")]
    max_connections: usize,
    /// Maximum number of concurrent requests
    #[arg(long, value_name = "N", default_value_t = Limits::default().in_flight, value_parser = parse_concurrent(), env = "SIGNALDEX_MAX_IN_FLIGHT")]
    max_in_flight: usize,
    /// Maximum number of concurrent exports, with up to 4 MB of memory each; a key may run four
    #[arg(long, value_name = "N", default_value_t = Limits::default().exports, value_parser = parse_concurrent(), env = "SIGNALDEX_MAX_EXPORTS")]
    max_exports: usize,
    /// Maximum number of bytes kept for 24 hours under the idempotency keys of one API key
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().kept_bytes_per_key, value_parser = clap::value_parser!(u64).range(1..), env = "SIGNALDEX_MAX_KEPT_BYTES_PER_KEY")]
    max_kept_bytes_per_key: u64,
    /// Maximum number of bytes kept for 24 hours under all idempotency keys
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().kept_bytes, value_parser = clap::value_parser!(u64).range(1..), env = "SIGNALDEX_MAX_KEPT_BYTES")]
    max_kept_bytes: u64,
    /// Maximum number of charges waiting for a commit
    #[arg(long, value_name = "N", default_value_t = Limits::default().charge_queue, value_parser = parse_concurrent(), env = "SIGNALDEX_MAX_CHARGE_QUEUE")]
    max_charge_queue: usize,
    /// Seconds to wait for a request's headers, and so for an idle connection
    #[arg(long, value_name = "SECONDS", default_value = "15", value_parser = parse_seconds, env = "SIGNALDEX_HEADER_TIMEOUT")]
    header_timeout: Duration,
    /// Maximum bytes of unsent answers; above it, requests get 503
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().unsent_bytes, env = "SIGNALDEX_MAX_UNSENT_BYTES")]
    max_unsent_bytes: u64,
    /// Minimum bytes per second, over 30 seconds, at which a client must read an answer to keep its connection; 0
    /// for no limit
    #[arg(long, value_name = "BYTES", default_value_t = ServerLimits::default().min_send_rate, env = "SIGNALDEX_MIN_SEND_RATE")]
    min_send_rate: u64,
    /// Seconds that a request may take
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = parse_seconds, env = "SIGNALDEX_REQUEST_TIMEOUT")]
    request_timeout: Duration,
    /// The cost up to which a query is answered immediately, in comparisons of a title with a phrase; others
    /// take turns by key
    #[arg(long, value_name = "N", default_value_t = Limits::default().cheap_query_cost, env = "SIGNALDEX_CHEAP_QUERY_COST")]
    cheap_query_cost: u64,
    /// Threads for expensive queries; by default all cores but one
    #[arg(long, value_name = "N", default_value_t = Limits::default().query_threads, value_parser = parse_number(Limits::QUERY_THREADS_MAX), env = "SIGNALDEX_QUERY_THREADS")]
    query_threads: usize,
    /// Threads for one count, facet count or aggregate of an index with segments above five million signals; one such
    /// query at a time has more than one
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_number(THREADS_PER_QUERY_MAX), env = "SIGNALDEX_THREADS_PER_QUERY")]
    threads_per_query: usize,
    /// Seconds that an expensive query may wait for its turn
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = parse_seconds, env = "SIGNALDEX_QUERY_WAIT")]
    query_wait: Duration,
    /// Seconds in the index from which the dashboard lists a query as slow
    #[arg(long, value_name = "SECONDS", default_value = "0.01", value_parser = parse_short_seconds, env = "SIGNALDEX_SLOW_QUERY_TIME")]
    slow_query_time: Duration,
    /// Show query strings in the dashboard's list of recent requests, which otherwise names endpoints only
    #[arg(long, env = "SIGNALDEX_SHOW_PARAMETERS")]
    show_parameters: bool,
    /// Days for which the dashboard's log of requests keeps them, in the file STATE-requests; 0 for no log
    #[arg(long, value_name = "DAYS", default_value_t = Limits::default().request_log_days, env = "SIGNALDEX_REQUEST_LOG_DAYS")]
    request_log_days: u32,
    /// Bytes of that file, at least 1,048,576; the oldest requests give way
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().request_log_bytes, env = "SIGNALDEX_REQUEST_LOG_BYTES")]
    request_log_bytes: u64,
    /// Seconds to keep answering after the service is told to stop, with /readyz at 503; by default none.
    /// Choose more than a load balancer needs to notice
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds, env = "SIGNALDEX_DRAIN_TIME")]
    drain_time: Option<Duration>,
    /// Seconds that requests in progress may take after that
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = parse_seconds, env = "SIGNALDEX_SHUTDOWN_TIMEOUT")]
    shutdown_timeout: Duration,
}

/// Why a node has no such threads.
const NODE_THREADS: &str = "--threads-per-query is for an index or a replica; a node of a cluster answers its shards side \
                            by side, so leave it out";

/// With more, each would have less than three blocks of ten million signals.
const THREADS_PER_QUERY_MAX: usize = 64;

/// What is served.
pub(super) enum ServedCorpus {
    Index(Index),
    #[cfg(feature = "cluster")]
    Cluster(StartedNode),
}

impl ServedCorpus {
    /// Tells others that this process is about to stop.
    fn leave(&self) -> impl Future<Output = ()> + use<> {
        #[cfg(feature = "cluster")]
        let left = match self {
            ServedCorpus::Index(_) => None,
            ServedCorpus::Cluster(node) => Some(node.leave()),
        };
        #[cfg(not(feature = "cluster"))]
        let left: Option<std::future::Ready<()>> = None;
        async move {
            if let Some(left) = left {
                left.await;
            }
        }
    }

    /// Waits until the source fails for good, and returns why.
    async fn stopped(self) -> Failure {
        match self {
            ServedCorpus::Index(index) => {
                let _kept = index;
                std::future::pending().await
            }
            #[cfg(feature = "cluster")]
            ServedCorpus::Cluster(node) => node.stopped().await,
        }
    }
}

impl Serve {
    pub(crate) fn run(self) -> Result<(), Failure> {
        disable_huge_pages();
        // Before anything is opened or announced.
        self.deprecation()?;
        if self.is_node() && self.bounds.threads_per_query > 1 {
            return Err(NODE_THREADS.into());
        }
        let is_json = self.log_format.is_json();
        let log = log::start(is_json)
            .map_err(|error| format!("the thread of the log cannot be started: {error}"))?;
        start_logs(self.log, is_json, log.clone());
        // Before anything is opened, created or listened on.
        #[cfg(feature = "sql")]
        self.sql.check()?;
        let index = self.directory_index()?;
        let state = self.state.open()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?;
        runtime.block_on(self.serve(state, log, index))
    }

    async fn serve(
        self,
        state: State,
        log: LogWriter,
        index: Option<Index>,
    ) -> Result<(), Failure> {
        // Before the addresses are announced: from then on a signal has to stop it gracefully.
        let signals = count_signals(!self.has_certificate())?;
        let listener = self.addr.listen("--addr").await?;
        let admin_listener = self.admin.admin_addr.listen("--admin-addr").await?;
        #[cfg(feature = "sql")]
        let sql_listener = self.sql.listen().await?;
        let (address, admin_address) = (listener.local_addr()?, admin_listener.local_addr()?);
        let is_sample = self.directory.is_none() && !self.replica.are_given() && !self.is_node();
        // Before anything is served, since the state may be one that the sample is not for.
        let trial = is_sample.then(|| state.create_trial_key()).transpose()?;
        stderr::say(format_args!(
            "signaldex: listening on http://{address}, dashboard on http://{admin_address}/"
        ));
        warn_of_open_dashboard(admin_address);
        let replica = self.replica.open().await?;
        let source = self.source(replica.as_ref(), index).await?;
        if let Some((_, key)) = trial {
            show_trial(&key, address);
        }
        let admin_token = state.first_admin_token()?;
        show_dashboard(admin_address, admin_token, &self.state);
        let service = self.service(&source, state, is_sample)?;
        service.report_log(log);
        // Ends with this function as well.
        #[cfg(feature = "sql")]
        let _sql = sql_listener
            .map(|listener| self.sql.start(listener, &source, service.clone()))
            .transpose()?;
        // Ends with this function, when every request has been answered.
        let _follower = replica
            .map(|replica| replica.follow(service.clone()))
            .transpose()?;
        // Ends with this function as well, so that another process takes over at once.
        let _webhooks = self.webhooks.start(&service)?;
        let server = Server::new(service.clone(), self.bounds.server_limits())
            .hurry(signalled(signals.clone(), 2));
        let admin = Admin::new(service, self.admin.settings(address));
        let admin = tokio::spawn(serve_admin(admin_listener, admin));
        let memory = tokio::spawn(give_back_memory());
        let outcome = run(server, listener, signalled(signals, 1), source).await;
        admin.abort();
        memory.abort();
        outcome
    }

    fn service(
        &self,
        source: &ServedCorpus,
        state: State,
        is_sample: bool,
    ) -> Result<Service, Failure> {
        let today = self.today(is_sample);
        let limits = Limits {
            mcp: !self.no_mcp,
            ..self.bounds.limits()
        };
        let service = match source {
            ServedCorpus::Index(index) => Service::new(index.clone(), state, today, limits)?,
            #[cfg(feature = "cluster")]
            ServedCorpus::Cluster(node) => node.service(state, today, limits)?,
        };
        if !self.cors_origin.is_empty() {
            service.allow_origins(self.cors_origin.clone());
        }
        if let Some(deprecation) = self.deprecation()? {
            service.set_deprecation(deprecation);
        }
        service.allow_admin_hosts(self.admin.admin_host.clone());
        if let Some(url) = &self.admin.public_url {
            service.set_public_url(url.trim_end_matches('/'));
        }
        Ok(service)
    }

    /// The end of this version of the API, if it has one.
    fn deprecation(&self) -> Result<Option<Deprecation>, Failure> {
        let Some((since, sunset)) = self.deprecated_since.zip(self.sunset) else {
            return Ok(None);
        };
        let deprecation = Deprecation::new(since, sunset);
        let deprecation = deprecation.map_err(|error| format!("--sunset is {sunset}: {error}"))?;
        Ok(Some(deprecation))
    }

    /// Whether this process is a node of a cluster.
    fn is_node(&self) -> bool {
        #[cfg(feature = "cluster")]
        return self.cluster.are_given();
        #[cfg(not(feature = "cluster"))]
        false
    }

    /// Whether this process has a certificate between nodes.
    fn has_certificate(&self) -> bool {
        #[cfg(feature = "cluster")]
        return self.cluster.has_certificate();
        #[cfg(not(feature = "cluster"))]
        false
    }

    /// What answers the scans of other nodes, if this one answers SQL.
    #[cfg(feature = "cluster")]
    fn scanner(&self) -> Option<Arc<dyn ShardScanner>> {
        #[cfg(feature = "sql")]
        return self.sql.scanner();
        #[cfg(not(feature = "sql"))]
        None
    }

    #[cfg_attr(not(feature = "cluster"), expect(clippy::unused_async))]
    async fn source(
        &self,
        replica: Option<&OpenedReplica>,
        index: Option<Index>,
    ) -> Result<ServedCorpus, Failure> {
        #[cfg(feature = "cluster")]
        if let Some(node) = self.cluster.open(self.scanner()).await? {
            return Ok(ServedCorpus::Cluster(node));
        }
        let index = replica.map(OpenedReplica::index).or(index);
        let index = index.map_or_else(sample::index, Ok)?;
        query_threads::share(&index, self.bounds.threads_per_query)?;
        Ok(ServedCorpus::Index(index))
    }

    /// The index of the directory, if that is what is served.
    fn directory_index(&self) -> Result<Option<Index>, Failure> {
        let is_elsewhere = self.replica.are_given() || self.is_node();
        let directory = self.directory.as_ref().filter(|_| !is_elsewhere);
        directory
            .map(|directory| source::open(directory))
            .transpose()
    }

    fn today(&self, is_sample: bool) -> Today {
        let default = if is_sample {
            Today::Fixed(sample::AS_OF)
        } else {
            Today::Clock
        };
        self.as_of.map_or(default, Today::Fixed)
    }
}

/// Serves until the process is asked to stop or the source fails for good.
async fn run(
    server: Server,
    listener: TcpListener,
    stop: impl Future<Output = ()>,
    source: ServedCorpus,
) -> Result<(), Failure> {
    let mut failure = None;
    let leave = source.leave();
    // Pinned here, so that the source outlives the requests that are under way at the end.
    let mut broken = pin!(source.stopped());
    let stopped = async {
        tokio::select! {
            () = stop => leave.await,
            reason = &mut broken => failure = Some(reason),
        }
    };
    server.run(listener, stopped).await?;
    failure.map_or(Ok(()), Err)
}

impl AdminOptions {
    fn settings(&self, address: SocketAddr) -> AdminSettings {
        let url = self.public_url.clone();
        let url = url.unwrap_or_else(|| format!("http://{address}"));
        AdminSettings {
            public_url: url.trim_end_matches('/').to_owned(),
            session_time: self.admin_session,
        }
    }
}

impl Bounds {
    fn limits(&self) -> Limits {
        Limits {
            in_flight: self.max_in_flight,
            exports: self.max_exports,
            kept_bytes_per_key: self.max_kept_bytes_per_key,
            kept_bytes: self.max_kept_bytes,
            unsent_bytes: self.max_unsent_bytes,
            charge_queue: self.max_charge_queue,
            request_time: self.request_timeout,
            cheap_query_cost: self.cheap_query_cost,
            query_threads: self.query_threads,
            query_wait: self.query_wait,
            slow_query_time: self.slow_query_time,
            show_parameters: self.show_parameters,
            request_log_days: self.request_log_days,
            request_log_bytes: self.request_log_bytes,
            ..Limits::default()
        }
    }

    fn server_limits(&self) -> ServerLimits {
        ServerLimits {
            connections: self.max_connections,
            header_time: self.header_timeout,
            min_send_rate: self.min_send_rate,
            drain_time: self.drain_time.unwrap_or_default(),
            shutdown_time: self.shutdown_timeout,
            ..ServerLimits::default()
        }
    }
}

/// Warns if other machines may reach the dashboard.
fn warn_of_open_dashboard(address: SocketAddr) {
    if !address.ip().to_canonical().is_loopback() {
        stderr::say(format_args!(
            "signaldex: warning: the dashboard on {address} can be reached from other machines, and its token travels \
             without TLS; --admin-addr :{} keeps it on this one",
            address.port()
        ));
    }
}

/// Lines on standard error. One that cannot be written is dropped; reporting that there would fail as
/// well, and panic.
fn start_logs(level: LevelFilter, is_json: bool, log: LogWriter) {
    let lines = tracing_subscriber::fmt()
        .with_target(false)
        .with_max_level(level)
        .with_writer(move || log.clone())
        .log_internal_errors(false);
    if is_json {
        lines.json().flatten_event(true).init();
    } else {
        lines.init();
    }
}

/// Prints a line that uses the trial key.
fn show_trial(key: &ApiKey, address: SocketAddr) {
    let text = format!(
        "Serving the sample corpus, with {} as today. Try:\n\n\
         curl -s -H 'Authorization: Bearer {}' 'http://{address}/api/v1/signals?q=raises&limit=3'\n\n\
         The key ends with this process; http://{address}/docs describes the rest.\n\n",
        sample::AS_OF,
        key.as_str(),
    );
    // That nobody reads the line is no reason not to serve.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Says where the dashboard is and, at the first start, the token that opens it.
fn show_dashboard(address: SocketAddr, token: Option<AdminToken>, state: &StateFile) {
    let token = match token {
        Some(token) => format!("Admin token, shown this once:\n\n{}\n", token.as_str()),
        None => format!(
            "Admin token: shown at the first start; `signaldex admin-token --state {state}` creates a new one."
        ),
    };
    let text = format!("Dashboard and search page: http://{address}/\n{token}\n");
    // As above: that nobody reads it is no reason not to serve.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// How often the process has been asked to stop: by a supervisor, from a keyboard, or because its terminal was
/// closed, unless that signal means something else.
fn count_signals(stops_on_hangup: bool) -> Result<watch::Receiver<u32>, Failure> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let (count, counted) = watch::channel(0);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
                _ = hangup.recv(), if stops_on_hangup => {}
            }
            count.send_modify(|count| *count += 1);
        }
    });
    Ok(counted)
}

/// Ready when the process has been asked to stop this often.
async fn signalled(mut signals: watch::Receiver<u32>, times: u32) {
    // The counter only ends with the runtime.
    let _ = signals.wait_for(|&count| count >= times).await;
}

/// Makes the allocator return memory to the kernel that has been free for a second. It does that only when it
/// allocates or frees large blocks, so a process without requests would keep what it needed at its busiest.
async fn give_back_memory() {
    const INTERVAL: Duration = Duration::from_secs(1);
    /// More than the allocator keeps for the next allocation of its size.
    const BLOCK_BYTES: usize = 1 << 20;
    loop {
        tokio::time::sleep(INTERVAL).await;
        drop(black_box(Vec::<u8>::with_capacity(BLOCK_BYTES)));
    }
}

/// Backs the heap with small pages from here on. The allocator advises the kernel to use huge pages, with
/// which the same load occupies 18 to 39 MB instead of 12 (`crates/server/tests/service/soak.py`). The index is mapped
/// from files, for which nothing changes. A kernel that refuses costs memory and nothing else.
fn disable_huge_pages() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}
