//! Measures the matches of groups: their amounts by currency, and how many different companies they are of.
//!
//! Groups are measured in cells: one for each group that is shown, and the last for all others, so that the totals have
//! everything.

use std::ops::Range;

use super::company_ranks::CompanyRanks;
use super::group_table::{ByCombination, NO_CELL, SegmentColumnsBy};
use super::live::SegmentHandle;
use crate::Result;
use crate::aggregate::AmountCount;
use crate::encoding::row::CompanyNumber;
use crate::exec::{
    GroupColumn, MatchedRows, SharedExecutor, fold_into, for_each_code, read_column,
};
use crate::query::{Facet, GroupBy};
use crate::signal::Currency;

/// Bits of the sets of companies, one set a cell, above which pairs of cell and company are sorted instead: 8 MiB.
const SET_BITS_MAX: u64 = 1 << 26;

/// AmountSlots of amounts up to which each has a start.
const STARTS_MAX: usize = 1 << 21;

/// Pairs that are sorted together, at least.
const PAIRS_MIN: usize = 1 << 16;

/// A segment's matches and the cell of each combination of codes.
pub(super) struct SegmentCells<'m, 's> {
    pub(super) columns: &'m SegmentColumnsBy<'s>,
    pub(super) cells: ByCombination<u32>,
    pub(super) matched: &'m MatchedRows,
    pub(super) executor: Option<&'s SharedExecutor>,
}

/// The amounts of cells, by currency.
pub(super) struct CellAmounts {
    /// Ascending, that of amounts without one last.
    currencies: Vec<Option<Currency>>,
    slots: AmountSlots,
    /// The bits of amounts, which compare like them, since no amount is negative.
    bits: Vec<u64>,
}

/// Where the amounts of each slot are, which is that of a cell and currency.
enum AmountSlots {
    /// By slot: where its amounts begin; and the end of all.
    Starts(Vec<usize>),
    /// The slot of each amount, ascending.
    Listed(Vec<u32>),
}

impl AmountSlots {
    fn range(&self, slot: usize) -> Range<usize> {
        match self {
            AmountSlots::Starts(starts) => starts[slot]..starts[slot + 1],
            AmountSlots::Listed(slots) => {
                let start = slots.partition_point(|&other| (other as usize) < slot);
                let end = slots.partition_point(|&other| other as usize <= slot);
                start..end
            }
        }
    }
}

impl CellAmounts {
    /// Collects the amounts of matches in `cells` cells.
    ///
    /// # Errors
    /// The amounts or their currencies are damaged.
    ///
    /// Cost: a pass over the amounts of blocks, and some reads per match with an amount.
    pub(super) fn collect(
        segments: &[SegmentHandle],
        matches: &[SegmentCells<'_, '_>],
        cells: usize,
    ) -> Result<CellAmounts> {
        let currencies = currencies_of(segments);
        let mut amounts = AmountList::default();
        for (handle, matched) in segments.iter().zip(matches) {
            list_amounts(&mut amounts, handle, matched, &currencies, cells)?;
        }
        let (slots, bits) = amounts;
        Ok(CellAmounts::sorted(currencies, cells, &slots, &bits))
    }

    /// Sorts amounts by slot.
    fn sorted(
        currencies: Vec<Option<Currency>>,
        cells: usize,
        slots: &[u32],
        bits: &[u64],
    ) -> CellAmounts {
        if cells * currencies.len() > STARTS_MAX {
            let mut pairs: Vec<(u32, u64)> =
                slots.iter().copied().zip(bits.iter().copied()).collect();
            pairs.sort_unstable();
            let (slots, bits) = pairs.into_iter().unzip();
            let slots = AmountSlots::Listed(slots);
            return CellAmounts {
                currencies,
                slots,
                bits,
            };
        }
        let mut starts = vec![0; cells * currencies.len() + 1];
        for &slot in slots {
            starts[slot as usize + 1] += 1;
        }
        let mut sum = 0;
        // Invariant: `sum` is the number of amounts in the slots before this one.
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut sorted = vec![0; bits.len()];
        for (&slot, &bits) in slots.iter().zip(bits) {
            let position = &mut next[slot as usize];
            sorted[*position] = bits;
            *position += 1;
        }
        CellAmounts {
            currencies,
            slots: AmountSlots::Starts(starts),
            bits: sorted,
        }
    }

    /// Calls `measure` with each currency that a cell has amounts in and their bits, in any order.
    pub(super) fn of_cell<T>(
        &mut self,
        cell: usize,
        mut measure: impl FnMut(Option<Currency>, &mut [u64]) -> T,
    ) -> Vec<T> {
        let mut measured = Vec::new();
        for (index, &currency) in self.currencies.iter().enumerate() {
            let slot = cell * self.currencies.len() + index;
            let bits = &mut self.bits[self.slots.range(slot)];
            if !bits.is_empty() {
                measured.push(measure(currency, bits));
            }
        }
        measured
    }

