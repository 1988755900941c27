//! The inputs of the manifest target: a manifest's body and a file of deletions, with lengths and
//! checksums put in as the manifest reader expects them.
//!
//! ```text
//! 1   flags
//! 2   length of the manifest's body
//! n   the body
//! m   the file of deletions: 8 bytes of length, and two bitmaps
//! ```

use sha2::{Digest as _, Sha256};

use crate::random::Random;
use crate::segment_file::{table_digest, take, take_u16, take_u64};
use crate::segment_mutation::Blind;

/// A flag: segments have the lengths that the input says, not their real ones.
pub const LENGTHS_AS_GIVEN: u8 = 1;

/// A flag: a writer opens the index and changes it.
pub const IS_WRITTEN: u8 = 2;

const MAGIC: &[u8; 8] = b"SDXMAN\r\n";
const VERSION: u16 = 1;
const HEADER_BYTES: usize = 16;

/// An input taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// What is to be done.
    pub flags: u8,
    /// The manifest behind its header.
    pub body: Vec<u8>,
    /// The file of deletions.
    pub deleted: Vec<u8>,
}

impl Input {
    /// Takes an input apart; a length that is too long means all the rest.
    pub fn of(mut bytes: &[u8]) -> Option<Input> {
        let [flags] = take::<1>(&mut bytes)?;
        let length = usize::from(take_u16(&mut bytes)?);
        let (body, deleted) = bytes.split_at(length.min(bytes.len()));
        Some(Input {
            flags,
            body: body.to_vec(),
            deleted: deleted.to_vec(),
        })
    }

    /// The bytes that are taken apart.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.flags];
        bytes.extend((self.body.len() as u16).to_le_bytes());
        bytes.extend(&self.body);
        bytes.extend(&self.deleted);
        bytes
    }

    /// Puts in the lengths and checksums of the files that the body names, and tells of the
    /// numbers of its files of deletions. `of_segment` says what a whole manifest has about a segment.
    pub fn repair(&mut self, of_segment: impl Fn(u64) -> Option<SegmentFigures>) -> Vec<u64> {
        let mut files = Vec::new();
        let keeps_lengths = self.flags & LENGTHS_AS_GIVEN != 0;
        let length = (self.deleted.len() as u64).to_le_bytes();
        let checksum = Sha256::digest(&self.deleted);
        for line in lines(&self.body) {
            let figures = of_segment(line.file).filter(|_| !keeps_lengths);
            if let Some(figures) = figures {
                self.body[line.place + 8..line.place + 48].copy_from_slice(&figures);
            }
            if let Some(file) = line.deleted {
                self.body[line.place + 57..line.place + 65].copy_from_slice(&length);
                self.body[line.place + 65..line.place + 97].copy_from_slice(&checksum);
                files.push(file);
            }
        }
        files
    }

    /// What a manifest's file says about a segment.
    pub fn figures_of(manifest: &[u8], file: u64) -> Option<SegmentFigures> {
        let body = manifest.get(HEADER_BYTES..)?;
        let line = lines(body).into_iter().find(|line| line.file == file)?;
        body.get(line.place + 8..line.place + 48)?.try_into().ok()
    }

    /// The manifest's file.
    pub fn manifest(&self) -> Vec<u8> {
        let mut file = MAGIC.to_vec();
        file.extend(VERSION.to_le_bytes());
        file.extend([0; 2]);
        file.extend(crc32c::crc32c(&self.body).to_le_bytes());
        file.extend(&self.body);
        file
    }

    /// Mutates one of the parts.
    pub fn mutate(&mut self, max_size: usize, seed: u32, blind: Blind<'_>) {
        let mut random = Random::new(seed);
        let room = max_size.saturating_sub(self.bytes().len());
        match random.below(8) {
            0 => self.flags = random.number() as u8,
            1..=3 => self.body = mutated(&self.body, room.min(64), blind),
            4 => self.change_number(&mut random),
            5 => self.deleted = mutated(&self.deleted, room.min(64), blind),
            _ => self.change_bitmap(&mut random, room, blind),
        }
    }

    fn change_number(&mut self, random: &mut Random) {
        let count = self.body.len() / 8;
        if count > 0 {
            let place = random.below(count) * 8;
            let new = match random.below(4) {
                0 => u64::MAX,
                1 => u64::MAX - 1,
                2 => random.below(6) as u64,
                _ => random.number(),
            };
            self.body[place..place + 8].copy_from_slice(&new.to_le_bytes());
        }
    }

    /// Mutates one of the bitmaps and keeps the length in front of them right.
    fn change_bitmap(&mut self, random: &mut Random, room: usize, blind: Blind<'_>) {
        let mut bytes = self.deleted.as_slice();
        let Some(length) = take_u64(&mut bytes) else {
            return;
        };
        let (rows, companies) = bytes.split_at((length as usize).min(bytes.len()));
        let (mut rows, mut companies) = (rows.to_vec(), companies.to_vec());
        let bitmap = match random.below(2) {
            0 => &mut rows,
            _ => &mut companies,
        };
        *bitmap = mutated(bitmap, room.min(1 << 16), blind);
        self.deleted = (rows.len() as u64).to_le_bytes().to_vec();
        self.deleted.extend(rows);
        self.deleted.extend(companies);
    }
}

