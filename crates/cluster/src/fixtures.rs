//! Clusters without sockets, for tests: a corpus in shards of memory, its generations, and nodes that hold some of them.

#[path = "../../../src/fixtures/random.rs"]
#[allow(dead_code)]
mod random;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use time::Date;
use time::macros::date;

pub(crate) use self::random::Random;
use crate::announcement::Announcement;
use crate::asking::{Asker, Hedging};
use crate::connections::Tcp;
use crate::coordinator::Coordinator;
use crate::generation::{ClusterGeneration, PublishedShard, manifests};
use crate::known_nodes::KnownNode;
use crate::leases::Leases;
use crate::loaded_shards::{LoadedGeneration, LoadedShards};
use crate::manifest_cache::ManifestCache;
use crate::members::{FirstNodes, Members};
use crate::nodes::{Nodes, Peers};
use crate::placement::shard_of;
use crate::publish::describe;
use crate::security::Security;
use crate::worker::Worker;
use signaldex::json::{Rendering, search_item};
use signaldex::query::Order;
use signaldex::replicate::Store;
use signaldex::{Company, Digest, Filter, Index, Position, Signal, SignalId, Snapshot};

pub(crate) const TODAY: Date = date!(2026 - 06 - 30);

/// So few that most changes meet earlier ones.
const COMPANIES: u64 = 8;
pub(crate) const SIGNALS: u64 = 24;

/// Signals of a burst: more than a node renders of a page unless it has most shards.
const BURST: usize = 36;

/// The number of a variable of the environment, or the usual one.
pub(crate) fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| {
        let number = text.parse();
        number.unwrap_or_else(|_| panic!("{name} is a number"))
    })
}

/// A generation whose shards have this many signals each.
pub(crate) fn manifest(generation: u64, signals: &[u64]) -> ClusterGeneration {
    let shard = |&signals: &u64| PublishedShard {
        generation,
        signals,
        bytes: 1,
        revision: Digest::of(b""),
        position: Position::START.to_string(),
    };
    ClusterGeneration {
        generation,
        cluster: Digest::of(b""),
        shards: signals.iter().map(shard).collect(),
    }
}

/// A corpus in shards, and all generations that were published of it.
pub(crate) struct Corpus {
    pub(crate) store: Store,
    pub(crate) shards: Vec<Index>,
    pub(crate) generations: BTreeMap<u64, Generation>,
    /// The shard of each signal.
    homes: BTreeMap<u64, usize>,
    /// The generation that first could have each signal that was ever written.
    pub(crate) first: BTreeMap<u64, u64>,
    cluster: Digest,
}

/// A published generation.
#[derive(Clone)]
pub(crate) struct Generation {
    pub(crate) manifest: Arc<ClusterGeneration>,
    pub(crate) snapshots: Vec<Arc<Snapshot>>,
}

impl Corpus {
    pub(crate) fn new(shards: u32, store: Store) -> Corpus {
        let index = |_| Index::in_memory().expect("an index");
        Corpus {
            store,
            shards: (0..shards).map(index).collect(),
            generations: BTreeMap::new(),
            homes: BTreeMap::new(),
            first: BTreeMap::new(),
            cluster: Digest::of(b"cluster"),
        }
    }

    pub(crate) fn newest(&self) -> &Generation {
        let newest = self.generations.values().next_back();
        newest.expect("a generation")
    }

    /// Changes some signals and companies, as commits of their shards.
    pub(crate) fn change(&mut self, random: &mut Random) {
        for _ in 0..random.below(12) {
            match random.below(10) {
                0..=1 => self.delete(1 + random.below(SIGNALS)),
                2 => self.rename(random),
                _ => self.write(random),
            }
        }
    }

    /// Writes a signal that never was.
    pub(crate) fn write_new(&mut self, random: &mut Random) {
        let id = SIGNALS + 1 + self.first.len() as u64;
        self.write_signal(id, random);
    }

    fn write(&mut self, random: &mut Random) {
        self.write_signal(1 + random.below(SIGNALS), random);
    }

    /// Writes a signal, which moves if its company is in another shard.
    pub(crate) fn write_signal(&mut self, id: u64, random: &mut Random) {
        let company = random.below(COMPANIES);
        let slug = format!("company-{company}");
        let home = shard_of(&slug, self.shards.len() as u32) as usize;
        if self.homes.get(&id).is_some_and(|former| *former != home) {
            self.delete(id);
        }
        let title = ["Acme hires", "Acme raises"][random.below(2) as usize];
        let title = format!("{title} {}", random.below(1_000));
        let mut writer = self.shards[home].writer().expect("a writer");
        if !writer.has_company(&slug).expect("a look-up") {
            let company = Company::new(&*slug, "Acme");
            writer.upsert_company(&company).expect("a company");
        }
        let signal = Signal::new(SignalId::new(id).expect("an id"), &*slug, &*title);
        writer.upsert_signal(&signal).expect("a signal");
        writer.commit().expect("a commit");
        self.homes.insert(id, home);
        let next = self.next_generation();
        self.first.entry(id).or_insert(next);
    }

    fn next_generation(&self) -> u64 {
        1 + self.generations.keys().next_back().copied().unwrap_or(0)
    }

