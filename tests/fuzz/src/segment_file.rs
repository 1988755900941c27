//! The frame of a segment file, read and written anew from its documentation, so that a mutated
//! file can be given right checksums. Knows no more of a segment than where its sections stand.

use sha2::{Digest as _, Sha256};
use std::ops::Range;

use crate::segment_records::repair_records;

/// Number of the kind of section that holds the records.
pub const RECORDS: u32 = 19;

/// Number of the kind of section that holds checkpoints.
const CHECKPOINTS: u32 = 32;

/// After this many bytes of a section there is a checkpoint.
const CHUNK_BYTES: usize = 16 << 10;

/// Number of the kind of section that holds value counts.
const VALUE_COUNTS: u32 = 65_536;

/// The first number of kinds that have none.
const OPTIONAL_KINDS: u32 = 1 << 16;

const HEADER_MAGIC: &[u8; 8] = b"SDXSEG\r\n";
const FOOTER_MAGIC: &[u8; 8] = b"SDXSEND\n";
const HEADER_BYTES: usize = 16;
const FOOTER_BYTES: usize = 32;
const ALIGNMENT: usize = 64;

/// The section table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Format and text analysis.
    pub versions: [u16; 2],
    /// The number of rows.
    pub rows: u32,
    /// The number of companies.
    pub companies: u32,
    /// The first posting of each field.
    pub field_postings: Vec<u32>,
    /// One line a section.
    pub lines: Vec<Line>,
}

/// A line of the section table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// What the section holds, by number.
    pub kind: u32,
    /// The field that it belongs to.
    pub field: u16,
    /// Where it starts.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u64,
    /// CRC-32C; zero for records.
    pub checksum: u32,
}

impl Line {
    /// Where the section stands, as far as it lies in a file of `length` bytes.
    pub fn range(&self, length: usize) -> Option<Range<usize>> {
        let end = self.offset.checked_add(self.length)?;
        (end <= length as u64).then_some(self.offset as usize..end as usize)
    }
}

impl Table {
    /// The table of a file and where it stands, unless the file is damaged beyond telling.
    pub fn of(file: &[u8]) -> Option<(Table, Range<usize>)> {
        let range = table_range(file)?;
        let mut bytes = &file[range.clone()];
        let table = Table::decode(&mut bytes)?;
        bytes.is_empty().then_some((table, range))
    }

    fn decode(bytes: &mut &[u8]) -> Option<Table> {
        let versions = [take_u16(bytes)?, take_u16(bytes)?];
        let (rows, companies) = (take_u32(bytes)?, take_u32(bytes)?);
        let count = take_u64(bytes)?;
        let mut field_postings = Vec::new();
        for _ in 0..count {
            field_postings.push(take_u32(bytes)?);
        }
        let count = take_u64(bytes)?;
        let mut lines = Vec::new();
        for _ in 0..count {
            lines.push(Line {
                kind: take_u32(bytes)?,
                field: take_u16(bytes)?,
                offset: take_u64(bytes)?,
                length: take_u64(bytes)?,
                checksum: take_u32(bytes)?,
            });
        }
        Some(Table {
            versions,
            rows,
            companies,
            field_postings,
            lines,
        })
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for version in self.versions {
            bytes.extend(version.to_le_bytes());
        }
        bytes.extend(self.rows.to_le_bytes());
        bytes.extend(self.companies.to_le_bytes());
        bytes.extend((self.field_postings.len() as u64).to_le_bytes());
        for first in &self.field_postings {
            bytes.extend(first.to_le_bytes());
        }
        bytes.extend((self.lines.len() as u64).to_le_bytes());
        for line in &self.lines {
            bytes.extend(line.kind.to_le_bytes());
            bytes.extend(line.field.to_le_bytes());
            bytes.extend(line.offset.to_le_bytes());
            bytes.extend(line.length.to_le_bytes());
            bytes.extend(line.checksum.to_le_bytes());
        }
        bytes
    }
}

/// A segment file taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The table; the offsets, lengths and checksums of its lines are those of the file read.
    pub table: Table,
    /// The bytes of each section, in the order of the table.
    pub sections: Vec<Vec<u8>>,
}

impl Parts {
    /// Takes a file apart, if its table points into it.
    pub fn of(file: &[u8]) -> Option<Parts> {
        let (table, _) = Table::of(file)?;
        let sections = table.lines.iter().map(|line| {
            let range = line.range(file.len())?;
            Some(file[range].to_vec())
        });
        let sections = sections.collect::<Option<_>>()?;
        Some(Parts { table, sections })
    }

    /// Puts a file together, all checksums right.
    pub fn assemble(&self) -> Vec<u8> {
        let mut table = self.table.clone();
        let mut file = vec![0; HEADER_BYTES];
        file[8..10].copy_from_slice(&table.versions[0].to_le_bytes());
        file[10..12].copy_from_slice(&table.versions[1].to_le_bytes());
        let sections = table.lines.iter().zip(&self.sections);
        let checkpoints = checkpoints(sections.map(|(line, bytes)| (line.kind, &bytes[..])));
        for (line, section) in table.lines.iter_mut().zip(&self.sections) {
            let section = match line.kind {
                CHECKPOINTS => &checkpoints,
                _ => section,
            };
            file.resize(file.len().next_multiple_of(ALIGNMENT), 0);
            (line.offset, line.length) = (file.len() as u64, section.len() as u64);
            file.extend(section);
        }
        let start = file.len() as u64;
        file.extend(table.encode());
        file.extend(start.to_le_bytes());
        file.resize(file.len() + FOOTER_BYTES - 8, 0);
        repair(&mut file);
        file
    }
}

