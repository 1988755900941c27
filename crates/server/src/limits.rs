//! Every limit of the service, with its unit and reason.

use std::time::Duration;

use super::pace::SendRate;
use super::state::KeptLimits;

/// Limits of the router. Numbers above [`CONCURRENT_MAX`](Self::CONCURRENT_MAX), threads above
/// [`QUERY_THREADS_MAX`](Self::QUERY_THREADS_MAX) and times above [`TIME_MAX`](Self::TIME_MAX) count as these.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Concurrent requests; further ones are answered 503.
    pub in_flight: usize,
    /// Charges waiting for a commit; further ones are answered 503.
    pub charge_queue: usize,
    /// The time limit of a request.
    pub request_time: Duration,
    /// The cost up to which a query runs on the current thread, in comparisons of a title with a phrase
    /// (<!--figure:kernels.phrase-->20 to 50<!--end--> nanoseconds each). A query that may cost more runs on a pool of
    /// threads, where keys take turns.
    pub cheap_query_cost: u64,
    /// Threads of that pool.
    pub query_threads: usize,
    /// How long an expensive query may wait for its turn before it is answered 429.
    pub query_wait: Duration,
    /// Concurrent exports, each with a few mebibytes of memory; further ones are answered 503. A key may
    /// run four.
    pub exports: usize,
    /// Bytes that are kept for 24 hours under the idempotency keys of one API key, as stored; further requests
    /// with an idempotency key are answered 429.
    pub kept_bytes_per_key: u64,
    /// The same for all API keys together, over all processes that share the state; then 503.
    pub kept_bytes: u64,
    /// Bytes of answers that clients have not read yet; further answers are refused with 503 before they are charged.
    pub unsent_bytes: u64,
    /// The dashboard lists queries that take longer than this in the index.
    pub slow_query_time: Duration,
    /// Whether `POST /mcp` is served, which offers the endpoints as tools for agents. On by default.
    pub mcp: bool,
    /// Whether the dashboard's list of recent requests shows query strings, which may reveal what a client
    /// is interested in. Off by default.
    pub show_parameters: bool,
    /// Days for which the dashboard's log of requests keeps them, in a file beside the state; 0 for no log.
    pub request_log_days: u32,
    /// Bytes of that file, at least 1 MiB; the oldest requests give way.
    pub request_log_bytes: u64,
}

/// Limits of the server's connections. The maxima are those of [`Limits`].
#[derive(Clone, Copy, Debug)]
pub struct ServerLimits {
    /// Open connections; further ones are answered 503 and closed.
    pub connections: usize,
    /// The time limit for receiving a request's headers, from the end of the previous answer; so it also limits how
    /// long a connection may be idle.
    pub header_time: Duration,
    /// Bytes per second that a client must acknowledge while an answer waits to be sent to it; a slower one loses its
    /// connection. 0 allows any rate.
    pub min_send_rate: u64,
    /// How long a client may acknowledge less than that.
    pub send_window: Duration,
    /// How long the server keeps answering after it is told to stop, with `/readyz` at 503, so that a load
    /// balancer stops sending requests.
    pub drain_time: Duration,
    /// The time limit for requests that are still in progress after that.
    pub shutdown_time: Duration,
}

/// Bytes of a request's path and query; a longer one is answered 414. A search with every parameter at
/// its limit has about 9 KB of ASCII.
pub(super) const URI_BYTES_MAX: usize = 64_000;
/// Bytes of a request's line and headers together; more are answered 431. Twice the longest URI, so that
/// a URI that is slightly too long still gets 414.
pub(super) const HEAD_BYTES_MAX: usize = 128 * 1024;
/// Bytes of a message of the Model Context Protocol; a longer one is answered 413. The limit of a query
/// string, because the arguments of a tool become one.
pub(super) const MCP_MESSAGE_BYTES_MAX: usize = 64 * 1024;
/// Bytes of a refused message that are read and dropped, so that the client sees the answer.
pub(super) const MCP_DRAINED_BYTES_MAX: usize = 1 << 20;
/// The time limit for dropping them.
pub(super) const MCP_DRAIN_TIME: Duration = Duration::from_secs(1);
/// The `Retry-After` of an overloaded service, in seconds.
pub(super) const RETRY_AFTER_SECONDS: u64 = 1;

impl Limits {
    /// The maximum number of concurrent requests, connections, exports and waiting charges.
    pub const CONCURRENT_MAX: usize = 1_000_000;
    /// The maximum number of threads for expensive queries.
    pub const QUERY_THREADS_MAX: usize = 1024;
    /// The minimum bytes of the log of requests: 1 MiB.
    pub const REQUEST_LOG_BYTES_MIN: u64 = 1 << 20;
    /// The maximum of every time limit: a year. The clock cannot represent the end of much longer ones.
    pub const TIME_MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);

    /// The limits within their maxima.
    pub(super) fn bounded(self) -> Limits {
        Limits {
            in_flight: self.in_flight.min(Limits::CONCURRENT_MAX),
            charge_queue: self.charge_queue.min(Limits::CONCURRENT_MAX),
            exports: self.exports.min(Limits::CONCURRENT_MAX),
            query_threads: self.query_threads.min(Limits::QUERY_THREADS_MAX),
            request_time: self.request_time.min(Limits::TIME_MAX),
            query_wait: self.query_wait.min(Limits::TIME_MAX),
            request_log_bytes: self.request_log_bytes.max(Limits::REQUEST_LOG_BYTES_MIN),
            ..self
        }
    }
}

impl ServerLimits {
    /// The limits within their maxima.
    pub(super) fn bounded(self) -> ServerLimits {
        ServerLimits {
            connections: self.connections.min(Limits::CONCURRENT_MAX),
            header_time: self.header_time.min(Limits::TIME_MAX),
            send_window: self.send_window.min(Limits::TIME_MAX),
            drain_time: self.drain_time.min(Limits::TIME_MAX),
            shutdown_time: self.shutdown_time.min(Limits::TIME_MAX),
            ..self
        }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            in_flight: 512,
            charge_queue: 1024,
            request_time: Duration::from_secs(10),
            cheap_query_cost: 20_000,
            query_threads: spare_cores(),
            query_wait: Duration::from_secs(2),
            exports: 32,
            kept_bytes_per_key: 1_000_000_000,
            kept_bytes: 8_000_000_000,
            unsent_bytes: 256 << 20,
            slow_query_time: Duration::from_millis(10),
            mcp: true,
            show_parameters: false,
            request_log_days: 7,
            request_log_bytes: 256 << 20,
        }
    }
}

impl Limits {
    pub(super) fn kept(&self) -> KeptLimits {
        KeptLimits {
            bytes_per_key: self.kept_bytes_per_key,
            bytes: self.kept_bytes,
        }
    }
}

/// All cores but one, which is reserved for cheap queries; at least 1.
fn spare_cores() -> usize {
    let cores = std::thread::available_parallelism();
    cores.map_or(1, |cores| cores.get().saturating_sub(1).max(1))
}

impl ServerLimits {
    /// The minimum rate of clients, if there is one.
    pub(super) fn send_rate(&self) -> Option<SendRate> {
        (self.min_send_rate > 0).then_some(SendRate {
            bytes: self.min_send_rate,
            window: self.send_window,
        })
    }
}

impl Default for ServerLimits {
    fn default() -> ServerLimits {
        ServerLimits {
            connections: 1024,
            header_time: Duration::from_secs(15),
            min_send_rate: 1024,
            send_window: Duration::from_secs(30),
            drain_time: Duration::ZERO,
            shutdown_time: Duration::from_secs(10),
        }
    }
}
