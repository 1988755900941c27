//! What is connected to, and what never is.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::Uri;
use tokio::net::TcpListener;
use tower_service::Service;

use super::{GuardedConnector, NotConnected, Resolve};
use crate::webhooks::WebhookRules;

/// A resolver of a test: each question has the next answer, the last one for ever.
struct Answers {
    answers: Vec<Vec<IpAddr>>,
    asked: AtomicUsize,
}

impl Resolve for Answers {
    fn resolve(
        &self,
        _name: String,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        let answer = self.answers[asked.min(self.answers.len() - 1)].clone();
        Box::pin(async move { Ok(answer) })
    }
}

fn answers(answers: &[&[&str]]) -> Arc<Answers> {
    let parsed = |answer: &&[&str]| {
        answer
            .iter()
            .map(|text| text.parse().expect(text))
            .collect()
    };
    Arc::new(Answers {
        answers: answers.iter().map(parsed).collect(),
        asked: AtomicUsize::new(0),
    })
}

/// A listener on loopback that nothing may reach, and its port.
async fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
    let port = listener.local_addr().expect("an address").port();
    (listener, port)
}

async fn connect(
    rules: &WebhookRules,
    resolver: &Arc<Answers>,
    url: &str,
) -> Result<(), NotConnected> {
    let resolver = Arc::clone(resolver);
    let mut connector = GuardedConnector::new(Arc::new(rules.clone()), resolver);
    let uri: Uri = url.parse().expect(url);
    connector.call(uri).await.map(drop)
}

fn loopback_allowed() -> WebhookRules {
    WebhookRules {
        allowed: vec!["127.0.0.1/32".parse().expect("a range")],
        ..WebhookRules::default()
    }
}

#[tokio::test]
async fn one_address_that_is_not_allowed_refuses_the_name() {
    let (listener, port) = listener().await;
    let url = format!("https://hooks.example:{port}/");
    for addresses in [
        &["127.0.0.1"][..],
        &["8.8.8.8", "127.0.0.1"],
        &["127.0.0.1", "8.8.8.8"],
        &["::ffff:127.0.0.1"],
        &["64:ff9b::7f00:1"],
        &["10.0.0.1"],
        &["169.254.169.254"],
        &["fd00:ec2::254"],
        &["0.0.0.0"],
        &["::1"],
    ] {
        let refused = connect(&WebhookRules::default(), &answers(&[addresses]), &url).await;
        assert!(
            matches!(refused, Err(NotConnected::Refused)),
            "{addresses:?}: {refused:?}"
        );
    }
    let literal = format!("https://127.0.0.1:{port}/");
    let none = answers(&[&[]]);
    let refused = connect(&WebhookRules::default(), &none, &literal).await;
    assert!(matches!(refused, Err(NotConnected::Refused)));
    let empty = connect(&WebhookRules::default(), &none, &url).await;
    assert!(matches!(empty, Err(NotConnected::Addresses(0))));
    let accepted = tokio::time::timeout(std::time::Duration::from_millis(100), listener.accept());
    assert!(accepted.await.is_err(), "nothing was connected");
}

/// A name that is resolved anew would lead elsewhere: the address that was judged is the one that is connected to.
#[tokio::test]
async fn a_name_is_resolved_once() {
    let (listener, port) = listener().await;
    let resolver = answers(&[&["127.0.0.1"], &["10.0.0.1"]]);
    let url = format!("https://hooks.example:{port}/");
    connect(&loopback_allowed(), &resolver, &url)
        .await
        .expect("a connection");
    listener.accept().await.expect("the connection");
    assert_eq!(resolver.asked.load(Ordering::Relaxed), 1);
    let refused = connect(&loopback_allowed(), &resolver, &url).await;
    assert!(matches!(refused, Err(NotConnected::Refused)), "{refused:?}");
}

#[tokio::test]
async fn too_many_addresses_are_not_judged() {
    let many = answers(&[&["8.8.8.8"; 65]]);
    let rules = WebhookRules::default();
    let refused = connect(&rules, &many, "https://hooks.example/").await;
    assert!(matches!(refused, Err(NotConnected::Addresses(65))));
}

#[tokio::test(start_paused = true)]
async fn a_name_that_does_not_resolve_in_time_is_left() {
    struct Never;
    impl Resolve for Never {
        fn resolve(
            &self,
            _name: String,
        ) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>> {
            Box::pin(std::future::pending())
        }
    }
    let mut connector = GuardedConnector::new(Arc::default(), Arc::new(Never));
    let late = connector
        .call(Uri::from_static("https://hooks.example/"))
        .await;
    assert_eq!(
        late.map(drop).expect_err("too late").to_string(),
        "no connection in 5 s"
    );
}
