//! The transport of chitchat over the worker's port: a connection for each direction between two nodes, with the TLS of
//! all connections between nodes. What cannot be sent is lost, as with datagrams; chitchat sends it again.
//!
//! chitchat knows nodes by socket addresses, and certificates name hosts. So each `host:port` has a made-up socket
//! address, and only this module knows which.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use async_trait::async_trait;
use chitchat::transport::{Socket, Transport};
use chitchat::{ChitchatId, ChitchatMessage, Deserializable, Serializable};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Mutex as AsyncMutex, Notify, mpsc};
use tokio::task::JoinSet;

use super::frame::{self, Frame};
use super::intake::{Intake, PROCESSES_MAX};
use crate::arrivals::{Arriving, GossipConnection, PREFACE};
use crate::connections::{Connection, Connector, Refusals, Tcp};
use crate::security::Security;
use crate::settings::check_address;
use signaldex::text::quoted;

/// Messages that wait to be read or sent; what comes on top is lost.
const WAITING_MAX: usize = 64;

/// How long writing a message, or an answer to the question who is there, may take.
const SEND_TIME: Duration = Duration::from_secs(1);

/// How long a connection may be without messages.
const IDLE_TIME: Duration = Duration::from_secs(60);

/// A node that is silent for so long gets a new connection, because the one that is there may be broken.
const SILENCE_MAX: Duration = Duration::from_secs(1);

/// Maximum number of addresses that are remembered.
const ADDRESSES_MAX: usize = 4_096;

/// Maximum bytes of one: a host name has 253 at most.
const ADDRESS_BYTES_MAX: usize = 260;

/// Who a node is.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    pub(super) cluster: String,
    pub(super) name: String,
    pub(super) incarnation: u64,
    pub(super) address: String,
}

impl Identity {
    /// What chitchat calls it.
    pub(super) fn id(&self) -> ChitchatId {
        let address = socket_address(&self.address);
        ChitchatId::new(self.name.clone(), self.incarnation, address)
    }
}

/// The connections of a node for gossip.
#[derive(Clone)]
pub(super) struct Links(Arc<LinksState>);

struct LinksState {
    identity: Identity,
    /// The only names that are heard; any where nodes find each other.
    listed: Option<Vec<String>>,
    security: Security,
    refusals: Arc<Refusals>,
    received: mpsc::Sender<(SocketAddr, ChitchatMessage)>,
    intake: Mutex<Intake>,
    nodes: Mutex<HashMap<SocketAddr, Link>>,
    /// Where nodes are alive, by name.
    namesakes: Mutex<HashMap<String, String>>,
    /// See [`take_lost`](Links::take_lost).
    lost: Mutex<HashMap<String, Option<String>>>,
    has_lost: Notify,
}

/// Another node.
struct Link {
    address: String,
    /// Since when a question has had no answer.
    unanswered_since: Option<Instant>,
    /// The messages to it; closed while there is no connection.
    sender: mpsc::Sender<ChitchatMessage>,
}

/// What chitchat opens, once.
pub(super) struct LinkTransport(Mutex<Option<LinkSocket>>);

struct LinkSocket {
    links: Links,
    received: mpsc::Receiver<(SocketAddr, ChitchatMessage)>,
}

/// The made-up socket address of a `host:port`.
pub(super) fn socket_address(address: &str) -> SocketAddr {
    let hash = Sha256::digest(address.as_bytes());
    let host: [u8; 16] = std::array::from_fn(|index| hash[index]);
    SocketAddr::from((
        Ipv6Addr::from(host),
        u16::from_le_bytes([hash[16], hash[17]]),
    ))
}