/// Makes magic numbers, lengths and checksums right, as far as the file can still be read.
pub fn repair(file: &mut [u8]) {
    if file.len() < HEADER_BYTES + FOOTER_BYTES {
        return;
    }
    let (footer, length) = (file.len() - FOOTER_BYTES, file.len() as u64);
    file[..8].copy_from_slice(HEADER_MAGIC);
    file[footer + 16..footer + 24].copy_from_slice(&length.to_le_bytes());
    file[footer + 24..].copy_from_slice(FOOTER_MAGIC);
    if let Some((mut table, range)) = Table::of(file) {
        repair_records(file, &table);
        repair_checkpoints(file, &table);
        repair_value_counts(file, &table);
        let length = file.len();
        for line in &mut table.lines {
            if let Some(range) = line.range(length) {
                line.checksum = crc32c::crc32c(&file[range]);
            }
        }
        file[range].copy_from_slice(&table.encode());
    }
    if let Some(range) = table_range(file) {
        let checksum = crc32c::crc32c(&file[range.clone()]);
        file[footer + 8..footer + 12].copy_from_slice(&(range.len() as u32).to_le_bytes());
        file[footer + 12..footer + 16].copy_from_slice(&checksum.to_le_bytes());
    }
}

/// The checkpoints of sections: the checksum of each after every piece.
fn checkpoints<'s>(sections: impl Iterator<Item = (u32, &'s [u8])>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (kind, section) in sections {
        if ![RECORDS, CHECKPOINTS].contains(&kind) && kind < OPTIONAL_KINDS {
            let mut checksum = 0;
            for chunk in section.chunks(CHUNK_BYTES) {
                checksum = crc32c::crc32c_append(checksum, chunk);
                bytes.extend(checksum.to_le_bytes());
            }
        }
    }
    bytes
}

/// Makes checkpoints right, where there are as many as there should be.
fn repair_checkpoints(file: &mut [u8], table: &Table) {
    let ranges = table
        .lines
        .iter()
        .map(|line| Some((line.kind, line.range(file.len())?)));
    let Some(ranges) = ranges.collect::<Option<Vec<_>>>() else {
        return;
    };
    let sections = ranges
        .iter()
        .map(|(kind, range)| (*kind, &file[range.clone()]));
    let right = checkpoints(sections);
    if let Some((_, range)) = ranges.into_iter().find(|(kind, _)| *kind == CHECKPOINTS)
        && range.len() == right.len()
    {
        file[range].copy_from_slice(&right);
    }
}

/// Makes the checksums in the section of value counts right, as far as its entries can be told.
fn repair_value_counts(file: &mut [u8], table: &Table) {
    let length = file.len();
    let lines = table.lines.iter().filter(|line| line.kind == VALUE_COUNTS);
    for range in lines.filter_map(|line| line.range(length)) {
        let section = &mut file[range];
        let Some((head, rest)) = section.split_first_chunk_mut::<8>() else {
            continue;
        };
        let n = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let Some((entries, counts)) = rest.split_at_mut_checked(12 * n) else {
            continue;
        };
        let mut start = 0;
        for entry in entries.as_chunks_mut::<12>().0 {
            let end = u32::from_le_bytes([entry[4], entry[5], entry[6], entry[7]]) as usize;
            if let Some(counts) = counts.get(start..end) {
                entry[8..].copy_from_slice(&crc32c::crc32c(counts).to_le_bytes());
            }
            start = end;
        }
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&head[..4]), entries);
        head[4..].copy_from_slice(&checksum.to_le_bytes());
    }
}

/// What a manifest has to say of a file's table; zeros where it has none.
pub fn table_digest(file: &[u8]) -> [u8; 32] {
    table_range(file).map_or([0; 32], |range| Sha256::digest(&file[range]).into())
}

fn table_range(file: &[u8]) -> Option<Range<usize>> {
    let end = file.len().checked_sub(FOOTER_BYTES)?;
    let start = usize::try_from(take_u64(&mut &file[end..])?).ok()?;
    (start <= end).then_some(start..end)
}

/// Takes a number from the front.
pub fn take_u16(bytes: &mut &[u8]) -> Option<u16> {
    take(bytes).map(u16::from_le_bytes)
}

/// Takes a number from the front.
pub fn take_u32(bytes: &mut &[u8]) -> Option<u32> {
    take(bytes).map(u32::from_le_bytes)
}

/// Takes a number from the front.
pub fn take_u64(bytes: &mut &[u8]) -> Option<u64> {
    take(bytes).map(u64::from_le_bytes)
}

/// Takes bytes from the front.
pub fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*taken)
}
