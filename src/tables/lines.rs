//! Reads lines of a file or standard input, plain or compressed, in bounded memory.
//!
//! Compression is detected by the first bytes, not by the file name, so it also works on standard input.
//! Consecutive gzip members or zstd frames form one text.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use super::encoding::TextReader;
use super::error::RecordError;
use crate::{Error, Result};

/// Maximum bytes of a line, without its end: 16 MiB, more than a record with all texts of maximum length.
/// A longer line is skipped without being held in memory.
pub const LINE_BYTES_MAX: usize = 16 << 20;

/// Buffer size for reading and decompression. Large enough that the cost of a call is negligible, small
/// enough for the L2 cache.
const BUFFER_BYTES: usize = 256 << 10;

/// The path that stands for standard input.
const STANDARD_INPUT: &str = "-";

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Reads the lines of a text one by one, reusing one buffer.
///
/// ```
/// # use signaldex::json::Lines;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("lines");
/// std::fs::write(&path, "one\n\nthree\n")?;
/// let mut lines = Lines::open(&path)?;
/// while let Some(line) = lines.next_line()? {
///     println!("{}: {:?}", line.number, line.content);
/// }
/// # Ok(())
/// # }
/// ```
pub struct Lines {
    path: PathBuf,
    reader: Box<dyn BufRead + Send>,
    compression: Compression,
    bytes_read: Arc<AtomicU64>,
    total_bytes: Option<u64>,
    line: Vec<u8>,
    /// Number of lines read, including blank ones.
    number: u64,
    /// The line in the buffer, if it was peeked.
    peeked: Option<ReadLine>,
}

/// A line that is not blank.
#[derive(Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// The line number, counted from 1.
    pub number: u64,
    /// The bytes without the end of line, or an error if there are more than [`LINE_BYTES_MAX`].
    pub content: Result<&'a [u8], RecordError>,
}

impl Lines {
    /// Opens a file, or standard input if the path is `-`.
    ///
    /// ```
    /// use signaldex::json::Lines;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("lines");
    ///
    /// std::fs::write(&path, "one\ntwo\n")?;
    /// let lines = Lines::open(&path)?;
    /// assert_eq!((lines.path(), lines.total_bytes()), (&*path, Some(8)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The file cannot be opened or its beginning cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Lines> {
        let path = path.as_ref();
        if path == Path::new(STANDARD_INPUT) {
            return Lines::new(Path::new("standard input"), io::stdin(), None);
        }
        let file = File::open(path).map_err(|error| Error::io("open the file", error).at(path))?;
        let metadata = file
            .metadata()
            .map_err(|error| Error::io("read the file", error).at(path))?;
        let total_bytes = metadata.is_file().then_some(metadata.len());
        Lines::new(path, file, total_bytes)
    }

    fn new(
        path: &Path,
        source: impl Read + Send + 'static,
        total_bytes: Option<u64>,
    ) -> Result<Lines> {
        let bytes_read = Arc::new(AtomicU64::new(0));
        let source = Counted {
            source,
            bytes_read: Arc::clone(&bytes_read),
        };
        let (compression, reader) = decompressed(source)
            .map_err(|error| Error::io("read the beginning", error).at(path))?;
        Ok(Lines {
            path: path.to_owned(),
            reader,
            compression,
            bytes_read,
            total_bytes,
            line: Vec::new(),
            number: 0,
            peeked: None,
        })
    }

    /// The next line that is not blank; `None` at the end. Lines end with `\n` or `\r\n`. A byte order mark at
    /// the start is skipped.
    ///
    /// ```
    /// # use signaldex::json::Lines;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("lines");
    /// std::fs::write(&path, "one\n\nthree\n")?;
    /// let mut lines = Lines::open(&path)?;
    /// let mut numbers = Vec::new();
    /// while let Some(line) = lines.next_line()? {
    ///     numbers.push(line.number);
    /// }
    /// assert_eq!(numbers, [1, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The file cannot be read ([`Io`](crate::ErrorKind::Io)) or its compressed data is damaged or cut
    /// short ([`Corrupt`](crate::ErrorKind::Corrupt)). The error names the file and the line reached.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>> {
        let read = self.read_unless_blank()?;
        Ok(self.line_of(read))
    }

    /// The line that [`next_line`](Self::next_line) will return next.
    ///
    /// # Errors
    /// As [`next_line`](Self::next_line).
    pub(super) fn peek_line(&mut self) -> Result<Option<Line<'_>>> {
        let read = self.read_unless_blank()?;
        self.peeked = Some(read);
        Ok(self.line_of(read))
    }

    /// The next line, which may be blank.
    ///
    /// # Errors
    /// As [`next_line`](Self::next_line).
    pub(super) fn next_line_or_blank(&mut self) -> Result<Option<Line<'_>>> {
        let read = self.read_any()?;
        Ok(self.line_of(read))
    }

    fn read_unless_blank(&mut self) -> Result<ReadLine> {
        loop {
            let read = self.read_any()?;
            let is_blank = match read {
                ReadLine::Whole(length) => self.line[self.content_start()..length]
                    .iter()
                    .all(u8::is_ascii_whitespace),
                ReadLine::End | ReadLine::TooLong => false,
            };
            if !is_blank {
                return Ok(read);
            }
        }
    }

    fn read_any(&mut self) -> Result<ReadLine> {
        match self.peeked.take() {
            Some(read) => Ok(read),
            None => self.read_line().map_err(|error| self.failure(error)),
        }
    }

    fn line_of(&self, read: ReadLine) -> Option<Line<'_>> {
        let content = match read {
            ReadLine::End => return None,
            ReadLine::TooLong => Err(too_long()),
            ReadLine::Whole(length) => Ok(&self.line[self.content_start()..length]),
        };
        Some(Line {
            number: self.number,
            content,
        })
    }

    /// The first bytes after decompression; reading starts with them all the same.
    ///
    /// # Errors
    /// As [`next_line`](Self::next_line).
    pub(super) fn peek_bytes(&mut self) -> Result<Vec<u8>> {
        const PEEKED_BYTES: u64 = 4096;
        let mut beginning = Vec::new();
        let read = (&mut self.reader)
            .take(PEEKED_BYTES)
            .read_to_end(&mut beginning);
        read.map_err(|error| self.failure(error))?;
        let rest = mem::replace(&mut self.reader, Box::new(io::empty()));
        self.reader = Box::new(Cursor::new(beginning.clone()).chain(rest));
        Ok(beginning)
    }

    /// Decodes what is read, from its beginning.
    ///
    /// # Errors
    /// The reason that `decode` returns, with the file.
    pub(super) fn decode(
        &mut self,
        decode: impl FnOnce(TextReader) -> Result<TextReader, String>,
    ) -> Result<()> {
        let reader = mem::replace(&mut self.reader, Box::new(io::empty()));
        let decoded = decode(reader).map_err(|reason| Error::invalid(reason).at(&self.path))?;
        self.reader = decoded;
        Ok(())
    }

    /// The bytes read from the file so far, before decompression. Includes buffered bytes, so it is ahead of
    /// the lines.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// The size of the file; `None` for a pipe or a terminal.
    pub fn total_bytes(&self) -> Option<u64> {
        self.total_bytes
    }

    /// The path of the file, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn read_line(&mut self) -> io::Result<ReadLine> {
        self.line.clear();
        let allowed = LINE_BYTES_MAX + BYTE_ORDER_MARK.len() + b"\r\n".len();
        let mut allowed_reader = (&mut self.reader).take(allowed as u64);
        if allowed_reader.read_until(b'\n', &mut self.line)? == 0 {
            return Ok(ReadLine::End);
        }
        let is_cut = self.line.len() == allowed && !self.line.ends_with(b"\n");
        if is_cut {
            self.reader.skip_until(b'\n')?;
        }
        self.number += 1;
        let length = without_end(&self.line).len();
        if is_cut || length - self.content_start() > LINE_BYTES_MAX {
            return Ok(ReadLine::TooLong);
        }
        Ok(ReadLine::Whole(length))
    }

    /// The offset of the line in the buffer, after a byte order mark.
    fn content_start(&self) -> usize {
        if self.number == 1 && self.line.starts_with(BYTE_ORDER_MARK) {
            BYTE_ORDER_MARK.len()
        } else {
            0
        }
    }

    fn failure(&self, error: io::Error) -> Error {
        let reached = self.number + 1;
        match (self.compression, error.raw_os_error()) {
            (Compression::None, _) | (_, Some(_)) => {
                Error::io(&format!("read line {reached}"), error).at(&self.path)
            }
            (compression, None) => Error::corrupt(format!(
                "the {} data is damaged or cut short at line {reached}: {error}",
                compression.name()
            ))
            .at(&self.path),
        }
    }
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lines")
            .field("path", &self.path)
            .field("number", &self.number)
            .finish()
    }
}

