//! What of a message reaches chitchat. It trusts its peers: it panics where the versions of a message do not ascend, lets
//! anyone overwrite its own texts, and remembers each name that it is told. So messages are checked here, and entries of
//! processes beyond the bounds are left out, as if the sender did not know them.
//!
//! ```text
//! message    magic (2), version (1), kind (1)
//!            0 syn      digest, name of the cluster
//!            1 syn-ack  digest, delta
//!            2 ack      delta
//! digest     number of processes (2); of each: id, heartbeat (8), collected version (8), version (8)
//! id         name, incarnation (8), 4 and an IPv4 address or 6 and an IPv6 address, port (2)
//! delta      blocks: 1 compressed or 2 plain, length (2), bytes; 0 at the end. They hold operations:
//!            0 process  id, collected version (8), version before (8)
//!            1 text     key, text, version (8), status (1)
//!            2 version  version (8), of a process without texts
//! name, key  length (2), bytes
//! ```

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

use crate::settings::check_name;

/// Maximum number of processes that are remembered: nodes, and what they were before they restarted until that is
/// forgotten. A message of chitchat has 65,507 bytes and names all of them, in 117 each at most.
pub(super) const PROCESSES_MAX: usize = 512;

/// Maximum bytes of the texts of a process. The shards of three generations take 60 kB at most.
const PROCESS_BYTES_MAX: usize = 512 << 10;

/// What a text takes beside its bytes.
pub(super) const TEXT_OVERHEAD: usize = 96;

/// Maximum bytes of a delta. chitchat compresses it to 64 kB, mostly to a fifth.
const DELTA_BYTES_MAX: usize = 1 << 20;

/// Maximum bytes of a block of a delta.
const BLOCK_BYTES_MAX: usize = 16_384;

/// How long what is let through may wait until chitchat has taken it.
const WAITING_TIME: Duration = Duration::from_secs(5);

const HEADER_BYTES: usize = 4;
const SYN: u8 = 0;
const SYN_ACK: u8 = 1;
const ACK: u8 = 2;

const END: u8 = 0;
const COMPRESSED: u8 = 1;
const PLAIN: u8 = 2;

const PROCESS: u8 = 0;
const TEXT: u8 = 1;
const VERSION: u8 = 2;

/// Lets messages through.
pub(super) struct Intake {
    /// The id of this process.
    own: Vec<u8>,
    cluster: String,
    /// The only names that are let through; any where nodes find each other.
    listed: Option<Vec<String>>,
    /// By id.
    processes: HashMap<Vec<u8>, Told>,
}

/// A process that others tell of.
struct Told {
    at: Instant,
    /// Bytes of its texts at chitchat.
    held: usize,
    /// Bytes that were let through since.
    waiting: usize,
    waiting_since: Instant,
}

/// What chitchat may read of a message.
pub(super) struct Admitted {
    pub(super) message: Vec<u8>,
    /// Whether processes were left out, because too many are told of.
    pub(super) is_full: bool,
}

struct ProcessId<'m> {
    bytes: &'m [u8],
    name: &'m [u8],
}

impl Intake {
    pub(super) fn new(own: Vec<u8>, cluster: String, listed: Option<Vec<String>>) -> Intake {
        Intake {
            processes: HashMap::from([(own.clone(), Told::new(Instant::now()))]),
            own,
            cluster,
            listed,
        }
    }

    /// What chitchat may read of a message.
    ///
    /// # Errors
    /// The message is none that chitchat writes.
    pub(super) fn admit(&mut self, message: &[u8], now: Instant) -> io::Result<Admitted> {
        let mut reader = MessageReader(message);
        let header = reader.take(HEADER_BYTES)?;
        let mut admitted = Admitted {
            message: header.to_vec(),
            is_full: false,
        };
        let kind = header.last().copied();
        if matches!(kind, Some(SYN | SYN_ACK)) {
            self.admit_digest(&mut reader, &mut admitted, now)?;
        }
        if kind == Some(SYN) {
            let (bytes, cluster) = reader.spanned(MessageReader::text)?;
            if cluster != self.cluster.as_bytes() {
                return Err(refused("it belongs to another cluster"));
            }
            admitted.message.extend_from_slice(bytes);
        }
        if matches!(kind, Some(SYN_ACK | ACK)) {
            self.admit_delta(&mut reader, &mut admitted, now)?;
        }
        if reader.0.is_empty() {
            Ok(admitted)
        } else {
            Err(refused("it has bytes after its end"))
        }
    }

