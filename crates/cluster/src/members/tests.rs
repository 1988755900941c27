//! White-box tests of `members.rs`.

use super::*;
use crate::engine::OWN_RELEASE;
use crate::fixtures::manifest;
use crate::loaded_shards::{HeldShards, LoadedGeneration};

/// How long a dead node keeps its place.
const FORGET_AFTER: Duration = Duration::from_secs(900);

/// More often than nodes gossip.
const TICK: Duration = Duration::from_millis(500);

fn known(name: &str, zone: &str) -> KnownNode {
    KnownNode {
        name: name.to_owned(),
        zone: zone.to_owned(),
    }
}

/// Members with the first of these names as the own one, and what gossip tells them.
struct Fixture {
    members: Members,
    now: Instant,
    seen: Vec<SeenNode>,
}

impl Fixture {
    /// A cluster whose file lists `nodes` nodes.
    fn listed(nodes: usize) -> Fixture {
        Fixture::new(nodes, 1, None)
    }

    fn new(nodes: usize, replicas: usize, forget_after: Option<Duration>) -> Fixture {
        let others = (1..nodes).map(|node| (known(&format!("node-{node}"), ""), String::new()));
        let first = FirstNodes {
            own: known("node-0", ""),
            announcement: Announcement::default(),
            others: others.collect(),
        };
        Fixture {
            members: Members::new(first, replicas, forget_after, LoadedShards::default()),
            now: Instant::now(),
            seen: Vec::new(),
        }
    }

    /// What others tell of a node, which is new to them if it has to be.
    fn node(&mut self, node: usize) -> &mut SeenNode {
        let name = format!("node-{node}");
        let index = self.seen.iter().position(|seen| seen.name == name);
        let index = index.unwrap_or_else(|| {
            self.seen.push(SeenNode {
                name,
                incarnation: 1,
                heartbeat: 0,
                is_alive: true,
                announcement: Announcement {
                    address: format!("10.0.0.{node}:7400"),
                    ..Announcement::default()
                },
            });
            self.seen.len() - 1
        });
        &mut self.seen[index]
    }

    /// A node that is alive tells what it holds.
    fn holds(&mut self, node: usize, generation: u64, shards: &[u32]) {
        self.node(node).announcement.held = HeldShards::from([(generation, shards.to_vec())]);
        self.live();
    }

    /// A moment passes, in which all nodes that are alive give signs of life.
    fn live(&mut self) -> Sighting {
        self.seen
            .iter_mut()
            .for_each(|node| node.heartbeat += u64::from(node.is_alive));
        self.look(TICK)
    }

    /// Time passes.
    fn look(&mut self, time: Duration) -> Sighting {
        self.now += time;
        let sighting = self.members.see(&self.seen, self.now);
        self.members.refresh();
        sighting
    }

    fn assign(&self, shards: &[u32], avoided: &[usize]) -> Result<Vec<NodeTask>, Unreachable> {
        self.members.assign(7, 4, shards, avoided)
    }

    /// Installs a generation of which this node holds no shard; each shard has this many signals.
    fn install(&self, generation: u64, signals: &[u64]) {
        let manifest = manifest(generation, signals);
        let generation = LoadedGeneration::new(manifest, BTreeMap::new());
        self.members.loaded.install(generation);
        self.members.refresh();
    }
}

fn task(node: usize, shards: &[u32]) -> NodeTask {
    NodeTask {
        node,
        shards: shards.to_vec(),
    }
}

#[test]
fn few_nodes_are_asked_and_they_take_turns() {
    let mut fixture = Fixture::listed(4);
    fixture.install(7, &[1; 4]);
    fixture.holds(1, 7, &[0, 1, 2]);
    fixture.holds(2, 7, &[0, 1, 2]);
    fixture.holds(3, 7, &[3]);
    let mut first = Vec::new();
    for _ in 0..2 * QUERIES_A_TURN {
        let tasks = fixture.assign(&[0, 1, 2, 3], &[]).expect("tasks");
        assert_eq!(tasks.len(), 2, "{tasks:?}");
        assert_eq!(tasks[1], task(3, &[3]));
        first.push(tasks[0].node);
    }
    assert!(first.contains(&1) && first.contains(&2), "{first:?}");
    let missing = fixture.assign(&[0, 3], &[3]);
    assert_eq!(
        missing,
        Err(Unreachable {
            shard: 3,
            shards: 4
        })
    );
    let other = fixture.members.assign(8, 4, &[0], &[]);
    assert!(other.is_err(), "another generation");
}