    /// Writes many signals of one company, newer than all others, so that the newest are in one shard.
    pub(crate) fn write_burst(&mut self, random: &mut Random) {
        let slug = format!("company-{}", random.below(COMPANIES));
        let home = shard_of(&slug, self.shards.len() as u32) as usize;
        let mut writer = self.shards[home].writer().expect("a writer");
        let company = Company::new(&*slug, "Acme");
        writer.upsert_company(&company).expect("a company");
        for id in (SIGNALS + 1..).take(BURST) {
            let id = SignalId::new(id).expect("an id");
            let signal = Signal::new(id, &*slug, "Acme hires");
            writer.upsert_signal(&signal).expect("a signal");
            self.homes.insert(id.get(), home);
        }
        writer.commit().expect("a commit");
    }

    fn rename(&mut self, random: &mut Random) {
        let slug = format!("company-{}", random.below(COMPANIES));
        let name = format!("Acme {}", random.below(1_000));
        let home = shard_of(&slug, self.shards.len() as u32) as usize;
        let mut writer = self.shards[home].writer().expect("a writer");
        let company = Company::new(&*slug, &*name);
        writer.upsert_company(&company).expect("a company");
        writer.commit().expect("a commit");
        if random.chance(33) {
            writer.compact().expect("compacted");
        }
    }

    pub(crate) fn delete(&mut self, id: u64) {
        let Some(home) = self.homes.remove(&id) else {
            return;
        };
        let mut writer = self.shards[home].writer().expect("a writer");
        let id = SignalId::new(id).expect("an id");
        writer.delete_signal(id).expect("a deletion");
        writer.commit().expect("a commit");
    }

    /// Publishes the shards as they are as the next generation.
    pub(crate) async fn publish(&mut self) {
        let generation = self.next_generation();
        let snapshots: Vec<Arc<Snapshot>> = self.shards.iter().map(Index::snapshot).collect();
        let lines = snapshots
            .iter()
            .map(|snapshot| describe(snapshot, generation));
        let manifest = ClusterGeneration {
            generation,
            cluster: self.cluster,
            shards: lines.collect(),
        };
        let bytes = manifest.encode().expect("a manifest");
        let is_new = manifests(&self.store)
            .create_manifest(generation, bytes)
            .await;
        assert!(is_new.expect("a store"));
        let manifest = Arc::new(manifest);
        self.generations.insert(
            generation,
            Generation {
                manifest,
                snapshots,
            },
        );
    }
}

impl Generation {
    pub(crate) fn number(&self) -> u64 {
        self.manifest.generation
    }

    /// Whether it has a signal.
    pub(crate) fn contains(&self, id: SignalId) -> bool {
        let mut shards = self.snapshots.iter();
        shards.any(|shard| shard.contains(id).expect("an index"))
    }

    /// The items of all signals that match.
    pub(crate) fn matches(&self, filter: &Filter) -> BTreeMap<u64, Vec<u8>> {
        let of_shard = |shard: &Arc<Snapshot>| {
            let ids = shard.matches(filter, TODAY, Order::NewestFirst).ids();
            let item = |id: signaldex::Result<SignalId>| {
                let id = id.expect("an id");
                let found = shard.signal(id).expect("a record").expect("a signal");
                let item = search_item(&found.signal, &found.company.name, Rendering::Whole);
                (id.get(), item)
            };
            ids.map(item).collect::<Vec<_>>()
        };
        self.snapshots.iter().flat_map(of_shard).collect()
    }
}

/// A node that holds all shards of some generations.
pub(crate) struct TestNode {
    pub(crate) coordinator: Arc<Coordinator>,
    pub(crate) members: Arc<Members>,
    pub(crate) loaded: LoadedShards,
    leases: Leases,
}

impl TestNode {
    /// A node that has just started.
    pub(crate) fn new(store: &Store, generation: &Generation) -> TestNode {
        let loaded = LoadedShards::default();
        let first = FirstNodes {
            own: KnownNode {
                name: "node".to_owned(),
                zone: String::new(),
            },
            announcement: Announcement::default(),
            others: Vec::new(),
        };
        let members = Arc::new(Members::new(first, 1, None, loaded.clone()));
        let peers = Peers::new(Arc::new(Tcp), &Security::none());
        let deadline = Duration::from_secs(60);
        let asker = Asker {
            nodes: Nodes::new(members.own(), Worker::new(loaded.clone(), None), peers),
            members: Arc::clone(&members),
            deadline,
            hedging: Hedging::new(),
            first_attempt: deadline,
            retried: AtomicU64::new(0),
            hedged: AtomicU64::new(0),
        };
        let leases = Leases::default();
        let manifests = ManifestCache::new(store.clone(), loaded.clone());
        let node = TestNode {
            coordinator: Arc::new(Coordinator::new(
                asker,
                manifests,
                leases.clone(),
                8,
                deadline,
            )),
            members,
            loaded,
            leases,
        };
        node.load(generation);
        node
    }

    /// What answers, as the service has it.
    pub(crate) fn corpus(&self) -> Arc<Coordinator> {
        Arc::clone(&self.coordinator)
    }

    /// Loads a generation and lets go of those that nodes let go of.
    pub(crate) fn load(&self, generation: &Generation) {
        let shards = (0..).zip(generation.snapshots.iter().cloned());
        let manifest = Arc::clone(&generation.manifest);
        let loaded = LoadedGeneration::new(manifest, shards.collect());
        self.loaded.install(loaded);
        self.members.refresh();
        let held = self.loaded.all();
        let mut kept = self.members.to_keep();
        kept.extend(self.leases.kept(held.keys().copied()));
        let former = held.keys().copied().filter(|held| !kept.contains(held));
        self.loaded.retire(&former.collect::<Vec<_>>());
        self.members.refresh();
    }
}
