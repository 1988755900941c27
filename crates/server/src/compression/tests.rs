//! White-box tests of `compression.rs`.

use std::io::Read;

use axum::http::HeaderMap;
use flate2::read::GzDecoder;
use tokio::sync::mpsc;

use super::*;

/// A body that a test feeds.
struct FedBody(mpsc::UnboundedReceiver<Result<Bytes, axum::Error>>);

impl HttpBody for FedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> BodyPoll {
        let next = self.0.poll_recv(context);
        next.map(|next| next.map(|part| part.map(Frame::data)))
    }
}

fn fed() -> (mpsc::UnboundedSender<Result<Bytes, axum::Error>>, GzipBody) {
    let (sender, parts) = mpsc::unbounded_channel();
    (sender, GzipBody::of(Body::new(FedBody(parts))))
}

/// What a poll finds, where nobody waits for the body.
fn poll(body: &mut GzipBody) -> BodyPoll {
    let mut context = Context::from_waker(std::task::Waker::noop());
    Pin::new(body).poll_frame(&mut context)
}

/// Everything that is ready, up to the end, an error or a pause.
fn ready(body: &mut GzipBody) -> (Vec<u8>, BodyPoll) {
    let mut bytes = Vec::new();
    loop {
        match poll(body) {
            Poll::Ready(Some(Ok(next))) => bytes.extend(next.into_data().expect("data")),
            last => return (bytes, last),
        }
    }
}

/// As much as can be read, whether or not the end has come.
fn inflated(bytes: &[u8]) -> String {
    let (mut text, mut byte) = (Vec::new(), [0]);
    let mut decoder = GzDecoder::new(bytes);
    while let Ok(1) = decoder.read(&mut byte) {
        text.push(byte[0]);
    }
    String::from_utf8(text).expect("text")
}

#[test]
fn clients_get_gzip_if_they_prefer_it() {
    let accepts = |values: &[&str]| {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(ACCEPT_ENCODING, value.parse().expect("a value"));
        }
        accepts_gzip(&headers)
    };
    for values in [
        &["gzip"][..],
        &["gzip, deflate, br, zstd"],
        &["br", "gzip"],
        &["x-gzip"],
        &["GZIP ; Q=0.5"],
        &["*"],
        &["br;q=1.0, gzip;q=0.8, *;q=0.1"],
        &["identity;q=0.5, *;q=0.5"],
        &["*;q=0, gzip"],
        &["identity;q=0, gzip;q=0.001"],
    ] {
        assert!(accepts(values), "{values:?}");
    }
    for values in [
        &[][..],
        &[""],
        &["identity"],
        &["br"],
        &["gzip;q=0"],
        &["gzip;q=0.000"],
        &["gzip;q=0, *"],
        &["*;q=0"],
        &["identity, gzip;q=0.5"],
        &["gzip;q=x"],
        &["gzip;q=NaN"],
        &["gzipped"],
    ] {
        assert!(!accepts(values), "{values:?}");
    }
}

#[test]
fn a_body_comes_out_as_it_went_in() {
    for lengths in [&[0][..], &[1], &[STEP_BYTES, 1, 3 * STEP_BYTES + 7]] {
        let (sender, mut body) = fed();
        let mut expected = String::new();
        for &length in lengths {
            let part: String = ('a'..='z').cycle().take(length).collect();
            expected.push_str(&part);
            sender.send(Ok(part.into())).expect("a reader");
        }
        drop(sender);
        let (bytes, last) = ready(&mut body);
        assert!(matches!(last, Poll::Ready(None)), "{lengths:?}");
        let mut text = String::new();
        let whole = GzDecoder::new(&bytes[..]).read_to_string(&mut text);
        whole.expect("a whole file");
        assert!(text == expected, "{lengths:?}");
        assert!(matches!(poll(&mut body), Poll::Ready(None)));
    }
}

#[test]
fn what_has_come_is_sent_before_a_pause_and_before_an_error() {
    let (sender, mut body) = fed();
    sender.send(Ok("first\n".into())).expect("a reader");
    let (mut bytes, last) = ready(&mut body);
    assert!(last.is_pending());
    assert_eq!(inflated(&bytes), "first\n");
    assert!(poll(&mut body).is_pending(), "nothing is sent twice");
    sender.send(Ok("second\n".into())).expect("a reader");
    let broken = axum::Error::new(std::io::Error::other("broken off"));
    sender.send(Err(broken)).expect("a reader");
    let (more, last) = ready(&mut body);
    bytes.extend(more);
    assert_eq!(inflated(&bytes), "first\nsecond\n");
    assert!(matches!(last, Poll::Ready(Some(Err(_)))));
    assert!(matches!(poll(&mut body), Poll::Ready(None)));
}
