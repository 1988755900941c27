//! Positions of the feed: what is accepted is written the same, no altered one is accepted, and
//! whatever a position says, the walk from it ends and can be interrupted anywhere. A copy that
//! follows is right.
//!
//! The first byte of an input says what the rest is: `t` a text, `w` the steps of a copy that
//! follows, and anything else alterations of a position, which gets a right checksum.
#![no_main]

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fuzz_support::allocation::{Counting, bounded};
use fuzz_support::examination::TODAY;
use fuzz_support::history::{Followed, Held, History, REMEMBERED_COMMITS};
use libfuzzer_sys::fuzz_target;
use signaldex::{Change, Changes, Position, PositionError, SignalId};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes of the checksum at the end of a position.
const CHECKSUM_BYTES: usize = 4;

/// Every change that is left is taken.
const ALL: usize = 15;

thread_local! {
    static HISTORY: History = History::write();
}

fuzz_target!(|data: &[u8]| {
    let Some((&kind, rest)) = data.split_first() else {
        return;
    };
    HISTORY.with(|history| {
        bounded(data.len(), || match kind {
            b't' => check(&String::from_utf8_lossy(rest), history),
            b'w' => follow(rest, history),
            _ => check(&altered(kind, rest, history), history),
        });
    });
});

/// A position that the index has given, with bytes of the input added to its own, two bytes each:
/// where, and how much. Nothing is known of its layout but that it ends with its checksum.
fn altered(kind: u8, changes: &[u8], history: &History) -> String {
    let number = usize::from(kind) % history.snapshots.len();
    let snapshot = &history.snapshots[number];
    let followed = &history.followed[usize::from(kind) % history.followed.len()];
    let given = if kind < 128 {
        snapshot.position()
    } else {
        let mut walk = snapshot
            .changes(&followed.filter, TODAY, &Position::START)
            .expect("the start is good everywhere");
        walk.by_ref().take(number).for_each(drop);
        walk.position()
    };
    let bytes = URL_SAFE_NO_PAD.decode(given.to_string());
    let mut bytes = bytes.unwrap_or_default();
    let covered = bytes.len().saturating_sub(CHECKSUM_BYTES);
    let (fields, checksum) = bytes.split_at_mut(covered);
    if covered > 0 {
        assert_eq!(checksum, crc32c::crc32c(fields).to_le_bytes());
        for change in changes.chunks_exact(2) {
            let at = usize::from(change[0]) % covered;
            fields[at] = fields[at].wrapping_add(change[1]);
        }
        checksum.copy_from_slice(&crc32c::crc32c(fields).to_le_bytes());
    }
    URL_SAFE_NO_PAD.encode(bytes)
}

fn check(text: &str, history: &History) {
    match text.parse::<Position>() {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(position) => {
            assert_eq!(position.to_string(), text);
            check_alterations(text);
            for number in [history.snapshots.len() / 2, history.snapshots.len() - 1] {
                for followed in &history.followed {
                    ask(&position, number, followed, history);
                }
            }
        }
    }
}

/// Every change of a single letter, and of the length by one, is noticed.
fn check_alterations(text: &str) {
    let is_refused = |text: &str| Position::parse(text).is_err();
    for place in 0..text.len() {
        for letter in ["A", "B", "Q", "g", "w", "_", "=", "é"] {
            let mut altered = text.to_owned();
            altered.replace_range(place..=place, letter);
            assert!(altered == text || is_refused(&altered), "{altered}");
        }
        let mut shorter = text.to_owned();
        let letter = shorter.remove(place);
        assert!(is_refused(&shorter), "{shorter}");
        let mut longer = text.to_owned();
        longer.insert(place, letter);
        assert!(is_refused(&longer), "{longer}");
    }
}

/// Changes of a walk.
#[derive(Debug, Default)]
struct Walked {
    upserts: Vec<SignalId>,
    removed: BTreeSet<SignalId>,
}

