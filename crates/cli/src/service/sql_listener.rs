//! The options of `serve` for SQL: a listener of its own, for operators.

use std::path::PathBuf;
#[cfg(feature = "cluster")]
use std::sync::Arc;
use std::time::Duration;

use signaldex::Index;
#[cfg(feature = "cluster")]
use signaldex_cluster::{NodeReader, ShardScanner};
use signaldex_server::Service;
use signaldex_sql::{
    FlightHost, FlightOptions, FlightServer, FlightTls, SqlCorpus, SqlError, check_flight_address,
};
use time::Date;
use tokio::net::TcpListener;

use super::address::ListenAddress;
use super::serve::ServedCorpus;
#[cfg(feature = "cluster")]
use super::sql_nodes;
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
    /// and nothing is metered. A node of a cluster asks the others, which need this option too
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
    /// The certificate or its key cannot be used.
    pub(super) fn check(&self) -> Result<(), Failure> {
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
        let corpus = match source {
            ServedCorpus::Index(index) => AskedCorpus::Index(index.clone()),
            #[cfg(feature = "cluster")]
            ServedCorpus::Cluster(node) => AskedCorpus::Nodes(node.reader(), self.sql_timeout),
        };
        let host = ServedHost { corpus, service };
        let listener = listener.into_std()?;
        let options = self.options();
        Ok(FlightServer::start(listener, self.tls()?, host, options)?)
    }

    /// What answers the scans of other nodes, if SQL is answered here.
    #[cfg(feature = "cluster")]
    pub(super) fn scanner(&self) -> Option<Arc<dyn ShardScanner>> {
        let is_given = self.sql_addr.is_some();
        is_given.then(|| sql_nodes::scanner(self.options()))
    }

    fn options(&self) -> FlightOptions {
        FlightOptions {
            memory: self.sql_memory.bytes,
            timeout: self.sql_timeout,
            queries: self.sql_queries,
        }
    }

    fn tls(&self) -> Result<Option<FlightTls>, Failure> {
        let files = self.sql_cert.as_deref().zip(self.sql_key.as_deref());
        let tls = files.map(|(certificate, key)| FlightTls::read(certificate, key));
        Ok(tls.transpose()?)
    }
}

/// What the service serves, and its admin token.
struct ServedHost {
    corpus: AskedCorpus,
    service: Service,
}

/// What statements ask.
enum AskedCorpus {
    Index(Index),
    /// Of all nodes, for as long as a statement may take.
    #[cfg(feature = "cluster")]
    Nodes(NodeReader, Duration),
}

impl FlightHost for ServedHost {
    fn corpus(&self) -> Result<SqlCorpus, SqlError> {
        match &self.corpus {
            AskedCorpus::Index(index) => {
                let snapshot = index.snapshot();
                snapshot.ensure_trusted().map_err(SqlError::io)?;
                Ok(vec![snapshot].into())
            }
            #[cfg(feature = "cluster")]
            AskedCorpus::Nodes(node, timeout) => sql_nodes::corpus_of(node, *timeout),
        }
    }

    fn today(&self) -> Date {
        self.service.today()
    }

    fn is_admin(&self, secret: &str) -> Result<bool, SqlError> {
        self.service.is_admin_token(secret).map_err(SqlError::io)
    }
}
