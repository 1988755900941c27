//! Bounds what texts with separate lengths become: a short page can say that each repeats a long one before it.

use std::collections::VecDeque;
use std::io;

use parquet::basic::Encoding;

/// How many values of a column are decoded at once.
pub(super) const DECODED_AT_ONCE: usize = 1024;

/// Memory for the length of a text.
const LENGTH_BYTES: u64 = 4;

/// The bytes that are held for the lengths and texts of a page beside the page itself; more than `max` if the lengths
/// alone take more. `content` is the page after its levels, `values` the number of its rows.
///
/// # Errors
/// The lengths are damaged, or they are not those of the page.
pub(super) fn held_bytes(
    content: &[u8],
    encoding: Encoding,
    values: u32,
    max: u64,
) -> io::Result<u64> {
    let shares_beginnings = encoding == Encoding::DELTA_BYTE_ARRAY;
    let first = Lengths::new(content, values)?;
    let lists = 1 + u64::from(shares_beginnings);
    let length_bytes = lists * LENGTH_BYTES * u64::from(first.left);
    if length_bytes > max {
        return Ok(length_bytes);
    }
    if !shares_beginnings {
        // The texts are parts of the page.
        return check_texts(first).map(|()| length_bytes);
    }
    let mut beginnings = first.clone();
    let after_beginnings = first.end()?;
    let mut ends = Lengths::new(after_beginnings, values)?;
    if ends.left != beginnings.left {
        return Err(damaged());
    }
    check_texts(ends.clone())?;
    let mut last = 0;
    let mut held: VecDeque<u64> = VecDeque::with_capacity(DECODED_AT_ONCE);
    let (mut held_bytes, mut held_bytes_max) = (0, 0);
    while let (Some(beginning), Some(end)) = (beginnings.next()?, ends.next()?) {
        // Invariant: `held` are the lengths of the last texts, of as many as are decoded at once, and `last` is that of
        // the one before.
        if beginning > last {
            return Err(damaged());
        }
        last = beginning + end;
        if held.len() == DECODED_AT_ONCE {
            held_bytes -= held.pop_front().unwrap_or(0);
        }
        held.push_back(last);
        held_bytes += last;
        held_bytes_max = held_bytes_max.max(held_bytes);
    }
    // Some of those that are decoded at once may be of the page before.
    Ok(length_bytes + 2 * held_bytes_max)
}

/// Checks that the texts of these lengths are in the page, after the lengths.
fn check_texts(mut lengths: Lengths<'_>) -> io::Result<()> {
    let mut total = 0;
    let texts = lengths.clone().end()?;
    while let Some(length) = lengths.next()? {
        total += length;
        if total > texts.len() as u64 {
            return Err(damaged());
        }
    }
    Ok(())
}

/// Lengths in the encoding `DELTA_BINARY_PACKED`: the first, and blocks of differences. A block has the least of its
/// differences, and miniblocks of what each has more, in as many bits as its miniblock needs.
#[derive(Clone, Debug)]
struct Lengths<'a> {
    /// What follows the part that is being read.
    rest: &'a [u8],
    miniblocks: usize,
    values_per_miniblock: usize,
    /// How many lengths are left.
    left: u32,
    last: i32,
    is_first: bool,
    min_delta: i32,
    /// The widths of the miniblocks of the block that are left.
    widths: &'a [u8],
    /// The miniblock that is being read: its width, its bits, and how many of its values have been read.
    miniblock: (usize, &'a [u8], usize),
}

impl<'a> Lengths<'a> {
    /// Reads the header of the lengths of at most as many texts.
    fn new(content: &'a [u8], values: u32) -> io::Result<Lengths<'a>> {
        let mut rest = content;
        let mut size = || usize::try_from(varint(&mut rest)?).map_err(|_| damaged());
        let (block, miniblocks, count) = (size()?, size()?, size()?);
        let first = zigzag(&mut rest)?;
        let values_per_miniblock = block.checked_div(miniblocks).unwrap_or(0);
        let left = u32::try_from(count).map_err(|_| damaged())?;
        let is_whole = values_per_miniblock > 0
            && values_per_miniblock.is_multiple_of(8)
            && block.is_multiple_of(miniblocks);
        if !is_whole || left > values {
            return Err(damaged());
        }
        Ok(Lengths {
            rest,
            miniblocks,
            values_per_miniblock,
            left,
            last: first,
            is_first: true,
            min_delta: 0,
            widths: &[],
            miniblock: (0, &[], values_per_miniblock),
        })
    }

    fn next(&mut self) -> io::Result<Option<u64>> {
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(None);
        };
        self.left = left;
        if !std::mem::take(&mut self.is_first) {
            if self.miniblock.2 == self.values_per_miniblock {
                self.next_miniblock()?;
            }
            let (width, bits, read) = &mut self.miniblock;
            let delta = number_at(bits, *width, *read) as i32;
            *read += 1;
            // As the decoder adds them.
            self.last = (self.last.wrapping_add(self.min_delta)).wrapping_add(delta);
        }
        u64::try_from(self.last).map(Some).map_err(|_| damaged())
    }

    fn next_miniblock(&mut self) -> io::Result<()> {
        if self.widths.is_empty() {
            self.min_delta = zigzag(&mut self.rest)?;
            self.widths = take(&mut self.rest, self.miniblocks)?;
        }
        let (&width, others) = self.widths.split_first().ok_or_else(damaged)?;
        let width = usize::from(width);
        if width > i32::BITS as usize {
            return Err(damaged());
        }
        self.widths = others;
        let bytes = (self.values_per_miniblock / 8).checked_mul(width);
        let bits = take(&mut self.rest, bytes.ok_or_else(damaged)?)?;
        self.miniblock = (width, bits, 0);
        Ok(())
    }

    /// What follows the lengths. Miniblocks without values have no bytes.
    fn end(mut self) -> io::Result<&'a [u8]> {
        while self.next()?.is_some() {}
        Ok(self.rest)
    }
}

/// The number with this index among numbers of a width.
fn number_at(bits: &[u8], width: usize, index: usize) -> u32 {
    let start = width * index;
    let bytes = bits.get(start / 8..).unwrap_or_default();
    let bytes = bytes.iter().take(size_of::<u64>()).rev();
    let word = bytes.fold(0_u64, |word, &byte| word << 8 | u64::from(byte));
    // At most 7 bits are before the number, and it has at most 32.
    (word >> (start % 8) & ((1 << width) - 1)) as u32
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> io::Result<&'a [u8]> {
    let (taken, others) = rest.split_at_checked(count).ok_or_else(damaged)?;
    *rest = others;
    Ok(taken)
}

fn varint(rest: &mut &[u8]) -> io::Result<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = take(rest, 1)?[0];
        number |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(damaged())
}

/// A signed number of 32 bits, of which the lowest bit is the sign.
fn zigzag(rest: &mut &[u8]) -> io::Result<i32> {
    let bits = varint(rest)?;
    i32::try_from((bits >> 1) as i64 ^ -((bits & 1) as i64)).map_err(|_| damaged())
}

fn damaged() -> io::Error {
    let reason = "the lengths of its texts are not those of the page";
    io::Error::new(io::ErrorKind::InvalidData, reason)
}
