//! The columns that matches are grouped by: a code for each row, of a period, a value of a list, or a company.

use super::matched_rows::MatchedBlocks;
use super::parallel::add_each;
use crate::Result;
use crate::encoding::column::{Column, NO_CODE};
use crate::encoding::nibbles::FacetColumn;
use crate::encoding::row::Row;
use crate::encoding::zone_map::OrderedColumn;
use crate::kernels::bits;
use crate::kernels::block::BlockBits;
use crate::query::{CalendarPeriod, GroupBy};
use crate::segment::{FacetView, PeriodRows, Segment};

/// Codes of rows up to which they are counted in several tables.
const SPLIT_CODES_MAX: u32 = 4096;

/// Tables in which codes of rows are counted: signals that are neighbours often have one date, and incrementing a counter
/// that has just been written waits for the store.
const TABLES: usize = 4;

/// A column that matches are grouped by. Code 0 is that of rows without the value.
#[derive(Debug)]
pub(crate) struct GroupColumn<'a> {
    rows: RowCodes<'a>,
    /// The code of a group for each code of a row, unless they are the same.
    by_row_code: Option<Vec<u32>>,
    /// The rows of each code by block, for long periods.
    period_rows: Option<(&'a OrderedColumn<'a>, &'a PeriodRows)>,
    /// The number of codes of rows, 0 included.
    row_codes: u32,
    /// The number of codes of groups, 0 included.
    len: u32,
    /// What the codes from 1 on mean.
    pub(crate) values: GroupColumnValues<'a>,
}

/// Counters of the codes of a column.
#[derive(Debug)]
pub(crate) struct CodeCounters {
    /// By code of rows, in one table after another.
    by_row_code: Vec<u32>,
    /// By code of groups: matches whose rows have not been read.
    by_code: Vec<u64>,
}

impl CodeCounters {
    /// Adds counters of the same column.
    pub(crate) fn add(&mut self, other: &CodeCounters) {
        add_each(&mut self.by_row_code, &other.by_row_code);
        add_each(&mut self.by_code, &other.by_code);
    }
}

/// The codes of rows.
#[derive(Clone, Copy, Debug)]
enum RowCodes<'a> {
    Column(Column<'a>),
    Facet(FacetColumn<'a>),
}

/// What the codes of a column from 1 on mean, in this order.
#[derive(Debug)]
pub(crate) enum GroupColumnValues<'a> {
    /// Periods, ascending.
    Periods(Vec<CalendarPeriod>),
    /// Values of a facet.
    Facet(&'a FacetView<'a>),
    /// Companies, by number.
    Companies,
}

