//! Connections to webhooks: a name is resolved, all its addresses are judged, and one of those is connected to.
//!
//! The connector is the guard. There is no other way from here to a socket: no proxy, no redirect, no second resolution.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tower_service::Service;

use super::WebhookRules;

/// How long resolving a name and connecting may take.
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// Maximum number of addresses of a name that are judged. With more, it is refused.
const ADDRESSES_MAX: usize = 64;

/// Resolves a name to all its addresses.
pub(super) trait Resolve: Send + Sync + 'static {
    /// All addresses of a name.
    fn resolve(
        &self,
        name: String,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;
}

/// The resolver of the operating system.
pub(super) struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(
        &self,
        name: String,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>> {
        Box::pin(async move {
            let found = lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Connects to what its rules allow.
#[derive(Clone)]
pub(super) struct GuardedConnector {
    rules: Arc<WebhookRules>,
    resolver: Arc<dyn Resolve>,
}

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum NotConnected {
    /// The URL has no host.
    NoHost,
    /// An address of the name is not allowed. Which one is not told: the receiver's operator knows it, others need not.
    Refused,
    /// The name has no address, or more than can be judged.
    Addresses(usize),
    /// It took too long.
    TimedOut,
    /// The name was not resolved, or nothing listens.
    Failed(io::Error),
}

impl GuardedConnector {
    pub(super) fn new(rules: Arc<WebhookRules>, resolver: Arc<dyn Resolve>) -> GuardedConnector {
        GuardedConnector { rules, resolver }
    }

    async fn connect(self, uri: Uri) -> Result<TcpStream, NotConnected> {
        let connecting = async {
            let (addresses, port) = (self.judged(&uri).await?, port(&uri));
            first_that_answers(&addresses, port).await
        };
        let connected = timeout(CONNECT_TIME, connecting).await;
        connected.unwrap_or(Err(NotConnected::TimedOut))
    }

    /// The addresses of a URL's host, all of them allowed.
    async fn judged(&self, uri: &Uri) -> Result<Vec<IpAddr>, NotConnected> {
        let host = uri.host().ok_or(NotConnected::NoHost)?;
        let literal = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse::<IpAddr>();
        let addresses = match literal {
            Ok(address) => vec![address],
            Err(_) => {
                let resolved = self.resolver.resolve(host.to_owned()).await;
                resolved.map_err(NotConnected::Failed)?
            }
        };
        if !(1..=ADDRESSES_MAX).contains(&addresses.len()) {
            return Err(NotConnected::Addresses(addresses.len()));
        }
        let is_allowed = |&address: &IpAddr| self.rules.allows(address);
        if !addresses.iter().all(is_allowed) {
            return Err(NotConnected::Refused);
        }
        Ok(addresses)
    }
}

/// The port of a URL, or that of its scheme.
fn port(uri: &Uri) -> u16 {
    let default = if uri.scheme_str() == Some("http") {
        80
    } else {
        443
    };
    uri.port_u16().unwrap_or(default)
}

async fn first_that_answers(addresses: &[IpAddr], port: u16) -> Result<TcpStream, NotConnected> {
    let mut failure = NotConnected::Addresses(0);
    for &address in addresses {
        match TcpStream::connect(SocketAddr::new(address, port)).await {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = NotConnected::Failed(error),
        }
    }
    Err(failure)
}

impl Service<Uri> for GuardedConnector {
    type Response = TokioIo<TcpStream>;
    type Error = NotConnected;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, NotConnected>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), NotConnected>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.clone().connect(uri);
        Box::pin(async move {
            let stream = connecting.await?;
            // An event is written in one piece.
            let _ = stream.set_nodelay(true);
            Ok(TokioIo::new(stream))
        })
    }
}

impl fmt::Display for NotConnected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotConnected::NoHost => f.write_str("the URL has no host"),
            NotConnected::Refused => f.write_str("address refused"),
            NotConnected::Addresses(0) => f.write_str("the name has no address"),
            NotConnected::Addresses(count) => {
                write!(
                    f,
                    "the name has {count} addresses; at most {ADDRESSES_MAX} are judged"
                )
            }
            NotConnected::TimedOut => write!(f, "no connection in {} s", CONNECT_TIME.as_secs()),
            NotConnected::Failed(error) => write!(f, "no connection: {error}"),
        }
    }
}

impl std::error::Error for NotConnected {}

#[cfg(test)]
mod tests;
