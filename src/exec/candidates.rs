//! The candidate rows of one window of a block, and how sets narrow them.
//!
//! Many candidates are a bitset, few are a list of offsets. The representation follows from the data: a
//! bitset intersected with a list becomes a list, because the result cannot be longer.

use std::ops::{Deref, DerefMut, Range};

use smallvec::SmallVec;

use super::candidate_rows::CandidateRows;
use super::operand::BoundPhrase;
use super::row_window::RowWindow;
use crate::encoding::code_counts::count_set;
use crate::encoding::column::Column;
use crate::encoding::posting::{BlockRows, Posting};
use crate::encoding::row::Row;
use crate::kernels::block::{BLOCK_WORDS, BlockBits, rows_in_block};
use crate::kernels::retain::retain_where;
use crate::kernels::{bits, gallop, intersect, popcount, probe};
use crate::plan::CodeRange;

/// Maximum rows per block for which a union is a list instead of a bitset. Clearing an 8 KiB bitset costs
/// about as much as sorting this many offsets.
const UNION_LIST_MAX: usize = 32;

/// With at least one candidate in this many rows, the codes of the whole window are compared instead of those of each
/// candidate: this takes about <!--figure:kernels.codes-->6<!--end--> microseconds per block, compared with a
/// nanosecond per candidate plus listing it.
const COMPARED_MIN: u32 = 64;

/// Up to this many unordered offsets are sorted into a list instead of set as bits, which would have to be
/// cleared and searched, too (`benches/queries`, five categories + dates).
const SORTED_MAX: usize = 128;

/// Up to this many listed candidates are looked up in each set of a union, at about half a nanosecond per set, instead
/// of forming the union at about <!--figure:kernels.union-->130<!--end--> nanoseconds per set (`benches/queries`, five
/// categories + dates).
const PROBED_MAX: usize = 200;

/// Candidate rows of a window. Reused across windows and queries, because it has more than 16 KiB and a page
/// visits few blocks. Only the window's words of the bitset are meaningful.
#[derive(Debug)]
pub(super) struct Candidates {
    window: RowWindow,
    form: Form,
    bits: Box<CacheLines>,
    list: Vec<u16>,
    /// A buffer for unions.
    union_bits: Box<CacheLines>,
    union_list: Vec<u16>,
    /// The rows of a phrase.
    phrase_list: Vec<u16>,
}

/// The bitset of a block, aligned to a cache line: if every vector crosses two lines, a count of dense sets
/// takes up to a quarter longer (`benches/peers`, country + size).
#[derive(Debug)]
#[repr(align(64))]
struct CacheLines(BlockBits);

impl Default for CacheLines {
    fn default() -> CacheLines {
        CacheLines([0; BLOCK_WORDS])
    }
}

impl Deref for CacheLines {
    type Target = BlockBits;

    fn deref(&self) -> &BlockBits {
        &self.0
    }
}

impl DerefMut for CacheLines {
    fn deref_mut(&mut self) -> &mut BlockBits {
        &mut self.0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Bits,
    List,
}

impl Default for Candidates {
    fn default() -> Candidates {
        Candidates {
            window: RowWindow::whole(0),
            form: Form::List,
            bits: Box::default(),
            list: Vec::new(),
            union_bits: Box::default(),
            union_list: Vec::new(),
            phrase_list: Vec::new(),
        }
    }
}

impl Candidates {
    /// Sets the window to which sets are restricted.
    pub(super) fn set_window(&mut self, window: RowWindow) {
        self.window = window;
    }

    /// The window.
    pub(super) fn window(&self) -> RowWindow {
        self.window
    }

    /// Removes all candidates.
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.form = Form::List;
    }

    /// Makes all rows of the window candidates, in a segment of `row_count` rows.
    pub(super) fn fill(&mut self, row_count: u32) {
        let words = self.window.words();
        let rows = rows_in_block(row_count, self.window.block());
        // Every word before `full` has 64 existing rows.
        let full = ((rows / 64) as usize).clamp(words.start, words.end);
        self.form = Form::Bits;
        self.bits[words.start..full].fill(u64::MAX);
        for word in full..words.end {
            // Below 64: the word with the last row is not full, and the words after it have no
            // rows.
            let left = rows.saturating_sub(word as u32 * 64);
            self.bits[word] = (1_u64 << left) - 1;
        }
    }

