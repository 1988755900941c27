//! SQL over the network for operators: Arrow Flight SQL on a listener of its own.
//!
//! ```text
//! connections -> access -> calls -> running
//! TLS, bounds    token     Flight    a slot, a new snapshot, rows within memory and time
//! ```
//!
//! Nothing is kept between calls: a ticket and a prepared statement are the statement's text ([`handle`]). Sockets and
//! encoding have a thread of their own, and each statement one; all run at a low priority, so that searches of the same
//! process go first.

mod access;
mod calls;
mod catalog;
mod connection_info;
mod connections;
mod handle;
mod host;
mod priority;
mod running;
mod shard_scans;
mod tls;

use std::sync::Arc;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::database::{environment, runtime_builder};
use crate::error::SqlError;
use access::TokenCheck;
use calls::FlightCalls;
use running::Statements;

pub use host::{FlightHost, FlightOptions};
pub use shard_scans::ShardScans;
pub use tls::{FlightTls, check_flight_address};

/// A listener that answers until it is dropped, which breaks off what it answers.
#[derive(Debug)]
pub struct FlightServer {
    runtimes: Vec<Runtime>,
}

impl FlightServer {
    /// Answers Arrow Flight SQL on a listener, on threads of its own: one for the network and one for each statement that
    /// may run.
    ///
    /// ```
    /// use std::net::TcpListener;
    ///
    /// use signaldex::{Index, sample};
    /// use signaldex_sql::{FlightHost, FlightOptions, FlightServer, SqlCorpus, SqlError};
    ///
    /// struct Sample(Index);
    ///
    /// impl FlightHost for Sample {
    ///     fn corpus(&self) -> Result<SqlCorpus, SqlError> {
    ///         Ok(vec![self.0.snapshot()].into())
    ///     }
    ///     fn today(&self) -> time::Date {
    ///         sample::AS_OF
    ///     }
    ///     fn is_admin(&self, secret: &str) -> Result<bool, SqlError> {
    ///         Ok(secret == "a token of 256 random bits")
    ///     }
    /// }
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let host = Sample(sample::index()?);
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let server = FlightServer::start(listener, None, host, FlightOptions::default())?;
    /// drop(server); // frees the port
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The operating system starts no thread, or the socket is none that listens.
    pub fn start(
        listener: std::net::TcpListener,
        tls: Option<FlightTls>,
        host: impl FlightHost,
        options: FlightOptions,
    ) -> Result<FlightServer, SqlError> {
        listener.set_nonblocking(true).map_err(SqlError::io)?;
        let mut threads = runtime_builder(options.queries);
        let mut network = Builder::new_multi_thread();
        network
            .worker_threads(1)
            .thread_name("sql-network")
            .enable_all();
        let mut server = FlightServer {
            runtimes: Vec::new(),
        };
        let threads = server.add(&mut threads)?;
        let network = server.add(&mut network)?;
        let listener = {
            let _context = network.enter();
            tokio::net::TcpListener::from_std(listener).map_err(SqlError::io)?
        };
        let host: Arc<dyn FlightHost> = Arc::new(host);
        let memory = environment(options.memory)?;
        let statements = Statements::new(Arc::clone(&host), options, memory, threads);
        let calls = FlightCalls::new(statements.clone(), options)?;
        network.spawn(statements.forget_former());
        network.spawn(connections::serve(
            listener,
            tls,
            TokenCheck::new(host),
            calls,
        ));
        Ok(server)
    }

    /// Starts threads of low priority, which end with the server.
    fn add(&mut self, threads: &mut Builder) -> Result<Handle, SqlError> {
        let threads = threads.on_thread_start(priority::lower).build();
        let threads = threads.map_err(SqlError::io)?;
        let handle = threads.handle().clone();
        self.runtimes.push(threads);
        Ok(handle)
    }
}

impl Drop for FlightServer {
    fn drop(&mut self) {
        // Statements may still be computing, and a task may drop this.
        for runtime in self.runtimes.drain(..) {
            runtime.shutdown_background();
        }
    }
}
