//! Positions in feeds of changes, as clients send them: of an index, or of a cluster.
//!
//! A position of a cluster, little endian, as base64url without padding: 118 characters for any number of shards.
//!
//! ```text
//! offset  width  what
//! 0       1      version
//! 1       16     the identity of the cluster
//! 17      8      the generation that the copy has; 0 for an empty copy
//! 25      8      the generation to which it is on its way; the same when it has arrived
//! 33      8      the newest generation that changes were read from: what it changed again comes on the way to it
//! 41      16     a digest of the content of these generations
//! 57      1      whether all removals are passed
//! 58      2      a shard: all before it are passed
//! 60      8      a commit of this shard
//! 68      8      the last signal seen of the commit's changes
//! 76      8      the generation that the copy had when it last had everything; 0 if it never did
//! 84      4      a checksum of the bytes before
//! ```

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use signaldex::{Digest, ParsePositionError, Position};

const VERSION: u8 = 1;
const BYTES: usize = 88;
const COVERED_BYTES: usize = 84;

/// A position of an index or of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedPosition {
    /// Of an index, or [`Position::START`] of anything.
    Index(Position),
    /// Of a cluster.
    Cluster(ClusterPosition),
}

/// A position in the changes of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterPosition {
    /// The identity of the cluster.
    pub cluster: [u8; 16],
    /// The generation that the copy has; 0 for an empty copy.
    pub held: u64,
    /// The generation to which it is on its way, at least [`held`](Self::held).
    pub target: u64,
    /// The newest generation that changes were read from, at least [`target`](Self::target).
    pub seen: u64,
    /// A digest of the content of these generations.
    pub content: [u8; 16],
    /// How far the copy has come.
    pub stage: FeedStage,
    /// The generation that the copy had when it last had everything that was served, at most [`held`](Self::held); 0 if it
    /// never did. What was added after it is new.
    pub complete: u64,
}

/// How far a copy has come between two generations: removals of all shards come first, then upserts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedStage {
    /// Whether all removals are passed.
    pub upserts: bool,
    /// All shards before this one are passed.
    pub shard: u16,
    /// The [step](Position::step) in this shard.
    pub step: (u64, u64),
}

impl FeedPosition {
    /// The number of commits from here to a later position of the same index; `None` to that of another, or in a cluster.
    pub(crate) fn commits_until(&self, to: &FeedPosition) -> Option<u64> {
        let (FeedPosition::Index(from), FeedPosition::Index(to)) = (self, to) else {
            return None;
        };
        let is_same = *from == Position::START || from.is_of_index_of(to);
        is_same.then(|| to.step().0.saturating_sub(from.step().0))
    }
}

impl FromStr for FeedPosition {
    type Err = ParsePositionError;

    fn from_str(text: &str) -> Result<FeedPosition, ParsePositionError> {
        match ClusterPosition::parse(text) {
            Err(ParsePositionError::Foreign) => Position::parse(text).map(FeedPosition::Index),
            parsed => parsed.map(FeedPosition::Cluster),
        }
    }
}

impl fmt::Display for FeedPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FeedPosition::Index(position) => position.fmt(f),
            FeedPosition::Cluster(position) => position.fmt(f),
        }
    }
}

impl ClusterPosition {
    /// Where the copy is, for positions on ways from one generation: a later position is greater, whatever generation its
    /// way leads to.
    pub(crate) fn progress(&self) -> impl Ord {
        let FeedStage {
            upserts,
            shard,
            step,
        } = self.stage;
        (self.held, upserts, shard, step)
    }

    fn parse(text: &str) -> Result<ClusterPosition, ParsePositionError> {
        let mut bytes = [0; BYTES];
        if URL_SAFE_NO_PAD.decode_slice(text, &mut bytes) != Ok(BYTES) {
            return Err(ParsePositionError::Foreign);
        }
        let (covered, sum) = bytes.split_at(COVERED_BYTES);
        if checksum(covered) != sum {
            return Err(ParsePositionError::Damaged);
        }
        match covered[0] {
            VERSION => ClusterPosition::of_fields(covered).ok_or(ParsePositionError::Foreign),
            0 => Err(ParsePositionError::Foreign),
            _ => Err(ParsePositionError::Newer),
        }
    }

    /// The position of these fields, unless its generations descend.
    fn of_fields(covered: &[u8]) -> Option<ClusterPosition> {
        let number = |at: usize| Some(u64::from_le_bytes(covered[at..at + 8].try_into().ok()?));
        let position = ClusterPosition {
            cluster: covered[1..17].try_into().ok()?,
            held: number(17)?,
            target: number(25)?,
            seen: number(33)?,
            content: covered[41..57].try_into().ok()?,
            stage: FeedStage {
                upserts: covered[57] != 0,
                shard: u16::from_le_bytes(covered[58..60].try_into().ok()?),
                step: (number(60)?, number(68)?),
            },
            complete: number(76)?,
        };
        let ascends = position.complete <= position.held
            && position.held <= position.target
            && position.target <= position.seen;
        (ascends && position.target > 0).then_some(position)
    }
}

impl fmt::Display for ClusterPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = [0; BYTES];
        let (commit, id) = self.stage.step;
        let numbers = [
            (17, self.held),
            (25, self.target),
            (33, self.seen),
            (60, commit),
            (68, id),
            (76, self.complete),
        ];
        for (at, number) in numbers {
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        bytes[0] = VERSION;
        bytes[1..17].copy_from_slice(&self.cluster);
        bytes[41..57].copy_from_slice(&self.content);
        bytes[57] = self.stage.upserts.into();
        bytes[58..60].copy_from_slice(&self.stage.shard.to_le_bytes());
        let sum = checksum(&bytes[..COVERED_BYTES]);
        bytes[COVERED_BYTES..].copy_from_slice(&sum);
        f.write_str(&URL_SAFE_NO_PAD.encode(bytes))
    }
}

fn checksum(covered: &[u8]) -> [u8; 4] {
    let [a, b, c, d, ..] = *Digest::of(covered).bytes();
    [a, b, c, d]
}

#[cfg(test)]
mod tests;
