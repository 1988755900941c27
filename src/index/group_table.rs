//! The groups of a query: counted in each segment by codes, then numbered over all segments.

use hashbrown::HashMap;
use smallvec::SmallVec;

use super::group_values::{GroupValues, MISSING};
use crate::Result;
use crate::aggregate::check_groups;
use crate::exec::{GroupColumn, GroupColumnValues, MatchedRows, SharedExecutor, add_each, fold};
use crate::query::AggregateQuery;
use crate::query::limits::GROUPED_BY_MAX;
use crate::segment::Segment;

/// Combinations of codes up to which each has a counter.
const COUNTERS_MAX: u64 = 1 << 20;

/// Combinations of codes up to which each thread has counters of its own, which are then added up.
const SPLIT_COUNTERS_MAX: u64 = 1 << 16;

/// A group that no cell is for.
pub(super) const NO_CELL: u32 = u32::MAX;

/// The columns of a segment that matches are grouped by, none to two.
pub(super) struct SegmentColumnsBy<'s> {
    columns: SmallVec<[GroupColumn<'s>; GROUPED_BY_MAX]>,
    /// The codes of the second column.
    second: u64,
}

/// A number for each combination of codes that occurs.
pub(super) enum ByCombination<T> {
    Dense(Vec<T>),
    Sparse(HashMap<u64, T>),
}

