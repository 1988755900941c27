//! The frame of a segment file, read and written anew from its documentation, so that a mutated
//! file can be given right checksums. Knows no more of a segment than where its sections stand.

use sha2::{Digest as _, Sha256};
use std::ops::Range;

/// Numbers of the kinds of sections that hold numbers in linear frames: the frames, and their words.
const LINEAR: [u32; 2] = [19, 34];

/// The fields whose numbers are where records start: those of signals, those of companies.
const RECORD_FIELDS: [u16; 2] = [20, 23];

/// Bytes of a linear frame.
const FRAME_BYTES: usize = 16;

/// Numbers of a linear frame, and its bits where they are stored as they are.
const FRAME_NUMBERS: usize = 64;

/// Bytes of words of zeros after those of frames.
const SPARE_BYTES: usize = 16;

/// Number of the kind of section that holds the records.
pub const RECORDS: u32 = 20;

/// Number of the kind of section that holds checkpoints.
const CHECKPOINTS: u32 = 33;

/// After this many bytes of a section there is a checkpoint.
const CHUNK_BYTES: usize = 16 << 10;

/// The first number of kinds that have none.
const OPTIONAL_KINDS: u32 = 1 << 16;

/// Numbers of the kinds of sections that hold where symbols start, and the symbols.
const SYMBOLS: [u32; 2] = [28, 29];

/// Bytes of a record's checksum, in front of its length.
const CHECKSUM_BYTES: usize = 4;

/// The bit of a record's flags that says that its texts are codes.
const ARE_CODES: u32 = 1 << 31;

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

    /// The numbers that say where records stand.
    pub fn record_pointers(&self) -> Vec<Pointer> {
        let fields = record_fields(&self.table);
        let pointers = fields.flat_map(|([frames, words], count)| {
            let whole = self.sections[frames].len() / FRAME_BYTES * FRAME_NUMBERS;
            (0..count.min(whole)).map(move |number| Pointer {
                frames,
                words,
                number,
            })
        });
        pointers.collect()
    }

    /// Where a pointer points.
    pub fn pointed_at(&self, pointer: Pointer) -> u64 {
        let [frames, words] = [pointer.frames, pointer.words].map(|at| &self.sections[at]);
        linear_number(frames, words, pointer.number).unwrap_or_default()
    }

    /// Lets a pointer point at another place. The numbers of its field are stored as they are from then on.
    pub fn point(&mut self, pointer: Pointer, at: u64) {
        let frames = self.sections[pointer.frames].len() / FRAME_BYTES;
        let numbers = (0..frames * FRAME_NUMBERS).map(|number| match number {
            _ if number == pointer.number => at,
            _ => self.pointed_at(Pointer { number, ..pointer }),
        });
        let mut words: Vec<u8> = numbers.flat_map(u64::to_le_bytes).collect();
        words.extend([0; SPARE_BYTES]);
        let frames = (0..frames).flat_map(|frame| {
            let first_word = (frame * FRAME_NUMBERS) as u32;
            let numbers = [0, 0, first_word, FRAME_NUMBERS as u32];
            numbers.into_iter().flat_map(u32::to_le_bytes)
        });
        self.sections[pointer.frames] = frames.collect();
        self.sections[pointer.words] = words;
    }

    /// The place of the section of records.
    pub fn records(&self) -> Option<usize> {
        self.table
            .lines
            .iter()
            .position(|line| line.kind == RECORDS)
    }
}

/// A number that says where a record stands: the sections of its field, and which of their numbers it is.
#[derive(Clone, Copy, Debug)]
pub struct Pointer {
    frames: usize,
    words: usize,
    number: usize,
}

/// The indices of the two sections that say where records start, and how many they are.
fn record_fields(table: &Table) -> impl Iterator<Item = ([usize; 2], usize)> + '_ {
    let counts = [table.rows, table.companies];
    RECORD_FIELDS
        .into_iter()
        .zip(counts)
        .filter_map(|(field, count)| {
            let section = |kind: u32| {
                let mut lines = table.lines.iter();
                lines.position(|line| (line.kind, line.field) == (kind, field))
            };
            let [frames, words] = LINEAR.map(section);
            Some(([frames?, words?], count as usize))
        })
}

