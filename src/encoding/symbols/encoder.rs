//! Compressing texts with a symbol table.

use super::trainer::Trainer;
use super::{SymbolSections, SymbolTable};

/// How many bytes of texts a table is made from. From 4 to 8 MiB compressed texts shrink by 5 %, from 8
/// to 32 MiB by 2 to 4 % at three to four times the time (a tenth of a second for 8).
pub(crate) const SAMPLE_BYTES: usize = 8 << 20;

/// How many bytes of a symbol it is found by: the first of these numbers that is at most its length.
pub(super) const PREFIX_BYTES: [usize; 3] = [8, 4, 2];

/// Replaces texts by the codes of the longest symbols that they go on with.
#[derive(Debug)]
pub(crate) struct Encoder {
    /// By length of the prefix, as [`PREFIX_BYTES`].
    by_prefix: [PrefixTable; PREFIX_BYTES.len()],
    /// The symbols, without what comes after the last.
    symbols: SymbolSections,
}

impl Encoder {
    /// Makes a table for texts such as those of a sample: one pass over it, in which two neighbouring
    /// symbols become one as soon as they have been met often enough.
    ///
    /// Cost: 10 to 16 nanoseconds a byte. What is made depends on the order of the sample: of a source
    /// that is sorted, take texts from all over it.
    pub(crate) fn train<'t>(sample: impl Iterator<Item = &'t [u8]>) -> Encoder {
        let mut trainer = Trainer::new();
        for text in sample {
            trainer.learn(text);
            if trainer.is_full() {
                break;
            }
        }
        Encoder::of_symbols(trainer.into_symbols())
    }

    /// The encoder of a table that was made before and is not empty.
    ///
    /// Cost: a few milliseconds.
    pub(crate) fn of_table(table: SymbolTable<'_>) -> Encoder {
        let mut symbols = SymbolSections::empty();
        table.symbols().for_each(|symbol| symbols.push(symbol));
        Encoder::of_symbols(symbols)
    }

    fn of_symbols(symbols: SymbolSections) -> Encoder {
        let mut by_prefix = PREFIX_BYTES.map(|_| Vec::new());
        for (code, span) in (0..=u16::MAX).zip(symbols.starts.windows(2)) {
            let symbol = &symbols.bytes[span[0] as usize..span[1] as usize];
            let fitting = |&bytes: &usize| bytes <= symbol.len();
            if let Some(index) = PREFIX_BYTES.iter().position(fitting) {
                let (prefix, tail) = symbol.split_at(PREFIX_BYTES[index]);
                by_prefix[index].push((word(prefix), Candidate::new(tail, code)));
            }
        }
        Encoder {
            by_prefix: by_prefix.map(PrefixTable::new),
            symbols,
        }
    }

    /// The symbols that the codes stand for.
    pub(crate) fn symbols(&self) -> SymbolSections {
        self.symbols.finished()
    }

    /// Appends the codes of a text.
    ///
    /// Cost: 40 to 55 nanoseconds a code, 5 to 7 nanoseconds a byte, on a busy machine (docs/benchmarks.md).
    pub(crate) fn encode(&self, text: &[u8], output: &mut Vec<u8>) {
        let mut rest = text;
        while !rest.is_empty() {
            let (code, length) = self.longest(rest);
            output.extend_from_slice(&code.to_le_bytes());
            rest = &rest[length..];
        }
    }

    /// The code and the length of the longest symbol that a text starts with, which is not empty.
    #[inline]
    fn longest(&self, text: &[u8]) -> (u16, usize) {
        let [first, second] = two_words(text);
        for (bytes, table) in PREFIX_BYTES.into_iter().zip(&self.by_prefix) {
            let Some(tail_bytes_max) = text.len().checked_sub(bytes) else {
                continue;
            };
            let tail = if bytes == 8 {
                second
            } else {
                first >> (8 * bytes)
            };
            if let Some(found) = table.find(first_bytes(first, bytes), tail, tail_bytes_max) {
                return (found.code, bytes + found.tail_bytes as usize);
            }
        }
        // The code of a single byte is the byte.
        (text[0].into(), 1)
    }
}

/// The symbols of one length of prefix: an open-addressing hash table by prefix, whose slots hold the longest
/// symbol of each, behind a filter that most prefixes without symbols do not pass.
#[derive(Debug)]
struct PrefixTable {
    /// A power of two, at most half of them used.
    slots: Box<[Slot]>,
    /// Bit `n` is set where a prefix has a hash that ends in `n`.
    filter: Box<[u64; FILTER_WORDS]>,
    /// The other symbols of the slots, those of one next to each other, longest first.
    others: Vec<Candidate>,
}

/// 32 KiB: it stays in the cache that is the fastest but one, and of 20,000 prefixes 7 % pass that have no symbol.
/// With four times as many bits a code takes as long.
const FILTER_WORDS: usize = 1 << 12;

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    prefix: u64,
    longest: Candidate,
    /// The first of its other symbols.
    others: u32,
}

