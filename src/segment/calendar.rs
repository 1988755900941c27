//! The calendar of a segment: how many rows each day has, and which codes of days are in each period.

use std::sync::OnceLock;

use super::period_rows::PeriodRows;
use crate::encoding::column::{Column, NO_CODE};
use crate::encoding::row::Row;
use crate::encoding::zone_map::OrderedColumn;
use crate::query::dates::day_of_number;
use crate::query::{CalendarPeriod, TimeUnit};

/// Counts and periods, computed once for a segment, whose days never change.
#[derive(Debug)]
pub(crate) struct Calendar {
    /// By code: the number of rows, deleted ones included. Code 0 is that of rows without a date.
    rows_of_code: Box<[u32]>,
    /// By unit, on demand.
    periods: [OnceLock<Box<[CodedPeriod]>>; TimeUnit::ALL.len()],
    /// By unit, on demand: the rows of its periods.
    rows: [OnceLock<Option<PeriodRows>>; TimeUnit::ALL.len()],
    /// By company, on demand: the greatest code of its rows, deleted ones included.
    latest_codes: OnceLock<Box<[u32]>>,
}

/// A period with the codes of its days.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodedPeriod {
    pub(crate) period: CalendarPeriod,
    /// The first code of the period; it ends before the first of the next period.
    pub(crate) first_code: u32,
    /// The number of rows, deleted ones included.
    pub(crate) rows: u64,
}

impl Calendar {
    /// Counts the rows of a column with `days` days, whose codes have been checked. Cost: a pass over the column.
    pub(super) fn of(column: Column<'_>, days: usize) -> Calendar {
        let mut rows_of_code = vec![0; days + 1];
        match column {
            Column::One(codes) => count(codes, &mut rows_of_code),
            Column::Two(codes) => count(codes, &mut rows_of_code),
            Column::Four(codes) => count(codes, &mut rows_of_code),
        }
        Calendar {
            rows_of_code: rows_of_code.into(),
            periods: Default::default(),
            rows: Default::default(),
            latest_codes: OnceLock::new(),
        }
    }

    /// The periods of a unit that some of these days are in, ascending. `days` are those of the column.
    pub(super) fn periods(&self, days: &[i32], unit: TimeUnit) -> &[CodedPeriod] {
        self.periods[unit as usize].get_or_init(|| self.periods_of(days, unit))
    }

    /// The rows of each period of a unit. `column` has these days.
    pub(super) fn period_rows(
        &self,
        column: &OrderedColumn<'_>,
        days: &[i32],
        unit: TimeUnit,
    ) -> Option<&PeriodRows> {
        // A period of fewer days has few rows of a block.
        if matches!(unit, TimeUnit::Day | TimeUnit::Week) {
            return None;
        }
        let rows = &self.rows[unit as usize];
        let make = || PeriodRows::of(column, self.periods(days, unit));
        rows.get_or_init(make).as_ref()
    }

    /// By company: the greatest code of its rows, given for each, in a column; 0 without one. The column has the
    /// days of this calendar.
    pub(super) fn latest_codes<'a>(
        &self,
        column: Column<'_>,
        of_companies: impl Iterator<Item = &'a [Row]>,
    ) -> &[u32] {
        let latest = |rows: &[Row]| {
            let codes = rows.iter().map(|&row| column.get(row));
            codes.max().unwrap_or(NO_CODE)
        };
        self.latest_codes
            .get_or_init(|| of_companies.map(latest).collect())
    }

    /// The number of rows without a date, deleted ones included.
    pub(crate) fn undated_rows(&self) -> u64 {
        self.rows_of_code[0].into()
    }

    fn periods_of(&self, days: &[i32], unit: TimeUnit) -> Box<[CodedPeriod]> {
        let mut periods: Vec<CodedPeriod> = Vec::new();
        // Invariant: `periods` has those of all days before this one, which ascend.
        for (index, &day) in days.iter().enumerate() {
            let Some(date) = day_of_number(day) else {
                continue;
            };
            let (period, code) = (unit.period(date), index as u32 + 1);
            let rows = u64::from(self.rows_of_code[code as usize]);
            match periods.last_mut().filter(|last| last.period == period) {
                Some(last) => last.rows += rows,
                None => periods.push(CodedPeriod {
                    period,
                    first_code: code,
                    rows,
                }),
            }
        }
        periods.into()
    }
}

fn count<T: Copy + Into<u32>>(codes: &[T], rows_of_code: &mut [u32]) {
    for &code in codes {
        let code: u32 = code.into();
        rows_of_code[code as usize] += 1;
    }
}
