//! The container format of segment files: header, sections, section table, footer.
//!
//! ```text
//! offset           width  what
//! 0                8      magic "SDXSEG\r\n"
//! 8                2      format version
//! 10               2      text-analysis version
//! 12               4      zero
//! 64 ...                  sections, each at a multiple of 64, in any order, zeros between them
//! table            n      the table: bincode, little endian, integers at full width
//! file end - 32    8      offset of the table
//!          - 24    4      length of the table
//!          - 20    4      CRC-32C of the table
//!          - 16    8      length of the file
//!          -  8    8      magic "SDXSEND\n"
//! ```
//!
//! The table comes last, so that a segment is written in one pass. Its checksum covers the section checksums,
//! which cover everything else. Sections are read in pieces after opening, so the section of checkpoints has the
//! running checksum of each section after every 16 KiB, with which a piece is checked without the rest
//! ([`parts`](super::parts)). Each record has a checksum of its own. The full check ([`check_file`](super::check_file))
//! verifies every byte.

use std::fmt::Debug;
use std::io::Write;
use std::ops::Range;

use bytemuck::Pod;
use serde::{Deserialize, Serialize};

use super::field::Field;
use super::schema::{self, SECTIONS, SectionKind};
use crate::digest::Digest;
use crate::error::OTHER_FORMAT_HINT;
use crate::text::ANALYSIS_VERSION;
use crate::{Error, Result};

/// The version that this release writes, and the newest version that it reads.
pub(crate) const FORMAT_VERSION: u16 = 1;

/// Alignment of sections in bytes: a cache line, and sufficient for any integer.
pub(super) const SECTION_ALIGNMENT: u64 = 64;

/// Maximum bytes of the table; real ones have less than 4 KiB.
const TABLE_BYTES_MAX: usize = 64 * 1024;

/// Interval of checkpoints in bytes, so that each piece can be checked separately: this takes a few
/// microseconds, and is what the kernel reads ahead anyway.
pub(super) const CHUNK_BYTES: usize = 16 << 10;

const HEADER_MAGIC: &[u8; 8] = b"SDXSEG\r\n";
const FOOTER_MAGIC: &[u8; 8] = b"SDXSEND\n";
pub(super) const HEADER_BYTES: usize = 16;
/// Bytes of the header without padding: the magic and both versions.
pub(super) const HEADER_FIELDS_BYTES: usize = 12;
pub(super) const FOOTER_BYTES: usize = 32;

#[cfg(target_endian = "big")]
compile_error!("segments are viewed in place as little-endian integers");

/// The field of a section, for kinds that exist once per field. Part of the format.
pub(crate) type FieldNumber = u16;

/// The number of a section's kind. Readers may skip sections of kinds from [`OPTIONAL_KINDS`] on.
pub(super) type KindNumber = u32;

/// The first number of kinds that later releases may add without a new format version, because older readers do
/// not need them.
pub(super) const OPTIONAL_KINDS: KindNumber = 1 << 16;

/// An entry of the section table.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct SectionEntry<K = SectionKind> {
    pub(crate) kind: K,
    pub(crate) field: FieldNumber,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    /// CRC-32C of the section.
    pub(crate) checksum: u32,
}

/// The section table and the counts that everything else is checked against.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) format_version: u16,
    pub(crate) analysis_version: u16,
    pub(crate) rows: u32,
    pub(crate) companies: u32,
    /// The first posting of each field, by field number, and the number of postings.
    pub(crate) field_postings: Vec<u32>,
    pub(crate) sections: Vec<SectionEntry>,
    /// Sections that a reader need not know. A merge writes those anew that this release knows, and drops the others.
    pub(super) optional: Vec<SectionEntry<KindNumber>>,
}

/// The stored form, with unknown kinds.
#[derive(Serialize, Deserialize)]
struct StoredTable {
    format_version: u16,
    analysis_version: u16,
    rows: u32,
    companies: u32,
    field_postings: Vec<u32>,
    sections: Vec<SectionEntry<KindNumber>>,
}

