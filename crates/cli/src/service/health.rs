//! `signaldex health`: whether a service on this machine answers, for supervisors and containers.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::address::ListenAddress;
use crate::Failure;

/// How long an answer may take, names and connections included.
const TIME: Duration = Duration::from_secs(2);
/// Bytes read of an answer; that of a service has a few hundred.
const ANSWER_BYTES_MAX: u64 = 16 * 1024;
/// Characters shown of a reason that is not the service's own.
const REASON_CHARACTERS_MAX: usize = 200;

/// Ask a running service whether it can answer searches; exit status 1 and the reason if not
#[derive(Debug, clap::Args)]
pub(crate) struct Health {
    /// Where the service listens for clients: an address or a name, or :PORT for loopback
    #[arg(
        long,
        value_name = "HOST:PORT",
        default_value = "127.0.0.1:8080",
        env = "SIGNALDEX_ADDR",
        value_parser = ListenAddress::parse
    )]
    addr: ListenAddress,
    /// Ask only whether the process is alive
    #[arg(long)]
    live: bool,
}

impl Health {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let path = if self.live { "/healthz" } else { "/readyz" };
        let address = self.addr.to_string();
        let (tell, told) = mpsc::channel();
        let asked = address.clone();
        // On a thread that the process does not wait for: a name may take long to resolve.
        thread::spawn(move || tell.send(ask(&asked, path)));
        let seconds = TIME.as_secs();
        let answer = told
            .recv_timeout(TIME)
            .map_err(|_| format!("http://{address}{path} has not answered within {seconds} s"))?;
        answer.map_err(|reason| format!("http://{address}{path}: {reason}").into())
    }
}

/// Asks once; an error is the reason why the service is not well.
fn ask(address: &str, path: &str) -> Result<(), String> {
    let answer = exchange(address, path).map_err(|error| error.to_string())?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    match head.split_ascii_whitespace().nth(1) {
        Some("200") => Ok(()),
        Some(status) => Err(format!("{status} {}", reason(body))),
        None => {
            Err("the answer is not one of HTTP; --addr names the address for clients".to_owned())
        }
    }
}

fn exchange(address: &str, path: &str) -> std::io::Result<Vec<u8>> {
    let mut connection = TcpStream::connect(address)?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    connection.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    connection.take(ANSWER_BYTES_MAX).read_to_end(&mut answer)?;
    Ok(answer)
}

/// The detail of a problem, or what else the answer begins with, without control characters.
fn reason(body: &str) -> String {
    let problem = serde_json::from_str::<serde_json::Value>(body).ok();
    let detail = problem.and_then(|problem| Some(problem["detail"].as_str()?.to_owned()));
    let text = detail.as_deref().unwrap_or(body.trim());
    let visible = text.chars().filter(|letter| !letter.is_control());
    visible.take(REASON_CHARACTERS_MAX).collect()
}
