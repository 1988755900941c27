//! White-box tests of `gossip`: what comes on a connection, and what happens where chitchat panics.

use std::sync::atomic::Ordering;

use tokio::net::TcpListener;

use super::*;
use crate::arrivals::Arrivals;
use crate::connections::Tcp;
use crate::known_nodes::KnownNode;
use crate::members::FirstNodes;
use crate::settings::NodeSettings;
use crate::worker::Worker;

#[test]
fn a_frame_that_is_too_long_or_too_short_is_refused() {
    let read = |bytes: &[u8]| {
        let mut stream = bytes;
        let frame = futures_util::FutureExt::now_or_never(frame::read(&mut stream));
        frame
            .expect("memory never waits")
            .map_err(|error| error.kind())
    };
    let mut long = (200_u32 << 10).to_le_bytes().to_vec();
    long.resize(300 << 10, 0);
    assert_eq!(read(&long), Err(std::io::ErrorKind::InvalidData));
    assert_eq!(
        read(&[9, 0, 0, 0, 1]),
        Err(std::io::ErrorKind::UnexpectedEof)
    );
    assert_eq!(read(&[0, 0, 0, 0]), Ok(frame::Frame::default()));
}

#[test]
fn addresses_have_socket_addresses_of_their_own() {
    assert_eq!(socket_address("one:7400"), socket_address("one:7400"));
    assert_ne!(socket_address("one:7400"), socket_address("one:7401"));
}

/// A node that does nothing but gossip.
struct Gossiping {
    members: Arc<Members>,
    _gossip: Gossip,
    ended: oneshot::Receiver<Error>,
    worker: tokio::task::JoinHandle<Error>,
}

impl Gossiping {
    async fn start(own: usize, nodes: &[NodeSettings], listener: TcpListener) -> Gossiping {
        let announcement = Announcement {
            address: nodes[own].address.clone(),
            ..Announcement::default()
        };
        let known = |node: &NodeSettings| KnownNode {
            name: node.name.clone(),
            zone: String::new(),
        };
        let others = nodes.iter().filter(|node| node.name != nodes[own].name);
        let first = FirstNodes {
            own: known(&nodes[own]),
            announcement: announcement.clone(),
            others: others
                .map(|node| (known(node), node.address.clone()))
                .collect(),
        };
        let (loaded, security) = (LoadedShards::default(), Security::none());
        let members = Arc::new(Members::new(first, 1, None, loaded.clone()));
        let (arrivals, arriving) = Arrivals::channel();
        let worker = Worker::new(loaded.clone(), None);
        let worker = crate::engine::serve(worker, listener, security.clone(), arrivals);
        let worker = tokio::spawn(worker);
        let folder = tempfile::tempdir().expect("a folder");
        let settings = GossipSettings {
            name: nodes[own].name.clone(),
            announcement,
            membership: Membership::Listed(nodes.to_vec()),
            forget_after: Duration::from_secs(900),
            peers: Peers::new(Arc::new(Tcp), &security),
            security,
            loaded,
            leases: Leases::default(),
            members: Arc::clone(&members),
            known: KnownNodes::in_directory(folder.path()),
        };
        let started = Gossip::start(settings, arriving).await;
        let (gossip, ended) = started.expect("a node that joins");
        Gossiping {
            members,
            _gossip: gossip,
            ended,
            worker,
        }
    }

    /// Waits until the other node has given a sign of life after an instant.
    async fn hears_after(&self, instant: Instant) {
        let is_heard = || {
            let nodes = self.members.status().nodes;
            let mut others = nodes.iter().filter(|node| !node.is_own);
            others.all(|node| {
                node.is_alive && node.answered.is_some_and(|ago| ago < instant.elapsed())
            })
        };
        let hears = async {
            while !is_heard() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let heard = tokio::time::timeout(Duration::from_secs(30), hears).await;
        heard.expect("a sign of life");
    }
}

impl Drop for Gossiping {
    fn drop(&mut self) {
        self.worker.abort();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_gossips_on_where_chitchat_panics() {
    let (mut listeners, mut nodes) = (Vec::new(), Vec::new());
    for name in ["one", "two"] {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        nodes.push(NodeSettings {
            name: name.to_owned(),
            address: listener.local_addr().expect("an address").to_string(),
        });
        listeners.push(listener);
    }
    let mut running = Vec::new();
    for (own, listener) in listeners.into_iter().enumerate() {
        running.push(Gossiping::start(own, &nodes, listener).await);
    }
    for node in &running {
        node.hears_after(Instant::now()).await;
    }
    for _ in 0..2 {
        transport::PANICS.store(true, Ordering::Relaxed);
        while transport::PANICS.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // Signs of life from before may come late.
        let later = Instant::now() + RESTART_TIME;
        tokio::time::sleep_until(later).await;
        for node in &mut running {
            node.hears_after(later).await;
            assert!(node.ended.try_recv().is_err());
        }
    }
}
