//! Every bound of the service, with its unit and reason.

use std::time::Duration;

/// Bounds of the router.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Requests under way at once; further ones are answered 503.
    pub in_flight: usize,
    /// Charges that wait for a commit; further ones are answered 503.
    pub charge_queue: usize,
    /// The longest a request may take.
    pub request_time: Duration,
    /// What a query may cost to be answered at once, in comparisons of a title with a phrase (20 to 50
    /// nanoseconds each). One that may cost more runs on a pool of threads, where keys take turns.
    pub cheap_query_cost: u64,
    /// Threads of that pool.
    pub query_threads: usize,
    /// The longest that an expensive query may wait for its turn; it is then answered 429.
    pub query_wait: Duration,
    /// Exports under way at once, each with some mebibytes of memory; further ones are answered 503. A key
    /// may have four.
    pub exports: usize,
    /// The dashboard lists queries for which the index takes longer than this.
    pub slow_query_time: Duration,
    /// Whether `POST /mcp` is served, which offers the endpoints to agents as tools. On by default.
    pub mcp: bool,
    /// Whether the dashboard's list of recent requests shows their query strings, which may say what
    /// a client is interested in. Off by default.
    pub show_parameters: bool,
}

/// Bounds of the server's sockets.
#[derive(Clone, Copy, Debug)]
pub struct ServerLimits {
    /// Connections open at once; further ones are answered 503 and closed.
    pub connections: usize,
    /// The longest wait for a request's headers, from the end of the answer before it; so also the
    /// longest that a connection may be idle.
    pub header_time: Duration,
    /// The longest that a client may not read while an answer waits to be sent.
    pub write_time: Duration,
    /// How long the server goes on once it is told to stop, while `/readyz` answers 503, so that a
    /// balancer stops sending to it.
    pub drain_time: Duration,
    /// The longest that requests under way may take after that.
    pub shutdown_time: Duration,
}

/// Bytes of a request's path and query; a longer one is answered 414. A search with every
/// parameter at its bound has about 9 KB of ASCII.
pub(super) const URI_BYTES_MAX: usize = 64_000;
/// Bytes of a request's line and headers together; more are answered 431. Twice the longest URI,
/// so that a URI that is somewhat too long is told apart.
pub(super) const HEAD_BYTES_MAX: usize = 128 * 1024;
/// Bytes of a message of the Model Context Protocol; a longer one is answered 413. As long as a query
/// string may be, which is what the arguments of a tool become.
pub(super) const MCP_MESSAGE_BYTES_MAX: usize = 64 * 1024;
/// Bytes of a refused message that are read and dropped, so that its client sees the answer.
pub(super) const MCP_DRAINED_BYTES_MAX: usize = 1 << 20;
/// The longest that dropping them may take.
pub(super) const MCP_DRAIN_TIME: Duration = Duration::from_secs(1);
/// Seconds after which a client that met an overload may try again.
pub(super) const RETRY_AFTER_SECONDS: u64 = 1;

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
            slow_query_time: Duration::from_millis(10),
            mcp: true,
            show_parameters: false,
        }
    }
}

/// All cores but one, which is left to cheap queries; at least 1.
fn spare_cores() -> usize {
    let cores = std::thread::available_parallelism();
    cores.map_or(1, |cores| cores.get().saturating_sub(1).max(1))
}

impl Default for ServerLimits {
    fn default() -> ServerLimits {
        ServerLimits {
            connections: 1024,
            header_time: Duration::from_secs(15),
            write_time: Duration::from_secs(15),
            drain_time: Duration::ZERO,
            shutdown_time: Duration::from_secs(10),
        }
    }
}
