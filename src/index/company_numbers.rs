//! Numbers of companies over all segments of a snapshot: a company that several segments hold has one.

use super::live::SegmentHandle;
use crate::Result;
use crate::encoding::row::CompanyNumber;

/// A number for each company of a segment, the same in every segment that holds the company. Made once for a snapshot.
#[derive(Debug)]
pub(super) struct CompanyNumbers {
    /// By segment.
    segments: Vec<Numbers>,
    /// The number after the last.
    end: u32,
}

/// The numbers of a segment's companies.
#[derive(Debug)]
struct Numbers {
    /// The number of its first company, if others do not follow.
    first: u32,
    /// By company; `None` if they follow from `first`.
    listed: Option<Box<[u32]>>,
}

impl CompanyNumbers {
    /// Numbers the companies of segments. Those of the largest segment are numbered as they stand.
    ///
    /// # Errors
    /// The keys of companies are damaged.
    ///
    /// Cost: for each company of every other segment, a look-up in each larger one.
    pub(super) fn of(segments: &[SegmentHandle]) -> Result<CompanyNumbers> {
        let mut by_size: Vec<usize> = (0..segments.len()).collect();
        by_size.sort_by_key(|&index| std::cmp::Reverse(segments[index].segment.company_count()));
        let unset = |_| Numbers {
            first: 0,
            listed: None,
        };
        let mut numbers: Vec<Numbers> = segments.iter().map(unset).collect();
        let mut end = 0;
        // Invariant: the segments before this one, which are larger, have their numbers.
        for (position, &index) in by_size.iter().enumerate() {
            let segment = &segments[index].segment;
            let own = segment.company_keys()?;
            let mut listed = Vec::new();
            for company in segment.companies().filter(|_| position > 0) {
                let slug = own.slug(company);
                let mut found = None;
                for &larger in &by_size[..position] {
                    if let Some(known) = segments[larger].segment.company_keys()?.by_slug(slug) {
                        found = Some(numbers[larger].get(known));
                        break;
                    }
                }
                listed.push(found.unwrap_or(end + company.0));
            }
            numbers[index] = Numbers {
                first: end,
                listed: (position > 0).then(|| listed.into()),
            };
            end += segment.company_count();
        }
        Ok(CompanyNumbers {
            segments: numbers,
            end,
        })
    }

    /// The number of a company of a segment.
    pub(super) fn get(&self, segment: usize, company: CompanyNumber) -> u32 {
        self.segments[segment].get(company)
    }

    /// The number after the last.
    pub(super) fn end(&self) -> u32 {
        self.end
    }

    /// The segment that a number is counted in, and the company's number there.
    pub(super) fn home(&self, number: u32) -> (usize, CompanyNumber) {
        let begins_before = |(_, numbers): &(usize, &Numbers)| numbers.first <= number;
        let segments = self.segments.iter().enumerate().filter(begins_before);
        // Empty segments begin where the next one does; the last of the largest beginnings has companies.
        let home = segments.max_by_key(|(index, numbers)| (numbers.first, usize::MAX - index));
        let (index, first) = home.map_or((0, 0), |(index, numbers)| (index, numbers.first));
        (index, CompanyNumber(number - first))
    }
}

impl Numbers {
    fn get(&self, company: CompanyNumber) -> u32 {
        match &self.listed {
            Some(listed) => listed[company.index()],
            None => self.first + company.0,
        }
    }
}
