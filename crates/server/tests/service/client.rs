//! A plain HTTP client that shows exactly what came over the socket.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// How long a test waits for an answer, or for what comes by itself: longer than any time-out that it sets.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(20);

/// An answer.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Whether the body ended as it said it would, where it came in chunks.
    pub(crate) is_whole: bool,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let known = self
            .headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        known.map(|(_, value)| value.as_str())
    }

    /// Every header.
    pub(crate) fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    /// The values of every header of a name.
    pub(crate) fn headers_named(&self, name: &str) -> Vec<&str> {
        let headers = self.headers.iter();
        let named = headers.filter(|(known, _)| known.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str()).collect()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }

    pub(crate) fn charged(&self) -> u64 {
        self.header("x-usage-charged")
            .map_or(0, |units| units.parse().expect("a number"))
    }

    /// The items of a page.
    pub(crate) fn records(&self) -> Vec<Value> {
        let data = &self.json()["data"];
        data["items"].as_array().expect("items").clone()
    }

    /// The ids of the signals of a page, or the slugs of its companies.
    pub(crate) fn items(&self) -> Vec<String> {
        let records = self.records();
        let name = |item: &Value| item.get("id").or(item.get("slug")).cloned();
        let names = records.iter().map(|item| name(item).expect("an item"));
        names
            .map(|name| name.as_str().expect("a text").to_owned())
            .collect()
    }
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(address).expect("a connection");
    socket.set_read_timeout(Some(WAIT_MAX)).expect("a time-out");
    socket
}

/// Sends bytes and returns everything until the server closes.
pub(crate) fn raw(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut socket = connect(address);
    // The server may refuse and close before it has read everything.
    let _ = socket.write_all(bytes);
    read_to_end(&mut socket)
}

pub(crate) fn read_to_end(socket: &mut TcpStream) -> Vec<u8> {
    let mut answer = Vec::new();
    // A reset ends the answer as a close does.
    let _ = socket.read_to_end(&mut answer);
    answer
}

/// Sends one request and reads one answer.
pub(crate) fn request(
    address: SocketAddr,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
) -> Response {
    parse(&raw(address, &text_of(address, method, target, headers)))
}

/// Posts a body and reads one answer.
pub(crate) fn post(
    address: SocketAddr,
    target: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Response {
    let length = body.len().to_string();
    let headers = [&[("content-length", length.as_str())], headers].concat();
    let head = text_of(address, "POST", target, &headers);
    parse(&raw(address, &[head.as_slice(), body].concat()))
}

/// As [`request`], where the server may have gone.
pub(crate) fn try_request(
    address: SocketAddr,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
) -> Option<Response> {
    let mut socket = TcpStream::connect(address).ok()?;
    socket.set_read_timeout(Some(WAIT_MAX)).ok()?;
    socket
        .write_all(&text_of(address, method, target, headers))
        .ok()?;
    let answer = read_to_end(&mut socket);
    (!answer.is_empty()).then(|| parse(&answer))
}

pub(crate) fn text_of(
    address: SocketAddr,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
) -> Vec<u8> {
    let mut text =
        format!("{method} {target} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.into_bytes()
}

/// Reads an answer that ends where the connection does.
pub(crate) fn parse(bytes: &[u8]) -> Response {
    let end = bytes
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .expect("the end of headers");
    let head = std::str::from_utf8(&bytes[..end]).expect("headers");
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .and_then(|line| line.split(' ').nth(1))
        .expect("a status line");
    let headers = lines
        .map(|line| line.split_once(": ").expect("a header"))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let mut response = Response {
        status: status.parse().expect("a status"),
        headers,
        body: bytes[end + 4..].to_vec(),
        is_whole: true,
    };
    if response.header("transfer-encoding") == Some("chunked") {
        (response.body, response.is_whole) = without_chunks(&response.body);
    }
    response
}

/// The content of chunks, as far as they came, and whether the last one did.
fn without_chunks(mut bytes: &[u8]) -> (Vec<u8>, bool) {
    let mut content = Vec::new();
    loop {
        let Some(end) = bytes.windows(2).position(|window| window == b"\r\n") else {
            return (content, false);
        };
        let length = std::str::from_utf8(&bytes[..end]).expect("a length");
        let length = usize::from_str_radix(length, 16).expect("a length");
        bytes = &bytes[end + 2..];
        if length == 0 {
            return (content, bytes == b"\r\n");
        }
        content.extend_from_slice(&bytes[..length.min(bytes.len())]);
        let Some(rest) = bytes.get(length + 2..) else {
            return (content, false);
        };
        bytes = rest;
    }
}