impl Links {
    pub(super) fn new(
        identity: Identity,
        listed: Option<Vec<String>>,
        security: Security,
    ) -> (Links, LinkTransport) {
        let (sender, received) = mpsc::channel(WAITING_MAX);
        let id = identity.id().serialize_to_vec();
        let intake = Intake::new(id, identity.cluster.clone(), listed.clone());
        let links = Links(Arc::new(LinksState {
            identity,
            listed,
            security,
            refusals: Arc::default(),
            received: sender,
            intake: Mutex::new(intake),
            nodes: Mutex::default(),
            namesakes: Mutex::default(),
            lost: Mutex::default(),
            has_lost: Notify::new(),
        }));
        let opening = LinkTransport(Mutex::new(Some(LinkSocket {
            links: links.clone(),
            received,
        })));
        (links, opening)
    }

    pub(super) fn identity(&self) -> &Identity {
        &self.0.identity
    }

    /// Makes an address known, so that messages to it are sent.
    pub(super) fn learn(&self, address: &str) {
        if address.len() > ADDRESS_BYTES_MAX || check_address("gossip", address).is_err() {
            return;
        }
        let socket = socket_address(address);
        let mut nodes = self.nodes();
        if nodes.len() < ADDRESSES_MAX && !nodes.contains_key(&socket) {
            // The other end is dropped: it is closed.
            let (sender, _) = mpsc::channel(1);
            nodes.insert(
                socket,
                Link {
                    address: address.to_owned(),
                    unanswered_since: None,
                    sender,
                },
            );
        }
    }

    /// Keeps the addresses at which nodes are alive, by name, for those who ask for one of their own name.
    pub(super) fn set_namesakes(&self, alive: HashMap<String, String>) {
        *self.namesakes() = alive;
    }

    /// Takes what chitchat remembers of processes; see [`Intake::settle`].
    pub(super) fn settle(&self, held: &HashMap<Vec<u8>, usize>) {
        self.intake().settle(held, Instant::now());
    }

    /// Asks who is at an address. `None` where nobody answers in time.
    pub(super) async fn ask_who(&self, address: &str) -> Option<Frame> {
        let asked = async {
            let mut connection = self.connect(address).await?;
            frame::write(&mut connection.stream, &self.frame()).await?;
            frame::read(&mut connection.stream).await
        };
        tokio::time::timeout(SEND_TIME, asked).await.ok()?.ok()
    }

    /// Reads what others send, until the future is dropped.
    pub(super) async fn receive(self, arriving: Arc<AsyncMutex<Arriving>>) {
        let mut arriving = arriving.lock().await;
        let mut connections = JoinSet::new();
        while let Some(accepted) = arriving.recv().await {
            while connections.try_join_next().is_some() {}
            let links = self.clone();
            connections.spawn(async move {
                let peer = accepted.peer;
                if let Err(error) = links.read_all(accepted).await {
                    tracing::debug!(%peer, %error, "a connection for gossip has ended");
                }
            });
        }
    }

    async fn read_all(&self, accepted: GossipConnection) -> io::Result<()> {
        let (mut connection, mut silent_until) = (accepted.connection, accepted.silent_until);
        let peer = accepted.peer.ip().to_string();
        let mut preface = [0; PREFACE.len()];
        let read = connection.stream.read_exact(&mut preface);
        let read = tokio::time::timeout_at(silent_until, read).await;
        read.map_err(|_| io::ErrorKind::TimedOut)??;
        if preface != PREFACE {
            return Err(io::Error::other("it speaks another version of gossip"));
        }
        let tls = connection.tls();
        // One of a former certificate ends, and the other side opens another.
        while self.0.security.is_current(tls.as_ref()) {
            let read = frame::read(&mut connection.stream);
            let read = tokio::time::timeout_at(silent_until, read).await;
            let frame = read.map_err(|_| io::ErrorKind::TimedOut)??;
            silent_until = tokio::time::Instant::now() + IDLE_TIME;
            let is_refused = self.is_refused(&peer, &frame);
            match &frame.message {
                None => self.answer(&mut connection, &frame).await?,
                Some(message) if !is_refused => self.deliver(&peer, &frame, message)?,
                Some(_) => return Ok(()),
            }
        }
        Ok(())
    }

