//! The companies with most matches: counted by company, of which only those that are shown are ranked.

use std::cmp::Reverse;

use time::Date;

use super::snapshot::Snapshot;
use crate::Result;
use crate::aggregate::{AggregateGroup, AggregateTotals, Aggregates, Figures, KeyValue};
use crate::query::{AggregateOrder, AggregateQuery, Measure};

/// Counts up to which companies are counted by their number of matches.
const COUNTED_MAX: usize = 4096;

/// Whether a query asks for nothing but the companies with most matches.
pub(super) fn is_of_top_companies(query: &AggregateQuery) -> bool {
    query.names_companies()
        && query.measures() == [Measure::Count]
        && query.order() == AggregateOrder::Count
        && query.limit().is_some()
}

impl Snapshot {
    /// The answer to a query for the companies with most matches.
    ///
    /// # Errors
    /// A part of a file that the query needs is damaged.
    ///
    /// Cost: that of counting matches by company, and two passes over a counter per company.
    pub(super) fn top_companies(&self, query: &AggregateQuery, today: Date) -> Result<Aggregates> {
        let matches = self.matches_by_company(query.filter(), today, None, false)?;
        let counts = matches.counts();
        let limit = query.limit().unwrap_or(usize::MAX);
        let least = least_shown(counts, limit);
        let mut shown: Vec<(u32, u32)> = (0..)
            .zip(counts)
            .filter(|&(_, &count)| count >= least)
            .map(|(number, &count)| (number, count))
            .collect();
        // Numbers ascend with slugs.
        shown.sort_unstable_by_key(|&(number, count)| (Reverse(count), number));
        shown.truncate(limit);
        let with_match = counts.iter().filter(|&&count| count > 0).count();
        Ok(Aggregates {
            truncated: with_match > shown.len(),
            groups: shown
                .into_iter()
                .map(|(number, count)| self.company_group(number, count))
                .collect::<Result<_>>()?,
            totals: AggregateTotals {
                groups: with_match as u64,
                figures: figures(counts.iter().map(|&count| u64::from(count)).sum()),
            },
        })
    }

    fn company_group(&self, number: u32, count: u32) -> Result<AggregateGroup> {
        let (index, company) = self.company_ranks()?.record(number);
        let segment = &self.segments[index].segment;
        let key = KeyValue::Company {
            slug: segment.company_keys()?.slug(company).to_owned(),
            name: segment.company_name(company)?.to_owned(),
        };
        Ok(AggregateGroup {
            key: vec![Some(key)],
            figures: figures(count.into()),
        })
    }
}

fn figures(count: u64) -> Figures {
    Figures {
        count,
        companies: None,
        amounts: None,
    }
}

/// A count that at least `limit` companies have or exceed, as great as a table of counts tells; 1 if fewer have matches.
fn least_shown(counts: &[u32], limit: usize) -> u32 {
    let mut companies = vec![0_u32; COUNTED_MAX + 1];
    for &count in counts {
        companies[(count as usize).min(COUNTED_MAX)] += 1;
    }
    let mut left = limit;
    // Invariant: fewer than `limit` companies have more matches than this count, and `left` is the rest.
    for (count, &companies) in companies.iter().enumerate().skip(1).rev() {
        left = left.saturating_sub(companies as usize);
        if left == 0 {
            return count as u32;
        }
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_count_leaves_no_company_of_the_first_out() {
        let large = COUNTED_MAX as u32 + 7;
        let counts = [0, 3, large, 1, 3, large + 1, 0, 2];
        for (limit, least) in [
            (1, COUNTED_MAX as u32),
            (2, COUNTED_MAX as u32),
            (3, 3),
            (4, 3),
            (5, 2),
            (6, 1),
            (9, 1),
        ] {
            assert_eq!(least_shown(&counts, limit), least, "{limit}");
        }
    }
}
