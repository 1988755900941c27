//! Bounds what a Parquet file may make its reader hold, before any of it is decoded: footer, schema, and pages.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use flate2::read::MultiGzDecoder;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::lengths::held_bytes;
use super::thrift::{LIST, ThriftReader};
use crate::tables::csv::COLUMNS_MAX;
use crate::tables::rows::unless_panic;
use crate::{Error, Result};

/// Maximum bytes of the pages that are held at once: the largest page and the dictionary of each column.
pub(super) const HELD_BYTES_MAX: u64 = 1 << 30;

/// Maximum bytes of the footer, which becomes up to 60 times as large in memory.
const FOOTER_BYTES_MAX: u64 = 16 << 20;

/// Groups in groups of a schema, through which the reader recurses.
const SCHEMA_LEVELS_MAX: usize = 16;

/// How many bytes may come of one in Snappy and LZ4.
const RATIO_MAX: u64 = 256;

/// Memory for each value of a dictionary, beside its bytes.
const DICTIONARY_VALUE_BYTES: u64 = 64;

/// A file's last bytes: the length of the footer, and what every Parquet file ends with.
const TAIL: usize = 8;

/// The header of a page: the numbers that bound what is read for it.
struct PageHeader {
    kind: i64,
    bytes: u64,
    compressed_bytes: u64,
    /// Values of a dictionary.
    values: u64,
    encoding: i64,
    /// Bytes of levels before what is compressed, in the second form of pages.
    level_bytes: u64,
    is_plain: bool,
}

const DICTIONARY_PAGE: i64 = 2;
const INDEX_PAGE: i64 = 1;

/// Encodings with lengths apart from the texts, whose pages are read once more for their lengths.
const LENGTH_ENCODINGS: [i64; 2] = [6, 7];

/// Checks the footer, before the reader of Parquet holds it.
///
/// # Errors
/// The footer is damaged, too large, or its schema too deep.
pub(super) fn check_footer(file: &File) -> Result<()> {
    let mut input = BufReader::new(file);
    let found = footer(&mut input).map_err(damaged)?;
    let Some(footer_bytes) = found else {
        return Err(Error::corrupt("the Parquet is damaged: it has no footer"));
    };
    if footer_bytes > FOOTER_BYTES_MAX {
        return Err(Error::invalid(format!(
            "has a footer of {footer_bytes} bytes; at most {FOOTER_BYTES_MAX} are read: write larger row groups"
        )));
    }
    const SCHEMA: i16 = 2;
    let mut reader = ThriftReader::new(input.take(footer_bytes));
    let mut last_id = 0;
    // The schema may stand there twice: each list is checked.
    while let Some((id, kind)) = reader.next_field(last_id).map_err(damaged)? {
        last_id = id;
        if (id, kind) == (SCHEMA, LIST) {
            check_schema(&mut reader)?;
        } else {
            reader.skip(kind).map_err(damaged)?;
        }
    }
    Ok(())
}

/// Goes to the footer, and returns its length; `None` if the file is too short for one.
fn footer(input: &mut BufReader<&File>) -> io::Result<Option<u64>> {
    let file_bytes = input.seek(SeekFrom::End(0))?;
    let Some(tail_start) = file_bytes.checked_sub(TAIL as u64) else {
        return Ok(None);
    };
    input.seek(SeekFrom::Start(tail_start))?;
    let mut tail = [0; TAIL];
    input.read_exact(&mut tail)?;
    let [a, b, c, d, ..] = tail;
    let footer_bytes = u64::from(u32::from_le_bytes([a, b, c, d]));
    let Some(start) = tail_start.checked_sub(footer_bytes) else {
        return Ok(None);
    };
    input.seek(SeekFrom::Start(start))?;
    Ok(Some(footer_bytes))
}

fn check_schema(reader: &mut ThriftReader<impl Read>) -> Result<()> {
    const CHILDREN: (i16, i16) = (5, 0);
    /// Groups and the root are elements, too.
    const ELEMENTS_MAX: u64 = 4 * COLUMNS_MAX as u64;
    let (elements, _) = reader.list_start().map_err(damaged)?;
    if elements > ELEMENTS_MAX {
        let reason = format!("has more than {COLUMNS_MAX} columns; leave some out");
        return Err(Error::invalid(reason));
    }
    // The children that the groups around an element still wait for, the outermost first.
    let mut waiting: Vec<i64> = Vec::new();
    for _ in 0..elements {
        let mut children = 0;
        let read = reader.read_struct(&mut |path, number| {
            if path == CHILDREN {
                children = number;
            }
        });
        read.map_err(damaged)?;
        if let Some(last) = waiting.last_mut() {
            *last -= 1;
        }
        if children > 0 {
            waiting.push(children);
        }
        if waiting.len() > SCHEMA_LEVELS_MAX {
            let reason = format!("has columns in more than {SCHEMA_LEVELS_MAX} structs");
            return Err(Error::invalid(reason));
        }
        while waiting.last() == Some(&0) {
            waiting.pop();
        }
    }
    Ok(())
}

