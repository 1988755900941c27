//! Trains symbol tables.

use hashbrown::HashMap;

use super::encoder::{PREFIX_BYTES, first_bytes, word};
use super::{BYTE_SYMBOLS, SYMBOL_BYTES_MAX, SYMBOLS_MAX, SymbolSections};

/// Occurrences of a pair of symbols before it is merged. With this number, the table of a real corpus is just
/// full at the end of the sample; with twice as many, compressed texts are 6 to 10 % longer.
const JOIN_COUNT: u32 = 4;

/// A symbol of at least two bytes, without its prefix.
#[derive(Clone, Copy, Debug)]
struct TrainedSymbol {
    /// The bytes after the prefix, padded with zeros.
    tail: u64,
    tail_bytes: u8,
    code: u16,
}

/// A table under construction.
#[derive(Debug)]
pub(super) struct Trainer {
    /// By prefix length, in the order of [`PREFIX_BYTES`], and by prefix: the symbols, longest first.
    by_prefix: [HashMap<u64, Vec<TrainedSymbol>>; PREFIX_BYTES.len()],
    symbols: SymbolSections,
    /// The number of occurrences of unmerged pairs.
    counts: HashMap<(u16, u16), u32>,
}

impl Trainer {
    /// Creates a table of single bytes.
    pub(super) fn new() -> Trainer {
        let mut trainer = Trainer {
            by_prefix: Default::default(),
            symbols: SymbolSections::empty(),
            counts: HashMap::new(),
        };
        for byte in 0..=u8::MAX {
            trainer.add(&[byte]);
        }
        debug_assert_eq!(trainer.symbols.len(), BYTE_SYMBOLS);
        trainer
    }

    /// Whether the table is full.
    pub(super) fn is_full(&self) -> bool {
        self.symbols.len() == SYMBOLS_MAX
    }

    /// The symbols without padding.
    pub(super) fn into_symbols(self) -> SymbolSections {
        self.symbols
    }

    /// Merges frequent pairs of a text, until its end or until the table is full.
    pub(super) fn learn(&mut self, text: &[u8]) {
        let mut last: Option<(u16, usize)> = None;
        let mut at = 0;
        // Invariant: `last` is the symbol that ends at `at`, if there is one.
        while at < text.len() && !self.is_full() {
            let (mut code, mut length) = self.longest(&text[at..]);
            at += length;
            if let Some((last, last_length)) = last
                && last_length + length <= SYMBOL_BYTES_MAX
            {
                let count = self.counts.entry((last, code)).or_insert(0);
                *count += 1;
                if *count >= JOIN_COUNT {
                    // From now on the pair is read as one symbol, so it cannot be counted again.
                    self.counts.remove(&(last, code));
                    length += last_length;
                    code = self.add(&text[at - length..at]);
                }
            }
            last = Some((code, length));
        }
    }

    /// Adds a symbol. Returns its code.
    fn add(&mut self, symbol: &[u8]) -> u16 {
        // The table is not full, so the code fits into 16 bits.
        let code = self.symbols.len() as u16;
        self.symbols.push(symbol);
        let fitting = |&bytes: &usize| bytes <= symbol.len();
        if let Some(index) = PREFIX_BYTES.iter().position(fitting) {
            let (prefix, tail) = symbol.split_at(PREFIX_BYTES[index]);
            let candidates = self.by_prefix[index].entry(word(prefix)).or_default();
            let place = candidates.partition_point(|other| other.tail_bytes as usize > tail.len());
            let candidate = TrainedSymbol {
                tail: word(tail),
                tail_bytes: tail.len() as u8,
                code,
            };
            candidates.insert(place, candidate);
        }
        code
    }

    /// The code and length of the longest symbol that is a prefix of a non-empty text.
    #[inline]
    fn longest(&self, text: &[u8]) -> (u16, usize) {
        for (bytes, by_prefix) in PREFIX_BYTES.into_iter().zip(&self.by_prefix) {
            let Some((prefix, rest)) = text.split_at_checked(bytes) else {
                continue;
            };
            let Some(candidates) = by_prefix.get(&word(prefix)) else {
                continue;
            };
            let rest_word = word(rest);
            let found = candidates.iter().find(|candidate| {
                let tail_bytes = candidate.tail_bytes as usize;
                tail_bytes <= rest.len() && first_bytes(rest_word, tail_bytes) == candidate.tail
            });
            if let Some(found) = found {
                return (found.code, bytes + found.tail_bytes as usize);
            }
        }
        // The code of a single byte is the byte.
        (text[0].into(), 1)
    }
}