#[test]
fn a_slow_node_is_asked_last_until_it_gives_signs_of_life() {
    let mut fixture = Fixture::listed(3);
    fixture.install(7, &[1]);
    fixture.holds(1, 7, &[0]);
    fixture.holds(2, 7, &[0]);
    fixture.now = Instant::now();
    fixture.members.slowed(1);
    // A sign of life that was under way already says nothing.
    fixture.node(1).heartbeat += 1;
    fixture.look(Duration::from_millis(100));
    for _ in 0..10 {
        assert_eq!(fixture.assign(&[0], &[]), Ok(vec![task(2, &[0])]));
    }
    // Nobody else is left.
    assert_eq!(fixture.assign(&[0], &[2]), Ok(vec![task(1, &[0])]));
    fixture.live();
    let nodes: Vec<usize> = (0..2 * QUERIES_A_TURN)
        .flat_map(|_| fixture.assign(&[0], &[]).expect("tasks"))
        .map(|task| task.node)
        .collect();
    assert!(nodes.contains(&1), "{nodes:?}");
}

#[test]
fn a_node_is_dead_when_it_is_silent_and_suspected_or_when_nothing_listens() {
    let mut fixture = Fixture::listed(2);
    fixture.install(7, &[1]);
    fixture.holds(1, 7, &[0]);
    fixture.live();
    let is_alive = |fixture: &Fixture| fixture.assign(&[0], &[]).is_ok();
    // The failure detector alone is not enough: it adapts to what it is used to.
    fixture.node(1).is_alive = false;
    fixture.look(TICK);
    assert!(is_alive(&fixture));
    fixture.look(3 * TICK);
    assert!(!is_alive(&fixture));
    // Nor is silence, for which a busy machine is reason enough.
    fixture.node(1).is_alive = true;
    fixture.live();
    fixture.look(100 * TICK);
    assert!(is_alive(&fixture));
    fixture.members.died(1, "connection refused");
    assert!(!is_alive(&fixture));
    // Signs of life after it was found dead revive it, and so does a new process.
    fixture.now = Instant::now() + TICK;
    fixture.live();
    assert!(is_alive(&fixture));
    fixture.members.died(1, "connection refused");
    fixture.node(1).incarnation += 1;
    fixture.look(Duration::ZERO);
    assert!(is_alive(&fixture));
    fixture.node(1).announcement.has_left = true;
    fixture.live();
    assert!(!is_alive(&fixture), "it has said goodbye");
}

#[test]
fn load_makes_no_node_dead() {
    let mut fixture = Fixture::listed(2);
    fixture.install(7, &[1]);
    fixture.holds(1, 7, &[0]);
    fixture.live();
    for _ in 0..1_000 {
        fixture.members.slowed(1);
        assert_eq!(fixture.assign(&[0], &[]), Ok(vec![task(1, &[0])]));
    }
    fixture.look(TICK);
    assert!(fixture.assign(&[0], &[]).is_ok());
}

#[test]
fn a_node_that_is_not_listed_is_none() {
    let mut fixture = Fixture::listed(2);
    fixture.install(7, &[1]);
    fixture.holds(5, 7, &[0]);
    fixture.live();
    assert!(fixture.assign(&[0], &[]).is_err());
    assert_eq!(fixture.members.known(), [known("node-1", "")]);
}

#[test]
fn a_node_joins_keeps_its_place_while_it_is_dead_and_is_forgotten() {
    let mut fixture = Fixture::new(1, 1, Some(FORGET_AFTER));
    fixture.install(7, &[1; 4]);
    fixture.node(1).announcement.zone = "b".to_owned();
    let sighting = fixture.live();
    let expected = Sighting {
        addresses: vec![(1, "10.0.0.1:7400".to_owned())],
        has_new_placement: true,
    };
    assert_eq!(sighting, expected);
    assert_eq!(fixture.members.known(), [known("node-1", "b")]);
    assert_eq!(fixture.live(), Sighting::default(), "nothing is new");
    // A node that restarts elsewhere keeps its index.
    let node = fixture.node(1);
    node.incarnation += 1;
    node.announcement.address = "10.0.0.9:7400".to_owned();
    let sighting = fixture.live();
    assert_eq!(sighting.addresses, [(1, "10.0.0.9:7400".to_owned())]);
    assert!(!sighting.has_new_placement);
    fixture.live();
    fixture.node(1).is_alive = false;
    fixture.look(FORGET_AFTER);
    assert!(!fixture.look(FORGET_AFTER - TICK).has_new_placement);
    assert!(fixture.look(TICK).has_new_placement);
    assert!(fixture.members.known().is_empty());
    // Another one takes its index, and so it can itself, once it lives again.
    fixture.node(2);
    fixture.live();
    assert_eq!(fixture.members.name(1), "node-2");
    fixture.node(1).is_alive = true;
    fixture.live();
    fixture.live();
    assert_eq!(
        fixture.members.known(),
        [known("node-2", ""), known("node-1", "b")]
    );
}

