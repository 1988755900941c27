//! Security of connections between nodes: mutual TLS, or plain text.
//!
//! Errors of certificates are explained at the start of the node that presents one, and in the log of the node
//! that refuses it.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::{ArcSwap, ArcSwapOption};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{CertificateError, ClientConfig, RootCertStore, ServerConfig};
use time::OffsetDateTime;
use tokio::sync::watch;

use super::error::ClusterResult;
use signaldex::text::quoted;
use signaldex::{Error, Result};

/// The ALPN protocol between nodes.
const PROTOCOL: &[u8] = b"h2";

/// Whether connections between nodes are encrypted. Clones share the certificate, also when it is replaced.
#[derive(Clone, Debug, Default)]
pub struct Security(Option<Arc<Credentials>>);

/// The certificate of a node, and where it is read.
#[derive(Debug)]
struct Credentials {
    files: CredentialFiles,
    current: ArcSwap<Tls>,
    /// The addresses at which other nodes connect, which the certificate has to name.
    addresses: Mutex<Vec<String>>,
    /// Why the files could not be used when they were read last.
    refused: ArcSwapOption<String>,
    /// Told whenever the certificate is replaced.
    replaced: watch::Sender<()>,
}

#[derive(Debug)]
struct CredentialFiles {
    certificate: PathBuf,
    key: PathBuf,
    authority: PathBuf,
}

/// What connections are made with.
pub(super) struct Tls {
    pub(super) server: Arc<ServerConfig>,
    pub(super) client: Arc<ClientConfig>,
    verifier: Arc<WebPkiServerVerifier>,
    chain: Vec<CertificateDer<'static>>,
}

impl std::fmt::Debug for Tls {
    /// Does not show keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

impl Security {
    /// Plain text, for a private network.
    pub fn none() -> Security {
        Security(None)
    }

    /// Mutual TLS: nodes present this certificate and accept those signed by the authority. All three files are PEM.
    ///
    /// # Errors
    /// A file cannot be read or is not PEM, the key does not belong to the certificate, or other
    /// nodes would refuse the certificate: it has expired, is not valid yet, or was signed by
    /// another authority.
    pub fn tls(certificate: &Path, key: &Path, authority: &Path) -> ClusterResult<Security> {
        let files = CredentialFiles {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            authority: authority.to_owned(),
        };
        Ok(Security(Some(Arc::new(Credentials {
            current: ArcSwap::from_pointee(files.read()?),
            files,
            addresses: Mutex::default(),
            refused: ArcSwapOption::empty(),
            replaced: watch::Sender::default(),
        }))))
    }

    /// Reads the three files again. New connections use what they contain, and those of the former certificate end
    /// within a minute. Files that would be refused at the start of a node change nothing. Without TLS, there is
    /// nothing to read.
    ///
    /// # Errors
    /// As [`tls`](Self::tls); or other nodes would refuse the certificate at the address of this node.
    pub fn read_again(&self) -> ClusterResult<()> {
        let Some(credentials) = &self.0 else {
            return Ok(());
        };
        let read = credentials.read_again();
        let refused = read.as_ref().err();
        let refused = refused.map(|error| Arc::new(format!("{error:#}")));
        credentials.refused.store(refused);
        Ok(read?)
    }

    /// Why the files were refused when they were read last; `None` if they were not.
    pub(super) fn refused(&self) -> Option<String> {
        let refused = self.0.as_ref()?.refused.load();
        refused.as_deref().cloned()
    }

    /// Checks whether a worker may listen on an address: on non-local addresses any client could read everything, so TLS
    /// or an explicit option is required.
    ///
    /// # Errors
    /// [`Invalid`](signaldex::ErrorKind::Invalid) if it may not.
    pub fn check(&self, address: SocketAddr, is_wanted: bool) -> ClusterResult<()> {
        if self.0.is_some() || address.ip().is_loopback() || is_wanted {
            Ok(())
        } else {
            Err(Error::invalid(format!(
                "the worker would answer any client that reaches {address}: give it --worker-cert, \
                 --worker-key and --worker-ca, an address of this machine alone such as 127.0.0.1, \
                 or --insecure-worker in a network of its own"
            ))
            .into())
        }
    }

