//! TLS between nodes: answers over it, and what is said of certificates that are no good.

use std::ffi::OsString;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::client;
use crate::fixture::{
    Cluster, Fixture, NAMES, Shape, free_port, settings_path, worker_address, write_settings,
};

/// The host of every node.
const HOST: &str = "127.0.0.1";

/// The certificate, the key and the authority of a node.
pub(crate) fn files(fixture: &Fixture, name: &str) -> [PathBuf; 3] {
    [
        fixture.path(&format!("{name}.pem")),
        fixture.path(&format!("{name}.key")),
        fixture.path(&format!("{name}-ca.pem")),
    ]
}

pub(crate) fn options(fixture: &Fixture, name: &str) -> [OsString; 6] {
    let [certificate, key, authority] = files(fixture, name).map(PathBuf::into_os_string);
    [
        "--worker-cert".into(),
        certificate,
        "--worker-key".into(),
        key,
        "--worker-ca".into(),
        authority,
    ]
}

/// What signs certificates.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // The same for all, as in a cluster whose authority was replaced by another.
        params
            .distinguished_name
            .push(DnType::CommonName, "nodes of a cluster");
        let key = KeyPair::generate().expect("a key");
        Authority(CertifiedIssuer::self_signed(params, key).expect("an authority"))
    }

    /// A certificate for a host and its key, valid in these years.
    fn sign(&self, host: &str, years: std::ops::Range<i32>) -> Signed {
        let mut params = CertificateParams::new(vec![host.to_owned()]).expect("parameters");
        params.not_before = rcgen::date_time_ymd(years.start, 1, 1);
        params.not_after = rcgen::date_time_ymd(years.end, 1, 1);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        Signed {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
            authority: self.0.pem(),
        }
    }

    fn good(&self) -> Signed {
        self.sign(HOST, 2020..2090)
    }
}

/// The texts of a node's three files.
struct Signed {
    certificate: String,
    key: String,
    authority: String,
}

impl Signed {
    fn write(&self, fixture: &Fixture, name: &str) {
        let texts = [&self.certificate, &self.key, &self.authority];
        for (path, text) in files(fixture, name).iter().zip(texts) {
            fs::write(path, text).expect("a written file");
        }
    }

    /// What a client uses that shows this certificate and trusts this authority.
    fn client(&self) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        let authority = CertificateDer::from_pem_slice(self.authority.as_bytes());
        roots.add(authority.expect("PEM")).expect("an authority");
        let certificate = CertificateDer::from_pem_slice(self.certificate.as_bytes());
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_client_auth_cert(vec![certificate.expect("PEM")], key.expect("PEM"))
            .expect("a client")
    }
}

fn start(authority: &Authority, nodes: usize) -> (Fixture, Cluster) {
    let fixture = Fixture::new();
    fixture.generate("corpus", 500, 7);
    fixture.publish("corpus", 4, "store");
    for name in &NAMES[..nodes] {
        authority.good().write(&fixture, name);
    }
    let shape = Shape {
        nodes,
        tls: true,
        ..Shape::with_replicas(1)
    };
    let cluster = Cluster::start(&fixture, "cluster", "store", shape);
    (fixture, cluster)
}

#[test]
fn nodes_answer_each_other_over_tls() {
    let (fixture, cluster) = start(&Authority::new(), 3);
    let whole = fixture.serve_whole("corpus");
    for target in [
        "/api/v1/signals?limit=50",
        "/api/v1/signals?countOnly=true",
        "/api/v1/filter-options?q=new",
    ] {
        for node in &cluster.nodes {
            let answer = node.get(target);
            assert_eq!(answer.status, 200, "{target}: {}", node.log());
            assert!(answer.body == whole.get(target).body, "{target}");
        }
    }
}

