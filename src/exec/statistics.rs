//! The planner's statistics of a live segment.

use std::ops::RangeInclusive;

use smallvec::SmallVec;

use super::companies::rows_of_companies;
use super::live::LiveSegment;
use crate::Result;
use crate::encoding::pairs::is_frequent;
use crate::encoding::posting::PostingId;
use crate::encoding::zone_map::Overlap;
use crate::kernels::block::BLOCK_ROWS;
use crate::plan::{
    CodeRange, CompanyFacet, Estimate, Pair, PrefixWords, RangeColumn, Source, SourceStatistics,
    Statistics, TermStatistics,
};
use crate::query::{CompanyReference, Facet};
use crate::segment::TextField;
use crate::signal::SignalId;

impl LiveSegment<'_> {
    #[inline(always)]
    fn posting(&self, posting: PostingId) -> Result<SourceStatistics> {
        Ok(SourceStatistics {
            source: Source::Posting(posting),
            rows: self.segment.cardinality(posting)?.into(),
        })
    }
}

impl Statistics for LiveSegment<'_> {
    fn row_count(&self) -> u64 {
        u64::from(self.segment.row_count())
    }

    #[inline(always)]
    fn term(&self, field: TextField, term: &str) -> Result<Option<TermStatistics>> {
        let Some((posting, number)) = self.segment.term(field, term)? else {
            return Ok(None);
        };
        Ok(Some(TermStatistics {
            source: self.posting(posting)?,
            number,
        }))
    }

    fn title_prefix(&self, prefix: &str, listed_rows_max: u64) -> Result<PrefixWords> {
        let postings = self.segment.title_words_beginning(prefix)?;
        let mut words = PrefixWords {
            count: postings.len(),
            ..PrefixWords::default()
        };
        for posting in postings {
            let source = self.posting(posting)?;
            if source.rows > listed_rows_max {
                words.sources.push(source);
                continue;
            }
            let rows = self.segment.posting(posting)?.rows();
            words.rows.extend(rows.map(|row| row.0));
        }
        Ok(words)
    }

    fn title_pair(&self, first: &TermStatistics, second: &TermStatistics) -> Result<Pair> {
        let rows = self.segment.row_count();
        if ![first, second]
            .iter()
            .all(|term| is_frequent(term.source.rows, rows))
        {
            return Ok(Pair::NotKept);
        }
        let pairs = self.segment.title_pairs()?;
        Ok(match pairs.find(first.number, second.number) {
            Some(posting) => Pair::Stored(self.posting(posting)?),
            None => Pair::Absent,
        })
    }

    #[inline(always)]
    fn facet_values(
        &self,
        facet: Facet,
        key: &str,
    ) -> Result<impl Iterator<Item = SourceStatistics>> {
        let postings = self.segment.facet_postings(facet, key)?;
        let entries = self.segment.posting_entries()?;
        Ok(postings.map(|posting| SourceStatistics {
            source: Source::Posting(posting),
            rows: entries.cardinality(posting).into(),
        }))
    }

    fn company(&self, slug: &str) -> Result<Option<SourceStatistics>> {
        let Some(company) = self.company_by_slug(slug)? else {
            return Ok(None);
        };
        Ok(Some(SourceStatistics {
            source: Source::Company(company),
            rows: self.segment.company_rows(company)?.len() as u64,
        }))
    }

    fn companies(&self, references: &[CompanyReference]) -> Result<Vec<SourceStatistics>> {
        let keys = self.segment.company_keys()?;
        let mut found = Vec::with_capacity(2 * references.len());
        // Of many texts one look-up tells all that they mean.
        let are_keys = |wanted: bool| {
            let references = references.iter();
            references.filter(move |reference| reference.is_key == wanted)
        };
        let slugs = |wanted| are_keys(wanted).map(|reference| &*reference.slug);
        keys.by_slugs_or_names(slugs(true), &mut found);
        let first_by_slug = found.len();
        keys.by_slugs(slugs(false), &mut found);
        let have_form = |wanted: bool| {
            are_keys(false).filter(move |reference| reference.name.has_legal_form() == wanted)
        };
        keys.by_names(
            have_form(false).map(|reference| reference.name.key()),
            &mut found,
            first_by_slug,
        );
        for reference in have_form(true) {
            self.segment.find_companies(&reference.name, &mut found)?;
        }
        let mut found = self.live_companies(found)?;
        found.sort_unstable();
        // A company may have been found by its slug and by its name.
        found.dedup();
        let rows = self.segment.rows_by_company()?;
        let describe = |company| SourceStatistics {
            source: Source::Company(company),
            rows: rows.get(company).len() as u64,
        };
        Ok(found.into_iter().map(describe).collect())
    }

    fn rows_of_companies(&self, facets: &[CompanyFacet], max: usize) -> Result<Option<Vec<u32>>> {
        let of_companies = |facet: Facet, source: &Source| match source {
            Source::Posting(posting) => self.segment.company_posting(facet, *posting),
            Source::Company(_) => None,
        };
        let sets = facets.iter().map(|(facet, sources)| {
            let postings = sources.iter().map(|source| of_companies(*facet, source));
            postings.collect::<Option<_>>()
        });
        let sets: Option<SmallVec<[_; 3]>> = sets.collect();
        sets.map_or(Ok(None), |sets| rows_of_companies(self.segment, &sets, max))
    }

    fn rows_of_ids(&self, ids: &[SignalId]) -> Result<Vec<u32>> {
        let mut rows: Vec<u32> = Vec::with_capacity(ids.len());
        for &id in ids {
            rows.extend(self.row(id)?.map(|row| row.0));
        }
        rows.sort_unstable();
        Ok(rows)
    }

    fn day_codes(&self, days: &RangeInclusive<i32>) -> Result<Option<CodeRange>> {
        let values = self.segment.days()?;
        // Days ascend, so the codes of a range of days are consecutive.
        let first = values.partition_point(|day| day < days.start());
        let end = values.partition_point(|day| day <= days.end());
        Ok(codes_of_indexes(first, end))
    }

    fn amount_codes(&self, min: Option<f64>, max: Option<f64>) -> Result<Option<CodeRange>> {
        let values = self.segment.amounts()?;
        let first = min.map_or(0, |min| values.partition_point(|&amount| amount < min));
        let end = max.map_or(values.len(), |max| {
            values.partition_point(|&amount| amount <= max)
        });
        Ok(codes_of_indexes(first, end))
    }

    /// Estimated from the blocks' zone maps: blocks inside the ranges count fully, blocks at the edge by half.
    fn rows_in_ranges(&self, column: RangeColumn, codes: &[CodeRange]) -> Result<Estimate> {
        let ordered = match column {
            RangeColumn::Date => self.segment.day_column()?,
            RangeColumn::Amount => self.segment.amount_column()?,
        };
        let (mut min, mut max) = (0, 0);
        let mut rest = u64::from(self.segment.row_count());
        for block in ordered.blocks {
            // Invariant: `rest` is the number of rows in this block and all later ones.
            let rows = rest.min(u64::from(BLOCK_ROWS));
            rest -= rows;
            let overlap = block.classify(codes);
            min += if overlap == Overlap::All { rows } else { 0 };
            max += if overlap == Overlap::None { 0 } else { rows };
        }
        Ok(Estimate {
            min,
            expected: min + (max - min) / 2,
            max,
        })
    }
}

/// The codes of the values with indexes in `first..end`.
fn codes_of_indexes(first: usize, end: usize) -> Option<CodeRange> {
    (first < end).then(|| first as u32 + 1..=end as u32)
}
