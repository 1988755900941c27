//! Alerts: a host that keeps a position, matches saved searches against what is new, and posts signed webhooks.
//!
//! `cargo run --example alerts` shows it with an index in memory and an endpoint of its own.
//! `cargo run --example alerts -- DIR SEARCHES URL POSITION_FILE` alerts an endpoint of what is
//! committed to an index, with searches as `signaldex match` reads them and the secret in `WEBHOOK_SECRET`.
//!
//! Events are delivered at least once. The position is stored only after all events up to it were accepted, so
//! after a crash some are sent again; an event has the same `webhook-id` each time, by which a receiver
//! knows it. Headers and signature are those of Standard Webhooks (<https://www.standardwebhooks.com>).

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use signaldex::json::SignalItem;
use signaldex::{Company, Filter, Index, Position, SavedSearches, Signal, SignalId, Snapshot};
use time::UtcDateTime;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// How long to wait before an event is sent again; the last one is the longest.
const RETRY_PAUSES: [Duration; 4] = [
    Duration::from_millis(100),
    Duration::from_secs(1),
    Duration::from_secs(10),
    Duration::from_secs(60),
];
/// How often the index is looked at.
const INTERVAL: Duration = Duration::from_millis(200);
/// Signals after which the position is stored, so that little is sent again.
const STORED_AFTER: usize = 100;

/// An endpoint, and the secret that it shares with us.
pub(crate) struct Endpoint {
    pub(crate) url: String,
    pub(crate) secret: Vec<u8>,
    pub(crate) attempts_max: usize,
}

/// Where one endpoint stands. Each has a position of its own, so that none waits for another.
pub(crate) struct Alerts {
    pub(crate) searches: SavedSearches,
    pub(crate) endpoint: Endpoint,
    pub(crate) position_file: PathBuf,
}

impl Endpoint {
    /// Reads a secret as Standard Webhooks writes it, `whsec_` and Base64.
    pub(crate) fn new(url: &str, secret: &str) -> Outcome<Endpoint> {
        let encoded = secret
            .strip_prefix("whsec_")
            .ok_or("a secret begins with whsec_")?;
        Ok(Endpoint {
            url: url.to_owned(),
            secret: STANDARD.decode(encoded)?,
            attempts_max: usize::MAX,
        })
    }

    /// Posts an event until it is accepted.
    fn post(&self, id: &str, body: &str) -> Outcome<()> {
        for attempt in 0.. {
            let timestamp = UtcDateTime::now().unix_timestamp();
            let signature = signature(&self.secret, id, timestamp, body.as_bytes());
            let request = ureq::post(&self.url)
                .header("content-type", "application/json")
                .header("webhook-id", id)
                .header("webhook-timestamp", timestamp.to_string())
                .header("webhook-signature", signature);
            match request.send(body) {
                Ok(_) => return Ok(()),
                // The receiver wants no more.
                Err(ureq::Error::StatusCode(410)) => return Err("the endpoint is gone".into()),
                Err(error) if attempt + 1 >= self.attempts_max => return Err(error.into()),
                Err(error) => {
                    eprintln!("{id} is sent again: {error}");
                    let last = RETRY_PAUSES.len() - 1;
                    thread::sleep(RETRY_PAUSES[attempt.min(last)]);
                }
            }
        }
        Ok(())
    }
}

/// `v1,` and the Base64 of an HMAC with SHA-256.
pub(crate) fn signature(secret: &[u8], id: &str, timestamp: i64, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("a key has any length");
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(body);
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

impl Alerts {
    /// Posts what has matched since the stored position, and stores the new one. Returns the number of events.
    pub(crate) fn deliver(&self, snapshot: &Snapshot) -> Outcome<usize> {
        let mut events = 0;
        while self.position()? != snapshot.position() {
            events += self.deliver_some(snapshot)?;
        }
        Ok(events)
    }

    /// The same for the first signals alone.
    fn deliver_some(&self, snapshot: &Snapshot) -> Outcome<usize> {
        let since = self.position()?;
        let today = UtcDateTime::now().date();
        let mut matching = self.searches.matching(snapshot, &since, today)?;
        let mut events = 0;
        for matched in matching.by_ref().take(STORED_AFTER) {
            let matched = matched?;
            for search in &matched.searches {
                let data = json!({
                    "search": search,
                    "isNew": matched.is_new,
                    "signal": SignalItem::from(&matched.item),
                });
                let body = json!({"type": "signal.matched", "data": data}).to_string();
                self.endpoint.post(&event_id(&since, &body), &body)?;
                events += 1;
            }
        }
        self.store(&matching.position())?;
        Ok(events)
    }

    /// The stored position; the index's beginning where there is none.
    fn position(&self) -> Outcome<Position> {
        match fs::read_to_string(&self.position_file) {
            Ok(text) => Ok(Position::parse(text.trim())?),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Position::START),
            Err(error) => Err(error.into()),
        }
    }

    /// Stores a position: a crash leaves the old one or the new one.
    pub(crate) fn store(&self, position: &Position) -> Outcome<()> {
        let new = self.position_file.with_extension("new");
        let mut file = File::create(&new)?;
        file.write_all(position.to_string().as_bytes())?;
        file.sync_all()?;
        Ok(fs::rename(&new, &self.position_file)?)
    }
}

