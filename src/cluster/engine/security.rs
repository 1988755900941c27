//! How nodes reach each other: over TLS with certificates of both sides, or in the clear.

use std::net::SocketAddr;
use std::path::Path;

use tonic::transport::{Certificate, ClientTlsConfig, Identity, ServerTlsConfig};

use crate::{Error, Result};

/// Whether connections between nodes are encrypted.
#[derive(Clone, Debug, Default)]
pub struct Security(Option<Tls>);

#[derive(Clone)]
struct Tls {
    identity: Identity,
    authority: Certificate,
}

impl std::fmt::Debug for Tls {
    /// Shows no key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

impl Security {
    /// In the clear: for a network that nobody else has access to.
    pub fn none() -> Security {
        Security(None)
    }

    /// TLS: nodes show this certificate and accept those that the authority has signed.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn tls(certificate: &Path, key: &Path, authority: &Path) -> Result<Security> {
        Ok(Security(Some(Tls {
            identity: Identity::from_pem(read(certificate)?, read(key)?),
            authority: Certificate::from_pem(read(authority)?),
        })))
    }

    /// Whether a worker may listen there: on other than this machine's own addresses whoever
    /// reaches it could read everything, so that has to be wanted.
    ///
    /// # Errors
    /// [`is_invalid`](Error::is_invalid) where it may not.
    pub fn check(&self, address: SocketAddr, is_wanted: bool) -> Result<()> {
        match self.0.is_some() || address.ip().is_loopback() || is_wanted {
            true => Ok(()),
            false => Err(Error::invalid(format!(
                "the worker would answer whoever reaches {address}: give it --worker-cert, \
                 --worker-key and --worker-ca, an address of this machine alone such as 127.0.0.1, \
                 or --insecure-worker in a network of its own"
            ))),
        }
    }

    pub(super) fn scheme(&self) -> &'static str {
        match self.0 {
            Some(_) => "https",
            None => "http",
        }
    }

    pub(super) fn server_tls(&self) -> Option<ServerTlsConfig> {
        self.0.as_ref().map(|tls| {
            ServerTlsConfig::new()
                .identity(tls.identity.clone())
                .client_ca_root(tls.authority.clone())
        })
    }

    pub(super) fn client_tls(&self) -> Option<ClientTlsConfig> {
        self.0.as_ref().map(|tls| {
            ClientTlsConfig::new()
                .identity(tls.identity.clone())
                .ca_certificate(tls.authority.clone())
        })
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| Error::io("read the file", error).at(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_in_the_clear_is_refused_on_other_than_loopback_unless_that_is_wanted() {
        let check = |address: &str, is_wanted| {
            let address = address.parse().expect("an address");
            Security::none().check(address, is_wanted)
        };
        for address in ["127.0.0.1:7400", "[::1]:7400"] {
            assert!(check(address, false).is_ok(), "{address}");
        }
        for address in [
            "0.0.0.0:7400",
            "10.0.0.1:7400",
            "[::]:7400",
            "192.0.2.1:7400",
        ] {
            let error = check(address, false).expect_err("refused");
            assert!(error.to_string().contains("--worker-cert"), "{error}");
            assert!(check(address, true).is_ok(), "{address}");
        }
    }
}