    /// Checks that other nodes accept the certificate for the address at which they connect, now and whenever it is
    /// replaced.
    pub(super) fn check_address(&self, address: &str) -> Result<()> {
        let Some(credentials) = &self.0 else {
            return Ok(());
        };
        credentials.check_address(&credentials.current.load(), address)?;
        credentials.addresses().push(address.to_owned());
        Ok(())
    }

    /// What new connections are made with; `None` for plain text.
    pub(super) fn current(&self) -> Option<Arc<Tls>> {
        self.0.as_ref().map(|tls| tls.current.load_full())
    }

    /// Whether a connection that was made with this may be used further.
    pub(super) fn is_current(&self, used: Option<&Arc<Tls>>) -> bool {
        match (&self.0, used) {
            (Some(credentials), Some(used)) => Arc::ptr_eq(&credentials.current.load(), used),
            (credentials, used) => credentials.is_none() && used.is_none(),
        }
    }

    /// Waits until another certificate has replaced the one that a connection was made with; for ever without TLS.
    pub(super) async fn replaced(&self, used: Option<&Arc<Tls>>) {
        let Some(credentials) = &self.0 else {
            return std::future::pending().await;
        };
        let mut replaced = credentials.replaced.subscribe();
        while self.is_current(used) {
            // Fails only without the sender, which is held here.
            let _ = replaced.changed().await;
        }
    }
}

impl Credentials {
    fn read_again(&self) -> Result<()> {
        let read = self.files.read()?;
        for address in self.addresses().iter() {
            self.check_address(&read, address)?;
        }
        self.current.store(Arc::new(read));
        self.replaced.send_replace(());
        Ok(())
    }

    fn check_address(&self, tls: &Tls, address: &str) -> Result<()> {
        let (own, intermediates) = split(&tls.chain);
        let name = server_name(address)?;
        tls.verifier
            .verify_server_cert(own, intermediates, &name, &[], UnixTime::now())
            .map(drop)
            .map_err(|error| Error::invalid(reason(&error)).at(&self.files.certificate))
    }

    fn addresses(&self) -> MutexGuard<'_, Vec<String>> {
        let addresses = self.addresses.lock();
        addresses.unwrap_or_else(PoisonError::into_inner)
    }
}

impl CredentialFiles {
    fn read(&self) -> Result<Tls> {
        let CredentialFiles {
            certificate,
            key,
            authority,
        } = self;
        let chain = certificates(certificate)?;
        let private_key = private_key(key)?;
        let roots = Arc::new(roots(authority)?);
        let invalid = |error: rustls::Error| Error::invalid(reason(&error)).at(certificate);
        let client_verifier = client_verifier(&roots).map_err(|error| error.at(authority))?;
        let verifier = server_verifier(&roots).map_err(|error| error.at(authority))?;
        let (own, intermediates) = split(&chain);
        client_verifier
            .verify_client_cert(own, intermediates, UnixTime::now())
            .map_err(invalid)?;
        let belongs = |error: rustls::Error| match error {
            rustls::Error::InconsistentKeys(_) => {
                let certificate = certificate.display();
                let reason = format!("it does not belong to the certificate of {certificate}");
                Error::invalid(reason).at(key)
            }
            error => Error::invalid(reason(&error)).at(key),
        };
        let server = server_config(client_verifier, chain.clone(), private_key.clone_key());
        let client = client_config(&roots, chain.clone(), private_key);
        Ok(Tls {
            server: Arc::new(server.map_err(belongs)?),
            client: Arc::new(client.map_err(belongs)?),
            verifier,
            chain,
        })
    }
}

/// The cryptography provider between nodes. Passed explicitly, because the default of a process is ambiguous if
/// other crates enable another one.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn client_verifier(roots: &Arc<RootCertStore>) -> Result<Arc<dyn ClientCertVerifier>> {
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::clone(roots), provider());
    verifier.build().map_err(|error| unusable(&error))
}