/// A symbol, without its prefix.
#[derive(Clone, Copy, Debug, Default)]
struct Candidate {
    /// The bytes after the prefix, zeros after them.
    tail: u64,
    code: u16,
    tail_bytes: u8,
    /// What comes after it in a list of symbols with one prefix.
    next: Next,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Next {
    /// There is no symbol here at all.
    #[default]
    Nothing,
    End,
    Shorter,
}

impl Candidate {
    fn new(tail: &[u8], code: u16) -> Candidate {
        Candidate {
            tail: word(tail),
            code,
            tail_bytes: tail.len() as u8,
            next: Next::End,
        }
    }

    /// Whether it is what a text goes on with that has so many more bytes at most.
    #[inline]
    fn fits(&self, tail: u64, tail_bytes_max: usize) -> bool {
        let tail_bytes = self.tail_bytes as usize;
        first_bytes(tail, tail_bytes) == self.tail && tail_bytes <= tail_bytes_max
    }
}

impl PrefixTable {
    fn new(mut symbols: Vec<(u64, Candidate)>) -> PrefixTable {
        symbols.sort_unstable_by_key(|&(prefix, candidate)| {
            (prefix, u8::MAX - candidate.tail_bytes, candidate.code)
        });
        let prefixes = symbols.chunk_by(|a, b| a.0 == b.0).count();
        let mut table = PrefixTable {
            slots: vec![Slot::default(); (2 * prefixes).next_power_of_two()].into(),
            filter: Box::new([0; FILTER_WORDS]),
            others: Vec::with_capacity(symbols.len() - prefixes),
        };
        for of_prefix in symbols.chunk_by(|a, b| a.0 == b.0) {
            table.insert(of_prefix);
        }
        table
    }

    /// Inserts the symbols of a prefix.
    fn insert(&mut self, of_prefix: &[(u64, Candidate)]) {
        let last = of_prefix.len() - 1;
        let listed = of_prefix
            .iter()
            .enumerate()
            .map(|(index, &(_, candidate))| {
                let next = if index == last {
                    Next::End
                } else {
                    Next::Shorter
                };
                Candidate { next, ..candidate }
            });
        let others = self.others.len();
        self.others.extend(listed.clone().skip(1));
        let (prefix, longest) = (of_prefix[0].0, listed.clone().next().unwrap_or_default());
        let hash = hash(prefix);
        self.filter[filter_word(hash)] |= 1 << (hash % 64);
        let mut index = self.first_slot(hash);
        while self.slots[index].longest.next != Next::Nothing {
            index = self.slot_after(index);
        }
        self.slots[index] = Slot {
            prefix,
            longest,
            others: others as u32,
        };
    }

    #[inline]
    fn first_slot(&self, hash: u64) -> usize {
        (hash >> 32) as usize & (self.slots.len() - 1)
    }

    #[inline]
    fn slot_after(&self, index: usize) -> usize {
        (index + 1) & (self.slots.len() - 1)
    }

    /// The longest symbol with a prefix that is what a text goes on with.
    #[inline]
    fn find(&self, prefix: u64, tail: u64, tail_bytes_max: usize) -> Option<&Candidate> {
        let hash = hash(prefix);
        if self.filter[filter_word(hash)] >> (hash % 64) & 1 == 0 {
            return None;
        }
        let mut index = self.first_slot(hash);
        // No slot from the first one up to this one is empty or has the prefix.
        let slot = loop {
            let slot = &self.slots[index];
            if slot.longest.next == Next::Nothing {
                return None;
            }
            if slot.prefix == prefix {
                break slot;
            }
            index = self.slot_after(index);
        };
        let mut candidate = &slot.longest;
        let mut others = self.others[slot.others as usize..].iter();
        // Those before the candidate do not fit.
        while !candidate.fits(tail, tail_bytes_max) {
            if candidate.next != Next::Shorter {
                return None;
            }
            candidate = others.next()?;
        }
        Some(candidate)
    }
}

#[inline]
fn filter_word(hash: u64) -> usize {
    (hash / 64) as usize % FILTER_WORDS
}

/// Mixes all bits of a prefix: its low half chooses a bit of the filter, the high one a slot.
#[inline]
fn hash(prefix: u64) -> u64 {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let mixed = prefix.wrapping_mul(ODD);
    (mixed ^ (mixed >> 32)).wrapping_mul(ODD)
}

/// The first 16 bytes of a text as two numbers, zeros after its end.
#[inline]
fn two_words(text: &[u8]) -> [u64; 2] {
    let both = match text.first_chunk::<16>() {
        Some(bytes) => u128::from_le_bytes(*bytes),
        None => {
            let mut bytes = [0; 16];
            bytes[..text.len()].copy_from_slice(text);
            u128::from_le_bytes(bytes)
        }
    };
    [both as u64, (both >> u64::BITS) as u64]
}

/// The first eight bytes of a text as a number, zeros after its end.
#[inline]
pub(super) fn word(text: &[u8]) -> u64 {
    if let Some(bytes) = text.first_chunk::<8>() {
        return u64::from_le_bytes(*bytes);
    }
    let mut bytes = [0; 8];
    bytes[..text.len()].copy_from_slice(text);
    u64::from_le_bytes(bytes)
}

/// Keeps some of the eight bytes of a word, the first ones.
#[inline]
pub(super) fn first_bytes(word: u64, bytes: usize) -> u64 {
    let shift = u64::BITS - 8 * bytes as u32;
    word.checked_shl(shift).unwrap_or(0) >> (shift % u64::BITS)
}
