//! Positions in the changes feed, as opaque text for clients.
//!
//! ```text
//! offset  width  what
//! 0       1      version
//! 1       16     the identity of the index
//! 17      8      a commit
//! 25      8      the last signal seen of its changes, or the maximum after all of them
//! 33      8      the commit since which deletions matter to a copy
//! 41      8      the last commit of the snapshot that gave the position
//! 49      16     its digest
//! 65      4      CRC-32C of the bytes before
//! ```
//!
//! All little endian, written as base64url without padding: 92 characters. A position contains no segment or
//! generation, so it stays valid across merges, restarts and replicas.
//!
//! The digest tells whether the snapshot is in the history of an index ([`chain`](super::chain)). Even a copy that is
//! still catching up with old commits needs it: what the snapshot's last commits changed has moved behind them.
//!
//! A copy that has reached the end needs the deletions after it. A copy that is still catching up has passed
//! old commits but holds signals in their current state, so it needs the deletions since it was last complete,
//! or since it started.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::chain::{Chain, CommitDigest, DIGEST_BYTES};
use super::identity::IndexId;
use super::manifest::History;
use crate::query::KeyFilter;
use crate::segment::ChangeOffset;

const VERSION: u8 = 1;
const BYTES: usize = 69;
const COVERED_BYTES: usize = 65;

/// The text of the position before all changes.
const START: &str = "start";

/// A position in the changes feed; see [`Snapshot::changes`](super::Snapshot::changes).
///
/// `Display` writes it, [`parse`](Self::parse) reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    index: IndexId,
    commit: u64,
    id: u64,
    held_since: u64,
    last: LastCommit,
}

/// The last commit of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LastCommit {
    pub(super) number: u64,
    pub(super) digest: CommitDigest,
}

/// The state of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Since {
    /// The copy has all changes up to here.
    pub(super) offset: ChangeOffset,
    /// It holds no signal that was deleted or stopped matching in this commit or an earlier one.
    pub(super) held_since: u64,
}

/// Why a text is not a valid position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParsePositionError {
    /// It does not have the form of a position.
    Foreign,
    /// It is damaged: its checksum does not match.
    Damaged,
    /// A later release created it.
    Newer,
}

/// Why the changes after a position cannot be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PositionError {
    /// It is of another index, or of one that has been built anew since: copy everything again.
    OtherIndex,
    /// It is of what a key with another filter sees of this index: copy everything again.
    OtherKeyFilter,
    /// Deletions since then are forgotten: copy everything again.
    Expired,
    /// It is of commits that are not in the history of this index: an earlier state was restored, or copies of the
    /// index were changed apart. Copy everything again.
    Diverged,
    /// It is ahead of this snapshot: this is a replica that is behind, or an earlier state was restored.
    Ahead,
}