#[test]
fn a_shard_is_spare_when_all_nodes_of_its_place_answer_for_it() {
    let mut fixture = Fixture::new(1, 1, Some(FORGET_AFTER));
    fixture.install(7, &[1; 64]);
    let own = |fixture: &Fixture| -> Vec<u32> {
        let placing = fixture.members.placing();
        (0..64).filter(|&shard| placing.is_own(shard, 64)).collect()
    };
    assert_eq!(own(&fixture).len(), 64);
    fixture.node(1);
    fixture.live();
    let kept = own(&fixture);
    let moved: Vec<u32> = (0..64).filter(|shard| !kept.contains(shard)).collect();
    assert!(!kept.is_empty() && !moved.is_empty());
    let spare = |fixture: &Fixture| -> Vec<u32> {
        let is_spare = |&shard: &u32| fixture.members.is_spare(7, shard);
        (0..64).filter(is_spare).collect()
    };
    assert!(spare(&fixture).is_empty(), "nobody else has loaded any");
    fixture.holds(1, 7, &moved[1..]);
    assert_eq!(spare(&fixture), moved[1..]);
    fixture.members.died(1, "connection refused");
    assert!(spare(&fixture).is_empty());
}

#[test]
fn two_generations_are_kept_whatever_others_can_load() {
    let mut fixture = Fixture::listed(3);
    // The only holder of the shard loads nothing newer than the first generation.
    fixture.holds(1, 1, &[0]);
    fixture.live();
    for generation in 1..=4 {
        fixture.install(generation, &[1]);
    }
    assert_eq!(fixture.members.view().generation, 1);
    assert_eq!(fixture.members.to_keep(), BTreeSet::from([1, 4]));
    // The one before the served one is kept for a node that has nothing newer.
    fixture.holds(1, 4, &[0]);
    fixture.holds(2, 3, &[0]);
    fixture.live();
    assert_eq!(fixture.members.view().generation, 4);
    assert_eq!(fixture.members.to_keep(), BTreeSet::from([3, 4]));
    // One that is further behind changes nothing.
    fixture.holds(2, 1, &[0]);
    assert_eq!(fixture.members.to_keep(), BTreeSet::from([3, 4]));
    fixture.holds(2, 4, &[0]);
    assert_eq!(fixture.members.to_keep(), BTreeSet::from([4]));
}

#[test]
fn shards_without_signals_are_not_asked() {
    let fixture = Fixture::listed(1);
    fixture.install(1, &[3, 0, 2]);
    assert_eq!(fixture.members.shards_with_signals(1), [0, 2]);
    assert!(fixture.members.shards_with_signals(2).is_empty());
}

/// Nodes of another release and without SQL are asked nothing where others have the shard, and named where none has.
#[test]
fn scans_go_to_nodes_of_this_release_that_take_them() {
    let mut fixture = Fixture::new(4, 2, None);
    fixture.install(7, &[1, 1, 1, 1]);
    for (node, shards) in [(1, [0, 1]), (2, [1, 2]), (3, [2, 3])] {
        fixture.holds(node, 7, &shards);
        let said = &mut fixture.node(node).announcement;
        (said.release, said.has_sql) = (OWN_RELEASE.to_owned(), true);
    }
    fixture.live();
    let nodes = |fixture: &Fixture| {
        let tasks = fixture.members.assign_scans(7, None, &[])?;
        Ok::<Vec<usize>, String>(tasks.iter().map(|task| task.node).collect())
    };
    assert_eq!(
        fixture.members.assign_scans(7, None, &[]),
        fixture.members.assign_scans(7, None, &[])
    );
    // Of shard 2, which the nodes 2 and 3 hold, only the other one is left.
    let without = |node| fixture.members.assign_scans(7, Some(&[2]), &[node]);
    assert_eq!(without(2), Ok(vec![task(3, &[2])]));
    assert_eq!(without(3), Ok(vec![task(2, &[2])]));
    fixture.node(2).announcement.has_sql = false;
    fixture.live();
    assert_eq!(nodes(&fixture), Ok(vec![1, 3]));
    fixture.node(3).announcement.release = "9.9.9".to_owned();
    fixture.live();
    let refused = nodes(&fixture).expect_err("no node has shard 2");
    assert_eq!(
        refused,
        format!(
            "shard 2 of 4 cannot be asked: node node-2 was started without --sql-addr; node node-3 is of release 9.9.9, \
             this one of {OWN_RELEASE}, and SQL needs equal ones"
        )
    );
    let unknown = fixture
        .members
        .assign_scans(8, None, &[])
        .expect_err("no generation");
    assert!(unknown.contains("no generation"), "{unknown}");
}
