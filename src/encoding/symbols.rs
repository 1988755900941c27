//! Symbol tables: texts as 16-bit codes of the strings that recur in them.
//!
//! This is OnPair (Gargiulo and Venturini, *OnPair: short strings compression for fast random access*,
//! arXiv 2508.02280): a table of up to 65,536 symbols of up to 16 bytes, made from a sample by joining
//! neighbours that stand together often. Each text is compressed for itself, so that a record is read
//! without those around it, and reading is a look-up and a copy of 16 bytes a code. Blocks of records
//! under a general compressor are smaller, but a page of 50 scattered records then takes 30 to 100 times
//! as long.

use crate::{Error, Result};

mod encoder;
mod trainer;

pub(crate) use encoder::{Encoder, SAMPLE_BYTES};

/// The most bytes of a symbol: one register, so that copying it takes one load and one store.
pub(crate) const SYMBOL_BYTES_MAX: usize = 16;

/// The most symbols of a table: a code has 16 bits.
const SYMBOLS_MAX: usize = 1 << 16;

/// The symbols that every table starts with, each a single byte, so that every text has codes.
const BYTE_SYMBOLS: usize = 1 << 8;

/// A view of the symbols of a segment; none where its texts are not compressed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SymbolTable<'a> {
    /// Where each symbol starts, and where the last one ends.
    pub(crate) starts: &'a [u32],
    /// The symbols one after the other, and 16 bytes more, so that each can be copied as 16 bytes.
    pub(crate) bytes: &'a [u8],
}

impl<'a> SymbolTable<'a> {
    /// Whether there is no symbol.
    pub(crate) fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The symbols in the order of their codes.
    fn symbols(&self) -> impl Iterator<Item = &'a [u8]> {
        let SymbolTable { starts, bytes } = *self;
        let of_span = |span: &[u32]| &bytes[span[0] as usize..span[1] as usize];
        starts.windows(2).map(of_span)
    }

    /// Checks that there are no symbols or as many as there may be, that each has 1 to 16 bytes, and that
    /// the single bytes are the first.
    pub(crate) fn validate(&self) -> Result<()> {
        let is_table = || {
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

    /// Appends the text that codes stand for, which has `length` bytes. `None` where it has not, or where
    /// a code has no symbol.
    ///
    /// Cost: some four nanoseconds a code while the table is in the cache. Allocates no more than eight times
    /// the bytes of the codes.
    pub(crate) fn decode(&self, codes: &[u8], length: usize, output: &mut Vec<u8>) -> Option<()> {
        let (codes, odd) = codes.as_chunks::<2>();
        if !odd.is_empty() || length > codes.len() * SYMBOL_BYTES_MAX {
            return None;
        }
        let start = output.len();
        output.resize(start + length + SYMBOL_BYTES_MAX, 0);
        let text = &mut output[start..];
        let mut end = 0;
        for &code in codes {
            let code = u16::from_le_bytes(code) as usize;
            let span = self.starts.get(code..)?.first_chunk::<2>()?;
            let symbol = self.bytes.get(span[0] as usize..)?.first_chunk()?;
            // What is copied after the symbol is written over by the next one.
            *text.get_mut(end..)?.first_chunk_mut::<SYMBOL_BYTES_MAX>()? = *symbol;
            end += (span[1] - span[0]) as usize;
        }
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
    /// The sections of a table that is begun.
    fn empty() -> SymbolSections {
        SymbolSections {
            starts: vec![0],
            bytes: Vec::new(),
        }
    }

    /// The number of symbols of a table that is begun.
    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Adds a symbol.
    fn push(&mut self, symbol: &[u8]) {
        self.bytes.extend_from_slice(symbol);
        self.starts.push(self.bytes.len() as u32);
    }

    /// The sections with what comes after the last symbol.
    fn finished(&self) -> SymbolSections {
        let mut finished = self.clone();
        finished.bytes.extend_from_slice(&[0; SYMBOL_BYTES_MAX]);
        finished
    }

    /// The sections where texts are not compressed.
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