    fn admit_digest(
        &mut self,
        reader: &mut MessageReader<'_>,
        admitted: &mut Admitted,
        now: Instant,
    ) -> io::Result<()> {
        let (mut entries, mut count) = (Vec::new(), 0_u16);
        // Invariant: `entries` has `count` of the processes so far.
        for _ in 0..reader.length()? {
            let (entry, id) = reader.spanned(MessageReader::digest_entry)?;
            if self.knows(&id, now) {
                entries.extend_from_slice(entry);
                count += 1;
            } else {
                admitted.is_full |= self.processes.len() >= PROCESSES_MAX;
            }
        }
        admitted.message.extend_from_slice(&count.to_le_bytes());
        admitted.message.extend_from_slice(&entries);
        Ok(())
    }

    /// Whether a process is remembered, from now on where there is room for one more.
    fn knows(&mut self, id: &ProcessId<'_>, now: Instant) -> bool {
        if let Some(told) = self.processes.get_mut(id.bytes) {
            told.at = now;
            return true;
        }
        let is_new = self.allows(id.name) && self.processes.len() < PROCESSES_MAX;
        if is_new {
            self.processes.insert(id.bytes.to_vec(), Told::new(now));
        }
        is_new
    }

    fn allows(&self, name: &[u8]) -> bool {
        let listed = self.listed.as_ref();
        std::str::from_utf8(name).is_ok_and(|name| {
            check_name("gossip", name).is_ok()
                && listed.is_none_or(|listed| listed.iter().any(|listed| listed == name))
        })
    }

    fn admit_delta(
        &mut self,
        reader: &mut MessageReader<'_>,
        admitted: &mut Admitted,
        now: Instant,
    ) -> io::Result<()> {
        let operations = inflated(reader)?;
        let (mut operations, mut kept) = (MessageReader(&operations), Vec::new());
        // Each turn takes a process with its texts.
        while !operations.0.is_empty() {
            let (bytes, (id, size)) = operations.spanned(MessageReader::process)?;
            if id.bytes != self.own && self.has_room(&id, size, now) {
                kept.extend_from_slice(bytes);
            }
        }
        for block in kept.chunks(BLOCK_BYTES_MAX) {
            let length = u16::try_from(block.len()).map_err(io::Error::other)?;
            admitted.message.push(PLAIN);
            admitted.message.extend_from_slice(&length.to_le_bytes());
            admitted.message.extend_from_slice(block);
        }
        admitted.message.push(END);
        Ok(())
    }

    /// Whether a process is remembered and may have texts of `size` more bytes. chitchat skips others, too.
    fn has_room(&mut self, id: &ProcessId<'_>, size: usize, now: Instant) -> bool {
        let Some(told) = self.processes.get_mut(id.bytes) else {
            return false;
        };
        told.at = now;
        let has_room = told.held + told.waiting + size <= PROCESS_BYTES_MAX;
        if has_room {
            told.waiting += size;
        }
        has_room
    }

    /// Takes what chitchat remembers: ids of processes, and the bytes of their texts. All others are forgotten, unless a
    /// message that tells of them may be waiting for chitchat.
    pub(super) fn settle(&mut self, held: &HashMap<Vec<u8>, usize>, now: Instant) {
        let is_taken = |since: Instant| now.duration_since(since) >= WAITING_TIME;
        for (id, &bytes) in held {
            let told = self.processes.entry(id.clone());
            let told = told.or_insert_with(|| Told::new(now));
            told.held = bytes;
            if is_taken(told.waiting_since) {
                (told.waiting, told.waiting_since) = (0, now);
            }
        }
        self.processes
            .retain(|id, told| held.contains_key(id) || !is_taken(told.at));
    }
}