    /// Whether a frame comes from a node that does not belong here. Logs that, once a minute.
    fn is_refused(&self, peer: &str, frame: &Frame) -> bool {
        let own = self.identity();
        let name = frame.name.as_deref().unwrap_or_default();
        let cluster = frame.cluster.as_deref().unwrap_or_default();
        let listed = self.0.listed.as_ref();
        let reason = if cluster != own.cluster {
            let (cluster, own) = (quoted(cluster), quoted(&own.cluster));
            format!("it belongs to the cluster {cluster}, not {own}")
        } else if listed.is_some_and(|listed| !listed.iter().any(|listed| listed == name)) {
            format!("the file of the cluster lists no node {}", quoted(name))
        } else if name == own.name && frame.incarnation != Some(own.incarnation) {
            format!("this node, which is alive, has its name, {}", quoted(name))
        } else {
            return false;
        };
        self.0.refusals.log(peer, &reason);
        true
    }

    async fn answer(&self, connection: &mut Connection, frame: &Frame) -> io::Result<()> {
        let namesake = frame.name.as_ref().and_then(|name| {
            let namesakes = self.namesakes();
            namesakes.get(name).cloned()
        });
        let answer = Frame {
            namesake: namesake.filter(|address| Some(address) != frame.address.as_ref()),
            ..self.frame()
        };
        let written = frame::write(&mut connection.stream, &answer);
        tokio::time::timeout(SEND_TIME, written).await?
    }

    fn deliver(&self, peer: &str, frame: &Frame, message: &[u8]) -> io::Result<()> {
        let address = frame.address.as_deref().unwrap_or_default();
        let admitted = self.intake().admit(message, Instant::now());
        let admitted = admitted.inspect_err(|error| {
            let reason = format!("its gossip cannot be used: {error}");
            self.0.refusals.log(peer, &reason);
        })?;
        if admitted.is_full {
            let reason = format!("it tells of more than {PROCESSES_MAX} processes of nodes");
            self.0.refusals.log(peer, &reason);
        }
        let mut message = &admitted.message[..];
        let message = ChitchatMessage::deserialize(&mut message).map_err(io::Error::other)?;
        // Where the file lists all nodes, their addresses are known, and no others are used.
        if self.0.listed.is_none() {
            self.learn(address);
        }
        // Its own questions do not show that ours arrive.
        if !matches!(message, ChitchatMessage::Syn { .. }) {
            self.change(address, |node| node.unanswered_since = None);
        }
        // Lost where too many wait.
        let _ = self.0.received.try_send((socket_address(address), message));
        Ok(())
    }

    /// Sends a message, on a connection that is opened where there is none.
    fn send(&self, to: SocketAddr, message: ChitchatMessage) {
        let mut nodes = self.nodes();
        let Some(node) = nodes.get_mut(&to) else {
            return;
        };
        if node.sender.is_closed() {
            let (sender, messages) = mpsc::channel(WAITING_MAX);
            node.sender = sender;
            tokio::spawn(self.clone().write_all(node.address.clone(), messages));
        }
        let _ = node.sender.try_send(message);
    }

    async fn write_all(self, address: String, mut messages: mpsc::Receiver<ChitchatMessage>) {
        let mut connection = None;
        while let Ok(Some(message)) = tokio::time::timeout(IDLE_TIME, messages.recv()).await {
            let written = self.write(&address, connection.take(), &message);
            match tokio::time::timeout(2 * SEND_TIME, written).await {
                Ok(Ok(written)) => connection = Some(written),
                Ok(Err(error)) => {
                    tracing::debug!(address, %error, "gossip cannot be sent");
                    if error.kind() == io::ErrorKind::ConnectionRefused {
                        self.lose(&address, Some(error.to_string()));
                    }
                }
                Err(_) => tracing::debug!(address, "gossip cannot be sent in time"),
            }
        }
    }

