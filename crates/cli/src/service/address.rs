//! Addresses to listen on: an address, a name, or a port alone for loopback.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tokio::net::TcpListener;

use crate::Failure;

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListenAddress {
    host: Host,
    port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    Address(IpAddr),
    /// A name that is resolved when it is listened on.
    Name(String),
}

impl ListenAddress {
    /// Reads `ADDRESS:PORT`, `NAME:PORT` or `:PORT`.
    ///
    /// # Errors
    /// It is none of these; says what is allowed.
    pub(super) fn parse(text: &str) -> Result<ListenAddress, String> {
        if let Ok(address) = text.parse::<SocketAddr>() {
            let host = Host::Address(address.ip());
            return Ok(ListenAddress {
                host,
                port: address.port(),
            });
        }
        let is_name = |name: &str| {
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
            name.bytes().all(is_part)
        };
        let parts = text.rsplit_once(':').filter(|(name, _)| is_name(name));
        let parsed = parts.and_then(|(name, port)| Some((name, port.parse().ok()?)));
        let (name, port) = parsed.ok_or(
            "an address and a port are needed, such as 127.0.0.1:8080, [::1]:8080, localhost:8080, or :8080 for loopback",
        )?;
        let host = if name.is_empty() {
            Host::Address(Ipv4Addr::LOCALHOST.into())
        } else {
            Host::Name(name.to_owned())
        };
        Ok(ListenAddress { host, port })
    }

    /// Listens, or says which of the two addresses cannot be had and how to choose another.
    pub(super) async fn listen(&self, option: &str) -> Result<TcpListener, Failure> {
        let listener = match &self.host {
            Host::Address(address) => TcpListener::bind((*address, self.port)).await,
            Host::Name(name) => TcpListener::bind((name.as_str(), self.port)).await,
        };
        listener.map_err(|error| {
            format!("cannot listen on {self}: {error}; {option} takes another address").into()
        })
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Address(address) => SocketAddr::new(*address, self.port).fmt(f),
            Host::Name(name) => write!(f, "{name}:{}", self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_a_name_or_a_port_is_read() {
        for (text, shown) in [
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            ("[::1]:0", "[::1]:0"),
            ("localhost:8080", "localhost:8080"),
            (":9464", "127.0.0.1:9464"),
            ("db-1.example:80", "db-1.example:80"),
        ] {
            let address = ListenAddress::parse(text).map(|address| address.to_string());
            assert_eq!(address.as_deref(), Ok(shown));
        }
        for text in [
            "",
            "8080",
            "localhost",
            "a b:80",
            "::1:80",
            "localhost:65536",
            "localhost:",
            "http://a:80",
        ] {
            assert!(ListenAddress::parse(text).is_err(), "{text}");
        }
    }
}