    /// Removes the candidates outside a range of offsets, whose window this is.
    pub(super) fn restrict(&mut self, offsets: &Range<u32>) {
        match self.form {
            Form::List => {
                let list = &mut self.list;
                // Truncates first, so that draining moves fewer offsets.
                list.truncate(list.partition_point(|&offset| u32::from(offset) < offsets.end));
                list.drain(..list.partition_point(|&offset| u32::from(offset) < offsets.start));
            }
            Form::Bits => {
                let words = self.window.words();
                // The window covers the words of the range, so only its first and last word can
                // have other rows.
                self.bits[words.start] &= u64::MAX << (offsets.start % 64);
                // The negated end modulo 64 is the number of rows of the last word after the range;
                // 0 if both end together.
                self.bits[words.end - 1] &= u64::MAX >> (offsets.end.wrapping_neg() % 64);
            }
        }
    }

    /// Makes the rows of a set the candidates.
    pub(super) fn load(&mut self, set: BlockRows<'_>) {
        if let BlockRows::Bits(set) = set {
            let words = self.window.words();
            self.form = Form::Bits;
            self.bits[words.clone()].copy_from_slice(&set[words]);
            return;
        }
        self.window.cut(set).list_into(&mut self.list);
        self.form = Form::List;
    }

    /// Makes the intersection of two sets the candidates. Less work than one after the other, because bits need
    /// not be copied.
    pub(super) fn load_both(&mut self, first: BlockRows<'_>, second: BlockRows<'_>) {
        match (first, second) {
            (BlockRows::Bits(first), BlockRows::Bits(second)) => {
                let words = self.window.words();
                self.form = Form::Bits;
                bits::load_both(
                    &mut self.bits[words.clone()],
                    &first[words.clone()],
                    &second[words],
                );
            }
            // At least one is a list: it becomes the candidates, and the other is only looked up.
            (other @ BlockRows::Bits(_), listed) | (listed, other) => {
                self.load(listed);
                self.intersect(other);
            }
        }
    }

    /// Whether the candidates are an empty list.
    pub(super) fn are_none(&self) -> bool {
        self.form == Form::List && self.list.is_empty()
    }

    /// Makes those of the given offsets that lie in the window the candidates. The offsets are unordered.
    pub(super) fn load_offsets(&mut self, parts: &[&[u16]]) {
        let words = self.window.words();
        if parts.iter().map(|part| part.len()).sum::<usize>() <= SORTED_MAX {
            let offsets = parts.iter().copied().flatten().copied();
            let is_inside = |offset: &u16| words.contains(&usize::from(offset / 64));
            self.list.clear();
            self.list.extend(offsets.filter(is_inside));
            self.list.sort_unstable();
            self.form = Form::List;
            return;
        }
        self.form = Form::Bits;
        self.bits[words.clone()].fill(0);
        let offsets = parts.iter().copied().flatten();
        for &offset in offsets.filter(|&offset| words.contains(&usize::from(offset / 64))) {
            bits::set(&mut self.bits, offset);
        }
    }

