//! Counts of groups that a segment stores, less its deleted rows.

use super::group_column::GroupColumn;
use super::live::LiveSegment;
use crate::Result;
use crate::encoding::row::Row;
use crate::query::{Facet, GroupBy, TimeUnit};

impl LiveSegment<'_> {
    /// The number of live rows of each code of a column, from stored counts less the deleted rows; `None` for companies.
    ///
    /// # Errors
    /// The stored counts or the column are damaged.
    ///
    /// Cost: a read per value, and for lists one per deleted row.
    pub(crate) fn stored_groups(self, by: GroupBy) -> Result<Option<Vec<u64>>> {
        match by {
            GroupBy::Company => Ok(None),
            GroupBy::Time(unit) => self.stored_periods(unit).map(Some),
            GroupBy::Facet(facet) => self.stored_values(facet).map(Some),
        }
    }

    /// By code of the unit's periods.
    fn stored_periods(self, unit: TimeUnit) -> Result<Vec<u64>> {
        let (periods, undated) = (
            self.segment.periods(unit)?,
            self.segment.calendar()?.undated_rows(),
        );
        let periods_rows = periods.iter().map(|period| period.rows);
        let mut counts: Vec<u64> = [undated].into_iter().chain(periods_rows).collect();
        if self.deleted.row_count() == 0 {
            return Ok(counts);
        }
        let deleted = self.deleted.rows_by_day(self.segment)?;
        // Code 0, of no date, is a group of its own, as each period is the codes up to the next one.
        let starts = periods.iter().map(|period| period.first_code as usize);
        let ends = starts.clone().chain([deleted.len()]);
        let starts = [0].into_iter().chain(starts);
        for (count, (start, end)) in counts.iter_mut().zip(starts.zip(ends)) {
            let rows: u64 = deleted[start..end]
                .iter()
                .map(|&rows| u64::from(rows))
                .sum();
            *count = count.saturating_sub(rows);
        }
        Ok(counts)
    }

    /// By code of the facet's values.
    fn stored_values(self, facet: Facet) -> Result<Vec<u64>> {
        let (view, entries) = (self.segment.facet(facet), self.segment.posting_entries()?);
        let count = |value| u64::from(entries.cardinality(view.posting(value)));
        let values: Vec<u64> = (0..view.len()).map(count).collect();
        let with_value: u64 = values.iter().sum();
        // Each row has at most one value. Stored cardinalities have not been compared with the rows.
        let without = u64::from(self.segment.row_count()).saturating_sub(with_value);
        let mut counts: Vec<u64> = [without].into_iter().chain(values).collect();
        // There are few deleted rows where stored counts are used.
        if self.deleted.row_count() > 0 {
            let column = GroupColumn::of(self.segment, GroupBy::Facet(facet))?;
            for row in self.deleted.rows() {
                let count = &mut counts[column.get(Row(row)) as usize];
                *count = count.saturating_sub(1);
            }
        }
        Ok(counts)
    }
}
