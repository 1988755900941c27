//! Who is answered: those who show the admin token, and over TLS elsewhere than on this machine.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use arrow_flight::sql::client::FlightSqlServiceClient;
use hyper_util::rt::TokioIo;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use signaldex::sample;
use signaldex_sql::{FlightOptions, FlightTls, check_flight_address};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tonic::Code;
use tonic::transport::{Endpoint, Uri};

use crate::fixture::{Client, Served, TOKEN, answer, refusal};

#[tokio::test]
async fn nothing_is_answered_without_the_admin_token() {
    let served = Served::start(FlightOptions::default());
    let mut client = served.unauthenticated().await;
    let status = refusal(&mut client, "SELECT 1").await;
    assert_eq!(status.code(), Code::Unauthenticated);
    for wrong in ["", "sdxadmin_another", "sdx_an-api-key", &TOKEN[1..]] {
        client.set_token(wrong.to_owned());
        let status = refusal(&mut client, "SELECT 1").await;
        assert_eq!(status.code(), Code::Unauthenticated, "{wrong}");
        assert!(
            status.message().contains("an API key does not open it"),
            "{status}"
        );
        let failed = client.get_catalogs().await.expect_err("no token");
        assert!(failed.to_string().contains("admin token"), "{failed}");
        let failed = client.prepare("SELECT 1".to_owned(), None).await;
        assert!(failed.is_err(), "{wrong}");
    }
    client.set_token(TOKEN.to_owned());
    assert_eq!(answer(&mut client, "SELECT 1").await, [["1"]]);
}

#[tokio::test]
async fn the_token_is_a_password_too() {
    let served = Served::start(FlightOptions::default());
    let mut client = served.unauthenticated().await;
    let failed = client
        .handshake("ada", "wrong")
        .await
        .expect_err("a wrong password");
    assert!(failed.to_string().contains("admin token"), "{failed}");
    client.handshake("ada", TOKEN).await.expect("the token");
    assert_eq!(client.token().map(String::as_str), Some(TOKEN));
    assert_eq!(answer(&mut client, "SELECT 1").await, [["1"]]);
}

#[test]
fn other_machines_need_tls() {
    let folder = tempfile::tempdir().expect("a folder");
    let tls = certified(folder.path()).0;
    for (address, is_local) in [
        ("127.0.0.1:1", true),
        ("[::1]:1", true),
        ("[::ffff:127.0.0.1]:1", true),
        ("0.0.0.0:1", false),
        ("192.168.7.7:1", false),
        ("[::]:1", false),
    ] {
        let address: SocketAddr = address.parse().expect("an address");
        assert_eq!(
            check_flight_address(address, None).is_ok(),
            is_local,
            "{address}"
        );
        assert!(check_flight_address(address, Some(&tls)).is_ok());
    }
}

#[test]
fn files_that_are_no_certificate_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    certified(folder.path());
    let other = tempfile::tempdir().expect("a folder");
    certified(other.path());
    let (certificate, key) = (
        folder.path().join("cert.pem"),
        folder.path().join("key.pem"),
    );
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "nothing\n").expect("a file");
    for (certificate, key, reason) in [
        (
            &folder.path().join("no.pem"),
            &key,
            "no.pem: cannot read the file",
        ),
        (&empty, &key, "empty.pem: it has no certificate in PEM"),
        (
            &certificate,
            &empty,
            "empty.pem: it has no unencrypted private key in PEM",
        ),
        (
            &certificate,
            &other.path().join("key.pem"),
            "key.pem: it does not belong to the certificate of",
        ),
    ] {
        let error = FlightTls::read(certificate, key).expect_err("files that are no good");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[tokio::test]
async fn tls_is_spoken_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let (tls, roots) = certified(folder.path());
    let index = sample::index().expect("the sample");
    let served = Served::over(index, FlightOptions::default(), Some(tls));
    let mut client = over_tls(served.address, roots).await;
    client.set_token(TOKEN.to_owned());
    assert_eq!(answer(&mut client, "SELECT 1").await, [["1"]]);
    let endpoint = Endpoint::from_shared(format!("http://{}", served.address));
    if let Ok(channel) = endpoint.expect("an address").connect().await {
        let mut plain: Client = FlightSqlServiceClient::new(channel);
        plain.set_token(TOKEN.to_owned());
        assert!(plain.execute("SELECT 1".to_owned(), None).await.is_err());
    }
    assert_eq!(answer(&mut client, "SELECT 1").await, [["1"]]);
}

/// A certificate for localhost in a folder, and what trusts it.
fn certified(folder: &Path) -> (FlightTls, RootCertStore) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let (certificate, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    std::fs::write(&certificate, cert.pem()).expect("a file");
    std::fs::write(&key, signing_key.serialize_pem()).expect("a file");
    let mut roots = RootCertStore::empty();
    roots.add(cert.der().clone()).expect("a root");
    (
        FlightTls::read(&certificate, &key).expect("its files"),
        roots,
    )
}

async fn over_tls(address: SocketAddr, roots: RootCertStore) -> Client {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols.push(b"h2".to_vec());
    let connector = TlsConnector::from(Arc::new(config));
    let connect = tower::service_fn(move |_: Uri| {
        let connector = connector.clone();
        async move {
            let socket = TcpStream::connect(address).await?;
            let name = ServerName::try_from("localhost").expect("a name");
            let stream = connector.connect(name, socket).await?;
            Ok::<_, io::Error>(TokioIo::new(stream))
        }
    });
    let endpoint = Endpoint::from_static("http://localhost");
    let channel = endpoint.connect_with_connector(connect).await.expect("TLS");
    FlightSqlServiceClient::new(channel)
}