/// Connects as a node would and says whether the worker has kept the connection.
async fn is_accepted(address: SocketAddr, client: ClientConfig) -> bool {
    let mut client = client;
    client.alpn_protocols.push(b"h2".to_vec());
    let socket = TcpStream::connect(address).await.expect("a connection");
    let name = ServerName::from(IpAddr::from(Ipv4Addr::LOCALHOST));
    let connected = TlsConnector::from(Arc::new(client)).connect(name, socket);
    let Ok(mut connection) = connected.await else {
        return false;
    };
    // The server checks our certificate after we have finished: what it sends says how.
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    connection.write_all(preface).await.is_ok() && connection.read_u8().await.is_ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_says_which_certificates_it_refuses() {
    let authority = Authority::new();
    let (fixture, cluster) = start(&authority, 1);
    let (node, address) = (&cluster.nodes[0], worker_address(&fixture, "cluster", 0));
    assert!(is_accepted(address, authority.good().client()).await);
    let foreign = Signed {
        authority: authority.0.pem(),
        ..Authority::new().good()
    };
    for (certificate, reason) in [
        (authority.sign(HOST, 2020..2021), "expired on 2021-01-01"),
        (
            authority.sign(HOST, 2080..2090),
            "not valid before 2080-01-01",
        ),
        (foreign, "not signed by the authority"),
    ] {
        assert!(
            !is_accepted(address, certificate.client()).await,
            "{reason}"
        );
        node.await_log(reason);
    }
    let mut plain = TcpStream::connect(address).await.expect("a connection");
    plain
        .write_all(b"PRI * HTTP/2.0\r\n\r\n")
        .await
        .expect("sent");
    node.await_log("does not speak TLS");
    assert_eq!(node.get("/api/v1/signals?countOnly=true").status, 200);
}

/// A node whose peer shows a certificate that the node refuses says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_says_which_certificate_of_another_it_refuses() {
    let fixture = Fixture::new();
    fixture.generate("corpus", 100, 7);
    fixture.publish("corpus", 2, "store");
    let (ours, theirs) = (Authority::new(), Authority::new());
    ours.good().write(&fixture, NAMES[0]);
    theirs.good().write(&fixture, NAMES[1]);
    let ports = [free_port(), free_port()];
    write_settings(
        &settings_path(&fixture, "cluster"),
        &fixture.path("store"),
        2,
        &ports,
    );
    let start = |name: &str| {
        let mut command = fixture.serve(name);
        command
            .arg("--cluster")
            .arg(settings_path(&fixture, "cluster"));
        command.args(["--node", name, "--cluster-interval", "0.1", "--shard-cache"]);
        command.arg(fixture.path(&format!("{name}-cache")));
        command.args(options(&fixture, name));
        let log = fixture.path(&format!("{name}.log"));
        crate::fixture::Served::start(command, log, fixture.key.clone())
    };
    let nodes = [start(NAMES[0]), start(NAMES[1])];
    for (node, other) in nodes.iter().zip(ports.iter().rev()) {
        node.await_log(&format!("{HOST}:{other}"));
        node.await_log("not signed by the authority");
    }
}