/// Checks that the pages of each row group are what their headers say, and together within the limit of bytes.
///
/// # Errors
/// The file is damaged, or its pages are too large.
pub(super) fn check_pages(
    file: &File,
    reader: &SerializedFileReader<File>,
    held_bytes_max: u64,
) -> Result<()> {
    let mut input = BufReader::new(file);
    for (group_index, group) in reader.metadata().row_groups().iter().enumerate() {
        let mut held_bytes = 0_u64;
        let mut hold = |bytes| {
            held_bytes = held_bytes.saturating_add(bytes);
            if held_bytes <= held_bytes_max {
                return Ok(());
            }
            Err(Error::invalid(format!(
                "has pages of more than {held_bytes_max} bytes in one row group; write smaller pages"
            )))
        };
        for (index, column) in group.columns().iter().enumerate() {
            let (bytes, has_lengths) = bytes_of_chunk(&mut input, column)?;
            hold(bytes)?;
            if has_lengths {
                let pages = unless_panic("the Parquet", || {
                    let group = reader.get_row_group(group_index).map_err(unreadable)?;
                    group.get_column_page_reader(index).map_err(unreadable)
                })?;
                let levels = column.column_descr().max_def_level();
                hold(bytes_of_texts(pages, levels, held_bytes_max)?)?;
            }
        }
    }
    Ok(())
}

/// The bytes held for the texts of a column of a row group that have separate lengths.
fn bytes_of_texts(mut pages: Box<dyn PageReader>, levels: i16, max: u64) -> Result<u64> {
    let mut bytes_max = 0;
    // The pages have been checked, so each is as long as its header says.
    while let Some(page) =
        unless_panic("the Parquet", || pages.get_next_page().map_err(unreadable))?
    {
        let encoding = page.encoding();
        if matches!(
            encoding,
            Encoding::DELTA_BYTE_ARRAY | Encoding::DELTA_LENGTH_BYTE_ARRAY
        ) {
            let content =
                content_after_levels(&page, levels).ok_or_else(|| damaged(implausible()))?;
            let bytes = held_bytes(content, encoding, page.num_values(), max).map_err(damaged)?;
            bytes_max = bytes_max.max(bytes);
        }
    }
    Ok(bytes_max)
}

/// A page of a column without lists, after the levels that say which values are null.
fn content_after_levels(page: &Page, levels: i16) -> Option<&[u8]> {
    match page {
        Page::DataPage { buf, .. } if levels == 0 => Some(buf),
        Page::DataPage {
            buf,
            def_level_encoding: Encoding::RLE,
            ..
        } => {
            let (&length, rest) = buf.split_first_chunk()?;
            rest.get(u32::from_le_bytes(length) as usize..)
        }
        Page::DataPageV2 {
            buf,
            def_levels_byte_len,
            rep_levels_byte_len,
            ..
        } => {
            let levels = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
            buf.get(usize::try_from(levels).ok()?..)
        }
        _ => None,
    }
}

