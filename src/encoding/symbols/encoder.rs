//! Compresses texts with a symbol table.

use super::trainer::Trainer;
use super::{SymbolSections, SymbolTable};

/// Bytes of texts in a training sample. From 4 to 8 MiB, compressed texts shrink by 5 %; from 8 to 32 MiB by 2 to
/// 4 %, at three to four times the training time (a tenth of a second for 8 MiB).
pub(crate) const SAMPLE_BYTES: usize = 8 << 20;

/// Prefix lengths for look-ups: a symbol is found by the first of these that is at most its length.
pub(super) const PREFIX_BYTES: [usize; 3] = [8, 4, 2];

/// Encodes texts greedily: each code is the longest symbol that matches.
#[derive(Debug)]
pub(crate) struct Encoder {
    /// By prefix length, in the order of [`PREFIX_BYTES`].
    by_prefix: [PrefixTable; PREFIX_BYTES.len()],
    /// The symbols without padding.
    symbols: SymbolSections,
}

impl Encoder {
    /// Trains a table on a sample in one pass: two neighbouring symbols are merged when they have occurred together
    /// often enough.
    ///
    /// Cost: 10 to 16 nanoseconds per byte. The table depends on the order of the sample: sample a sorted source
    /// evenly.
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

    /// Creates an encoder from an existing table, which must not be empty.
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

    /// The symbols of the table.
    pub(crate) fn symbols(&self) -> SymbolSections {
        self.symbols.finished()
    }

    /// Appends the codes of a text.
    ///
    /// Cost: 40 to 55 nanoseconds per code, 5 to 7 nanoseconds per byte (benches/log.md).
    pub(crate) fn encode(&self, text: &[u8], output: &mut Vec<u8>) {
        let mut rest = text;
        // Ends because every symbol has at least one byte.
        while !rest.is_empty() {
            let (code, length) = self.longest(rest);
            output.extend_from_slice(&code.to_le_bytes());
            rest = &rest[length..];
        }
    }

    /// The code and length of the longest symbol that is a prefix of a non-empty text.
    #[inline]
    fn longest(&self, text: &[u8]) -> (u16, usize) {
        let [first, second] = two_words(text);
        // Symbols with a longer prefix are longer, so the first match is the longest.
        for (bytes, table) in PREFIX_BYTES.into_iter().zip(&self.by_prefix) {
            let Some(tail_bytes_max) = text.len().checked_sub(bytes) else {
                // The text is shorter than any symbol with this prefix.
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

/// The symbols of one prefix length: an open-addressing hash table by prefix, whose slots have the longest symbol
/// of each, with a filter that rejects most prefixes without symbols.
#[derive(Debug)]
struct PrefixTable {
    /// A power of two, at most half occupied.
    slots: Box<[PrefixSlot]>,
    /// Bit `n` is set if the hash of some prefix ends in `n`.
    filter: Box<[u64; FILTER_WORDS]>,
    /// The other symbols, grouped by slot, longest first.
    others: Vec<Candidate>,
}

/// 32 KiB: it stays in the L2 cache, and with 20,000 prefixes, 7 % of those without symbols pass. Four times as
/// many bits are not faster.
const FILTER_WORDS: usize = 1 << 12;

#[derive(Clone, Copy, Debug, Default)]
struct PrefixSlot {
    prefix: u64,
    longest: Candidate,
    /// The index of its first other symbol.
    others: u32,
}

/// A symbol without its prefix.
#[derive(Clone, Copy, Debug, Default)]
struct Candidate {
    /// The bytes after the prefix, padded with zeros.
    tail: u64,
    code: u16,
    tail_bytes: u8,
    /// The next entry in the list of symbols with this prefix.
    next: Next,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Next {
    /// The slot is empty.
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

    /// Whether it matches the next bytes of a text with at most this many left.
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
            slots: vec![PrefixSlot::default(); (2 * prefixes).next_power_of_two()].into(),
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
        // `chunk_by` yields no empty chunks.
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
        // Ends because at least half of the slots are empty.
        while self.slots[index].longest.next != Next::Nothing {
            index = self.slot_after(index);
        }
        self.slots[index] = PrefixSlot {
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

    /// The longest symbol with a prefix that matches a text.
    #[inline]
    fn find(&self, prefix: u64, tail: u64, tail_bytes_max: usize) -> Option<&Candidate> {
        let hash = hash(prefix);
        if self.filter[filter_word(hash)] >> (hash % 64) & 1 == 0 {
            return None;
        }
        let mut index = self.first_slot(hash);
        // Invariant: no slot before this one is empty or has the prefix.
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
        // Invariant: earlier candidates do not match.
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

/// Hashes a prefix: the low half selects a bit of the filter, the high half a slot.
#[inline]
fn hash(prefix: u64) -> u64 {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let mixed = prefix.wrapping_mul(ODD);
    (mixed ^ (mixed >> 32)).wrapping_mul(ODD)
}

/// The first 16 bytes of a text as two numbers, padded with zeros.
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

/// The first eight bytes of a text as a number, padded with zeros.
#[inline]
pub(super) fn word(text: &[u8]) -> u64 {
    if let Some(bytes) = text.first_chunk::<8>() {
        return u64::from_le_bytes(*bytes);
    }
    let mut bytes = [0; 8];
    bytes[..text.len()].copy_from_slice(text);
    u64::from_le_bytes(bytes)
}

/// Keeps the first bytes of a word.
#[inline]
pub(super) fn first_bytes(word: u64, bytes: usize) -> u64 {
    let shift = u64::BITS - 8 * bytes as u32;
    // No bytes need a shift by 64, which gives 0.
    word.checked_shl(shift).unwrap_or(0) >> (shift % u64::BITS)
}
