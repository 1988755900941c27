//! The matches of a condition by company, over all segments of a snapshot.

use time::Date;

use super::company_ranks::CompanyRanks;
use super::company_set::CompanySet;
use super::snapshot::Snapshot;
use crate::Result;
use crate::encoding::column::Column;
use crate::encoding::row::{CompanyNumber, Row};
use crate::exec::CompanyCounts;
use crate::query::dates::day_of_number;
use crate::query::{Condition, ConditionMatches, Filter};
use crate::segment::Segment;

/// With at most this many candidates, their rows are counted, to decide whether only these are looked at.
const FEW_COMPANIES_MAX: u64 = 1024;

/// Rows of candidates are looked at one by one if at least this many times as many rows exist: a look-up takes as long
/// as visiting that many rows with all others.
const ROWS_PER_LOOK_UP: u64 = 256;

/// So few rows of candidates are always looked at one by one.
const FEW_ROWS: u64 = 64;

/// The day of a company without a dated match.
const NO_DAY: i32 = i32::MIN;

/// The matches of a condition, by the numbers of companies in the snapshot.
#[derive(Debug)]
pub(super) struct MatchesByCompany {
    counts: Vec<u32>,
    /// The latest days; empty unless wanted.
    days: Vec<i32>,
    /// The number of rows, if only those of candidates were looked at.
    pub(super) looked_up: Option<u64>,
}

impl MatchesByCompany {
    fn none(companies: u32, with_days: bool) -> MatchesByCompany {
        let companies = companies as usize;
        MatchesByCompany {
            counts: vec![0; companies],
            days: vec![NO_DAY; if with_days { companies } else { 0 }],
            looked_up: None,
        }
    }

    /// The matches of a segment whose numbers of companies are those of the snapshot.
    fn of(segment: &Segment, found: CompanyCounts) -> Result<MatchesByCompany> {
        let days = segment.days()?;
        let day = |&code: &u32| day_of_code(days, code).unwrap_or(NO_DAY);
        Ok(MatchesByCompany {
            days: found.days.iter().map(day).collect(),
            counts: found.counts,
            looked_up: None,
        })
    }

    /// The number of matches of each company.
    pub(super) fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// The number of matches of a company.
    pub(super) fn count(&self, number: u32) -> u64 {
        self.counts[number as usize].into()
    }

    /// The day of the latest match of a company, if there is a dated one. Days must have been wanted.
    pub(super) fn day(&self, number: u32) -> Option<i32> {
        let day = self.days[number as usize];
        (day != NO_DAY).then_some(day)
    }

    /// The companies whose number of matches a condition allows.
    pub(super) fn allowed_by(&self, condition: &Condition) -> CompanySet {
        // A snapshot has fewer companies than a `u32` can count.
        let companies = self.counts.len() as u32;
        let mut allowed = CompanySet::all(companies);
        let counts = condition.min()..=condition.max().unwrap_or(u32::MAX);
        allowed.keep_in_range(Column::Four(&self.counts), &counts);
        allowed
    }

    fn add(&mut self, number: u32, count: u32, day: Option<i32>) {
        let total = &mut self.counts[number as usize];
        // Bounds of conditions are below the maximum.
        *total = total.saturating_add(count);
        if let (Some(day), Some(latest)) = (day, self.days.get_mut(number as usize)) {
            *latest = day.max(*latest);
        }
    }

    /// Adds the matches of a segment.
    fn add_segment(
        &mut self,
        numbers: &CompanyRanks,
        index: usize,
        segment: &Segment,
        found: CompanyCounts,
    ) -> Result<()> {
        let days = segment.days()?;
        for (company, &count) in segment.companies().zip(&found.counts) {
            if count == 0 {
                continue;
            }
            let code = found.days.get(company.index()).copied();
            let day = code.and_then(|code| day_of_code(days, code));
            if let Some(number) = numbers.number(index, company) {
                self.add(number, count, day);
            }
        }
        Ok(())
    }
}

