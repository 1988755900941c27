//! The full check of a segment's file: sections do not overlap and match their checksums, and all bytes between them
//! are zero.
//!
//! The file is read in pieces into memory. An open file that another program changes meanwhile is refused, whatever
//! becomes of its length.

use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use super::format::{
    self, FOOTER_BYTES, HEADER_BYTES, HEADER_FIELDS_BYTES, SECTION_ALIGNMENT, SectionEntry, Table,
};
use crate::digest::Digest;
use crate::{Error, Result};

/// Bytes that are read at a time.
const PIECE_BYTES: u64 = 1 << 20;

/// The content of a file, in memory or on disk.
pub(crate) trait FileContent {
    /// The length in bytes.
    ///
    /// # Errors
    /// The operating system does not tell.
    fn length(&self) -> io::Result<u64>;

    /// Fills a buffer from an offset on.
    ///
    /// # Errors
    /// The file cannot be read, or ends before the buffer is full.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
}

impl FileContent for [u8] {
    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let rest = usize::try_from(offset)
            .ok()
            .and_then(|start| self.get(start..));
        let piece = rest.and_then(|rest| rest.get(..buffer.len()));
        buffer.copy_from_slice(piece.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

impl FileContent for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(buffer, offset)
    }
}

/// Checks every byte of a file. Returns the SHA-256 of its section table, which identifies the content.
///
/// # Errors
/// Foreign, newer or corrupt, or the file cannot be read.
///
/// Cost: reads the whole file, a mebibyte at a time.
pub(crate) fn check_file(content: &(impl FileContent + ?Sized)) -> Result<Digest> {
    let length = content.length().map_err(unreadable)?;
    let mut file = Reader {
        content,
        length,
        buffer: Vec::new(),
    };
    let (table, digest, table_start) = file.table()?;
    let mut sections = file.check_all(&table.sections)?;
    sections.extend(file.check_all(&table.optional)?);
    sections.sort_unstable_by_key(|section| (section.start, section.end));
    // The magic and the versions have been checked with the header.
    let mut end = HEADER_FIELDS_BYTES as u64;
    for section in sections {
        // Invariant: everything before `end` has been checked.
        file.check_padding(end, section.start)?;
        end = section.end;
    }
    file.check_padding(end, table_start)?;
    Ok(digest)
}

/// A file that is read front to back, mostly.
struct Reader<'c, C: ?Sized> {
    content: &'c C,
    length: u64,
    buffer: Vec<u8>,
}

impl<C: FileContent + ?Sized> Reader<'_, C> {
    /// The bytes of a range, which has at most a few mebibytes.
    fn bytes(&mut self, range: Range<u64>) -> Result<&[u8]> {
        self.buffer.resize((range.end - range.start) as usize, 0);
        let read = self.content.read_at(range.start, &mut self.buffer);
        read.map_err(unreadable)?;
        Ok(&self.buffer)
    }

    /// The section table, its digest, and its offset.
    fn table(&mut self) -> Result<(Table, Digest, u64)> {
        let length = self.length;
        let header = self.bytes(0..length.min(HEADER_BYTES as u64))?;
        format::check_header(header, length)?;
        // `check_header` has refused files shorter than header and footer.
        let footer = self.bytes(length - FOOTER_BYTES as u64..length)?.to_vec();
        let range = format::table_range(&footer, length)?;
        let bytes = self.bytes(range.clone())?;
        let table = format::decode_checked_table(bytes, &footer)?;
        Ok((table, Digest::of(bytes), range.start))
    }

    /// Checks the bounds and checksums of sections. Returns their ranges.
    fn check_all<K: Debug>(&mut self, entries: &[SectionEntry<K>]) -> Result<Vec<Range<u64>>> {
        let check = |entry: &SectionEntry<K>| {
            let range = format::section_range(entry, self.length)?;
            let mut checksum = 0;
            let mut start = range.start;
            // Invariant: `checksum` is that of the bytes from the start of the section up to
            // `start`.
            while start < range.end {
                let end = range.end.min(start + PIECE_BYTES);
                checksum = crc32c::crc32c_append(checksum, self.bytes(start..end)?);
                start = end;
            }
            if checksum == entry.checksum {
                Ok(range)
            } else {
                Err(format::checksum_error(entry))
            }
        };
        entries.iter().map(check).collect()
    }

    /// Checks that the bytes between two parts of a file are zero, and no more than alignment needs.
    fn check_padding(&mut self, start: u64, end: u64) -> Result<()> {
        if start > end {
            return Err(Error::corrupt(format!(
                "two sections overlap at byte {end} of the file"
            )));
        }
        if end - start >= SECTION_ALIGNMENT {
            return Err(Error::corrupt(format!(
                "the bytes from {start} to {end} belong to no section"
            )));
        }
        let padding = self.bytes(start..end)?;
        match padding.iter().position(|&byte| byte != 0) {
            Some(n) => Err(Error::corrupt(format!(
                "byte {} lies between sections and is not zero",
                start + n as u64
            ))),
            None => Ok(()),
        }
    }
}

fn unreadable(error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        Error::corrupt("the file became shorter while it was read")
    } else {
        Error::io("read the file", error)
    }
}

#[cfg(test)]
mod tests;
