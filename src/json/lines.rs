//! Lines of a file or of standard input: plain, gzip or zstd, told apart by their first bytes.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use crate::{Error, Result};

/// The longest line, in bytes; a longer one is passed over and reported, without being held.
pub const LINE_BYTES_MAX: usize = 16 << 20;

/// Bytes read at a time.
const BUFFER_BYTES: usize = 1 << 17;

const GZIP_MAGIC: &[u8] = &[0x1F, 0x8B];
const ZSTD_MAGIC: &[u8] = &[0x28, 0xB5, 0x2F, 0xFD];
const BYTE_ORDER_MARK: &[u8] = &[0xEF, 0xBB, 0xBF];

/// Reads lines in bounded memory.
pub struct Lines {
    path: PathBuf,
    reader: Box<dyn BufRead + Send>,
    bytes_read: Arc<AtomicU64>,
    bytes_total: Option<u64>,
    number: u64,
}

/// What stands in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// The line that was put into the buffer.
    Text,
    /// A line longer than [`LINE_BYTES_MAX`], which was passed over.
    TooLong,
}

impl Lines {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be opened or read, naming it.
    pub fn open(path: &Path) -> Result<Lines> {
        if path == Path::new("-") {
            return Lines::new(path, Box::new(io::stdin()), None);
        }
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
        let (metadata, file) = opened.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::missing("there is no such file").at(path),
            _ => Error::io("open the file", error).at(path),
        })?;
        let total = metadata.is_file().then_some(metadata.len());
        Lines::new(path, Box::new(file), total)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of the line that was read last, from 1 on.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Bytes of the file that were read so far, as they stand there.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// The length of the file, where it is known.
    pub fn bytes_total(&self) -> Option<u64> {
        self.bytes_total
    }

    /// Puts the next line that is not blank into `buffer`, without its end; `None` at the end of
    /// the file.
    ///
    /// # Errors
    /// The file cannot be read, or its compression is damaged, naming file and line.
    pub fn next_line(&mut self, buffer: &mut Vec<u8>) -> Result<Option<Line>> {
        // Every round reads a line or ends.
        loop {
            buffer.clear();
            let line = self.read_line(buffer).map_err(|error| {
                let doing = format!("read line {}", self.number + 1);
                Error::io(&doing, error).at(&self.path)
            })?;
            let Some(line) = line else { return Ok(None) };
            self.number += 1;
            if self.number == 1 && buffer.starts_with(BYTE_ORDER_MARK) {
                buffer.drain(..BYTE_ORDER_MARK.len());
            }
            if line == Line::TooLong || !buffer.trim_ascii().is_empty() {
                return Ok(Some(line));
            }
        }
    }

    fn new(path: &Path, source: Box<dyn Read + Send>, total: Option<u64>) -> Result<Lines> {
        let bytes_read = Arc::new(AtomicU64::new(0));
        let counted = Counted { source, bytes: Arc::clone(&bytes_read) };
        let reader = decompressed(BufReader::with_capacity(BUFFER_BYTES, counted))
            .map_err(|error| Error::io("read the file", error).at(path))?;
        Ok(Lines { path: path.to_owned(), reader, bytes_read, bytes_total: total, number: 0 })
    }

    fn read_line(&mut self, buffer: &mut Vec<u8>) -> io::Result<Option<Line>> {
        let bound = LINE_BYTES_MAX as u64 + 2;
        if self.reader.by_ref().take(bound).read_until(b'\n', buffer)? == 0 {
            return Ok(None);
        }
        let is_whole = buffer.ends_with(b"\n") || (buffer.len() as u64) < bound;
        if is_whole && buffer.trim_ascii_end().len() <= LINE_BYTES_MAX {
            return Ok(Some(Line::Text));
        }
        while !buffer.ends_with(b"\n") {
            buffer.clear();
            if self.reader.by_ref().take(bound).read_until(b'\n', buffer)? == 0 {
                break;
            }
        }
        buffer.clear();
        Ok(Some(Line::TooLong))
    }
}

fn decompressed(
    mut reader: BufReader<Counted>,
) -> io::Result<Box<dyn BufRead + Send>> {
    // A pipe may hand over fewer bytes than the magic has; then it is read on until it does.
    let mut start = Vec::new();
    reader.by_ref().take(ZSTD_MAGIC.len() as u64).read_to_end(&mut start)?;
    let is_gzip = start.starts_with(GZIP_MAGIC);
    let is_zstd = start.starts_with(ZSTD_MAGIC);
    let whole = io::Cursor::new(start).chain(reader);
    Ok(if is_gzip {
        Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(whole)))
    } else if is_zstd {
        let decoder = zstd::stream::read::Decoder::with_buffer(whole)?;
        Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder))
    } else {
        Box::new(whole)
    })
}

/// Counts the bytes that go through.
struct Counted {
    source: Box<dyn Read + Send>,
    bytes: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.source.read(buffer)?;
        self.bytes.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}
