//! White-box tests of `holding.rs`.

use super::*;
use crate::announcement::Announcement;
use crate::fixtures::manifest;
use crate::known_nodes::KnownNode;
use crate::members::FirstNodes;
use signaldex::Index;

/// A node that is alone, so that it has the places of all shards.
fn lone_node(leases: Leases) -> Holding {
    let first = FirstNodes {
        own: KnownNode {
            name: "node-0".to_owned(),
            zone: String::new(),
        },
        announcement: Announcement::default(),
        others: Vec::new(),
    };
    let loaded = LoadedShards::default();
    let members = Members::new(first, 1, None, loaded.clone());
    Holding::new(Arc::new(members), loaded, leases)
}

impl Holding {
    /// Installs these of two shards of a generation.
    fn load(&self, generation: u64, shards: &[u32]) {
        let snapshot = || Index::in_memory().expect("an index").snapshot();
        let loaded = shards.iter().map(|&shard| (shard, snapshot())).collect();
        self.install(manifest(generation, &[1, 1]), loaded);
        self.members.refresh();
    }

    fn held(&self) -> Vec<u64> {
        self.loaded.all().keys().copied().collect()
    }
}

#[test]
fn a_generation_is_complete_once_all_own_shards_are_loaded() {
    let holding = lone_node(Leases::default());
    holding.load(7, &[0]);
    assert_eq!((holding.newest_held(), holding.newest_complete()), (7, 0));
    // The first one stays.
    holding.load(7, &[1]);
    assert_eq!(holding.newest_complete(), 7);
}

#[test]
fn what_an_export_reads_is_kept_until_it_ends() {
    let leases = Leases::default();
    let mut holding = lone_node(leases.clone());
    holding.load(1, &[0, 1]);
    let lease = leases.begin(1).expect("the only lease");
    (2..=4).for_each(|generation| holding.load(generation, &[0, 1]));
    let retire = |holding: &mut Holding| holding.retire(Instant::now(), Duration::ZERO);
    assert!(retire(&mut holding));
    assert_eq!(holding.held(), [1, 4]);
    drop(lease);
    assert!(retire(&mut holding));
    assert_eq!(holding.held(), [4]);
}