    /// As [`of_cell`](Self::of_cell), for the amounts of all cells.
    pub(super) fn of_all<T>(
        &self,
        mut measure: impl FnMut(Option<Currency>, &mut [u64]) -> T,
    ) -> Vec<T> {
        let mut all: Vec<Vec<u64>> = self.currencies.iter().map(|_| Vec::new()).collect();
        let n = self.currencies.len();
        match &self.slots {
            AmountSlots::Starts(starts) => {
                for (slot, ends) in starts.windows(2).enumerate() {
                    all[slot % n].extend_from_slice(&self.bits[ends[0]..ends[1]]);
                }
            }
            AmountSlots::Listed(slots) => {
                let amounts = slots.iter().zip(&self.bits);
                amounts.for_each(|(&slot, &bits)| all[slot as usize % n].push(bits));
            }
        }
        let currencies = self.currencies.iter().zip(&mut all);
        let some = currencies.filter(|(_, bits)| !bits.is_empty());
        some.map(|(&currency, bits)| measure(currency, bits))
            .collect()
    }
}

/// The slots of amounts and, in the same order, the amounts as bits.
type AmountList = (Vec<u32>, Vec<u64>);

/// Lists the amounts of a segment's matches, in any order.
fn list_amounts(
    listed: &mut AmountList,
    handle: &SegmentHandle,
    matched: &SegmentCells<'_, '_>,
    currencies: &[Option<Currency>],
    cells: usize,
) -> Result<()> {
    let segment = &*handle.segment;
    let (column, amounts) = (segment.amount_column()?.column, segment.amounts()?);
    let currency = GroupColumn::of(segment, GroupBy::Facet(Facet::FundingCurrency))?;
    let numbers = currency_numbers(segment.facet_labels(Facet::FundingCurrency), currencies);
    // Amounts are sorted by slot afterwards, so that the order of parts does not matter.
    let list = |(slots, bits): &mut AmountList, part| {
        let mut codes = Vec::new();
        let mut buffers = [Vec::new(), Vec::new()];
        let matches = matched.matched.part(part);
        matches.for_each_with_value(column, |block, offsets| {
            read_column(column, block, offsets, &mut codes);
            // Negative zero is zero.
            let amount = |&code: &u32| (amounts[code as usize - 1] + 0.0).to_bits();
            bits.extend(codes.iter().map(amount));
            let first = slots.len();
            let slot = |combination| {
                let cell = matched.cells.get(combination).unwrap_or(NO_CELL);
                slots.push(cell.min(cells as u32 - 1) * currencies.len() as u32);
            };
            matched.columns.for_each(block, offsets, &mut buffers, slot);
            currency.read(block, offsets, &mut codes);
            for (slot, &code) in slots[first..].iter_mut().zip(&codes) {
                *slot += numbers[code as usize];
            }
        });
        Ok(())
    };
    fold_into(
        matched.executor,
        matched.matched.len(),
        listed,
        AmountList::default,
        list,
        |(slots, bits), (other_slots, other_bits)| {
            slots.extend(other_slots);
            bits.extend(other_bits);
        },
    )
}

/// The amounts of one currency as counts, ascending.
pub(super) fn counted(currency: Option<Currency>, bits: &mut [u64]) -> Vec<AmountCount> {
    bits.sort_unstable();
    let same = bits.chunk_by(|a, b| a == b);
    let counted =
        same.map(|same| AmountCount::new(currency, f64::from_bits(same[0]), same.len() as u64));
    counted.collect()
}

/// The currencies of all segments, ascending, and then none.
pub(super) fn currencies_of(segments: &[SegmentHandle]) -> Vec<Option<Currency>> {
    let labels = segments
        .iter()
        .flat_map(|handle| handle.segment.facet_labels(Facet::FundingCurrency));
    let mut currencies: Vec<Option<Currency>> = labels.map(Currency::new).collect();
    currencies.retain(Option::is_some);
    currencies.sort_unstable();
    currencies.dedup();
    currencies.push(None);
    currencies
}

/// The number of the currency of each code of a segment.
pub(super) fn currency_numbers<'l>(
    labels: impl Iterator<Item = &'l str>,
    currencies: &[Option<Currency>],
) -> Vec<u32> {
    let none = currencies.len() as u32 - 1;
    let known = labels.map(|label| {
        let currency = Currency::new(label);
        currencies
            .iter()
            .position(|known| *known == currency)
            .map_or(none, |at| at as u32)
    });
    [none].into_iter().chain(known).collect()
}