/// The day of a code.
fn day_of_code(days: &[i32], code: u32) -> Option<i32> {
    let index = code.checked_sub(1)?;
    Some(days[index as usize])
}

impl Snapshot {
    /// The matches of a filter by company. Of companies that are no candidates they may be missing.
    ///
    /// # Errors
    /// A part of a file that the filter needs is damaged.
    pub(super) fn matches_by_company(
        &self,
        filter: &Filter,
        today: Date,
        candidates: Option<&CompanySet>,
        with_days: bool,
    ) -> Result<MatchesByCompany> {
        if let Some(few) = self.few_rows(candidates)? {
            return self.matches_among(&few, filter, today, with_days);
        }
        let numbers = self.company_ranks()?;
        let request = self.request(filter, today);
        let none = || MatchesByCompany::none(numbers.len(), with_days);
        let mut matches = None;
        for (index, handle) in self.segments.iter().enumerate() {
            let (segment, found) = (
                &handle.segment,
                handle.live().count_by_company(&request, with_days)?,
            );
            // The first segment, mostly the largest: nothing has been added yet.
            if index == 0 && numbers.are_of_segment(index) {
                matches = Some(MatchesByCompany::of(segment, found)?);
                continue;
            }
            let matches = matches.get_or_insert_with(none);
            matches.add_segment(numbers, index, segment, found)?;
        }
        Ok(matches.unwrap_or_else(none))
    }

    /// The rows of the candidates in each segment, if looking at each is faster than looking for all matches.
    fn few_rows(&self, candidates: Option<&CompanySet>) -> Result<Option<Vec<CompanyRows>>> {
        let Some(candidates) = candidates.filter(|_| self.strategies.company_sets) else {
            return Ok(None);
        };
        if candidates.count() > FEW_COMPANIES_MAX {
            return Ok(None);
        }
        let numbers: Vec<u32> = candidates.iter().collect();
        let max = FEW_ROWS.max(self.signal_count() / ROWS_PER_LOOK_UP);
        let rows = self.rows_of_companies(&numbers, max)?;
        Ok(rows)
    }

    /// The live rows of companies in each segment; `None` if there are more than `max`.
    fn rows_of_companies(&self, numbers: &[u32], max: u64) -> Result<Option<Vec<CompanyRows>>> {
        let mut left = max;
        let mut found = Vec::with_capacity(self.segments.len());
        for (index, handle) in self.segments.iter().enumerate() {
            let by_company = handle.segment.rows_by_company()?;
            let mut of_segment = CompanyRows::default();
            for (position, &number) in numbers.iter().enumerate() {
                let Some(company) = self.number_in(index, number)? else {
                    continue;
                };
                let rows = by_company.get(company);
                let Some(rest) = left.checked_sub(rows.len() as u64) else {
                    return Ok(None);
                };
                left = rest;
                of_segment.companies.push((company, number, position));
                of_segment.rows.extend_from_slice(rows);
            }
            of_segment
                .companies
                .sort_unstable_by_key(|&(company, ..)| company);
            found.push(of_segment);
        }
        Ok(Some(found))
    }

    /// The matches among listed rows, by company.
    fn matches_among(
        &self,
        listed: &[CompanyRows],
        filter: &Filter,
        today: Date,
        with_days: bool,
    ) -> Result<MatchesByCompany> {
        let companies = self.company_ranks()?.len();
        let mut matches = MatchesByCompany::none(companies, with_days);
        matches.looked_up = Some(listed.iter().map(|listed| listed.rows.len() as u64).sum());
        self.visit_matches_among(listed, filter, today, |(number, _), day| {
            matches.add(number, 1, day);
        })?;
        Ok(matches)
    }