/// A position, genuine or not, is refused, or its changes are true, and an interrupted walk goes on.
fn ask(position: &Position, number: usize, followed: &Followed, history: &History) {
    let snapshot = &history.snapshots[number];
    let changes = |since: &Position| snapshot.changes(&followed.filter, TODAY, since);
    let whole = match changes(position) {
        Ok(mut changes) => {
            let whole = walked(&mut changes, usize::MAX, &followed.held[number]);
            assert_eq!(changes.position(), snapshot.position());
            // A signal that is removed and held was deleted, and added again.
            let is_gone = |id: &SignalId| !followed.held[number].contains_key(id);
            let is_added = |id: &SignalId| whole.upserts.contains(id);
            assert!(whole.removed.iter().all(|id| is_gone(id) || is_added(id)));
            whole
        }
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    for taken in [0, 1, whole.upserts.len() / 2] {
        let mut first = changes(position).expect("it was accepted before");
        let mut start = walked(&mut first, taken, &followed.held[number]);
        let mut rest = changes(&first.position()).expect("a position of this snapshot");
        let rest = walked(&mut rest, usize::MAX, &followed.held[number]);
        start.upserts.extend(rest.upserts);
        assert_eq!(start.upserts, whole.upserts);
        // A signal may be removed that is added and deleted after the first position.
        start.removed.extend(rest.removed);
        assert!(start.removed.is_superset(&whole.removed));
    }
}

/// Takes changes, each of which is true of what matches in the snapshot.
fn walked(changes: &mut Changes<'_>, taken: usize, held: &Held) -> Walked {
    let mut walked = Walked::default();
    for change in changes.take(taken) {
        match change.expect("records that were just written") {
            Change::Upsert { item, .. } => {
                let id = item.signal.id;
                assert_eq!(held.get(&id), Some(&item));
                assert!(!walked.upserts.contains(&id));
                walked.upserts.push(id);
            }
            Change::Remove { id } => {
                assert!(!walked.upserts.contains(&id));
                assert!(walked.removed.insert(id));
            }
            _ => unreachable!("there are two kinds of change"),
        }
    }
    walked
}

/// A copy of what matches a filter, and how far it is.
struct Copy {
    held: Held,
    position: Position,
    /// The snapshot in which it was whole or empty last.
    whole_in: usize,
}

/// Lets a copy follow from snapshot to snapshot, in batches. The first byte says where it starts,
/// each other one how many snapshots on it asks, and how many changes it takes.
fn follow(steps: &[u8], history: &History) {
    let Some((&first, steps)) = steps.split_first() else {
        return;
    };
    let first = usize::from(first);
    let followed = &history.followed[first % history.followed.len()];
    let last = history.snapshots.len() - 1;
    let mut number = first / history.followed.len() % history.snapshots.len();
    let mut copy = if first < 128 {
        Copy {
            held: followed.held[number].clone(),
            position: history.snapshots[number].position(),
            whole_in: number,
        }
    } else {
        Copy::empty(number)
    };
    for &step in steps {
        number = (number + usize::from(step >> 4) % 4).min(last);
        copy.take(number, usize::from(step) % (ALL + 1), followed, history);
    }
    copy.take(last, ALL, followed, history);
    assert_eq!(copy.held, followed.held[last]);
}

impl Copy {
    fn empty(number: usize) -> Copy {
        Copy {
            held: Held::new(),
            position: Position::START,
            whole_in: number,
        }
    }

    fn take(&mut self, number: usize, taken: usize, followed: &Followed, history: &History) {
        let snapshot = &history.snapshots[number];
        let written = self.position.to_string();
        assert_eq!(Position::parse(&written).as_ref(), Ok(&self.position));
        let changes = snapshot.changes(&followed.filter, TODAY, &self.position);
        let mut changes = match changes {
            Ok(changes) => changes,
            Err(error) => {
                assert_eq!(error, PositionError::Expired);
                assert!(number - self.whole_in > REMEMBERED_COMMITS);
                *self = Copy::empty(number);
                return self.take(number, taken, followed, history);
            }
        };
        let taken = if taken == ALL { usize::MAX } else { taken };
        for change in changes.by_ref().take(taken) {
            match change.expect("records that were just written") {
                Change::Upsert { item, .. } => {
                    self.held.insert(item.signal.id, item.into_owned());
                }
                Change::Remove { id } => {
                    self.held.remove(&id);
                }
                _ => unreachable!("there are two kinds of change"),
            }
        }
        self.position = changes.position();
        if self.position == snapshot.position() {
            self.whole_in = number;
            assert_eq!(self.held, followed.held[number]);
        } else if written == Position::START.to_string() {
            self.whole_in = number;
        }
    }
}