/// A number in linear frames, as far as its frame and its bits are there.
fn linear_number(frames: &[u8], words: &[u8], number: usize) -> Option<u64> {
    let mut frame = frames.get(number / FRAME_NUMBERS * FRAME_BYTES..)?;
    let base = take_u64(&mut frame)?;
    let (first_word, bits_and_slope) = (take_u32(&mut frame)?, take_u32(&mut frame)?);
    let (bits, slope) = (
        bits_and_slope as usize & 0xFF,
        u64::from(bits_and_slope >> 8),
    );
    let in_frame = number % FRAME_NUMBERS;
    let first_bit = first_word as usize * 64 + in_frame * bits;
    let mut distance = 0;
    for bit in 0..bits.min(64) {
        let at = first_bit + bit;
        distance |= u64::from(words.get(at / 8)? >> (at % 8) & 1) << bit;
    }
    let above = (slope * in_frame as u64) >> 8;
    Some(base.wrapping_add(above).wrapping_add(distance))
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

/// What a manifest has to say of a file's table; zeros where it has none.
pub fn table_digest(file: &[u8]) -> [u8; 32] {
    table_range(file).map_or([0; 32], |range| Sha256::digest(&file[range]).into())
}

/// The record with that content: its checksum and its length before it.
pub fn framed(content: &[u8]) -> Vec<u8> {
    let mut record = vec![0; CHECKSUM_BYTES];
    push_number(&mut record, content.len());
    record.extend(content);
    let checksum = crc32c::crc32c(&record[CHECKSUM_BYTES..]);
    record[..CHECKSUM_BYTES].copy_from_slice(&checksum.to_le_bytes());
    record
}

/// Where the checksum and the length of the record at a place stand, and where its content.
pub fn record_parts(records: &[u8], place: u64) -> Option<(Range<usize>, Range<usize>)> {
    let start = usize::try_from(place).ok()?;
    let mut rest = records.get(start.checked_add(CHECKSUM_BYTES)?..)?;
    let length = take_number(&mut rest)?;
    let content = records.len() - rest.len();
    let end = content.checked_add(length)?;
    (end <= records.len()).then_some((start..content, content..end))
}

impl Parts {
    /// Replaces the texts of all records by codes of single bytes and of the symbols "se", "ri" and "es".
    pub fn compress(&mut self) -> Option<()> {
        let mut symbols: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
        symbols.extend(["se", "ri", "es"].map(|symbol| symbol.as_bytes().to_vec()));
        let records = self.records()?;
        let old = std::mem::take(&mut self.sections[records]);
        let mut new = Vec::new();
        for pointer in self.record_pointers() {
            let (_, content) = record_parts(&old, self.pointed_at(pointer))?;
            let content = compressed(&old[content], &symbols)?;
            self.point(pointer, new.len() as u64);
            new.extend(framed(&content));
        }
        self.sections[records] = new;
        let mut starts = vec![0; 4];
        let mut end = 0;
        for symbol in &symbols {
            end += symbol.len() as u32;
            starts.extend(end.to_le_bytes());
        }
        let bytes = [symbols.concat(), vec![0; 16]].concat();
        for (kind, bytes) in SYMBOLS.into_iter().zip([starts, bytes]) {
            let section = self.table.lines.iter().position(|line| line.kind == kind)?;
            self.sections[section] = bytes;
        }
        Some(())
    }
}

/// The content of a record with its texts replaced by codes.
fn compressed(content: &[u8], symbols: &[Vec<u8>]) -> Option<Vec<u8>> {
    let mut rest = content;
    let flags = take_u32(&mut rest)? | ARE_CODES;
    let fields = take_number(&mut rest)?;
    let fields = rest.split_off(..fields)?;
    let length = take_number(&mut rest)?;
    let mut output = flags.to_le_bytes().to_vec();
    push_number(&mut output, fields.len());
    output.extend(fields);
    push_number(&mut output, length);
    while !rest.is_empty() {
        let code = symbols
            .iter()
            .rposition(|symbol| rest.starts_with(symbol))?;
        output.extend((code as u16).to_le_bytes());
        rest = &rest[symbols[code].len()..];
    }
    Some(output)
}

/// Appends a number in LEB128.
fn push_number(output: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        output.push(number as u8 | 0x80);
        number >>= 7;
    }
    output.push(number as u8);
}

/// Takes a number in LEB128.
fn take_number(bytes: &mut &[u8]) -> Option<usize> {
    let mut number = 0;
    for shift in (0..usize::BITS).step_by(7) {
        let [byte] = take::<1>(bytes)?;
        number |= usize::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

fn repair_records(file: &mut [u8], table: &Table) {
    let length = file.len();
    let records = table.lines.iter().find(|line| line.kind == RECORDS);
    let Some(records) = records.and_then(|line| line.range(length)) else {
        return;
    };
    let section = |at: usize| table.lines[at].range(length).map(|range| &file[range]);
    let places = record_fields(table).flat_map(|([frames, words], count)| {
        let sections = section(frames).zip(section(words));
        let (frames, words) = sections.unwrap_or_default();
        (0..count).map_while(move |number| linear_number(frames, words, number))
    });
    let places: Vec<u64> = places.collect();
    let records = &mut file[records];
    for place in places {
        if let Some((frame, content)) = record_parts(records, place) {
            let covered = frame.start + CHECKSUM_BYTES;
            let checksum = crc32c::crc32c(&records[covered..content.end]);
            records[frame.start..covered].copy_from_slice(&checksum.to_le_bytes());
        }
    }
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