    /// Writes a message on a connection, or on a new one where that can no longer be used. Returns the one to use next.
    async fn write(
        &self,
        address: &str,
        connection: Option<Connection>,
        message: &ChitchatMessage,
    ) -> io::Result<Connection> {
        let is_silent = connection.is_some() && self.is_silent(address);
        if is_silent {
            self.lose(address, None);
        }
        let is_usable = |connection: &Connection| {
            !is_silent && self.0.security.is_current(connection.tls().as_ref())
        };
        let mut connection = match connection.filter(is_usable) {
            Some(connection) => connection,
            None => {
                let connection = self.connect(address).await?;
                self.change(address, |node| node.unanswered_since = None);
                connection
            }
        };
        let frame = Frame {
            message: Some(message.serialize_to_vec()),
            ..self.frame()
        };
        frame::write(&mut connection.stream, &frame).await?;
        if matches!(message, ChitchatMessage::Syn { .. }) {
            self.change(address, |node| {
                node.unanswered_since.get_or_insert_with(Instant::now);
            });
        }
        Ok(connection)
    }

    /// Whether a node has not answered for so long that its connection may be broken.
    fn is_silent(&self, address: &str) -> bool {
        let mut since = None;
        self.change(address, |node| since = node.unanswered_since);
        since.is_some_and(|since| since.elapsed() > SILENCE_MAX)
    }

    fn lose(&self, address: &str, reason: Option<String>) {
        self.lost().insert(address.to_owned(), reason);
        self.0.has_lost.notify_one();
    }

    /// The addresses to which connections were lost since the last call: with a reason, where nothing listens; without
    /// one, where a connection fell silent.
    pub(super) fn take_lost(&self) -> HashMap<String, Option<String>> {
        std::mem::take(&mut *self.lost())
    }

    /// Waits until a connection is lost. One task waits at a time.
    pub(super) async fn loss(&self) {
        self.0.has_lost.notified().await;
    }

    async fn connect(&self, address: &str) -> io::Result<Connection> {
        let connector = Connector {
            address: address.to_owned(),
            network: Arc::new(Tcp),
            security: self.0.security.clone(),
            refusals: Arc::clone(&self.0.refusals),
        };
        let mut connection = connector.connect().await?;
        connection.stream.write_all(PREFACE).await?;
        Ok(connection)
    }

    /// Says who this node is.
    fn frame(&self) -> Frame {
        let own = self.identity();
        Frame {
            cluster: Some(own.cluster.clone()),
            name: Some(own.name.clone()),
            incarnation: Some(own.incarnation),
            address: Some(own.address.clone()),
            message: None,
            namesake: None,
        }
    }

    fn change(&self, address: &str, change: impl FnOnce(&mut Link)) {
        let mut nodes = self.nodes();
        if let Some(node) = nodes.get_mut(&socket_address(address)) {
            change(node);
        }
    }

    fn lost(&self) -> MutexGuard<'_, HashMap<String, Option<String>>> {
        self.0.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn nodes(&self) -> MutexGuard<'_, HashMap<SocketAddr, Link>> {
        self.0.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn intake(&self) -> MutexGuard<'_, Intake> {
        self.0.intake.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn namesakes(&self) -> MutexGuard<'_, HashMap<String, String>> {
        let namesakes = self.0.namesakes.lock();
        namesakes.unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Transport for LinkTransport {
    async fn open(&self, _: SocketAddr) -> anyhow::Result<Box<dyn Socket>> {
        let socket = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(Box::new(socket.context("gossip is opened once")?))
    }
}

#[async_trait]
impl Socket for LinkSocket {
    async fn send(&mut self, to: SocketAddr, message: ChitchatMessage) -> anyhow::Result<()> {
        self.links.send(to, message);
        Ok(())
    }

    async fn recv(&mut self) -> anyhow::Result<(SocketAddr, ChitchatMessage)> {
        #[cfg(test)]
        assert!(!PANICS.swap(false, std::sync::atomic::Ordering::Relaxed));
        self.received.recv().await.context("gossip has ended")
    }
}

/// Makes chitchat panic, once.
#[cfg(test)]
pub(super) static PANICS: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