impl StoredTable {
    fn of(table: &Table) -> StoredTable {
        let required = table.sections.iter().map(|entry| SectionEntry {
            kind: entry.kind as KindNumber,
            field: entry.field,
            offset: entry.offset,
            length: entry.length,
            checksum: entry.checksum,
        });
        StoredTable {
            format_version: table.format_version,
            analysis_version: table.analysis_version,
            rows: table.rows,
            companies: table.companies,
            field_postings: table.field_postings.clone(),
            sections: required.chain(table.optional.iter().copied()).collect(),
        }
    }

    /// # Errors
    /// A section has an unknown kind that is not optional.
    fn known(self) -> Result<Table> {
        let (optional, required): (Vec<_>, Vec<_>) = self
            .sections
            .into_iter()
            .partition(|entry| entry.kind >= OPTIONAL_KINDS);
        let sections = required.into_iter().map(|entry| {
            let section = SECTIONS.get(entry.kind as usize);
            let section = section.ok_or_else(|| {
                let kind = entry.kind;
                Error::corrupt(format!("a section has the unknown kind {kind}"))
            })?;
            Ok(SectionEntry {
                kind: section.kind,
                field: entry.field,
                offset: entry.offset,
                length: entry.length,
                checksum: entry.checksum,
            })
        });
        Ok(Table {
            format_version: self.format_version,
            analysis_version: self.analysis_version,
            rows: self.rows,
            companies: self.companies,
            field_postings: self.field_postings,
            sections: sections.collect::<Result<_>>()?,
            optional,
        })
    }
}

impl Table {
    /// The number of postings of a field, by its index among the fields with postings.
    pub(super) fn posting_count(&self, index: usize) -> u32 {
        self.field_postings[index + 1] - self.field_postings[index]
    }

    /// The index of a section of the schema, all of which exist in an open segment.
    pub(super) fn find(&self, kind: SectionKind, field: Field) -> usize {
        let wanted = (kind, field.number());
        let mut sections = self.sections.iter();
        let index = sections.position(|entry| (entry.kind, entry.field) == wanted);
        index.expect("opening looks for every section of the schema")
    }

    /// The number of the first piece of each section, counted over all sections.
    pub(super) fn first_chunks(&self) -> Vec<usize> {
        let mut next = 0;
        let first = |entry: &SectionEntry| {
            let first = next;
            next += chunk_count(entry);
            first
        };
        self.sections.iter().map(first).collect()
    }

    /// The number of pieces of all sections.
    pub(super) fn chunk_count(&self) -> usize {
        self.sections.iter().map(chunk_count).sum()
    }
}

/// The number of separately checked pieces of a section.
fn chunk_count(entry: &SectionEntry) -> usize {
    if entry.kind.has_checkpoints() {
        entry.length.div_ceil(CHUNK_BYTES as u64) as usize
    } else {
        0
    }
}

/// Writes sections sequentially, and the table at the end.
#[derive(Debug)]
pub(crate) struct SegmentWriter<W> {
    output: W,
    position: u64,
    open: Option<SectionEntry>,
    sections: Vec<SectionEntry>,
    optional: Vec<SectionEntry<KindNumber>>,
    checkpoints: Vec<u32>,
}

impl<W: Write> SegmentWriter<W> {
    /// Writes the header.
    pub(crate) fn new(output: W) -> Result<SegmentWriter<W>> {
        let mut writer = SegmentWriter {
            output,
            position: 0,
            open: None,
            sections: Vec::new(),
            optional: Vec::new(),
            checkpoints: Vec::new(),
        };
        let mut header = [0; HEADER_BYTES];
        header[..8].copy_from_slice(HEADER_MAGIC);
        header[8..10].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        header[10..12].copy_from_slice(&ANALYSIS_VERSION.to_le_bytes());
        writer.put(&header)?;
        Ok(writer)
    }

    /// Starts a section, which ends where the next one starts.
    pub(crate) fn begin(&mut self, kind: SectionKind, field: Field) -> Result<()> {
        let offset = self.align()?;
        self.open = Some(SectionEntry {
            kind,
            field: field.number(),
            offset,
            length: 0,
            checksum: 0,
        });
        Ok(())
    }

