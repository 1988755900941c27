//! The network of a simulation: byte streams in memory, with delays, silence and breaks from its seed.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, duplex};
use tokio::time::{Instant, sleep};

use super::world::{Link, World};
use crate::arrivals::PREFACE_TIME;
use crate::connections::{Connection, Network, Socket};

/// Bytes under way on a connection.
const BUFFER: usize = 64 << 10;

/// How often a silent link is looked at.
const SILENCE_TICK: Duration = Duration::from_millis(50);

/// The network from one process.
pub(super) struct SimulatedNetwork {
    pub(super) world: Arc<World>,
    pub(super) from: usize,
}

impl Network for SimulatedNetwork {
    fn connect<'a>(&'a self, address: &'a str) -> BoxFuture<'a, io::Result<Box<dyn Socket>>> {
        Box::pin(async move {
            let (from, to) = (self.from, self.world.node_at(address));
            travel(&self.world, (from, to)).await;
            travel(&self.world, (to, from)).await;
            let handover = self.world.handover(to);
            let handover = handover.ok_or(io::ErrorKind::ConnectionRefused)?;
            let (near, near_end) = duplex(BUFFER);
            let (far, far_end) = duplex(BUFFER);
            let pump = tokio::spawn(pump(Arc::clone(&self.world), (from, to), near_end, far_end));
            self.world.add_connection((from, to), pump.abort_handle());
            let far = Connection::new(Box::new(far), None);
            let peer = SocketAddr::from(([127, 0, 0, 1], 1));
            let silent_until = Instant::now() + PREFACE_TIME;
            handover.send(far, peer, silent_until).await;
            Ok(Box::new(near) as Box<dyn Socket>)
        })
    }
}

/// Waits as long as a message takes.
pub(super) async fn travel(world: &World, link: (usize, usize)) {
    loop {
        match world.link(link) {
            Link::Silent => sleep(SILENCE_TICK).await,
            Link::Delays(time) => return sleep(time).await,
        }
    }
}

/// Carries bytes between both ends of a connection until one of them is closed.
async fn pump(world: Arc<World>, link: (usize, usize), near: DuplexStream, far: DuplexStream) {
    let (near_read, near_write) = tokio::io::split(near);
    let (far_read, far_write) = tokio::io::split(far);
    let back = (link.1, link.0);
    futures_util::future::join(
        carry(&world, link, near_read, far_write),
        carry(&world, back, far_read, near_write),
    )
    .await;
}

async fn carry(
    world: &World,
    link: (usize, usize),
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
) {
    let mut bytes = vec![0; BUFFER];
    while let Ok(length @ 1..) = from.read(&mut bytes).await {
        travel(world, link).await;
        if to.write_all(&bytes[..length]).await.is_err() {
            break;
        }
    }
    // The other end may be closed already.
    let _ = to.shutdown().await;
}
