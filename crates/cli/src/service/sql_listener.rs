//! The options of `serve` for SQL: a listener of its own, for operators.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use signaldex::{Index, Snapshot};
use signaldex_server::Service;
use signaldex_sql::{
    FlightHost, FlightOptions, FlightServer, FlightTls, SqlError, check_flight_address,
};
use time::Date;
use tokio::net::TcpListener;

use super::address::ListenAddress;
use super::serve::ServedCorpus;
use super::values::{parse_number, parse_seconds};
use crate::sql::{ByteSize, parse_size};
use crate::{Failure, stderr};

/// Statements that may run at the same time.
const QUERIES_MAX: usize = 64;

/// SQL for operators.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "SQL")]
pub(super) struct SqlOptions {
    /// Answer SQL there, by Arrow Flight SQL, to those who show the admin token; by default nowhere. No API key opens it,
    /// and nothing is metered
    #[arg(long, value_name = "HOST:PORT", value_parser = ListenAddress::parse, env = "SIGNALDEX_SQL_ADDR")]
    sql_addr: Option<ListenAddress>,
    /// The certificate of that address, PEM, without which other machines may not reach it
    #[arg(long, value_name = "FILE", requires_all = ["sql_key", "sql_addr"], env = "SIGNALDEX_SQL_CERT")]
    sql_cert: Option<PathBuf>,
    /// The private key of the certificate, PEM
    #[arg(
        long,
        value_name = "FILE",
        requires = "sql_cert",
        env = "SIGNALDEX_SQL_KEY"
    )]
    sql_key: Option<PathBuf>,
    /// Most memory for groups, joins and sorts of all statements together
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = parse_size, env = "SIGNALDEX_SQL_MEMORY")]
    sql_memory: ByteSize,
    /// Most seconds that a statement may take until its last row is read
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = parse_seconds, env = "SIGNALDEX_SQL_TIMEOUT")]
    sql_timeout: Duration,
    /// Most statements at a time, each on a thread of low priority; further ones are refused
    #[arg(long, value_name = "N", default_value_t = FlightOptions::default().queries, value_parser = parse_number(QUERIES_MAX), env = "SIGNALDEX_SQL_QUERIES")]
    sql_queries: usize,
}

impl SqlOptions {
    /// # Errors
    /// The options cannot be used for what is served.
    pub(super) fn check(&self, is_node: bool) -> Result<(), Failure> {
        if is_node && self.sql_addr.is_some() {
            return Err(
                "--sql-addr asks one index, and a node of a cluster has only some shards: ask all of them with \
                 `signaldex sql --shards DIR`, or serve a replica of one index"
                    .into(),
            );
        }
        self.tls().map(drop)
    }

    /// Listens, if an address is given, and says where.
    pub(super) async fn listen(&self) -> Result<Option<TcpListener>, Failure> {
        let Some(address) = &self.sql_addr else {
            return Ok(None);
        };
        let listener = address.listen("--sql-addr").await?;
        let address = listener.local_addr()?;
        let tls = self.tls()?;
        check_flight_address(address, tls.as_ref())?;
        let scheme = if tls.is_some() { "grpc+tls" } else { "grpc" };
        stderr::say(format_args!("signaldex: SQL on {scheme}://{address}"));
        Ok(Some(listener))
    }

    /// Answers statements until what is returned is dropped.
    pub(super) fn start(
        &self,
        listener: TcpListener,
        source: &ServedCorpus,
        service: Service,
    ) -> Result<FlightServer, Failure> {
        let host = match source {
            ServedCorpus::Index(index) => ServedIndex {
                index: index.clone(),
                service,
            },
            #[cfg(feature = "cluster")]
            ServedCorpus::Cluster(_) => return Err("--sql-addr asks one index".into()),
        };
        let options = FlightOptions {
            memory: self.sql_memory.bytes,
            timeout: self.sql_timeout,
            queries: self.sql_queries,
        };
        let listener = listener.into_std()?;
        Ok(FlightServer::start(listener, self.tls()?, host, options)?)
    }

    fn tls(&self) -> Result<Option<FlightTls>, Failure> {
        let files = self.sql_cert.as_deref().zip(self.sql_key.as_deref());
        let tls = files.map(|(certificate, key)| FlightTls::read(certificate, key));
        Ok(tls.transpose()?)
    }
}

/// The index that the service serves, and its admin token.
struct ServedIndex {
    index: Index,
    service: Service,
}

impl FlightHost for ServedIndex {
    fn snapshots(&self) -> Result<Vec<Arc<Snapshot>>, SqlError> {
        let snapshot = self.index.snapshot();
        snapshot.ensure_trusted().map_err(SqlError::io)?;
        Ok(vec![snapshot])
    }

    fn today(&self) -> Date {
        self.service.today()
    }

    fn is_admin(&self, secret: &str) -> Result<bool, SqlError> {
        self.service.is_admin_token(secret).map_err(SqlError::io)
    }
}
