//! Leases: which generations all nodes keep, because exports under way read from them.
//!
//! An export has a lease at the node that it was begun at. The node announces the generations of its leases; the others
//! keep them until it says no more that there are any, or is dead. So no clock of another machine matters, and a lost
//! node's leases end with it.
//!
//! The state is a machine without sockets or clocks: an event and the time make actions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// How long an export keeps its generation.
const LEASE_TIME: Duration = Duration::from_secs(3_600);

/// Generations with leases, in the whole cluster.
pub(super) const LEASED_MAX: usize = 2;

/// The leases that a node knows.
#[derive(Debug, Default)]
struct LeaseTable {
    /// Of its own exports, by number.
    own: BTreeMap<u64, OwnLease>,
    /// The generations that other nodes have leases for.
    others: BTreeSet<u64>,
    /// The number of the next lease.
    next: u64,
}

#[derive(Clone, Copy, Debug)]
struct OwnLease {
    generation: u64,
    ends: Instant,
}

/// What happens to leases.
#[derive(Clone, Debug)]
enum LeaseEvent {
    /// An export of a generation begins.
    Begin(u64),
    /// The export with this lease has ended.
    End(u64),
    /// The other nodes have leases for these generations.
    Heard(BTreeSet<u64>),
    /// Time passes.
    Tick,
}

/// What follows from an event.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LeaseAction {
    /// The export may begin, with a lease of this number.
    Grant(u64),
    /// The export may not begin: others are read.
    Refuse,
    /// Other nodes have to know that there are other leases.
    Announce,
}

impl LeaseTable {
    fn handle(&mut self, event: LeaseEvent, now: Instant) -> Vec<LeaseAction> {
        let before = self.announced();
        self.own.retain(|_, lease| now < lease.ends);
        let mut actions = Vec::new();
        match event {
            LeaseEvent::Begin(generation) => actions.push(self.begin(generation, now)),
            LeaseEvent::End(number) => drop(self.own.remove(&number)),
            LeaseEvent::Heard(others) => self.others = others,
            LeaseEvent::Tick => {}
        }
        if self.announced() != before {
            actions.push(LeaseAction::Announce);
        }
        actions
    }

    fn begin(&mut self, generation: u64, now: Instant) -> LeaseAction {
        let leased = self.leased();
        if !leased.contains(&generation) && leased.len() >= LEASED_MAX {
            return LeaseAction::Refuse;
        }
        let number = self.next;
        self.next += 1;
        let ends = now + LEASE_TIME;
        self.own.insert(number, OwnLease { generation, ends });
        LeaseAction::Grant(number)
    }

    /// The generations of this node's leases.
    fn announced(&self) -> BTreeSet<u64> {
        self.own.values().map(|lease| lease.generation).collect()
    }

    /// The generations of all leases.
    fn leased(&self) -> BTreeSet<u64> {
        self.announced().union(&self.others).copied().collect()
    }

    /// Those of the generations that are held which have to be kept. Where two nodes have begun to read one each at the
    /// same time, so that there are too many, all nodes keep the oldest ones.
    fn kept(&self, held: impl Iterator<Item = u64>) -> BTreeSet<u64> {
        let leased = self.leased();
        let held: BTreeSet<u64> = held.filter(|held| leased.contains(held)).collect();
        held.into_iter().take(LEASED_MAX).collect()
    }
}

/// The leases of a node. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Leases(Arc<LeasesState>);

#[derive(Default)]
struct LeasesState {
    table: Mutex<LeaseTable>,
    changed: Notify,
}

/// The lease of an export, which ends when this is dropped.
pub(super) struct Lease {
    leases: Leases,
    number: u64,
}

impl Leases {
    /// A lease for a generation; `None` where there are leases for too many others.
    pub(super) fn begin(&self, generation: u64) -> Option<Lease> {
        let actions = self.handle(LeaseEvent::Begin(generation));
        let granted = actions.iter().find_map(|action| match action {
            LeaseAction::Grant(number) => Some(*number),
            _ => None,
        });
        granted.map(|number| Lease {
            leases: self.clone(),
            number,
        })
    }

    /// Takes the generations that other nodes have leases for.
    pub(super) fn hear(&self, others: BTreeSet<u64>) {
        self.handle(LeaseEvent::Heard(others));
    }

    /// Those of the generations that are held which have to be kept.
    pub(super) fn kept(&self, held: impl Iterator<Item = u64>) -> BTreeSet<u64> {
        self.handle(LeaseEvent::Tick);
        self.table().kept(held)
    }

    /// The generations of this node's leases.
    pub(super) fn announced(&self) -> Vec<u64> {
        self.handle(LeaseEvent::Tick);
        self.table().announced().into_iter().collect()
    }

    /// Waits until there is something else to announce. One task waits at a time.
    pub(super) async fn changed(&self) {
        self.0.changed.notified().await;
    }

    fn handle(&self, event: LeaseEvent) -> Vec<LeaseAction> {
        let actions = self.table().handle(event, Instant::now());
        if actions.contains(&LeaseAction::Announce) {
            self.0.changed.notify_one();
        }
        actions
    }

    fn table(&self) -> MutexGuard<'_, LeaseTable> {
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.leases.handle(LeaseEvent::End(self.number));
    }
}

#[cfg(test)]
mod tests;