#[derive(Clone, Copy)]
enum ReadLine {
    End,
    TooLong,
    /// The length of the buffer without the end of line.
    Whole(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// The compression of a file that begins with these bytes.
    fn of(beginning: &[u8]) -> Compression {
        match beginning {
            [0x1F, 0x8B, ..] => Compression::Gzip,
            [0x28, 0xB5, 0x2F, 0xFD] => Compression::Zstd,
            // A skippable frame, which parallel compressors write first.
            [0x50..=0x5F, 0x2A, 0x4D, 0x18] => Compression::Zstd,
            _ => Compression::None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Compression::None => "plain",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        }
    }
}

fn decompressed(
    mut source: impl Read + Send + 'static,
) -> io::Result<(Compression, Box<dyn BufRead + Send>)> {
    let mut beginning = Vec::with_capacity(4);
    source.by_ref().take(4).read_to_end(&mut beginning)?;
    let compression = Compression::of(&beginning);
    let source = BufReader::with_capacity(BUFFER_BYTES, source);
    let whole = Cursor::new(beginning).chain(source);
    let reader: Box<dyn BufRead + Send> = match compression {
        Compression::None => Box::new(whole),
        Compression::Gzip => Box::new(buffered(MultiGzDecoder::new(whole))),
        #[cfg(any(test, feature = "zstd"))]
        Compression::Zstd => Box::new(buffered(zstd::stream::read::Decoder::with_buffer(whole)?)),
        #[cfg(not(any(test, feature = "zstd")))]
        Compression::Zstd => {
            return Err(io::Error::other(
                "it is compressed with zstd, which this build does not read; decompress it, or \
                 build with the feature zstd",
            ));
        }
    };
    Ok((compression, reader))
}

fn buffered<R: Read>(reader: R) -> BufReader<R> {
    BufReader::with_capacity(BUFFER_BYTES, reader)
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn too_long() -> RecordError {
    RecordError::of_line(format!("the line is longer than {LINE_BYTES_MAX} bytes"))
}

/// Counts the bytes that are read.
struct Counted<R> {
    source: R,
    bytes_read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.bytes_read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
