//! The values that groups have in one of the columns that they are grouped by, over all segments.

use std::cmp::Ordering;

use hashbrown::HashMap;

use super::company_ranks::CompanyRanks;
use super::live::SegmentHandle;
use crate::aggregate::KeyValue;
use crate::encoding::row::CompanyNumber;
use crate::exec::GroupColumnValues;
use crate::query::CalendarPeriod;
use crate::{Error, Result};

/// The number of what matches lack.
pub(super) const MISSING: u32 = 0;

/// The values of a column over all segments, numbered from 1 on.
pub(super) struct GroupValues<'s> {
    segments: &'s [SegmentHandle],
    periods: Vec<CalendarPeriod>,
    /// The periods with their numbers, ascending.
    by_period: Vec<(CalendarPeriod, u32)>,
    /// The smallest label of each value that a match has.
    labels: Vec<&'s str>,
    by_key: HashMap<&'s str, u32>,
    companies: Option<&'s CompanyRanks>,
}

impl<'s> GroupValues<'s> {
    pub(super) fn new(
        segments: &'s [SegmentHandle],
        companies: Option<&'s CompanyRanks>,
    ) -> GroupValues<'s> {
        GroupValues {
            segments,
            periods: Vec::new(),
            by_period: Vec::new(),
            labels: Vec::new(),
            by_key: HashMap::new(),
            companies,
        }
    }

    /// The number of the value of a code that matches of a segment have.
    pub(super) fn number(
        &mut self,
        segment: usize,
        values: &GroupColumnValues<'s>,
        code: u32,
    ) -> u32 {
        let Some(index) = code.checked_sub(1) else {
            return MISSING;
        };
        match values {
            GroupColumnValues::Periods(periods) => self.period_number(periods[index as usize]),
            GroupColumnValues::Facet(view) => {
                let index = index as usize;
                let (key, label) = (view.keys.get(index), view.labels.get(index));
                let next = self.labels.len() as u32 + 1;
                let number = *self.by_key.entry(key).or_insert(next);
                if number == next {
                    self.labels.push(label);
                }
                // The smallest label stands for all labels with the key.
                let smallest = &mut self.labels[number as usize - 1];
                *smallest = label.min(smallest);
                number
            }
            GroupColumnValues::Companies => {
                let company = CompanyNumber(index);
                let ranks = self.companies;
                ranks.map_or(index, |ranks| ranks.number_or_len(segment, company)) + 1
            }
        }
    }

    /// Cost: nothing to search for periods of one segment, which ascend.
    fn period_number(&mut self, period: CalendarPeriod) -> u32 {
        let known = &mut self.by_period;
        let index = match known.last() {
            Some((last, _)) if *last >= period => known.partition_point(|(it, _)| *it < period),
            _ => known.len(),
        };
        match known.get(index) {
            Some((it, number)) if *it == period => *number,
            _ => {
                self.periods.push(period);
                let number = self.periods.len() as u32;
                known.insert(index, (period, number));
                number
            }
        }
    }

    /// By number: the rank of the value among the others, missing ones last in either direction. For periods and lists,
    /// of which there are few.
    pub(super) fn ranks(&self, descending: bool) -> Vec<u32> {
        let values = self.periods.len().max(self.labels.len()) as u32;
        let mut sorted: Vec<u32> = (MISSING..=values).collect();
        sorted.sort_unstable_by(|&a, &b| self.compare(a, b, descending));
        let mut ranks = vec![0; sorted.len()];
        for (rank, &number) in (0..).zip(&sorted) {
            ranks[number as usize] = rank;
        }
        ranks
    }

    /// Compares the values of two numbers, missing ones last in either direction.
    pub(super) fn compare(&self, a: u32, b: u32, descending: bool) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        if a == MISSING || b == MISSING {
            return (a == MISSING).cmp(&(b == MISSING));
        }
        let (a, b) = (a as usize - 1, b as usize - 1);
        let order = if !self.periods.is_empty() {
            self.periods[a].cmp(&self.periods[b])
        } else if !self.labels.is_empty() {
            self.labels[a].cmp(self.labels[b])
        } else {
            // Numbers of companies ascend with slugs.
            a.cmp(&b)
        };
        if descending { order.reverse() } else { order }
    }

    /// The value of a number, as answers show it.
    ///
    /// # Errors
    /// The name of a company is damaged.
    pub(super) fn key_value(&self, number: u32) -> Result<Option<KeyValue>> {
        let Some(index) = number.checked_sub(1) else {
            return Ok(None);
        };
        Ok(Some(
            if let Some(period) = self.periods.get(index as usize) {
                KeyValue::Time(*period)
            } else if let Some(label) = self.labels.get(index as usize) {
                KeyValue::Label((*label).to_owned())
            } else {
                self.company(index)?
            },
        ))
    }

    /// The slug and the name in the current record of a company.
    fn company(&self, number: u32) -> Result<KeyValue> {
        let ranks = self.companies.filter(|ranks| number < ranks.len());
        let record = ranks.map(|ranks| ranks.record(number));
        let Some((index, company)) = record else {
            return Err(Error::corrupt("a signal is of a company that is not there"));
        };
        let segment = &self.segments[index].segment;
        Ok(KeyValue::Company {
            slug: segment.company_keys()?.slug(company).to_owned(),
            name: segment.company_name(company)?.to_owned(),
        })
    }
}