/// The bytes held for a column of a row group, its largest page and its dictionary, and whether texts have separate
/// lengths.
fn bytes_of_chunk(
    input: &mut BufReader<&File>,
    column: &ColumnChunkMetaData,
) -> Result<(u64, bool)> {
    let start = column
        .dictionary_page_offset()
        .unwrap_or_else(|| column.data_page_offset());
    let start = u64::try_from(start).ok();
    let bytes = u64::try_from(column.compressed_size()).ok();
    let (Some(start), Some(mut left)) = (start, bytes) else {
        return Err(Error::corrupt(
            "the Parquet is damaged: an offset is negative",
        ));
    };
    input.seek(SeekFrom::Start(start)).map_err(damaged)?;
    let (mut page_bytes, mut dictionary_bytes, mut has_lengths) = (0, 0, false);
    while left > 0 {
        let mut reader = ThriftReader::new(input.by_ref().take(left));
        let header = PageHeader::read(&mut reader).map_err(damaged)?;
        left -= reader.bytes_read();
        left = left
            .checked_sub(header.compressed_bytes)
            .ok_or_else(|| damaged(implausible()))?;
        match header.kind {
            DICTIONARY_PAGE => {
                let held = header.bytes + header.values * DICTIONARY_VALUE_BYTES;
                dictionary_bytes = dictionary_bytes.max(held);
            }
            INDEX_PAGE => {}
            _ => {
                page_bytes = page_bytes.max(header.bytes);
                has_lengths |= LENGTH_ENCODINGS.contains(&header.encoding);
            }
        }
        check_content(input, column.compression(), &header).map_err(damaged)?;
    }
    Ok((page_bytes + dictionary_bytes, has_lengths))
}

/// Checks that the content of a page becomes as long as its header says, and goes to its end.
fn check_content(
    input: &mut BufReader<&File>,
    compression: Compression,
    header: &PageHeader,
) -> io::Result<()> {
    let mut content = input.by_ref().take(header.compressed_bytes);
    let bytes = header.bytes - header.level_bytes;
    match compression {
        _ if header.is_plain => {}
        Compression::UNCOMPRESSED => {}
        Compression::GZIP(_) => {
            skip(&mut content, header.level_bytes)?;
            check_length(MultiGzDecoder::new(&mut content), bytes)?;
        }
        Compression::ZSTD(_) => {
            skip(&mut content, header.level_bytes)?;
            check_length(zstd::stream::read::Decoder::new(&mut content)?, bytes)?;
        }
        // The other compressions are given a buffer of the length that the header says.
        _ if bytes / RATIO_MAX > header.compressed_bytes => return Err(implausible()),
        _ => {}
    }
    let rest = content.limit();
    input.seek_relative(rest as i64)
}

fn check_length(decompressed: impl Read, bytes: u64) -> io::Result<()> {
    let mut allowed = decompressed.take(bytes.saturating_add(1));
    // The reader decompresses nothing where nothing is expected.
    if bytes > 0 && io::copy(&mut allowed, &mut io::sink())? != bytes {
        let reason = "a page is not as long as its header says";
        return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    }
    Ok(())
}

fn skip(input: &mut impl Read, bytes: u64) -> io::Result<()> {
    io::copy(&mut input.take(bytes), &mut io::sink()).map(drop)
}

/// A size as the reader of Parquet takes it: of 31 bits.
fn unsigned(number: i64) -> io::Result<u64> {
    let size = i32::try_from(number)
        .ok()
        .and_then(|size| u64::try_from(size).ok());
    size.ok_or_else(implausible)
}

fn unreadable(error: ParquetError) -> Error {
    Error::corrupt(format!("the Parquet is damaged: {error}"))
}

fn damaged(error: io::Error) -> Error {
    Error::corrupt(format!("the Parquet is damaged: {error}"))
}

fn implausible() -> io::Error {
    let reason = "the header of a page is implausible";
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

impl PageHeader {
    fn read(reader: &mut ThriftReader<impl Read>) -> io::Result<PageHeader> {
        let (mut kind, mut encoding, mut is_plain) = (0, 0, false);
        let (mut bytes, mut compressed_bytes, mut values, mut levels) = (0, 0, 0, [0; 2]);
        reader.read_struct(&mut |path, number| match path {
            (1, 0) => kind = number,
            (2, 0) => bytes = number,
            (3, 0) => compressed_bytes = number,
            (7, 1) => values = number,
            (5, 2) | (8, 4) => encoding = number,
            (8, 5) => levels[0] = number,
            (8, 6) => levels[1] = number,
            (8, 7) => is_plain = number == 0,
            _ => {}
        })?;
        let header = PageHeader {
            kind,
            bytes: unsigned(bytes)?,
            compressed_bytes: unsigned(compressed_bytes)?,
            values: unsigned(values)?,
            encoding,
            level_bytes: unsigned(levels[0])? + unsigned(levels[1])?,
            is_plain,
        };
        // The reader reserves memory for each value of a dictionary, however short its page is.
        let is_plausible = header.values <= header.bytes
            && header.level_bytes <= header.bytes.min(header.compressed_bytes);
        if is_plausible {
            Ok(header)
        } else {
            Err(implausible())
        }
    }
}