    /// Calls `visit` with the company of each match among listed rows, as number and position in the list, and the
    /// day of the match.
    fn visit_matches_among(
        &self,
        listed: &[CompanyRows],
        filter: &Filter,
        today: Date,
        mut visit: impl FnMut((u32, usize), Option<i32>),
    ) -> Result<()> {
        let request = self.request(filter, today);
        for (handle, listed) in self.segments.iter().zip(listed) {
            if listed.rows.is_empty() {
                continue;
            }
            let segment = &handle.segment;
            let mut rows = listed.rows.clone();
            handle.live().retain_matches(&request, &mut rows)?;
            let (days, codes) = (segment.days()?, segment.day_column()?.column);
            for row in rows {
                let day = day_of_code(days, codes.get(row));
                visit(listed.company(segment.company_of(row)?), day);
            }
        }
        Ok(())
    }

    /// What the conditions of `has` count for each of some companies, in their order.
    ///
    /// # Errors
    /// A part of a file that a condition needs is damaged.
    ///
    /// Cost: for each condition, a look-up per signal of the companies, or a visit to all matches if that takes less.
    pub(super) fn condition_matches(
        &self,
        conditions: &[Condition],
        numbers: &[u32],
        today: Date,
    ) -> Result<Vec<Vec<ConditionMatches>>> {
        let mut found = vec![vec![ConditionMatches::default(); conditions.len()]; numbers.len()];
        if conditions.is_empty() || numbers.is_empty() {
            return Ok(found);
        }
        let listed = self
            .rows_of_companies(numbers, u64::MAX)?
            .unwrap_or_default();
        for (index, condition) in conditions.iter().enumerate() {
            let filter = condition.filter();
            let matches = if self.is_look_up_faster(&listed, filter, today)? {
                self.looked_up_matches(&listed, filter, numbers.len(), today)?
            } else {
                let all = self.matches_by_company(filter, today, None, true)?;
                let of_company = |&number| (all.count(number), all.day(number));
                numbers.iter().map(of_company).collect()
            };
            for (of_company, (count, day)) in found.iter_mut().zip(matches) {
                of_company[index].count = count;
                of_company[index].latest_date = day.and_then(day_of_number);
            }
        }
        Ok(found)
    }

    /// Whether looking up listed rows takes less time than visiting all matches of a filter: a page may have the companies
    /// with most signals, and a filter many phrases.
    fn is_look_up_faster(
        &self,
        listed: &[CompanyRows],
        filter: &Filter,
        today: Date,
    ) -> Result<bool> {
        if !self.strategies.company_sets {
            return Ok(false);
        }
        let request = self.request(filter, today);
        let (mut look_up, mut visit) = (0, 0);
        for (handle, listed) in self.segments.iter().zip(listed) {
            let rows = listed.rows.len() as u64;
            let costs = handle.live().look_up_and_visit_cost(&request, rows)?;
            look_up += costs.0;
            visit += costs.1;
        }
        Ok(look_up <= visit)
    }

    /// The number of matches among listed rows and the day of the latest, by the position of the company.
    fn looked_up_matches(
        &self,
        listed: &[CompanyRows],
        filter: &Filter,
        companies: usize,
        today: Date,
    ) -> Result<Vec<(u64, Option<i32>)>> {
        let mut matches = vec![(0, None); companies];
        self.visit_matches_among(listed, filter, today, |(_, position), day| {
            let (count, latest) = &mut matches[position];
            *count += 1;
            *latest = day.max(*latest);
        })?;
        Ok(matches)
    }
}

/// The rows of some companies in a segment.
#[derive(Debug, Default)]
struct CompanyRows {
    rows: Vec<Row>,
    /// The number in the segment, ascending, the one in the snapshot, and the position in the list of companies.
    companies: Vec<(CompanyNumber, u32, usize)>,
}

impl CompanyRows {
    /// The company of a row: its number in the snapshot, and its position in the list.
    fn company(&self, company: CompanyNumber) -> (u32, usize) {
        let index = self
            .companies
            .partition_point(|&(listed, ..)| listed < company);
        let (_, number, position) = self.companies[index];
        (number, position)
    }
}
