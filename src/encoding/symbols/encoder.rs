//! Making symbol tables and compressing texts with them.

use hashbrown::HashMap;

use super::{BYTE_SYMBOLS, SYMBOL_BYTES_MAX, SYMBOLS_MAX, SymbolSections, SymbolTable};

/// How many bytes of texts a table is made from. From 4 to 8 MiB compressed texts shrink by 5 %, from 8
/// to 32 MiB by 2 to 4 % at three to four times the time (a tenth of a second for 8).
pub(crate) const SAMPLE_BYTES: usize = 8 << 20;

/// How often two symbols stand next to each other in the sample until they are joined. With this number the
/// table of a real corpus is just full when the sample ends; with twice as many, compressed texts have 6
/// to 10 % more bytes.
const JOIN_COUNT: u32 = 4;

/// How many bytes of a symbol it is found by: the first of these numbers that is at most its length.
const PREFIX_BYTES: [usize; 3] = [8, 4, 2];

/// A symbol of two bytes or more, by its prefix.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    /// The bytes after the prefix, zeros after them.
    tail: u64,
    tail_bytes: u8,
    code: u16,
}

/// Replaces texts by the codes of the longest symbols that they go on with.
#[derive(Debug)]
pub(crate) struct Encoder {
    /// By length of the prefix, as [`PREFIX_BYTES`], and by prefix: the symbols with it, longest first.
    by_prefix: [HashMap<u64, Vec<Candidate>>; PREFIX_BYTES.len()],
    /// The symbols so far, without what comes after the last.
    symbols: SymbolSections,
}

impl Encoder {
    /// Makes a table for texts such as those of a sample: one pass over it, in which two neighbouring
    /// symbols become one as soon as they have been met often enough.
    ///
    /// Cost: 10 to 16 nanoseconds a byte. What is made depends on the order of the sample: of a source
    /// that is sorted, take texts from all over it.
    pub(crate) fn train<'t>(sample: impl Iterator<Item = &'t [u8]>) -> Encoder {
        let mut encoder = Encoder::of_bytes();
        let mut counts: HashMap<(u16, u16), u32> = HashMap::new();
        for text in sample {
            encoder.learn(text, &mut counts);
            if encoder.symbols.len() == SYMBOLS_MAX {
                break;
            }
        }
        encoder
    }

    /// The encoder of a table that was made before and is not empty.
    ///
    /// Cost: a few milliseconds.
    pub(crate) fn of_table(table: SymbolTable<'_>) -> Encoder {
        let mut encoder = Encoder::of_bytes();
        for symbol in table.symbols().skip(BYTE_SYMBOLS) {
            encoder.add(symbol);
        }
        encoder
    }

    /// The symbols that the codes stand for.
    pub(crate) fn symbols(&self) -> SymbolSections {
        self.symbols.finished()
    }

    /// Appends the codes of a text.
    ///
    /// Cost: 40 to 60 nanoseconds a code, 6 to 10 nanoseconds a byte.
    pub(crate) fn encode(&self, text: &[u8], output: &mut Vec<u8>) {
        let mut rest = text;
        while !rest.is_empty() {
            let (code, length) = self.longest(rest);
            output.extend_from_slice(&code.to_le_bytes());
            rest = &rest[length..];
        }
    }

    /// An encoder whose symbols are the single bytes.
    fn of_bytes() -> Encoder {
        let mut encoder = Encoder {
            by_prefix: Default::default(),
            symbols: SymbolSections::empty(),
        };
        for byte in 0..=u8::MAX {
            encoder.add(&[byte]);
        }
        encoder
    }

    fn learn(&mut self, text: &[u8], counts: &mut HashMap<(u16, u16), u32>) {
        let mut last: Option<(u16, usize)> = None;
        let mut at = 0;
        while at < text.len() && self.symbols.len() < SYMBOLS_MAX {
            let (mut code, mut length) = self.longest(&text[at..]);
            at += length;
            if let Some((last, last_length)) = last
                && last_length + length <= SYMBOL_BYTES_MAX
            {
                let count = counts.entry((last, code)).or_insert(0);
                *count += 1;
                if *count >= JOIN_COUNT {
                    counts.remove(&(last, code));
                    length += last_length;
                    code = self.add(&text[at - length..at]);
                }
            }
            last = Some((code, length));
        }
    }

    /// Adds a symbol; returns its code.
    fn add(&mut self, symbol: &[u8]) -> u16 {
        let code = self.symbols.len() as u16;
        self.symbols.push(symbol);
        let fitting = |&bytes: &usize| bytes <= symbol.len();
        if let Some(index) = PREFIX_BYTES.iter().position(fitting) {
            let (prefix, tail) = symbol.split_at(PREFIX_BYTES[index]);
            let candidates = self.by_prefix[index].entry(word(prefix)).or_default();
            let place = candidates.partition_point(|other| other.tail_bytes as usize > tail.len());
            let candidate = Candidate {
                tail: word(tail),
                tail_bytes: tail.len() as u8,
                code,
            };
            candidates.insert(place, candidate);
        }
        code
    }

    /// The code and the length of the longest symbol that a text starts with, which is not empty.
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

/// The first eight bytes of a text as a number, zeros after its end.
#[inline]
fn word(text: &[u8]) -> u64 {
    if let Some(bytes) = text.first_chunk::<8>() {
        return u64::from_le_bytes(*bytes);
    }
    let mut bytes = [0; 8];
    bytes[..text.len()].copy_from_slice(text);
    u64::from_le_bytes(bytes)
}

/// Keeps some of the eight bytes of a word, the first ones.
#[inline]
fn first_bytes(word: u64, bytes: usize) -> u64 {
    let shift = u64::BITS - 8 * bytes as u32;
    word.checked_shl(shift).unwrap_or(0) >> (shift % u64::BITS)
}