/// The same for an event that is sent again after a crash: it has the same position and content then.
fn event_id(since: &Position, body: &str) -> String {
    let hash = Sha256::digest(format!("{since}\n{body}"));
    let hex: String = hash[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("msg_{hex}")
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [] => demonstrate(),
        [directory, searches, url, position_file] => {
            let secret = std::env::var("WEBHOOK_SECRET")?;
            let index = Index::open(directory)?;
            let today = UtcDateTime::now().date();
            let mut saved = SavedSearches::for_index(&index.snapshot(), today)?;
            read_searches(Path::new(searches), &mut saved)?;
            let alerts = Alerts {
                searches: saved,
                endpoint: Endpoint::new(url, &secret)?,
                position_file: position_file.into(),
            };
            if !alerts.position_file.exists() {
                // Begins with what is committed from now on.
                alerts.store(&index.snapshot().position())?;
            }
            loop {
                alerts.deliver(&index.snapshot())?;
                thread::sleep(INTERVAL);
                index.refresh()?;
            }
        }
        _ => Err("usage: alerts [DIR SEARCHES URL POSITION_FILE]".into()),
    }
}

/// Reads searches, one a line: `{"name":"…","query":"…"}`.
fn read_searches(path: &Path, searches: &mut SavedSearches) -> Outcome<()> {
    for line in BufReader::new(File::open(path)?).lines() {
        let line: Value = serde_json::from_str(&line?)?;
        let (Some(name), Some(query)) = (line["name"].as_str(), line["query"].as_str()) else {
            return Err("a search has a name and a query".into());
        };
        searches.insert(name, Filter::from_query_string(query)?);
    }
    Ok(())
}

/// Two commits to an index in memory, and an endpoint that is not there the first time.
fn demonstrate() -> Outcome<()> {
    let secret = format!("whsec_{}", STANDARD.encode(b"a secret of the two of us"));
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/alerts", listener.local_addr()?);
    let endpoint = Endpoint::new(&url, &secret)?;
    let key = endpoint.secret.clone();
    thread::spawn(move || receive(&listener, &key));
    let folder = tempfile::tempdir()?;
    let index = Index::in_memory()?;
    let mut searches = SavedSearches::new();
    searches.insert(
        "jobs in Berlin",
        Filter::from_query_string("q=hires+berlin")?,
    );
    searches.insert("rounds", Filter::from_query_string("q=\"series a\"")?);
    let alerts = Alerts {
        searches,
        endpoint,
        position_file: folder.path().join("position"),
    };
    let mut writer = index.writer()?;
    writer.upsert_company(&Company::new("acme", "Acme GmbH"))?;
    for (id, title) in [(1, "Acme hires in Berlin"), (2, "Acme raises Series A")] {
        let id = SignalId::new(id).ok_or("an id is at least 1")?;
        writer.upsert_signal(&Signal::new(id, "acme", title))?;
        writer.commit()?;
        let events = alerts.deliver(&index.snapshot())?;
        println!("{events} delivered");
    }
    Ok(())
}

/// An endpoint that refuses the first event once, and prints what is signed as it should be.
fn receive(listener: &TcpListener, secret: &[u8]) {
    let statuses = ["503 Service Unavailable"].into_iter();
    let statuses = statuses.chain(std::iter::repeat("204 No Content"));
    for (socket, status) in listener.incoming().zip(statuses) {
        let event = socket
            .map_err(Into::into)
            .and_then(|socket| answer(socket, secret, status));
        match event {
            Ok(event) => println!("{status}: {event}"),
            Err(error) => println!("an event cannot be read: {error}"),
        }
    }
}

/// Reads an event, checks its signature, and answers.
fn answer(mut socket: TcpStream, secret: &[u8], status: &str) -> Outcome<String> {
    let mut reader = BufReader::new(socket.try_clone()?);
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_lowercase(), value.to_owned())),
            None if line.trim_end().is_empty() => break,
            None => {}
        }
    }
    let header = |name: &str| {
        let found = headers.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value.as_str())
    };
    let mut body = vec![0; header("content-length").parse()?];
    reader.read_exact(&mut body)?;
    let (id, timestamp) = (header("webhook-id"), header("webhook-timestamp").parse()?);
    if signature(secret, id, timestamp, &body) != header("webhook-signature") {
        return Err("the signature is not ours".into());
    }
    write!(
        socket,
        "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )?;
    let event: Value = serde_json::from_slice(&body)?;
    Ok(format!(
        "{id}: {} for {}",
        event["data"]["signal"]["title"], event["data"]["search"]
    ))
}