impl<'s> SegmentColumnsBy<'s> {
    pub(super) fn of(segment: &'s Segment, query: &AggregateQuery) -> Result<SegmentColumnsBy<'s>> {
        let mut columns = SmallVec::new();
        for &by in query.by() {
            columns.push(GroupColumn::of(segment, by)?);
        }
        let second = columns
            .get(1)
            .map_or(1, |column: &GroupColumn<'_>| u64::from(column.len()));
        Ok(SegmentColumnsBy { columns, second })
    }

    /// The number of combinations of codes.
    fn combinations(&self) -> u64 {
        let first = self
            .columns
            .first()
            .map_or(1, |column| u64::from(column.len()));
        first * self.second
    }

    /// Calls `visit` with the combination of each of some rows of a block.
    pub(super) fn for_each(
        &self,
        block: u32,
        offsets: &[u16],
        buffers: &mut [Vec<u32>; 2],
        mut visit: impl FnMut(u64),
    ) {
        let [first, second] = buffers;
        match &self.columns[..] {
            [] => offsets.iter().for_each(|_| visit(0)),
            [only] => {
                only.read(block, offsets, first);
                first.iter().for_each(|&code| visit(code.into()));
            }
            [one, other, ..] => {
                one.read(block, offsets, first);
                other.read(block, offsets, second);
                let codes = first.iter().zip(&*second);
                codes.for_each(|(&one, &other)| {
                    visit(u64::from(one) * self.second + u64::from(other))
                });
            }
        }
    }

    /// Counts the matches of each combination of codes, with an executor on several threads where their counters are few.
    ///
    /// # Errors
    /// None: counting cannot fail.
    pub(super) fn count(
        &self,
        matched: &MatchedRows,
        executor: Option<&SharedExecutor>,
    ) -> Result<ByCombination<u64>> {
        if self.columns.is_empty() {
            return Ok(ByCombination::Dense(vec![matched.all().count()]));
        }
        let combinations = self.combinations();
        // Adding up many counters of each thread would take longer than it saves.
        let executor = executor.filter(|_| combinations <= SPLIT_COUNTERS_MAX);
        if let [only] = &self.columns[..] {
            let counters = fold(
                executor,
                matched.len(),
                || only.counters(),
                |counters, part| {
                    only.count(matched.part(part), counters);
                    Ok(())
                },
                |counters, other| counters.add(&other),
            )?;
            return Ok(ByCombination::Dense(only.counts(counters)));
        }
        if combinations > COUNTERS_MAX {
            return Ok(ByCombination::Sparse(self.count_sparse(matched)));
        }
        let counts = fold(
            executor,
            matched.len(),
            // A segment has fewer than 2³² rows, so no counter overflows.
            || vec![0_u32; combinations as usize],
            |counts, part| {
                let mut buffers = [Vec::new(), Vec::new()];
                matched.part(part).for_each_block(|block, offsets| {
                    let count = |combination: u64| counts[combination as usize] += 1;
                    self.for_each(block, offsets, &mut buffers, count);
                });
                Ok(())
            },
            |counts, others| add_each(counts, &others),
        )?;
        let counts = counts.into_iter().map(u64::from).collect();
        Ok(ByCombination::Dense(counts))
    }

    fn count_sparse(&self, matched: &MatchedRows) -> HashMap<u64, u64> {
        let mut buffers = [Vec::new(), Vec::new()];
        let mut counts = HashMap::new();
        matched.all().for_each_block(|block, offsets| {
            let count = |combination| *counts.entry(combination).or_insert(0) += 1;
            self.for_each(block, offsets, &mut buffers, count);
        });
        counts
    }

    /// The codes of a combination.
    fn codes(&self, combination: u64) -> [u32; GROUPED_BY_MAX] {
        if self.columns.len() < 2 {
            return [combination as u32, 0];
        }
        [combination / self.second, combination % self.second].map(|code| code as u32)
    }
}

impl<T: Copy> ByCombination<T> {
    /// The same combinations with other numbers.
    fn map<U>(
        &self,
        unset: U,
        is_set: impl Fn(T) -> bool,
        mut map: impl FnMut(u64, T) -> U,
    ) -> ByCombination<U>
    where
        U: Copy,
    {
        match self {
            ByCombination::Dense(numbers) => {
                let mut mapped = vec![unset; numbers.len()];
                for (combination, &number) in numbers.iter().enumerate() {
                    if is_set(number) {
                        mapped[combination] = map(combination as u64, number);
                    }
                }
                ByCombination::Dense(mapped)
            }
            ByCombination::Sparse(numbers) => {
                let numbers = numbers.iter();
                let pairs =
                    numbers.map(|(&combination, &number)| (combination, map(combination, number)));
                ByCombination::Sparse(pairs.collect())
            }
        }
    }

    /// How many combinations are set.
    fn len_set(&self, is_set: impl Fn(T) -> bool) -> usize {
        match self {
            ByCombination::Dense(numbers) => {
                numbers.iter().filter(|&&number| is_set(number)).count()
            }
            ByCombination::Sparse(numbers) => numbers.len(),
        }
    }

    /// The number of a combination that occurs.
    pub(super) fn get(&self, combination: u64) -> Option<T> {
        match self {
            ByCombination::Dense(numbers) => numbers.get(combination as usize).copied(),
            ByCombination::Sparse(numbers) => numbers.get(&combination).copied(),
        }
    }
}

/// A group over all segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct CountedGroup {
    /// The numbers of its values.
    pub(super) values: [u32; GROUPED_BY_MAX],
    /// The number of its matches, at least 1.
    pub(super) count: u64,
}

/// All groups of a query.
pub(super) struct GroupTable<'s> {
    pub(super) groups: Vec<CountedGroup>,
    /// By the number of a single value.
    by_value: Vec<u32>,
    /// By the numbers of two values, of which the second is not missing.
    by_values: HashMap<[u32; GROUPED_BY_MAX], u32>,
    pub(super) values: [GroupValues<'s>; GROUPED_BY_MAX],
}

impl<'s> GroupTable<'s> {
    pub(super) fn new(values: [GroupValues<'s>; GROUPED_BY_MAX]) -> GroupTable<'s> {
        GroupTable {
            groups: Vec::new(),
            by_value: Vec::new(),
            by_values: HashMap::new(),
            values,
        }
    }

    /// Adds the counts of a segment. Returns the group of each combination.
    ///
    /// # Errors
    /// There are too many groups.
    pub(super) fn add(
        &mut self,
        segment: usize,
        columns: &SegmentColumnsBy<'s>,
        counts: &ByCombination<u64>,
        query: &AggregateQuery,
    ) -> Result<ByCombination<u32>> {
        if columns.columns.len() == 2 {
            self.by_values.reserve(counts.len_set(|count| count > 0));
        }
        // By column and code; a code is looked up once.
        let mut known = [0, 1].map(|index| {
            let codes = columns.columns.get(index).map_or(1, GroupColumn::len);
            vec![NO_CELL; codes as usize]
        });
        let groups = counts.map(
            NO_CELL,
            |count| count > 0,
            |combination, count| {
                let codes = columns.codes(combination);
                let values = [0, 1].map(|index| {
                    let Some(column) = columns.columns.get(index) else {
                        return MISSING;
                    };
                    let known = &mut known[index][codes[index] as usize];
                    if *known == NO_CELL {
                        *known = self.values[index].number(segment, &column.values, codes[index]);
                    }
                    *known
                });
                self.add_group(values, count)
            },
        );
        check_groups(query, self.groups.len())?;
        Ok(groups)
    }

    /// Adds the stored counts of a segment, by code of its only column.
    pub(super) fn add_stored(
        &mut self,
        segment: usize,
        values: &GroupColumnValues<'s>,
        counts: &[u64],
    ) {
        // What matches lack comes last in any order, so that groups of one segment are sorted already.
        let by_value = counts.iter().enumerate().skip(1);
        let all = by_value.chain(counts.iter().enumerate().take(1));
        for (code, &count) in all.filter(|(_, count)| **count > 0) {
            let number = self.values[0].number(segment, values, code as u32);
            self.add_group([number, MISSING], count);
        }
    }

    fn add_group(&mut self, values: [u32; GROUPED_BY_MAX], count: u64) -> u32 {
        let next = self.groups.len() as u32;
        let group = match values {
            [value, MISSING] => {
                let index = value as usize;
                if index >= self.by_value.len() {
                    self.by_value.resize(index + 1, NO_CELL);
                }
                let group = &mut self.by_value[index];
                *group = if *group == NO_CELL { next } else { *group };
                *group
            }
            values => *self.by_values.entry(values).or_insert(next),
        };
        if group == next {
            self.groups.push(CountedGroup { values, count: 0 });
        }
        self.groups[group as usize].count += count;
        group
    }

    /// The number of all matches.
    pub(super) fn matches(&self) -> u64 {
        self.groups.iter().map(|group| group.count).sum()
    }
}

/// The cell of each combination of a segment, by the cells of groups.
pub(super) fn cells_of(groups: &ByCombination<u32>, cells: &[u32]) -> ByCombination<u32> {
    groups.map(
        NO_CELL,
        |group| group != NO_CELL,
        |_, group| cells[group as usize],
    )
}

#[cfg(test)]
mod tests;
