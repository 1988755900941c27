//! Another node as its worker is reached: connections that are kept, each with one question at a time.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;

use super::answer::Answer;
use super::connections::{Connection, Connector, Refusals};
use super::messages::{Status, exchange};
use super::security::Security;
use crate::Result;

/// How long an unused connection is kept: less than any firewall remembers it.
const IDLE_TIME: Duration = Duration::from_secs(5);

/// The most unused connections that are kept.
const IDLE_MAX: usize = 64;

/// The connections to a node.
pub(super) struct Peer {
    connector: Connector,
    /// With the time of their last use, the latest last.
    idle: Mutex<Vec<(Instant, Connection)>>,
}

/// Why a node has not answered.
#[derive(Debug)]
pub(super) enum Failure {
    /// Nothing listens there: its process has ended.
    Dead(io::Error),
    /// The connection broke or could not be made.
    Broken(io::Error),
    /// The worker does not answer this.
    Refused(Status, String),
}

impl Peer {
    pub(super) fn new(address: &str, security: &Security, refusals: &Arc<Refusals>) -> Peer {
        Peer {
            connector: Connector {
                address: address.to_owned(),
                tls: security.client_tls(),
                refusals: Arc::clone(refusals),
            },
            idle: Mutex::default(),
        }
    }

    /// Asks the node. A future that is dropped ends its connection.
    pub(super) async fn ask(&self, question: &[u8]) -> Result<Answer, Failure> {
        if let Some(mut connection) = self.take_idle() {
            match exchange(&mut connection, question).await {
                Ok(reply) => return self.finish(connection, reply),
                // The other side may have ended it meanwhile, and so all of its age.
                Err(_) => self.forget_idle(),
            }
        }
        let mut connection = self.connect().await?;
        let reply = exchange(&mut connection, question).await;
        self.finish(connection, reply.map_err(Failure::Broken)?)
    }

    /// Asks over a connection of the caller's own, which is made where there is none and kept if the node
    /// answers.
    pub(super) async fn ask_over(
        &self,
        kept: &mut Option<Connection>,
        question: &[u8],
    ) -> Result<Answer, Failure> {
        let mut connection = match kept.take() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let reply = exchange(&mut connection, question).await;
        let answer = answer_of(reply.map_err(Failure::Broken)?)?;
        *kept = Some(connection);
        Ok(answer)
    }

    /// Ends the connections that nothing uses. Those in use end with what waits for them.
    pub(super) fn forget_idle(&self) {
        self.lock().clear();
    }

    async fn connect(&self) -> Result<Connection, Failure> {
        let connected = self.connector.connect().await;
        connected.map_err(|error| match error.kind() {
            io::ErrorKind::ConnectionRefused => Failure::Dead(error),
            _ => Failure::Broken(error),
        })
    }

    fn finish(&self, connection: Connection, reply: (Status, Bytes)) -> Result<Answer, Failure> {
        let mut idle = self.lock();
        if idle.len() < IDLE_MAX {
            idle.push((Instant::now(), connection));
        }
        drop(idle);
        answer_of(reply)
    }

    fn take_idle(&self) -> Option<Connection> {
        let mut idle = self.lock();
        match idle.pop() {
            Some((since, connection)) if since.elapsed() < IDLE_TIME => Some(connection),
            // The others are older.
            _ => {
                idle.clear();
                None
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Instant, Connection)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn answer_of((status, bytes): (Status, Bytes)) -> Result<Answer, Failure> {
    if status != Status::Answer {
        let reason = String::from_utf8_lossy(&bytes).into_owned();
        return Err(Failure::Refused(status, reason));
    }
    Answer::decode(bytes).map_err(|error| Failure::Refused(Status::Failed, error.to_string()))
}
