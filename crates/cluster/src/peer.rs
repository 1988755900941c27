//! Connections to another node's worker: kept alive, with one question at a time each.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;

use super::answer::ShardAnswer;
use super::connections::{Connection, Connector, Refusals};
use super::messages::{ReplyStatus, exchange};
use super::security::Security;
use signaldex::Result;

/// How long an unused connection is kept: less than the idle time-outs of firewalls.
const IDLE_TIME: Duration = Duration::from_secs(5);

/// Maximum number of unused connections.
const IDLE_MAX: usize = 64;

/// The connections to a node.
pub(super) struct Peer {
    connector: Connector,
    /// Unused connections with the time of their last use, latest last.
    idle: Mutex<Vec<(Instant, Connection)>>,
}

/// Why a node has not answered.
#[derive(Debug)]
pub(super) enum PeerFailure {
    /// The connection was refused: the process has ended.
    Dead(io::Error),
    /// The connection broke or could not be opened.
    Broken(io::Error),
    /// The worker refused the question.
    Refused(ReplyStatus, String),
}

impl Peer {
    pub(super) fn new(address: &str, security: &Security, refusals: &Arc<Refusals>) -> Peer {
        Peer {
            connector: Connector {
                address: address.to_owned(),
                security: security.clone(),
                refusals: Arc::clone(refusals),
            },
            idle: Mutex::default(),
        }
    }

    /// Sends a question. Dropping the future closes the connection.
    pub(super) async fn ask(&self, question: &[u8]) -> Result<ShardAnswer, PeerFailure> {
        if let Some(mut connection) = self.take_idle() {
            match exchange(&mut connection, question).await {
                Ok(reply) => return self.finish(connection, reply),
                // The other side may have closed it, and all connections of the same age.
                Err(_) => self.forget_idle(),
            }
        }
        let mut connection = self.connect().await?;
        let reply = exchange(&mut connection, question).await;
        self.finish(connection, reply.map_err(PeerFailure::Broken)?)
    }

    /// Sends a question over the caller's connection, which is opened if necessary and kept if the node answers.
    pub(super) async fn ask_over(
        &self,
        kept: &mut Option<Connection>,
        question: &[u8],
    ) -> Result<ShardAnswer, PeerFailure> {
        let security = &self.connector.security;
        let mut connection = match kept.take() {
            Some(connection) if connection.is_current(security) => connection,
            _ => self.connect().await?,
        };
        let reply = exchange(&mut connection, question).await;
        let answer = answer_of(reply.map_err(PeerFailure::Broken)?)?;
        *kept = Some(connection);
        Ok(answer)
    }

    /// Closes unused connections.
    pub(super) fn forget_idle(&self) {
        self.lock().clear();
    }

    async fn connect(&self) -> Result<Connection, PeerFailure> {
        let connected = self.connector.connect().await;
        connected.map_err(|error| match error.kind() {
            io::ErrorKind::ConnectionRefused => PeerFailure::Dead(error),
            _ => PeerFailure::Broken(error),
        })
    }

    fn finish(
        &self,
        connection: Connection,
        reply: (ReplyStatus, Bytes),
    ) -> Result<ShardAnswer, PeerFailure> {
        let mut idle = self.lock();
        if idle.len() < IDLE_MAX && connection.is_current(&self.connector.security) {
            idle.push((Instant::now(), connection));
        }
        drop(idle);
        answer_of(reply)
    }

    fn take_idle(&self) -> Option<Connection> {
        let mut idle = self.lock();
        match idle.pop() {
            Some((since, connection))
                if since.elapsed() < IDLE_TIME
                    && connection.is_current(&self.connector.security) =>
            {
                Some(connection)
            }
            // All others are older.
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

fn answer_of((status, bytes): (ReplyStatus, Bytes)) -> Result<ShardAnswer, PeerFailure> {
    if status != ReplyStatus::Answer {
        let reason = String::from_utf8_lossy(&bytes).into_owned();
        return Err(PeerFailure::Refused(status, reason));
    }
    ShardAnswer::decode(bytes)
        .map_err(|error| PeerFailure::Refused(ReplyStatus::Failed, error.to_string()))
}
