//! The records of a segment file, read and written anew from their documentation: where they start, their
//! checksums, and the codes that their texts may be replaced by.

use std::ops::Range;

use crate::segment_file::{Parts, RECORDS, Table, take, take_u32, take_u64};

/// Number of the kind of section that holds numbers in linear frames.
pub const LINEAR_FRAMES: u32 = 18;

/// The fields whose numbers are where records start: those of signals, those of companies.
pub const RECORD_FIELDS: [u16; 2] = [20, 23];

/// Bytes of a linear frame.
const FRAME_BYTES: usize = 16;

/// Numbers of a linear frame, and its bits where they are stored as they are.
const FRAME_NUMBERS: usize = 64;

/// Bytes of zeros after the words of frames, and after symbols.
const SPARE_BYTES: usize = 16;

/// Numbers of the kinds of sections that hold where symbols start, and the symbols.
pub const SYMBOLS: [u32; 2] = [27, 28];

/// Bytes of a record's checksum, in front of its length.
const CHECKSUM_BYTES: usize = 4;

/// The bit of a record's flags that says that its texts are codes.
const ARE_CODES: u32 = 1 << 31;

impl Parts {
    /// The numbers that say where records stand.
    pub fn record_pointers(&self) -> Vec<Pointer> {
        let fields = record_fields(&self.table);
        let pointers = fields.flat_map(|(section, count)| {
            let (frames, _) = frames_and_words(&self.sections[section], count);
            let whole = frames.len() / FRAME_BYTES * FRAME_NUMBERS;
            (0..count.min(whole)).map(move |number| Pointer {
                section,
                count,
                number,
            })
        });
        pointers.collect()
    }

    /// Where a pointer points.
    pub fn pointed_at(&self, pointer: Pointer) -> u64 {
        let (frames, words) = frames_and_words(&self.sections[pointer.section], pointer.count);
        linear_number(frames, words, pointer.number).unwrap_or_default()
    }

    /// Lets a pointer point at another place. The numbers of its field are stored as they are from then on.
    pub fn point(&mut self, pointer: Pointer, at: u64) {
        let (frames, _) = frames_and_words(&self.sections[pointer.section], pointer.count);
        let frames = frames.len() / FRAME_BYTES;
        let numbers = (0..frames * FRAME_NUMBERS).map(|number| match number {
            _ if number == pointer.number => at,
            _ => self.pointed_at(Pointer { number, ..pointer }),
        });
        let words: Vec<u8> = numbers.flat_map(u64::to_le_bytes).collect();
        let frames = (0..frames).flat_map(|frame| {
            let first_word = (frame * FRAME_NUMBERS) as u32;
            let numbers = [0, 0, first_word, FRAME_NUMBERS as u32];
            numbers.into_iter().flat_map(u32::to_le_bytes)
        });
        self.sections[pointer.section] = frames.chain(words).chain([0; SPARE_BYTES]).collect();
    }

    /// The place of the section of records.
    pub fn records(&self) -> Option<usize> {
        self.first_of(RECORDS)
    }

    /// The place of the first section of a kind.
    pub fn first_of(&self, kind: u32) -> Option<usize> {
        self.table.lines.iter().position(|line| line.kind == kind)
    }

    /// Appends a record with another content, in place of the old one if that is the last, and lets its
    /// pointer point there.
    pub fn replace_record(&mut self, pointer: Pointer, change: impl FnOnce(&[u8]) -> Vec<u8>) {
        let Some(records) = self.records() else {
            return;
        };
        let old = self.pointed_at(pointer);
        let Some((frame, content)) = record_parts(&self.sections[records], old) else {
            return;
        };
        let is_last = content.end == self.sections[records].len();
        let record = framed(&change(&self.sections[records][content]));
        if is_last {
            self.sections[records].truncate(frame.start);
        }
        let new = self.sections[records].len() as u64;
        self.sections[records].extend(record);
        self.point(pointer, new);
    }

