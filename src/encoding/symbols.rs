//! Symbol tables: dictionary compression of short texts as 16-bit codes.
//!
//! This is OnPair (Gargiulo and Venturini, *OnPair: short strings compression for fast random access*, arXiv
//! 2508.02280): a table of up to 65,536 symbols of up to 16 bytes, trained on a sample by merging frequent
//! neighbours. Each text is compressed on its own, so a record is read without its neighbours, and decoding is a
//! look-up and a 16-byte copy per code. Blocks of records under a general compressor are smaller, but a page of
//! 50 scattered records would take 30 to 100 times as long.

use crate::{Error, Result};

mod encoder;
mod trainer;

pub(crate) use encoder::{Encoder, SAMPLE_BYTES};

/// Maximum bytes of a symbol: one register, so that copying takes one load and one store.
pub(crate) const SYMBOL_BYTES_MAX: usize = 16;

/// Maximum number of symbols: a code has 16 bits.
const SYMBOLS_MAX: usize = 1 << 16;

/// The single-byte symbols that every table starts with, so that every text can be encoded.
const BYTE_SYMBOLS: usize = 1 << 8;

/// A view of the symbols of a segment; empty if its texts are not compressed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SymbolTable<'a> {
    /// The start of each symbol, and the end of the last.
    pub(crate) starts: &'a [u32],
    /// The concatenated symbols, plus 16 bytes of padding, so that each can be copied as 16 bytes.
    pub(crate) bytes: &'a [u8],
}

impl<'a> SymbolTable<'a> {
    /// Whether there are no symbols.
    pub(crate) fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The symbols in the order of their codes.
    fn symbols(&self) -> impl Iterator<Item = &'a [u8]> {
        let SymbolTable { starts, bytes } = *self;
        let of_span = |span: &[u32]| &bytes[span[0] as usize..span[1] as usize];
        starts.windows(2).map(of_span)
    }

    /// Checks the number and lengths of symbols, and that the single bytes come first.
    pub(crate) fn validate(&self) -> Result<()> {
        let is_table = || {
            // Called only for a table that is not empty, so this does not underflow.
            let symbols = self.starts.len() - 1;
            let are_short = self.starts.windows(2).all(|span| {
                let length = span[1].checked_sub(span[0]);
                length.is_some_and(|length| (1..=SYMBOL_BYTES_MAX as u32).contains(&length))
            });
            let ends = self
                .starts
                .last()
                .map(|&end| end as usize + SYMBOL_BYTES_MAX);
            (BYTE_SYMBOLS..=SYMBOLS_MAX).contains(&symbols)
                && self.starts[0] == 0
                && are_short
                && ends == Some(self.bytes.len())
                && self
                    .symbols()
                    .zip(0..=u8::MAX)
                    .all(|(symbol, byte)| symbol == [byte])
        };
        let is_none = self.is_empty() && self.bytes.is_empty();
        if is_none || (!self.is_empty() && is_table()) {
            Ok(())
        } else {
            Err(Error::corrupt("the symbols of the records are malformed"))
        }
    }

    /// Appends the decoded text. `None` if it does not have `length` bytes, or a code has no symbol.
    ///
    /// Cost: about four nanoseconds per code while the table is cached. Allocates at most eight times the bytes of
    /// the codes.
    pub(crate) fn decode(&self, codes: &[u8], length: usize, output: &mut Vec<u8>) -> Option<()> {
        let (codes, odd) = codes.as_chunks::<2>();
        // A code stands for at most 16 bytes, which bounds the allocation below.
        if !odd.is_empty() || length > codes.len() * SYMBOL_BYTES_MAX {
            return None;
        }
        let start = output.len();
        output.resize(start + length + SYMBOL_BYTES_MAX, 0);
        let text = &mut output[start..];
        let last_start = self.bytes.len().checked_sub(SYMBOL_BYTES_MAX)?;
        let mut end = 0;
        for &code in codes {
            // Invariant: the first `end` bytes of `text` are decoded.
            let code = u16::from_le_bytes(code) as usize;
            let span = self.starts.get(code..code + 2)?;
            let from = span[0] as usize;
            if from > last_start || end > length {
                return None;
            }
            // The next symbol overwrites the surplus bytes.
            text[end..end + SYMBOL_BYTES_MAX]
                .copy_from_slice(&self.bytes[from..from + SYMBOL_BYTES_MAX]);
            end += (span[1] - span[0]) as usize;
        }
        // Drops the bytes that the last symbol may have written after the text.
        output.truncate(start + length);
        (end == length).then_some(())
    }
}

/// The two sections of a symbol table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SymbolSections {
    pub(crate) starts: Vec<u32>,
    pub(crate) bytes: Vec<u8>,
}

impl SymbolSections {
    /// The sections of an unfinished table.
    fn empty() -> SymbolSections {
        SymbolSections {
            starts: vec![0],
            bytes: Vec::new(),
        }
    }

    /// The number of symbols of an unfinished table.
    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Adds a symbol.
    fn push(&mut self, symbol: &[u8]) {
        self.bytes.extend_from_slice(symbol);
        // At most 65,536 symbols of 16 bytes each, so the end fits.
        self.starts.push(self.bytes.len() as u32);
    }

    /// The sections with padding.
    fn finished(&self) -> SymbolSections {
        let mut finished = self.clone();
        finished.bytes.extend_from_slice(&[0; SYMBOL_BYTES_MAX]);
        finished
    }

    /// The sections if texts are not compressed.
    pub(crate) fn none() -> SymbolSections {
        SymbolSections {
            starts: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// A view of them.
    #[cfg(test)]
    pub(crate) fn table(&self) -> SymbolTable<'_> {
        SymbolTable {
            starts: &self.starts,
            bytes: &self.bytes,
        }
    }
}

#[cfg(test)]
mod tests;