    /// Ends the open section, and pads the file up to where the next one may start. Returns this offset.
    fn align(&mut self) -> Result<u64> {
        self.end();
        let padding = self.position.next_multiple_of(SECTION_ALIGNMENT) - self.position;
        // The padding is shorter than the alignment, so the slice is in bounds.
        self.put(&[0; SECTION_ALIGNMENT as usize][..padding as usize])?;
        Ok(self.position)
    }

    /// Writes a section that a reader need not know, which has no checkpoints.
    pub(super) fn optional_section(&mut self, kind: KindNumber, bytes: &[u8]) -> Result<()> {
        let offset = self.align()?;
        self.optional.push(SectionEntry {
            kind,
            field: Field::None.number(),
            offset,
            length: bytes.len() as u64,
            checksum: crc32c::crc32c(bytes),
        });
        self.put(bytes)
    }

    /// The bytes written so far.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Appends bytes to the open section and returns their offset in the section.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<u64> {
        self.put(bytes)?;
        let open = self
            .open
            .as_mut()
            .expect("a section is begun before it is written to");
        let offset = open.length;
        let mut rest = bytes;
        // Invariant: everything before `rest` is in the checksum, and every full piece but the last has a
        // checkpoint.
        while !rest.is_empty() {
            let in_chunk = (open.length % CHUNK_BYTES as u64) as usize;
            if in_chunk == 0 && open.length > 0 && open.kind.has_checkpoints() {
                self.checkpoints.push(open.checksum);
            }
            let (piece, after) = rest.split_at(rest.len().min(CHUNK_BYTES - in_chunk));
            open.checksum = crc32c::crc32c_append(open.checksum, piece);
            open.length += piece.len() as u64;
            rest = after;
        }
        Ok(offset)
    }

    /// Stops writing. Returns the flushed output, and the range of the open section in it.
    pub(super) fn into_open_section(mut self) -> Result<(W, Range<usize>)> {
        self.output.flush().map_err(write_error)?;
        let length = self.section_bytes();
        let start = self.position - length;
        Ok((self.output, start as usize..self.position as usize))
    }

    /// The bytes of the open section so far.
    pub(super) fn section_bytes(&self) -> u64 {
        self.open.as_ref().map_or(0, |open| open.length)
    }

    /// Writes a whole section.
    pub(crate) fn section<T: Pod>(
        &mut self,
        kind: SectionKind,
        field: Field,
        values: &[T],
    ) -> Result<()> {
        debug_assert_eq!(size_of::<T>(), SECTIONS[kind as usize].width, "{kind:?}");
        self.begin(kind, field)?;
        self.append(bytemuck::cast_slice(values)).map(drop)
    }

    /// Writes the table and the footer, and returns the flushed output.
    pub(crate) fn finish(
        mut self,
        rows: u32,
        companies: u32,
        field_postings: Vec<u32>,
    ) -> Result<W> {
        self.end();
        let checkpoints = std::mem::take(&mut self.checkpoints);
        self.section(SectionKind::Checkpoints, Field::None, &checkpoints)?;
        self.end();
        debug_assert!(
            self.is_complete(),
            "sections are written as the schema has them"
        );
        let table = Table {
            format_version: FORMAT_VERSION,
            analysis_version: ANALYSIS_VERSION,
            rows,
            companies,
            field_postings,
            sections: std::mem::take(&mut self.sections),
            optional: std::mem::take(&mut self.optional),
        };
        let stored = StoredTable::of(&table);
        let bytes = bincode::serde::encode_to_vec(&stored, table_encoding()).map_err(|error| {
            Error::full(format!("the section table cannot be written: {error}"))
        })?;
        let offset = self.position;
        // Stored in the footer, so that a truncated file is noticed.
        let file_length = offset + bytes.len() as u64 + FOOTER_BYTES as u64;
        let mut footer = [0; FOOTER_BYTES];
        footer[..8].copy_from_slice(&offset.to_le_bytes());
        footer[8..12].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
        footer[12..16].copy_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        footer[16..24].copy_from_slice(&file_length.to_le_bytes());
        footer[24..].copy_from_slice(FOOTER_MAGIC);
        self.put(&bytes)?;
        self.put(&footer)?;
        self.output.flush().map_err(write_error)?;
        Ok(self.output)
    }

    /// Whether exactly the sections of the schema have been written.
    fn is_complete(&self) -> bool {
        let is_written = |(section, field): (&schema::Section, Field)| {
            let entry = (section.kind, field.number());
            self.sections
                .iter()
                .any(|written| (written.kind, written.field) == entry)
        };
        self.sections.len() == schema::sections().count() && schema::sections().all(is_written)
    }

    fn end(&mut self) {
        let Some(entry) = self.open.take() else {
            return;
        };
        if entry.length > 0 && entry.kind.has_checkpoints() {
            self.checkpoints.push(entry.checksum);
        }
        self.sections.push(entry);
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.output.write_all(bytes).map_err(write_error)?;
        self.position += bytes.len() as u64;
        Ok(())
    }
}