    /// Replaces the codes of all records by the texts that they stand for, one after the other. A record that
    /// cannot be read becomes one without content. None where symbols or offsets are not as they should be.
    pub fn decompressed(&self) -> Option<Parts> {
        let mut plain = self.clone();
        let [starts, bytes] = SYMBOLS.map(|kind| self.first_of(kind));
        let (starts, bytes) = (starts?, bytes?);
        let symbols = symbols_of(&self.sections[starts], &self.sections[bytes])?;
        for (section, count) in record_fields(&self.table) {
            let (frames, words) = frames_and_words(&self.sections[section], count);
            let is_counted = frames.len() == count.div_ceil(FRAME_NUMBERS) * FRAME_BYTES;
            if !is_counted || !are_whole(frames, words) {
                return None;
            }
        }
        let records = self.records()?;
        let old = &self.sections[records];
        let mut new = Vec::new();
        for pointer in self.record_pointers() {
            let content = whole_content(old, self.pointed_at(pointer));
            let content = content.and_then(|content| decompressed(content, &symbols));
            plain.point(pointer, new.len() as u64);
            new.extend(framed(&content.unwrap_or_default()));
        }
        plain.sections[records] = new;
        plain.sections[starts].clear();
        plain.sections[bytes].clear();
        Some(plain)
    }
}

/// A number that says where a record stands: the section of its field, how many numbers that has, and which of them
/// it is.
#[derive(Clone, Copy, Debug)]
pub struct Pointer {
    section: usize,
    count: usize,
    number: usize,
}

/// The indices of the sections that say where records start, and how many these are.
fn record_fields(table: &Table) -> impl Iterator<Item = (usize, usize)> + '_ {
    let counts = [table.rows, table.companies];
    RECORD_FIELDS
        .into_iter()
        .zip(counts)
        .filter_map(|(field, count)| {
            let mut lines = table.lines.iter();
            let section = lines.position(|line| (line.kind, line.field) == (LINEAR_FRAMES, field));
            Some((section?, count as usize))
        })
}