/// The length of a segment and the checksum of its table, as a manifest has them.
pub type SegmentFigures = [u8; 40];

/// A chain of one commit: its digest, no digests before it and no files.
const CHAIN: [u8; 32] = [0; 32];

/// A line of the manifest: where it stands, and which files it names.
struct Line {
    place: usize,
    file: u64,
    deleted: Option<u64>,
}

/// The manifest of an index of that one segment.
pub fn of_segment(segment: &[u8]) -> Vec<u8> {
    const IDENTITY: [u8; 16] = [0; 16];
    let mut body = IDENTITY.to_vec();
    let (generation, next_file, segments, file) = (1_u64, 2_u64, 1_u64, 1_u64);
    for number in [generation, next_file] {
        body.extend(number.to_le_bytes());
    }
    body.push(u8::from(true));
    let (last_commit, remembered_commits) = (9_u64, 100_000_u64);
    for number in [last_commit, remembered_commits] {
        body.extend(number.to_le_bytes());
    }
    for number in [segments, file, segment.len() as u64] {
        body.extend(number.to_le_bytes());
    }
    body.extend(table_digest(segment));
    body.push(u8::from(false));
    body.extend(CHAIN);
    let input = Input {
        flags: 0,
        body,
        deleted: Vec::new(),
    };
    input.manifest()
}

/// The lines of a body, as far as it can be read.
fn lines(body: &[u8]) -> Vec<Line> {
    let mut rest = body;
    let mut lines = Vec::new();
    // The identity, the generation, the next number, whether records are compressed, the last commit, and
    // for how many commits deletions are remembered.
    let _ = take::<49>(&mut rest);
    let count = take_u64(&mut rest).unwrap_or(0);
    while (lines.len() as u64) < count {
        let place = body.len() - rest.len();
        let Some(line) = line(place, &mut rest) else {
            break;
        };
        lines.push(line);
    }
    lines
}

fn line(place: usize, rest: &mut &[u8]) -> Option<Line> {
    let file = take_u64(rest)?;
    take::<40>(rest)?;
    let deleted = match take::<1>(rest)? {
        [1] => {
            let deleted = take_u64(rest)?;
            take::<40>(rest)?;
            Some(deleted)
        }
        _ => None,
    };
    Some(Line {
        place,
        file,
        deleted,
    })
}

fn mutated(text: &[u8], growth: usize, blind: Blind<'_>) -> Vec<u8> {
    let most = (text.len() + growth).max(1);
    let mut buffer = text.to_vec();
    buffer.resize(most, 0);
    let length = blind(&mut buffer, text.len(), most);
    buffer.truncate(length);
    buffer
}
