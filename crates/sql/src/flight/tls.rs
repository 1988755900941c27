//! TLS of the listener: its certificate and key, and where it may do without.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::SqlError;

/// The certificate of a listener.
#[derive(Clone)]
pub struct FlightTls(pub(super) Arc<ServerConfig>);

impl FlightTls {
    /// Reads a certificate, with those between it and its authority, and its private key, both PEM.
    ///
    /// ```
    /// use std::path::Path;
    /// use signaldex_sql::FlightTls;
    ///
    /// let error = FlightTls::read(Path::new("no.pem"), Path::new("key.pem")).expect_err("there is no such file");
    /// assert!(error.to_string().starts_with("no.pem: cannot read the file"), "{error}");
    /// ```
    ///
    /// # Errors
    /// A file cannot be read or is not PEM, or the key does not belong to the certificate.
    pub fn read(certificate: &Path, key: &Path) -> Result<FlightTls, SqlError> {
        let chain = CertificateDer::pem_slice_iter(&read(certificate)?).collect::<Result<_, _>>();
        let chain: Vec<CertificateDer<'static>> =
            chain.map_err(|error| at(certificate, format!("it is damaged PEM: {error}")))?;
        if chain.is_empty() {
            return Err(at(certificate, "it has no certificate in PEM"));
        }
        let private_key =
            PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|error| match error {
                PemError::NoItemsFound => at(key, "it has no unencrypted private key in PEM"),
                error => at(key, format!("it is damaged PEM: {error}")),
            })?;
        // Passed explicitly, because the default of a process is ambiguous if other crates enable another one.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map(|builder| builder.with_no_client_auth())
            .and_then(|builder| builder.with_single_cert(chain, private_key));
        let mut config = config.map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => {
                let certificate = certificate.display();
                at(
                    key,
                    format!("it does not belong to the certificate of {certificate}"),
                )
            }
            error => at(certificate, format!("it cannot be used: {error}")),
        })?;
        config.alpn_protocols.push(b"h2".to_vec());
        Ok(FlightTls(Arc::new(config)))
    }
}

impl std::fmt::Debug for FlightTls {
    /// Does not show the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FlightTls").finish_non_exhaustive()
    }
}

/// Checks whether SQL may listen on an address: without TLS the admin token would travel in the clear, so only this
/// machine may reach it.
///
/// ```
/// use signaldex_sql::check_flight_address;
///
/// let (local, open) = ("127.0.0.1:9465".parse()?, "0.0.0.0:9465".parse()?);
/// assert!(check_flight_address(local, None).is_ok());
/// let error = check_flight_address(open, None).expect_err("the token would travel in the clear");
/// assert!(error.to_string().contains("--sql-cert"), "{error}");
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
///
/// # Errors
/// It may not; says which options help.
pub fn check_flight_address(address: SocketAddr, tls: Option<&FlightTls>) -> Result<(), SqlError> {
    if tls.is_some() || address.ip().to_canonical().is_loopback() {
        return Ok(());
    }
    Err(SqlError::io(format!(
        "the admin token would travel without TLS to {address}: give --sql-addr a certificate with --sql-cert and \
         --sql-key, or an address of this machine alone, such as 127.0.0.1:{}",
        address.port()
    )))
}

fn read(path: &Path) -> Result<Vec<u8>, SqlError> {
    let read = std::fs::read(path);
    read.map_err(|error: io::Error| at(path, format!("cannot read the file: {error}")))
}

fn at(path: &Path, reason: impl std::fmt::Display) -> SqlError {
    SqlError::io(format!("{}: {reason}", path.display()))
}