/// Certificates are replaced one node after another, while clients ask.
#[test]
fn certificates_are_replaced_under_load() {
    let former = Authority::new();
    let (fixture, cluster) = start(&former, 3);
    let next = Authority::new();
    let is_over = AtomicBool::new(false);
    let asked = AtomicU64::new(0);
    thread::scope(|scope| {
        for node in &cluster.nodes {
            let (is_over, asked) = (&is_over, &asked);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let answer = node.get("/api/v1/signals?limit=5");
                    assert_eq!(answer.status, 200, "{answer:?}: {}", node.log());
                    asked.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        // First all nodes trust both authorities, then each gets a certificate of the new one.
        let both = format!("{}{}", former.0.pem(), next.0.pem());
        for authority in [&former, &next] {
            for (node, name) in cluster.nodes.iter().zip(NAMES) {
                let signed = Signed {
                    authority: both.clone(),
                    ..authority.good()
                };
                signed.write(&fixture, name);
                node.replace_certificate();
            }
        }
        // At last they trust the new one alone: a connection of the former would be refused.
        for (node, name) in cluster.nodes.iter().zip(NAMES) {
            next.good().write(&fixture, name);
            node.replace_certificate();
        }
        thread::sleep(Duration::from_millis(500));
        is_over.store(true, Ordering::Relaxed);
    });
    println!(
        "{} answers while nine certificates were replaced",
        asked.into_inner()
    );
}

/// Files that would be refused at start change nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_certificate_leaves_the_former_in_use() {
    let authority = Authority::new();
    let (fixture, cluster) = start(&authority, 1);
    let (node, address) = (&cluster.nodes[0], worker_address(&fixture, "cluster", 0));
    for (certificate, reason) in [
        (authority.sign(HOST, 2020..2021), "expired on 2021-01-01"),
        (authority.sign("10.0.0.1", 2020..2090), "not for 127.0.0.1"),
    ] {
        certificate.write(&fixture, NAMES[0]);
        node.send("HUP");
        node.await_log(reason);
        assert!(is_accepted(address, authority.good().client()).await);
        let metrics = client::request(node.admin_address(), "GET", "/metrics", &[]).body;
        let metrics = String::from_utf8(metrics).expect("text");
        let refused = metrics
            .lines()
            .find(|line| line.starts_with("signaldex_cluster_certificate_refused{"));
        assert!(
            refused.is_some_and(|line| line.contains(reason) && line.ends_with(" 1")),
            "{metrics}"
        );
    }
    // A good one of another authority: the worker no longer accepts the former.
    let next = Authority::new();
    next.good().write(&fixture, NAMES[0]);
    node.replace_certificate();
    assert!(!is_accepted(address, authority.good().client()).await);
    assert!(is_accepted(address, next.good().client()).await);
    let metrics = client::request(node.admin_address(), "GET", "/metrics", &[]).body;
    let metrics = String::from_utf8(metrics).expect("text");
    assert!(
        !metrics.contains("signaldex_cluster_certificate_refused{"),
        "{metrics}"
    );
}

fn serve(fixture: &Fixture) -> Output {
    let mut command = fixture.serve("refused");
    command.arg("--shard-cache").arg(fixture.path("cache"));
    command
        .arg("--cluster")
        .arg(settings_path(fixture, "cluster"));
    command.args(["--node", NAMES[0]]);
    command.args(options(fixture, NAMES[0]));
    command.output().expect("the program runs")
}

#[test]
fn a_node_does_not_start_with_certificates_that_others_would_refuse() {
    let fixture = Fixture::new();
    // Nothing is published, so that no node starts, whatever its certificate.
    write_settings(
        &settings_path(&fixture, "cluster"),
        &fixture.path("store"),
        1,
        &[free_port()],
    );
    let authority = Authority::new();
    let [certificate_path, key_path, authority_path] = files(&fixture, NAMES[0]);
    let check = |signed: Signed, path: &Path, reason: &str| {
        signed.write(&fixture, NAMES[0]);
        let output = serve(&fixture);
        let text = String::from_utf8_lossy(&output.stderr);
        let last = text.lines().last().unwrap_or_default();
        assert!(last.contains(reason), "{reason}: {text}");
        assert!(last.contains(path.to_str().expect("a path")), "{text}");
        assert!(!text.contains("panicked"), "{text}");
        assert_eq!(output.status.code(), Some(1), "{reason}: {text}");
    };
    let good = || authority.good();
    let text = || "no PEM".to_owned();
    let expired = authority.sign(HOST, 2020..2021);
    check(expired, &certificate_path, "expired on 2021-01-01");
    let early = authority.sign(HOST, 2080..2090);
    check(early, &certificate_path, "not valid before 2080-01-01");
    let foreign = Signed {
        authority: Authority::new().0.pem(),
        ..good()
    };
    check(foreign, &certificate_path, "not signed by the authority");
    let elsewhere = authority.sign("10.0.0.1", 2020..2090);
    check(elsewhere, &certificate_path, "not for 127.0.0.1");
    let other_key = Signed {
        key: good().key,
        ..good()
    };
    check(other_key, &key_path, "does not belong to the certificate");
    let certificate = text();
    check(
        Signed {
            certificate,
            ..good()
        },
        &certificate_path,
        "no certificate in PEM",
    );
    let key = text();
    check(
        Signed { key, ..good() },
        &key_path,
        "no unencrypted private key in PEM",
    );
    let no_authority = Signed {
        authority: text(),
        ..good()
    };
    check(no_authority, &authority_path, "no certificate in PEM");
    good().write(&fixture, NAMES[0]);
    let output = serve(&fixture);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("no generation is published"), "{text}");
}