impl<'a> GroupColumnValues<'a> {
    /// The values of a segment's column.
    ///
    /// # Errors
    /// The days are damaged.
    pub(crate) fn of(segment: &'a Segment, by: GroupBy) -> Result<GroupColumnValues<'a>> {
        Ok(match by {
            GroupBy::Time(unit) => {
                let periods = segment.periods(unit)?.iter();
                GroupColumnValues::Periods(periods.map(|coded| coded.period).collect())
            }
            GroupBy::Facet(facet) => GroupColumnValues::Facet(segment.facet(facet)),
            GroupBy::Company => GroupColumnValues::Companies,
        })
    }
}

impl<'a> GroupColumn<'a> {
    /// The column of a segment.
    ///
    /// # Errors
    /// The column is damaged.
    pub(crate) fn of(segment: &'a Segment, by: GroupBy) -> Result<GroupColumn<'a>> {
        Ok(match by {
            GroupBy::Time(unit) => {
                let (coded, days) = (segment.periods(unit)?, segment.days()?.len());
                let mut by_row_code = vec![NO_CODE; days + 1];
                for (index, period) in coded.iter().enumerate() {
                    let end = coded
                        .get(index + 1)
                        .map_or(days + 1, |next| next.first_code as usize);
                    by_row_code[period.first_code as usize..end].fill(index as u32 + 1);
                }
                let column = segment.day_column()?;
                let period_rows = segment.period_rows(unit)?;
                GroupColumn {
                    rows: RowCodes::Column(column.column),
                    by_row_code: Some(by_row_code),
                    period_rows: period_rows.map(|rows| (column, rows)),
                    row_codes: days as u32 + 1,
                    len: coded.len() as u32 + 1,
                    values: GroupColumnValues::of(segment, by)?,
                }
            }
            GroupBy::Facet(facet) => {
                let view = segment.facet(facet);
                GroupColumn {
                    rows: RowCodes::Facet(segment.facet_column(facet)?),
                    by_row_code: None,
                    period_rows: None,
                    row_codes: view.len() as u32 + 1,
                    len: view.len() as u32 + 1,
                    values: GroupColumnValues::of(segment, by)?,
                }
            }
            GroupBy::Company => GroupColumn {
                rows: RowCodes::Column(segment.company_column()?),
                by_row_code: None,
                period_rows: None,
                row_codes: segment.company_count() + 1,
                len: segment.company_count() + 1,
                values: GroupColumnValues::of(segment, by)?,
            },
        })
    }

    /// The number of codes, 0 included.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// Replaces `codes` by those of some rows of a block.
    pub(crate) fn read(&self, block: u32, offsets: &[u16], codes: &mut Vec<u32>) {
        read_codes(self.rows, block, offsets, codes);
        if let Some(by_row_code) = &self.by_row_code {
            codes
                .iter_mut()
                .for_each(|code| *code = by_row_code[*code as usize]);
        }
    }

    /// Counters of its codes, all zero.
    pub(crate) fn counters(&self) -> CodeCounters {
        let tables = if self.row_codes <= SPLIT_CODES_MAX {
            TABLES
        } else {
            1
        };
        CodeCounters {
            // A segment has fewer than 2³² rows, so no counter overflows.
            by_row_code: vec![0; self.row_codes as usize * tables],
            by_code: vec![0; self.len as usize],
        }
    }

    /// Counts the matches of each code.
    ///
    /// Cost: a read and an increment per match.
    pub(crate) fn count(&self, matched: MatchedBlocks<'_>, counters: &mut CodeCounters) {
        let CodeCounters {
            by_row_code,
            by_code,
        } = counters;
        matched.visit(
            |block, set| self.count_periods(block, set, by_code),
            |block, offsets| self.count_block(block, offsets, by_row_code),
        );
    }

    /// The number of matches of each code.
    pub(crate) fn counts(&self, counters: CodeCounters) -> Vec<u64> {
        let mut by_code = counters.by_code;
        for table in counters.by_row_code.chunks(self.row_codes as usize) {
            for (row_code, &count) in table.iter().enumerate() {
                let by_row_code = self.by_row_code.as_ref();
                let code = by_row_code.map_or(row_code, |codes| codes[row_code] as usize);
                by_code[code] += u64::from(count);
            }
        }
        by_code
    }

    /// Adds the set rows of a block to the counts of their periods, unless reading their codes takes less time. Returns
    /// whether it did.
    fn count_periods(&self, block: u32, set: &BlockBits, by_code: &mut [u64]) -> bool {
        let Some((column, periods)) = self.period_rows else {
            return false;
        };
        let pays_off = periods.pays_off(block, bits::count(set) as usize);
        if pays_off {
            let add = |code: u32, count: u32| by_code[code as usize] += u64::from(count);
            periods.count(column, (block, set), add);
        }
        pays_off
    }

    /// Adds some rows of a block to the counts of their codes, table by table.
    fn count_block(&self, block: u32, offsets: &[u16], counts: &mut [u32]) {
        let (first, codes) = (Row::of(block, 0).index(), self.row_codes as usize);
        match self.rows {
            RowCodes::Facet(FacetColumn::Empty) => counts[0] += offsets.len() as u32,
            RowCodes::Facet(FacetColumn::Nibbles(column)) => {
                let column = column.starting_at(block);
                count_each(offsets, |offset| column.get(offset), codes, counts);
            }
            RowCodes::Facet(FacetColumn::Bytes(column)) | RowCodes::Column(column) => {
                match column {
                    Column::One(column) => {
                        let column = &column[first..];
                        count_each(offsets, |offset| column[offset].into(), codes, counts);
                    }
                    Column::Two(column) => {
                        let column = &column[first..];
                        count_each(offsets, |offset| column[offset].into(), codes, counts);
                    }
                    Column::Four(column) => {
                        let column = &column[first..];
                        count_each(offsets, |offset| column[offset] as usize, codes, counts);
                    }
                }
            }
        }
    }

    /// The code of one row.
    pub(crate) fn get(&self, row: Row) -> u32 {
        let code = match self.rows {
            RowCodes::Column(column) => column.get(row),
            RowCodes::Facet(column) => column.get(row),
        };
        let by_row_code = self.by_row_code.as_ref();
        by_row_code.map_or(code, |by_row_code| by_row_code[code as usize])
    }
}

/// Replaces `codes` by those of some rows of a block. Each width has a loop of its own.
fn read_codes(rows: RowCodes<'_>, block: u32, offsets: &[u16], codes: &mut Vec<u32>) {
    codes.clear();
    let first = Row::of(block, 0).index();
    match rows {
        RowCodes::Facet(FacetColumn::Empty) => codes.resize(offsets.len(), NO_CODE),
        RowCodes::Facet(FacetColumn::Nibbles(column)) => {
            let column = column.starting_at(block);
            codes.extend(
                offsets
                    .iter()
                    .map(|&offset| column.get(offset.into()) as u32),
            );
        }
        RowCodes::Facet(FacetColumn::Bytes(column)) | RowCodes::Column(column) => match column {
            Column::One(column) => extend(&column[first..], offsets, codes),
            Column::Two(column) => extend(&column[first..], offsets, codes),
            Column::Four(column) => extend(&column[first..], offsets, codes),
        },
    }
}

/// Counts the codes of some rows, in one or in [`TABLES`] tables of `codes` counters.
#[inline(always)]
fn count_each(offsets: &[u16], code: impl Fn(usize) -> usize, codes: usize, counts: &mut [u32]) {
    let (fours, rest) = if counts.len() == codes * TABLES {
        offsets.as_chunks::<TABLES>()
    } else {
        (&[][..], offsets)
    };
    for four in fours {
        for (table, &offset) in four.iter().enumerate() {
            counts[table * codes + code(offset.into())] += 1;
        }
    }
    for &offset in rest {
        counts[code(offset.into())] += 1;
    }
}

fn extend<T: Copy + Into<u32>>(column: &[T], offsets: &[u16], codes: &mut Vec<u32>) {
    codes.extend(
        offsets
            .iter()
            .map(|&offset| column[usize::from(offset)].into()),
    );
}

/// A column as it is, for amounts and companies.
pub(crate) fn read_column(column: Column<'_>, block: u32, offsets: &[u16], codes: &mut Vec<u32>) {
    read_codes(RowCodes::Column(column), block, offsets, codes);
}

/// Calls `visit` with the code of each of some rows of a block. Each width has a loop of its own.
#[inline(always)]
pub(crate) fn for_each_code(
    column: Column<'_>,
    block: u32,
    offsets: &[u16],
    mut visit: impl FnMut(u32),
) {
    let first = Row::of(block, 0).index();
    let offsets = offsets.iter().map(|&offset| usize::from(offset));
    match column {
        Column::One(codes) => {
            let codes = &codes[first..];
            offsets.for_each(|offset| visit(codes[offset].into()));
        }
        Column::Two(codes) => {
            let codes = &codes[first..];
            offsets.for_each(|offset| visit(codes[offset].into()));
        }
        Column::Four(codes) => {
            let codes = &codes[first..];
            offsets.for_each(|offset| visit(codes[offset]));
        }
    }
}

#[cfg(test)]
mod tests;