fn server_verifier(roots: &Arc<RootCertStore>) -> Result<Arc<WebPkiServerVerifier>> {
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::clone(roots), provider());
    verifier.build().map_err(|error| unusable(&error))
}

fn server_config(
    verifier: Arc<dyn ClientCertVerifier>,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)?;
    config.alpn_protocols.push(PROTOCOL.to_vec());
    Ok(config)
}

fn client_config(
    roots: &Arc<RootCertStore>,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ClientConfig, rustls::Error> {
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(Arc::clone(roots))
        .with_client_auth_cert(chain, key)?;
    config.alpn_protocols.push(PROTOCOL.to_vec());
    Ok(config)
}

/// Splits a node's own certificate from intermediate ones.
fn split<'a>(
    chain: &'a [CertificateDer<'static>],
) -> (&'a CertificateDer<'static>, &'a [CertificateDer<'static>]) {
    let (own, intermediates) = chain.split_first().expect("files without one are refused");
    (own, intermediates)
}

/// Reads the certificates of a file, at least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let bytes = read(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match found {
        Ok(found) if found.is_empty() => {
            Err(Error::invalid("it has no certificate in PEM").at(path))
        }
        Ok(found) => Ok(found),
        Err(error) => Err(Error::invalid(format!("it is damaged PEM: {error}")).at(path)),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>> {
    PrivateKeyDer::from_pem_slice(&read(path)?).map_err(|error| {
        let reason = match error {
            rustls::pki_types::pem::Error::NoItemsFound => {
                "it has no unencrypted private key in PEM".to_owned()
            }
            error => format!("it is damaged PEM: {error}"),
        };
        Error::invalid(reason).at(path)
    })
}

fn roots(path: &Path) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        let added = roots.add(certificate);
        added.map_err(|error| Error::invalid(reason(&error)).at(path))?;
    }
    Ok(roots)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| Error::io("read the file", error).at(path))
}

fn unusable(error: &dyn std::error::Error) -> Error {
    Error::invalid(format!("the authority cannot be used: {error}"))
}

/// The host of an address, for checking certificates.
pub(super) fn server_name(address: &str) -> Result<ServerName<'static>> {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    ServerName::try_from(host.to_owned()).map_err(|_| {
        let host = quoted(host);
        Error::invalid(format!("nodes: {host} is not a valid TLS server name"))
    })
}

/// Explains why a connection was refused.
pub(super) fn in_words(error: &io::Error) -> String {
    let inner = error.get_ref();
    match inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(error) => reason(error),
        None => format!("the TLS handshake has ended: {error}"),
    }
}

fn reason(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(error) => reason_of_certificate(error),
        rustls::Error::NoCertificatesPresented => "it shows no certificate".to_owned(),
        rustls::Error::InvalidMessage(_) => "it does not speak TLS".to_owned(),
        rustls::Error::AlertReceived(alert) => {
            format!("the other side has ended the TLS handshake: {alert:?}")
        }
        error => format!("TLS: {error}"),
    }
}

fn reason_of_certificate(error: &CertificateError) -> String {
    match error {
        CertificateError::ExpiredContext { not_after, .. } => {
            format!("the certificate expired on {}", day(*not_after))
        }
        CertificateError::NotValidYetContext { not_before, .. } => {
            format!("the certificate is not valid before {}", day(*not_before))
        }
        // If another authority has the same name, only the signature differs.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "the certificate is not signed by the authority of --worker-ca".to_owned()
        }
        CertificateError::NotValidForNameContext { expected, .. } => {
            let host = expected.to_str();
            format!("the certificate is not for {host}, the host of the node's address")
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "the certificate's extended key usage has to allow both servers and clients".to_owned()
        }
        error => format!("the certificate cannot be used: {error}"),
    }
}

/// The day of an instant.
fn day(instant: UnixTime) -> String {
    let seconds = i64::try_from(instant.as_secs()).ok();
    let instant = seconds.and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok());
    instant.map_or_else(
        || "a day of no calendar".to_owned(),
        |instant| instant.date().to_string(),
    )
}

#[cfg(test)]
mod tests;