/// How many different companies the matches of each cell are of, and those of all.
///
/// # Errors
/// The companies of rows are damaged.
///
/// Cost: a read and a bit per match; with sets of more than 8 MiB, sorting.
pub(super) fn count_companies(
    ranks: &CompanyRanks,
    segments: &[SegmentHandle],
    matches: &[SegmentCells<'_, '_>],
    cells: usize,
) -> Result<(Vec<u64>, u64)> {
    // Only the last cell: a byte for each company, which is set faster than a bit.
    if cells < 2 {
        return Ok((Vec::new(), count_all_companies(ranks, segments, matches)?));
    }
    let mut all = vec![0_u64; (ranks.len() as usize + 1).div_ceil(64)];
    let mut sets = CompanySets::new(cells, ranks.len() + 1);
    for (index, (handle, matched)) in segments.iter().zip(matches).enumerate() {
        let column = handle.segment.company_column()?;
        let mut codes = Vec::new();
        let mut buffers = [Vec::new(), Vec::new()];
        matched.matched.all().for_each_block(|block, offsets| {
            read_column(column, block, offsets, &mut codes);
            for code in &mut codes {
                let company = ranks.number_or_len(index, CompanyNumber::of_code(*code));
                all[company as usize / 64] |= 1 << (company % 64);
                *code = company;
            }
            let mut companies = codes.iter();
            matched
                .columns
                .for_each(block, offsets, &mut buffers, |combination| {
                    let cell = matched.cells.get(combination).unwrap_or(NO_CELL);
                    if let Some(&company) = companies.next() {
                        sets.insert(cell, company);
                    }
                });
        });
    }
    let all = all.iter().map(|word| u64::from(word.count_ones())).sum();
    Ok((sets.counts(), all))
}

/// How many different companies the matches are of.
fn count_all_companies(
    ranks: &CompanyRanks,
    segments: &[SegmentHandle],
    matches: &[SegmentCells<'_, '_>],
) -> Result<u64> {
    let len = ranks.len() as usize;
    let mut has_match = vec![0_u8; len + 1];
    for (index, (handle, matched)) in segments.iter().zip(matches).enumerate() {
        let column = handle.segment.company_column()?;
        let numbers = ranks.numbers_of(index);
        matched
            .matched
            .all()
            .for_each_block(|block, offsets| match numbers {
                None => for_each_code(column, block, offsets, |code| {
                    has_match[code as usize - 1] = 1;
                }),
                Some(numbers) => for_each_code(column, block, offsets, |code| {
                    let number = numbers[code as usize - 1] as usize;
                    has_match[number.min(len)] = 1;
                }),
            });
    }
    Ok(has_match.iter().map(|&has| u64::from(has)).sum())
}

/// A set of companies for each cell.
enum CompanySets {
    /// The words of one set after another.
    Bits {
        words: Vec<u64>,
        words_per_cell: usize,
        cells: usize,
    },
    /// Pairs of cell and company, sorted and without repeats up to a length.
    Pairs {
        pairs: Vec<u64>,
        sorted: usize,
        cells: usize,
    },
}

impl CompanySets {
    /// Sets for all cells but the last.
    fn new(cells: usize, companies: u32) -> CompanySets {
        let cells = cells.saturating_sub(1);
        let words_per_cell = (companies as usize).div_ceil(64);
        if (cells * words_per_cell) as u64 * 64 <= SET_BITS_MAX {
            let words = vec![0; cells * words_per_cell];
            return CompanySets::Bits {
                words,
                words_per_cell,
                cells,
            };
        }
        CompanySets::Pairs {
            pairs: Vec::new(),
            sorted: 0,
            cells,
        }
    }

    /// Adds a company to a cell, unless it is the last.
    fn insert(&mut self, cell: u32, company: u32) {
        match self {
            CompanySets::Bits {
                words,
                words_per_cell,
                cells,
            } => {
                if (cell as usize) < *cells {
                    let word = cell as usize * *words_per_cell + company as usize / 64;
                    words[word] |= 1 << (company % 64);
                }
            }
            CompanySets::Pairs {
                pairs,
                sorted,
                cells,
            } => {
                if (cell as usize) >= *cells {
                    return;
                }
                pairs.push(u64::from(cell) << 32 | u64::from(company));
                // Twice as many as there are different ones, so that repeats take no memory.
                if pairs.len() >= PAIRS_MIN.max(*sorted * 2) {
                    pairs.sort_unstable();
                    pairs.dedup();
                    *sorted = pairs.len();
                }
            }
        }
    }

    /// The number of companies of each cell.
    fn counts(self) -> Vec<u64> {
        match self {
            CompanySets::Bits {
                words,
                words_per_cell,
                cells,
            } => {
                let count = |cell: usize| {
                    let words = &words[cell * words_per_cell..(cell + 1) * words_per_cell];
                    words.iter().map(|word| u64::from(word.count_ones())).sum()
                };
                (0..cells).map(count).collect()
            }
            CompanySets::Pairs {
                mut pairs, cells, ..
            } => {
                pairs.sort_unstable();
                pairs.dedup();
                let mut counts = vec![0; cells];
                pairs
                    .iter()
                    .for_each(|pair| counts[(pair >> 32) as usize] += 1);
                counts
            }
        }
    }
}

#[cfg(test)]
mod tests;