impl Position {
    /// Before all changes of any index: the text `start`.
    ///
    /// What has changed since is everything that matches. So a copy can be made by following alone, and
    /// is right though the index changes meanwhile.
    ///
    /// ```
    /// use signaldex::{Filter, Position, sample};
    ///
    /// let (snapshot, filter) = (sample::index()?.snapshot(), Filter::from_query_string("q=robotics")?);
    /// let changes = snapshot.changes(&filter, sample::AS_OF, &Position::START)?;
    /// assert_eq!(changes.count() as u64, snapshot.count(&filter, sample::AS_OF)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const START: Position = Position {
        index: IndexId::NONE,
        commit: 0,
        id: 0,
        held_since: 0,
        last: LastCommit {
            number: 0,
            digest: CommitDigest::before_first(IndexId::NONE),
        },
    };

    pub(super) fn new(index: IndexId, since: Since, last: LastCommit) -> Position {
        let Since { offset, held_since } = since;
        Position {
            index,
            commit: offset.commit,
            id: offset.id,
            held_since,
            last,
        }
    }

    /// Reads a position.
    ///
    /// ```
    /// use signaldex::{ParsePositionError, Position, sample};
    ///
    /// let position = sample::index()?.snapshot().position();
    /// assert_eq!(Position::parse(&position.to_string())?, position);
    /// assert_eq!(Position::parse("start")?, Position::START);
    /// assert_eq!(Position::parse("yesterday"), Err(ParsePositionError::Foreign));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The text is not a position, is damaged, or is from a later release.
    pub fn parse(text: &str) -> Result<Position, ParsePositionError> {
        if text == START {
            return Ok(Position::START);
        }
        let mut bytes = [0; BYTES];
        let length = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes);
        if length != Ok(BYTES) {
            return Err(ParsePositionError::Foreign);
        }
        let (covered, checksum) = bytes.split_at(COVERED_BYTES);
        if crc32c::crc32c(covered).to_le_bytes() != checksum {
            return Err(ParsePositionError::Damaged);
        }
        match covered[0] {
            VERSION => Position::from_fields(covered).ok_or(ParsePositionError::Foreign),
            0 => Err(ParsePositionError::Foreign),
            _ => Err(ParsePositionError::Newer),
        }
    }

    /// The position of the whole index, as it is of what a key with a filter sees
    /// ([`Snapshot::narrowed`](crate::Snapshot::narrowed)). [`START`](Self::START) is that of every key.
    ///
    /// ```
    /// use signaldex::query::KeyFilter;
    /// use signaldex::sample;
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let filter = KeyFilter::parse(["country=Japan"], [])?;
    /// let narrowed = snapshot.narrowed(&filter, sample::AS_OF)?;
    /// assert_eq!(snapshot.position().for_key(&filter), narrowed.position());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_key(self, filter: &KeyFilter) -> Position {
        if self == Position::START {
            return self;
        }
        let index = self.index.within(filter.fingerprint());
        Position { index, ..self }
    }

    /// Whether both are of one index.
    ///
    /// ```
    /// use signaldex::{Index, sample};
    ///
    /// let (sample, other) = (sample::index()?.snapshot(), Index::in_memory()?.snapshot());
    /// assert!(sample.position().is_of_index_of(&sample.position()));
    /// assert!(!sample.position().is_of_index_of(&other.position()));
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn is_of_index_of(&self, other: &Position) -> bool {
        self.index == other.index
    }

    /// The same place in the changes of the index that another position is of. What a key with a filter sees of an index
    /// has an identity of its own, though its changes are in the same order. [`START`](Self::START) stays what it is.
    ///
    /// ```
    /// use signaldex::query::KeyFilter;
    /// use signaldex::{Filter, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let seen = snapshot.narrowed(&KeyFilter::parse(["country=Germany"], [])?, sample::AS_OF)?;
    /// let (stored, filter) = (snapshot.position(), Filter::default());
    /// assert!(seen.changes(&filter, sample::AS_OF, &stored).is_err());
    /// let since = stored.in_index_of(&seen.position());
    /// assert_eq!(seen.changes(&filter, sample::AS_OF, &since)?.count(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_index_of(self, other: &Position) -> Position {
        if self == Position::START {
            return self;
        }
        Position {
            index: other.index,
            ..self
        }
    }

    /// The commit and the signal up to which the copy has all changes.
    ///
    /// With [`at_step`](Self::at_step) it is all that has to be kept of a position on the way from one that is known.
    ///
    /// ```
    /// use signaldex::{Filter, sample};
    ///
    /// let index = sample::index()?;
    /// let snapshot = index.snapshot();
    /// let (end, filter) = (snapshot.position(), Filter::from_query_string("country=Germany")?);
    /// let begin = end.at_step((0, 0)); // of an empty copy
    /// let mut changes = snapshot.changes(&filter, sample::AS_OF, &begin)?;
    /// assert_eq!(changes.by_ref().take(200).count(), 200);
    /// let step = changes.position().step();
    /// let rest = snapshot.changes(&filter, sample::AS_OF, &begin.at_step(step))?;
    /// assert_eq!(rest.count(), 41);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn step(&self) -> (u64, u64) {
        (self.commit, self.id)
    }

    /// The position of a copy that was complete at this one, or empty then, and has since received all changes up to a
    /// [step](Self::step).
    ///
    /// ```
    /// let position = signaldex::sample::index()?.snapshot().position();
    /// assert_eq!(position.at_step(position.step()), position);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn at_step(self, (commit, id): (u64, u64)) -> Position {
        Position { commit, id, ..self }
    }

    /// The state of a copy in an index, from a position.
    ///
    /// # Errors
    /// The file with the digest of an old commit is damaged; inside, why the position has no place in the index.
    pub(super) fn in_index(
        &self,
        index: IndexId,
        history: History,
        chain: &Chain,
    ) -> crate::Result<Result<Since, PositionError>> {
        let latest = self.commit.max(self.held_since).max(self.last.number);
        Ok(if *self == Position::START {
            // The copy is empty, so everything it will hold is current.
            Ok(Since {
                held_since: history.last_commit,
                ..self.unchecked()
            })
        } else if self.index != index {
            Err(if self.index.is_of_index_of(index) {
                PositionError::OtherKeyFilter
            } else {
                PositionError::OtherIndex
            })
        } else if latest > history.last_commit {
            Err(PositionError::Ahead)
        } else if self.held_since < history.remembered_from() {
            Err(PositionError::Expired)
        } else {
            // `latest` is at most the last commit, so this does not underflow.
            match chain.digest(history.last_commit - self.last.number)? {
                Some(digest) if digest == self.last.digest => Ok(self.unchecked()),
                Some(_) => Err(PositionError::Diverged),
                None => Err(PositionError::Expired),
            }
        })
    }

    /// The state of a copy, whether or not the position is in the history of an index.
    pub(super) fn unchecked(&self) -> Since {
        Since {
            offset: self.offset(),
            held_since: self.held_since,
        }
    }

    /// The offset in the changes feed.
    pub(super) fn offset(&self) -> ChangeOffset {
        ChangeOffset {
            commit: self.commit,
            id: self.id,
        }
    }

    fn from_fields(covered: &[u8]) -> Option<Position> {
        let number = |at: usize| Some(u64::from_le_bytes(covered[at..at + 8].try_into().ok()?));
        Some(Position {
            index: IndexId::from_bytes(covered[1..17].try_into().ok()?),
            commit: number(17)?,
            id: number(25)?,
            held_since: number(33)?,
            last: LastCommit {
                number: number(41)?,
                digest: CommitDigest::from_bytes(*covered[49..].first_chunk::<DIGEST_BYTES>()?),
            },
        })
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Position::START {
            return f.write_str(START);
        }
        let mut bytes = [0; BYTES];
        bytes[0] = VERSION;
        bytes[1..17].copy_from_slice(&self.index.to_bytes());
        bytes[17..25].copy_from_slice(&self.commit.to_le_bytes());
        bytes[25..33].copy_from_slice(&self.id.to_le_bytes());
        bytes[33..41].copy_from_slice(&self.held_since.to_le_bytes());
        bytes[41..49].copy_from_slice(&self.last.number.to_le_bytes());
        bytes[49..65].copy_from_slice(&self.last.digest.to_bytes());
        let checksum = crc32c::crc32c(&bytes[..COVERED_BYTES]);
        bytes[COVERED_BYTES..].copy_from_slice(&checksum.to_le_bytes());
        f.write_str(&URL_SAFE_NO_PAD.encode(bytes))
    }
}

impl FromStr for Position {
    type Err = ParsePositionError;

    fn from_str(text: &str) -> Result<Position, ParsePositionError> {
        Position::parse(text)
    }
}

impl fmt::Display for ParsePositionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ParsePositionError::Foreign => {
                "is not a position in an index; take one from an earlier answer, or copy everything again"
            }
            ParsePositionError::Damaged => "is damaged",
            ParsePositionError::Newer => "was created by a later release",
        })
    }
}

impl std::error::Error for ParsePositionError {}

impl fmt::Display for PositionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PositionError::OtherIndex => "is of another index; copy everything again",
            PositionError::OtherKeyFilter => {
                "is of a key with another filter; copy everything again"
            }
            PositionError::Expired => {
                "is too old: deletions since then are forgotten; copy everything again"
            }
            PositionError::Diverged => {
                "is of commits that are not in the history of this index, because a backup was restored or copies \
                 of the index were changed apart; copy everything again"
            }
            PositionError::Ahead => {
                "is ahead of the index; ask a replica that has caught up, or copy everything again"
            }
        })
    }
}

impl std::error::Error for PositionError {}

#[cfg(feature = "serde")]
serde_as_text!(Position);

#[cfg(test)]
mod tests;