/// Reads the table of a file after checking header, footer and the table's checksum. Also returns the SHA-256 of
/// the table's bytes.
pub(crate) fn read_table(file: &[u8]) -> Result<(Table, Digest)> {
    let (table, start) = read_table_at(file)?;
    Ok((table, Digest::of(&file[start..file.len() - FOOTER_BYTES])))
}

/// The table and its offset in the file.
fn read_table_at(file: &[u8]) -> Result<(Table, usize)> {
    check_header(&file[..file.len().min(HEADER_BYTES)], file.len() as u64)?;
    // `check_header` has refused files shorter than header and footer.
    let footer = &file[file.len() - FOOTER_BYTES..];
    let range = table_range(footer, file.len() as u64)?;
    let (start, end) = (range.start as usize, range.end as usize);
    Ok((decode_checked_table(&file[start..end], footer)?, start))
}

/// Where the table is, according to the footer of a file with this length.
pub(super) fn table_range(footer: &[u8], length: u64) -> Result<Range<u64>> {
    if &footer[24..] != FOOTER_MAGIC || u64_at(footer, 16) != length {
        return Err(Error::corrupt(
            "the file ends in the middle: its footer is missing",
        ));
    }
    let (start, end) = (u64_at(footer, 0), length - FOOTER_BYTES as u64);
    let bytes = end.checked_sub(start);
    bytes
        .filter(|&bytes| bytes == u64::from(u32_at(footer, 8)) && bytes <= TABLE_BYTES_MAX as u64)
        .map(|_| start..end)
        .ok_or_else(|| Error::corrupt("the footer points outside the file"))
}

/// The table, after checking its checksum.
pub(super) fn decode_checked_table(table: &[u8], footer: &[u8]) -> Result<Table> {
    if crc32c::crc32c(table) != u32_at(footer, 12) {
        return Err(Error::corrupt(
            "the section table does not match its checksum",
        ));
    }
    decode_table(table)
}

/// Checks a section's bounds and checksum, and returns its bytes.
pub(super) fn check_section<'a>(file: &'a [u8], entry: &SectionEntry) -> Result<&'a [u8]> {
    let section = check_bounds(file, entry)?;
    check_content(section, entry)?;
    Ok(section)
}

/// Checks a section's bounds, and returns its bytes.
pub(super) fn check_bounds<'a, K: Debug>(
    file: &'a [u8],
    entry: &SectionEntry<K>,
) -> Result<&'a [u8]> {
    let range = section_range(entry, file.len() as u64)?;
    Ok(&file[range.start as usize..range.end as usize])
}

/// Where a section is in a file with this length.
pub(super) fn section_range<K: Debug>(entry: &SectionEntry<K>, length: u64) -> Result<Range<u64>> {
    let end = entry.offset.checked_add(entry.length);
    end.filter(|&end| end <= length && entry.offset.is_multiple_of(SECTION_ALIGNMENT))
        .map(|end| entry.offset..end)
        .ok_or_else(|| Error::corrupt(format!("section {entry:?} lies outside the file")))
}