    /// Makes the union of postings the candidates.
    pub(super) fn load_union(&mut self, postings: &[Posting<'_>]) {
        // If all are bitsets, they are combined word by word without a buffer.
        if let Some(sets) = self.all_bits(postings) {
            self.form = Form::Bits;
            return bits::unite_all(&mut self.bits[self.window.words()], &sets, false);
        }
        match self.form_union(postings) {
            Form::List => {
                std::mem::swap(&mut self.list, &mut self.union_list);
                self.form = Form::List;
            }
            Form::Bits => {
                self.form = Form::Bits;
                // Both are boxed, so this exchanges pointers, not 8 KiB.
                std::mem::swap(&mut self.bits, &mut self.union_bits);
            }
        }
    }

    /// Keeps the candidates that are in the set.
    pub(super) fn intersect(&mut self, set: BlockRows<'_>) {
        let words = self.window.words();
        match (self.form, self.window.cut(set)) {
            (Form::Bits, BlockRows::Bits(set)) => {
                bits::intersect(&mut self.bits[words.clone()], &set[words]);
            }
            (Form::Bits, set) => {
                // The rows of the set become the list and are looked up in the bits.
                set.list_into(&mut self.list);
                probe::retain(&mut self.list, &self.bits, true);
                self.form = Form::List;
            }
            (Form::List, set) => retain_in(&mut self.list, set, true),
        }
    }

    /// The number of candidates that are in the set. If both are bits, this takes one pass less than intersecting
    /// and counting. The remaining candidates are unspecified.
    pub(super) fn count_in(&mut self, set: BlockRows<'_>) -> u32 {
        let words = self.window.words();
        match (self.form, self.window.cut(set)) {
            (Form::Bits, BlockRows::Bits(set)) => {
                popcount::count_both(&self.bits[words.clone()], &set[words])
            }
            (Form::List, BlockRows::Bits(set)) => count_set(set, BlockRows::Array(&self.list)),
            // `set` is cut to the window, so stale bits outside of it are not tested.
            (Form::Bits, set) => count_set(&self.bits, set),
            (Form::List, set) => {
                self.intersect(set);
                self.count()
            }
        }
    }

    /// Keeps the candidates that are in the union of postings.
    pub(super) fn intersect_union(&mut self, postings: &[Posting<'_>]) {
        match self.all_bits(postings) {
            Some(sets) if self.form == Form::Bits => {
                return bits::unite_all(&mut self.bits[self.window.words()], &sets, true);
            }
            Some(sets) if self.list.len() <= PROBED_MAX => {
                let first = self.window.words().start;
                return retain_where(&mut self.list, |offset| {
                    // Listed offsets lie in the window, so `word` is in bounds of the sets, which
                    // `all_bits` has cut to it.
                    let word = usize::from(offset / 64) - first;
                    let any = sets.iter().fold(0, |any, set| any | set[word]);
                    any >> (offset % 64) & 1 == 1
                });
            }
            _ => {}
        }
        match self.form_union(postings) {
            Form::List => {
                // Taken out while `intersect` borrows the candidates, and put back to keep its
                // capacity.
                let union = std::mem::take(&mut self.union_list);
                self.intersect(BlockRows::Array(&union));
                self.union_list = union;
            }
            Form::Bits if self.form == Form::Bits => {
                let words = self.window.words();
                bits::intersect(&mut self.bits[words.clone()], &self.union_bits[words]);
            }
            Form::Bits => probe::retain(&mut self.list, &self.union_bits, true),
        }
    }

    /// Removes the candidates that are in the set.
    pub(super) fn subtract(&mut self, set: BlockRows<'_>) {
        let words = self.window.words();
        match (self.form, self.window.cut(set)) {
            (Form::Bits, BlockRows::Bits(set)) => {
                bits::subtract(&mut self.bits[words.clone()], &set[words]);
            }
            (Form::Bits, set) => set.for_each(|offset| bits::clear(&mut self.bits, offset)),
            (Form::List, set) => retain_in(&mut self.list, set, false),
        }
    }

    /// Makes the union of postings and phrases the candidates.
    pub(super) fn load_phrases(&mut self, stored: &[Posting<'_>], checked: &[BoundPhrase<'_>]) {
        self.unite_phrases(stored, checked, false);
        self.form = Form::Bits;
        std::mem::swap(&mut self.bits, &mut self.union_bits);
        self.list_if_sparse();
    }

    /// Keeps the candidates that are in the union of postings and phrases.
    pub(super) fn intersect_phrases(
        &mut self,
        stored: &[Posting<'_>],
        checked: &[BoundPhrase<'_>],
    ) {
        self.unite_phrases(stored, checked, true);
        let words = self.window.words();
        match self.form {
            Form::Bits => bits::intersect(&mut self.bits[words.clone()], &self.union_bits[words]),
            Form::List => probe::retain(&mut self.list, &self.union_bits, true),
        }
    }

    /// Removes the candidates with a phrase.
    pub(super) fn subtract_phrase(&mut self, phrase: &BoundPhrase<'_>) {
        // Only texts of candidates are read: other rows cannot be removed.
        self.list_phrase(phrase, true);
        self.retain_occurring(phrase);
        let rows = std::mem::take(&mut self.phrase_list);
        self.subtract(BlockRows::Array(&rows));
        self.phrase_list = rows;
    }

    /// Forms the union of postings and phrases as bits, restricting phrases to candidates if requested. A title is
    /// read only for rows that are not yet in the union.
    fn unite_phrases(
        &mut self,
        stored: &[Posting<'_>],
        checked: &[BoundPhrase<'_>],
        narrows: bool,
    ) {
        // `unite_from` adds the rows of this list, too; here there are none.
        self.union_list.clear();
        self.unite_from(stored);
        for phrase in checked {
            // Invariant: the union has the rows of `stored` and of the phrases before this one.
            self.list_phrase(phrase, narrows);
            probe::retain(&mut self.phrase_list, &self.union_bits, false);
            self.retain_occurring(phrase);
            for &offset in &self.phrase_list {
                bits::set(&mut self.union_bits, offset);
            }
        }
    }

    /// Lists the window's rows that are in all sources of a phrase, restricted to candidates if requested.
    fn list_phrase(&mut self, phrase: &BoundPhrase<'_>, are_candidates: bool) {
        let (window, block) = (self.window, self.window.block());
        let list = &mut self.phrase_list;
        let mut sources = phrase.sources.as_slice();
        if are_candidates && self.form == Form::List {
            list.clone_from(&self.list);
        } else if let [rarest, others @ ..] = sources {
            sources = others;
            list.clear();
            match window.cut(rarest.block(block)) {
                BlockRows::Bits(set) => {
                    let words = window.words();
                    bits::list(words.start, &set[words], list);
                }
                set => set.list_into(list),
            }
            // The candidates are bits here: listed ones have been copied above.
            if are_candidates {
                probe::retain(list, &self.bits, true);
            }
        }
        // The rarest sources come first, so the list is short when the larger ones are probed.
        for source in sources {
            retain_in(list, window.cut(source.block(block)), true);
        }
    }

    /// Keeps the listed rows in whose text a phrase occurs.
    fn retain_occurring(&mut self, phrase: &BoundPhrase<'_>) {
        let block = self.window.block();
        self.phrase_list
            .retain(|&offset| phrase.occurs(Row::of(block, offset)));
    }

    /// Keeps the candidates that pass a test.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(u16) -> bool) {
        match self.form {
            Form::List => self.list.retain(|&offset| keep(offset)),
            Form::Bits => {
                for word in self.window.words() {
                    let mut rest = self.bits[word];
                    // Invariant: `rest` has the rows of the word that have not been visited. Each
                    // iteration clears the lowest.
                    while rest != 0 {
                        let bit = rest & rest.wrapping_neg();
                        rest ^= bit;
                        // A block has 1,024 words, so the offset fits into a `u16`.
                        if !keep((word * 64) as u16 + bit.trailing_zeros() as u16) {
                            self.bits[word] ^= bit;
                        }
                    }
                }
            }
        }
    }

    /// Keeps the candidates whose codes are in one of the ranges. For bits, the codes of the whole window are
    /// compared; few candidates are converted to a list first.
    pub(super) fn keep_in_ranges(&mut self, column: &Column<'_>, ranges: &[CodeRange]) {
        self.list_if_sparse();
        match self.form {
            Form::List => {
                column.retain_in_ranges(self.window.block(), ranges, &mut self.list);
            }
            Form::Bits => {
                let words = self.window.words();
                column.keep_in_ranges(self.window.first_row(), ranges, &mut self.bits[words]);
            }
        }
    }

    /// Overwrites a list with those of some offsets of the block, ascending, that are candidates. The candidates must be
    /// bits.
    pub(super) fn list_set(&self, offsets: &[u16], list: &mut Vec<u16>) {
        let words = self.window.words();
        let inside = words.start as u32 * 64..words.end as u32 * 64;
        list.clear();
        list.extend_from_slice(gallop::between(offsets, &inside));
        probe::retain(list, &self.bits, true);
    }

    /// Converts few candidates to a list.
    pub(super) fn list_if_sparse(&mut self) {
        let words = self.window.words();
        let is_sparse = || self.count() * COMPARED_MIN < 64 * words.len() as u32;
        // Counting comes last, because it reads all words of the window.
        if self.form == Form::Bits && is_sparse() {
            self.list.clear();
            bits::list(words.start, &self.bits[words.clone()], &mut self.list);
            self.form = Form::List;
        }
    }

    /// The number of candidates.
    pub(super) fn count(&self) -> u32 {
        match self.form {
            Form::List => self.list.len() as u32,
            Form::Bits => bits::count(&self.bits[self.window.words()]),
        }
    }

    /// A view of the candidates.
    pub(super) fn rows(&self) -> CandidateRows<'_> {
        match self.form {
            Form::List => CandidateRows::List(&self.list),
            Form::Bits => {
                let words = self.window.words();
                CandidateRows::Bits {
                    first_word: words.start,
                    words: &self.bits[words],
                }
            }
        }
    }

    /// The window's words of these postings, if all are bitsets.
    fn all_bits<'p>(&self, postings: &[Posting<'p>]) -> Option<SmallVec<[&'p [u64]; 8]>> {
        let words = |posting: &Posting<'p>| match posting.block(self.window.block()) {
            BlockRows::Bits(set) => Some(&set[self.window.words()]),
            BlockRows::Array(_) | BlockRows::List(_) => None,
        };
        postings.iter().map(words).collect()
    }

    /// Forms the union of the postings' rows in the window, as a list or bits, whichever is smaller.
    fn form_union(&mut self, postings: &[Posting<'_>]) -> Form {
        self.union_list.clear();
        for (index, posting) in postings.iter().enumerate() {
            // Invariant: `union_list` has the rows of the postings before `index`, unsorted and
            // perhaps repeated.
            let set = self.window.cut(posting.block(self.window.block()));
            let listed = self.union_list.len();
            let is_short = set
                .listed()
                .is_some_and(|rows| rows + listed <= UNION_LIST_MAX);
            if !is_short {
                // Keeps what is listed and continues with the postings whose rows are missing.
                self.unite_from(&postings[index..]);
                return Form::Bits;
            }
            set.for_each(|offset| self.union_list.push(offset));
        }
        self.union_list.sort_unstable();
        self.union_list.dedup();
        Form::List
    }

    /// Forms the union of the list so far and the remaining postings as bits.
    fn unite_from(&mut self, postings: &[Posting<'_>]) {
        let (window, words) = (self.window, self.window.words());
        self.union_bits[words.clone()].fill(0);
        self.union_list
            .iter()
            .for_each(|&offset| bits::set(&mut self.union_bits, offset));
        for posting in postings {
            match window.cut(posting.block(window.block())) {
                BlockRows::Bits(set) => {
                    bits::unite(&mut self.union_bits[words.clone()], &set[words.clone()]);
                }
                set => set.for_each(|offset| bits::set(&mut self.union_bits, offset)),
            }
        }
    }
}

/// Keeps the listed offsets that are in a set, or those that are not. Inlined, so that the choice is made at
/// compile time.
#[inline(always)]
fn retain_in(list: &mut Vec<u16>, set: BlockRows<'_>, wanted: bool) {
    match set {
        BlockRows::Bits(set) => probe::retain(list, set, wanted),
        BlockRows::Array(offsets) => intersect::retain(list, offsets, wanted),
        BlockRows::List(rows) => gallop::retain(list, rows, |&row| Row(row).offset(), wanted),
    }
}

/// The number of rows in the intersection of two sets of a block, if it can be counted without a copy.
pub(super) fn count_both(first: BlockRows<'_>, second: BlockRows<'_>) -> Option<u32> {
    match (first, second) {
        (BlockRows::Bits(first), BlockRows::Bits(second)) => {
            Some(popcount::count_both(first, second))
        }
        (BlockRows::Bits(bits), rows) | (rows, BlockRows::Bits(bits)) => {
            Some(count_set(bits, rows))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