impl Told {
    fn new(now: Instant) -> Told {
        Told {
            at: now,
            held: 0,
            waiting: 0,
            waiting_since: now,
        }
    }
}

/// The operations of a delta.
fn inflated(reader: &mut MessageReader<'_>) -> io::Result<Vec<u8>> {
    let (mut operations, mut block) = (Vec::new(), vec![0_u8; BLOCK_BYTES_MAX]);
    // Invariant: the blocks so far have at most the allowed bytes.
    loop {
        match reader.byte()? {
            END => return Ok(operations),
            COMPRESSED => {
                let length = zstd::bulk::decompress_to_buffer(reader.text()?, &mut block[..])?;
                operations.extend_from_slice(&block[..length]);
            }
            PLAIN => operations.extend_from_slice(reader.text()?),
            _ => return Err(refused("it has a block of an unknown kind")),
        }
        if operations.len() > DELTA_BYTES_MAX {
            return Err(refused("its delta is too long"));
        }
    }
}

/// What is left of a message.
struct MessageReader<'m>(&'m [u8]);

impl<'m> MessageReader<'m> {
    fn take(&mut self, length: usize) -> io::Result<&'m [u8]> {
        let split = self.0.split_at_checked(length);
        let (taken, rest) = split.ok_or(io::ErrorKind::UnexpectedEof)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let split = self.0.split_first_chunk::<N>();
        let (taken, rest) = split.ok_or(io::ErrorKind::UnexpectedEof)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn byte(&mut self) -> io::Result<u8> {
        self.array().map(u8::from_le_bytes)
    }

    fn length(&mut self) -> io::Result<usize> {
        self.array().map(u16::from_le_bytes).map(usize::from)
    }

    fn version(&mut self) -> io::Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> io::Result<&'m [u8]> {
        let length = self.length()?;
        self.take(length)
    }

    /// What is read, after its bytes.
    fn spanned<T>(
        &mut self,
        read: impl FnOnce(&mut MessageReader<'m>) -> io::Result<T>,
    ) -> io::Result<(&'m [u8], T)> {
        let before = self.0;
        let value = read(self)?;
        Ok((&before[..before.len() - self.0.len()], value))
    }

    fn id(&mut self) -> io::Result<ProcessId<'m>> {
        let (bytes, name) = self.spanned(|reader| {
            let (name, _incarnation) = (reader.text()?, reader.version()?);
            let host = match reader.byte()? {
                4 => 4,
                6 => 16,
                _ => return Err(refused("an address is of an unknown kind")),
            };
            let (_host, _port) = (reader.take(host)?, reader.length()?);
            Ok(name)
        })?;
        Ok(ProcessId { bytes, name })
    }

    fn digest_entry(&mut self) -> io::Result<ProcessId<'m>> {
        let id = self.id()?;
        let _heartbeat = self.version()?;
        let (_collected, _version) = (self.version()?, self.version()?);
        Ok(id)
    }

    /// A process of a delta: its id, and the bytes that its texts take.
    ///
    /// # Errors
    /// It is malformed, or its versions are such that chitchat would panic.
    fn process(&mut self) -> io::Result<(ProcessId<'m>, usize)> {
        if self.byte()? != PROCESS {
            return Err(refused("an operation belongs to no process"));
        }
        let id = self.id()?;
        let (_collected, _before) = (self.version()?, self.version()?);
        let (mut version, mut size) = (0, 0);
        // Invariant: `version` is that of the last text, and 0 before the first.
        while self.0.first() == Some(&TEXT) {
            self.byte()?;
            size += TEXT_OVERHEAD + self.text()?.len() + self.text()?.len();
            let next = self.version()?;
            let _status = self.byte()?;
            if next <= version {
                return Err(refused("the versions of its texts do not ascend"));
            }
            version = next;
        }
        if self.0.first() == Some(&VERSION) {
            self.byte()?;
            self.version()?;
            if version > 0 {
                return Err(refused("a process with texts has another version"));
            }
        }
        Ok((id, size))
    }
}

fn refused(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests;
