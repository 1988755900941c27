//! The values that groups have in one of the columns that they are grouped by, over all segments.

use std::cmp::Ordering;

use hashbrown::HashMap;

use super::company_numbers::CompanyNumbers;
use super::live::SegmentHandle;
use crate::Result;
use crate::aggregate::KeyValue;
use crate::encoding::row::CompanyNumber;
use crate::exec::GroupColumnValues;
use crate::query::CalendarPeriod;

/// The number of what matches lack.
pub(super) const MISSING: u32 = 0;

/// The values of a column over all segments, numbered from 1 on.
pub(super) struct GroupValues<'s> {
    segments: &'s [SegmentHandle],
    periods: Vec<CalendarPeriod>,
    by_period: HashMap<CalendarPeriod, u32>,
    /// The smallest label of each value that a match has.
    labels: Vec<&'s str>,
    by_key: HashMap<&'s str, u32>,
    companies: Option<&'s CompanyNumbers>,
}

impl<'s> GroupValues<'s> {
    pub(super) fn new(
        segments: &'s [SegmentHandle],
        companies: Option<&'s CompanyNumbers>,
    ) -> GroupValues<'s> {
        GroupValues {
            segments,
            periods: Vec::new(),
            by_period: HashMap::new(),
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
            GroupColumnValues::Periods(periods) => {
                let period = periods[index as usize];
                let next = self.periods.len() as u32 + 1;
                let number = *self.by_period.entry(period).or_insert(next);
                if number == next {
                    self.periods.push(period);
                }
                number
            }
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
                let numbers = self.companies;
                numbers.map_or(index, |numbers| numbers.get(segment, company)) + 1
            }
        }
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
            self.compare_companies(a as u32, b as u32)
        };
        if descending { order.reverse() } else { order }
    }

    fn compare_companies(&self, a: u32, b: u32) -> Ordering {
        // Numbers of one segment ascend with slugs.
        if self.segments.len() == 1 {
            return a.cmp(&b);
        }
        self.slug(a).cmp(self.slug(b))
    }

    fn home(&self, number: u32) -> (usize, CompanyNumber) {
        let alone = (0, CompanyNumber(number));
        self.companies.map_or(alone, |numbers| numbers.home(number))
    }

    /// The slug of a company; its keys have been checked when it was numbered.
    fn slug(&self, number: u32) -> &'s str {
        let (segment, company) = self.home(number);
        let keys = self.segments[segment].segment.company_keys();
        keys.map_or("", |keys| keys.slug(company))
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
                let slug = self.slug(index).to_owned();
                let name = self.company_name(&slug)?.to_owned();
                KeyValue::Company { slug, name }
            },
        ))
    }

    /// The name in the newest record of a company.
    fn company_name(&self, slug: &str) -> Result<&'s str> {
        for live in self.segments.iter().rev() {
            if let Some(company) = live.company_by_slug(slug)? {
                return live.segment.company_name(company);
            }
        }
        Ok("")
    }
}