fn check_content<K: Debug>(section: &[u8], entry: &SectionEntry<K>) -> Result<()> {
    if crc32c::crc32c(section) == entry.checksum {
        Ok(())
    } else {
        Err(checksum_error(entry))
    }
}

pub(super) fn checksum_error<K: Debug>(entry: &SectionEntry<K>) -> Error {
    let SectionEntry { kind, field, .. } = entry;
    Error::corrupt(format!(
        "section {kind:?} of field {field} does not match its checksum"
    ))
}

/// The verified checkpoints of a file, and the end of each section's checkpoints.
pub(super) fn read_checkpoints<'a>(file: &'a [u8], table: &Table) -> Result<&'a [u32]> {
    let entry = &table.sections[table.find(SectionKind::Checkpoints, Field::None)];
    let checkpoints: &[u32] = bytemuck::cast_slice(check_section(file, entry)?);
    let ends = table.first_chunks().into_iter().zip(&table.sections);
    // The last checkpoint of a section is the checksum of the whole section.
    let mut ends = ends.filter(|(_, entry)| chunk_count(entry) > 0);
    let holds = checkpoints.len() == table.chunk_count()
        && ends.all(|(first, entry)| checkpoints[first + chunk_count(entry) - 1] == entry.checksum);
    if holds {
        Ok(checkpoints)
    } else {
        Err(Error::corrupt(
            "the checkpoints are not those of the sections",
        ))
    }
}

/// Whether a piece of a section matches its checksum, given the checkpoints of the section.
pub(super) fn matches_checkpoint(content: &[u8], checkpoints: &[u32], chunk: usize) -> bool {
    // The checksum continues from that of the pieces before.
    let before = chunk.checked_sub(1).map_or(0, |before| checkpoints[before]);
    let start = chunk * CHUNK_BYTES;
    let piece = &content[start..content.len().min(start + CHUNK_BYTES)];
    crc32c::crc32c_append(before, piece) == checkpoints[chunk]
}

/// Checks the header of a file with this length.
pub(super) fn check_header(header: &[u8], length: u64) -> Result<()> {
    if !header.starts_with(HEADER_MAGIC) {
        return Err(Error::foreign("this is not a segment file"));
    }
    if length < (HEADER_BYTES + FOOTER_BYTES) as u64 {
        return Err(Error::corrupt(
            "the file ends in the middle: it is shorter than its frame",
        ));
    }
    check_versions(u16_at(header, 8), u16_at(header, 10))
}

fn check_versions(format: u16, analysis: u16) -> Result<()> {
    if format > FORMAT_VERSION || analysis > ANALYSIS_VERSION {
        return Err(Error::newer(format!(
            "the segment has format {format} and text analysis {analysis}; this release reads up \
             to format {FORMAT_VERSION} and analysis {ANALYSIS_VERSION}; {OTHER_FORMAT_HINT}"
        )));
    }
    if format < FORMAT_VERSION || analysis != ANALYSIS_VERSION {
        return Err(Error::corrupt(format!(
            "there never was a format {format} with text analysis {analysis}"
        )));
    }
    Ok(())
}

fn decode_table(bytes: &[u8]) -> Result<Table> {
    let (table, length): (StoredTable, usize) =
        bincode::serde::decode_from_slice(bytes, table_encoding())
            .map_err(|error| Error::corrupt(format!("the section table is malformed: {error}")))?;
    if length != bytes.len() {
        return Err(Error::corrupt("the section table has bytes left over"));
    }
    check_versions(table.format_version, table.analysis_version)?;
    table.known()
}

fn table_encoding() -> impl bincode::config::Config {
    bincode::config::standard()
        .with_fixed_int_encoding()
        .with_limit::<TABLE_BYTES_MAX>()
}

fn write_error(error: std::io::Error) -> Error {
    Error::io("write the segment", error)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

#[cfg(test)]
mod tests;
