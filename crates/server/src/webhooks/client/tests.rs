//! What an attempt is, against receivers of all kinds.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

fn rules() -> WebhookRules {
    let mut rules = WebhookRules::default();
    rules.allowed.push("127.0.0.1".parse().expect("a range"));
    rules.http = true;
    rules
}

/// A receiver that writes some bytes to each connection, whatever it is asked, and then waits.
async fn receiver(answer: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = answer.clone();
            tokio::spawn(async move {
                let mut asked = [0; 1_024];
                let _ = stream.read(&mut asked).await;
                let _ = stream.write_all(&answer).await;
                let _ = stream.read(&mut asked).await;
                std::future::pending::<()>().await;
            });
        }
    });
    address
}

async fn ask(rules: WebhookRules, url: &str) -> AttemptAnswer {
    let client = WebhookClient::new(rules).expect("TLS");
    let url = WebhookUrl::of_stored(url).expect("a URL");
    client.send(&url, HeaderMap::new(), b"{}".to_vec()).await
}

#[tokio::test]
async fn the_status_counts_and_the_first_bytes_are_kept() {
    let long = [
        b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n".as_slice(),
        &[b'a'; 100_000],
    ]
    .concat();
    let address = receiver(long).await;
    let answered = ask(rules(), &format!("http://{address}/")).await;
    assert_eq!(
        (answered.status, answered.body),
        (Some(200), vec![b'a'; 256])
    );
    let moved = b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
    let address = receiver(moved.to_vec()).await;
    assert_eq!(
        ask(rules(), &format!("http://{address}/")).await.status,
        Some(302)
    );
}

#[tokio::test]
async fn a_body_that_never_comes_changes_no_status() {
    let address = receiver(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nok".to_vec()).await;
    let answered = ask(rules(), &format!("http://{address}/")).await;
    assert_eq!(
        (answered.status, answered.body),
        (Some(200), b"ok".to_vec())
    );
}

#[tokio::test]
async fn a_head_without_end_is_no_answer() {
    let head = [b"HTTP/1.1 200 OK\r\nx: ".as_slice(), &[b'a'; 100_000]].concat();
    let address = receiver(head).await;
    let answered = ask(rules(), &format!("http://{address}/")).await;
    assert!(
        answered.status.is_none() && answered.reason.is_some(),
        "{answered:?}"
    );
}

#[tokio::test]
async fn what_the_rules_refuse_is_not_connected_to() {
    let address = receiver(Vec::new()).await;
    let refused = ask(WebhookRules::default(), &format!("https://{address}/")).await;
    assert!(refused.reason.expect("a reason").contains("is not public"));
    let refused = ask(
        WebhookRules::default(),
        &format!("https://localhost:{}/", address.port()),
    )
    .await;
    assert_eq!(refused.reason.as_deref(), Some("address refused"));
    let refused = ask(WebhookRules::default(), "http://hooks.example/").await;
    assert!(refused.reason.expect("a reason").contains("https://"));
}

#[tokio::test]
async fn a_certificate_of_nobody_is_refused() {
    let address = receiver(b"not TLS".to_vec()).await;
    let answered = ask(rules(), &format!("https://{address}/")).await;
    assert!(
        answered.status.is_none() && answered.reason.is_some(),
        "{answered:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_hangs_has_fifteen_seconds() {
    let started = tokio::time::Instant::now();
    let address = receiver(Vec::new()).await;
    let answered = ask(rules(), &format!("http://{address}/")).await;
    assert_eq!(answered.reason.as_deref(), Some("no answer in 15 s"));
    assert_eq!(started.elapsed().as_secs(), 15);
}

#[test]
fn retry_after_is_seconds_or_a_date() {
    let headers = |text: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, axum::http::HeaderValue::from_static(text));
        headers
    };
    let now = OffsetDateTime::from_unix_timestamp(784_111_757).expect("an instant");
    let asked = |text| retry_after(&headers(text), now).map(|pause| pause.as_secs());
    assert_eq!(asked("120"), Some(120));
    assert_eq!(asked("Sun, 06 Nov 1994 08:49:37 GMT"), Some(20));
    assert_eq!(asked("Sun, 06 Nov 1994 08:49:00 GMT"), None);
    assert_eq!(asked("soon"), None);
}