/// The frames of `count` numbers, as far as they are there, and the words after them.
fn frames_and_words(section: &[u8], count: usize) -> (&[u8], &[u8]) {
    let frames = count.div_ceil(FRAME_NUMBERS);
    section.split_at(frames.min(section.len() / FRAME_BYTES) * FRAME_BYTES)
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

/// The content of the record at a place, if its checksum is right.
fn whole_content(records: &[u8], place: u64) -> Option<&[u8]> {
    let (frame, content) = record_parts(records, place)?;
    let covered = frame.start + CHECKSUM_BYTES;
    let checksum = crc32c::crc32c(&records[covered..content.end]).to_le_bytes();
    (records[frame.start..covered] == checksum).then_some(&records[content])
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

/// The content of a record, taken apart.
#[derive(Clone, Copy, Debug)]
pub struct Content<'c> {
    flags: u32,
    fields: &'c [u8],
    /// The length that its texts should have.
    length: usize,
    texts: &'c [u8],
}

impl<'c> Content<'c> {
    /// Takes a content apart, as far as its lengths are right.
    pub fn of(content: &'c [u8]) -> Option<Content<'c>> {
        let mut rest = content;
        let flags = take_u32(&mut rest)?;
        let fields = take_number(&mut rest)?;
        let fields = rest.split_off(..fields)?;
        let length = take_number(&mut rest)?;
        Some(Content {
            flags,
            fields,
            length,
            texts: rest,
        })
    }

    /// The codes of its texts; none where these are not compressed.
    pub fn codes(&self) -> Option<&'c [u8]> {
        (self.flags & ARE_CODES != 0).then_some(self.texts)
    }

    /// Puts it together with other texts or codes.
    pub fn with_texts(&self, texts: &[u8]) -> Vec<u8> {
        let mut output = self.flags.to_le_bytes().to_vec();
        push_number(&mut output, self.fields.len());
        output.extend(self.fields);
        push_number(&mut output, self.length);
        output.extend(texts);
        output
    }
}

/// The content of a record with its texts replaced by codes.
fn compressed(content: &[u8], symbols: &[Vec<u8>]) -> Option<Vec<u8>> {
    let mut content = Content::of(content)?;
    content.flags |= ARE_CODES;
    let mut codes = Vec::new();
    let mut rest = content.texts;
    while !rest.is_empty() {
        let code = symbols
            .iter()
            .rposition(|symbol| rest.starts_with(symbol))?;
        codes.extend((code as u16).to_le_bytes());
        rest = &rest[symbols[code].len()..];
    }
    Some(content.with_texts(&codes))
}

/// The content of a record with its codes replaced by texts; none where they stand for no texts of the length
/// that they should have.
fn decompressed(content: &[u8], symbols: &[&[u8]]) -> Option<Vec<u8>> {
    let mut parts = Content::of(content)?;
    let Some(codes) = parts.codes() else {
        return Some(content.to_vec());
    };
    parts.flags &= !ARE_CODES;
    let (codes, odd) = codes.as_chunks();
    let symbol = |&code| symbols.get(usize::from(u16::from_le_bytes(code))).copied();
    let texts = codes
        .iter()
        .map(symbol)
        .collect::<Option<Vec<_>>>()?
        .concat();
    let is_whole = odd.is_empty() && texts.len() == parts.length;
    is_whole.then(|| parts.with_texts(&texts))
}

/// The symbols of two sections; none where these are not as they should be.
fn symbols_of<'s>(starts: &[u8], bytes: &'s [u8]) -> Option<Vec<&'s [u8]>> {
    let (starts, odd) = starts.as_chunks();
    let starts: Vec<usize> = starts
        .iter()
        .map(|&start| u32::from_le_bytes(start) as usize)
        .collect();
    let Some(&end) = starts.last() else {
        return (odd.is_empty() && bytes.is_empty()).then(Vec::new);
    };
    let symbols = starts.windows(2).map(|span| bytes.get(span[0]..span[1]));
    let symbols: Vec<&[u8]> = symbols.collect::<Option<_>>()?;
    let are_whole = odd.is_empty()
        && starts[0] == 0
        && end + SPARE_BYTES == bytes.len()
        && (256..=1 << 16).contains(&symbols.len())
        && symbols
            .iter()
            .all(|symbol| (1..=16).contains(&symbol.len()))
        && (0..=u8::MAX)
            .zip(&symbols)
            .all(|(byte, &symbol)| symbol == [byte]);
    are_whole.then_some(symbols)
}

/// Whether linear frames have the words that they should have.
fn are_whole(frames: &[u8], words: &[u8]) -> bool {
    let mut end = 0;
    let follow = frames.chunks(FRAME_BYTES).all(|frame| {
        let (mut rest, first) = (&frame[8..], end);
        let numbers = take_u32(&mut rest).zip(take_u32(&mut rest));
        numbers.is_some_and(|(first_word, bits_and_slope)| {
            let bits = bits_and_slope as usize & 0xFF;
            end += bits;
            bits <= FRAME_NUMBERS && first_word as usize == first
        })
    });
    follow && words.len() == end * 8 + SPARE_BYTES
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
        if shift == 63 && byte & 0x7F > 1 {
            return None;
        }
        number |= usize::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Gives the records of a file right checksums, as far as they can be found.
pub fn repair_records(file: &mut [u8], table: &Table) {
    let length = file.len();
    let records = table.lines.iter().find(|line| line.kind == RECORDS);
    let Some(records) = records.and_then(|line| line.range(length)) else {
        return;
    };
    let section = |at: usize| table.lines[at].range(length).map(|range| &file[range]);
    let places = record_fields(table).flat_map(|(starts, count)| {
        let (frames, words) = frames_and_words(section(starts).unwrap_or_default(), count);
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
