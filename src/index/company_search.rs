//! Finds the companies that fulfil a filter: sets by facets and conditions first, then names and records one by one.

use std::ops::RangeInclusive;

use smallvec::SmallVec;
use time::Date;

use super::company_matches::MatchesByCompany;
use super::company_ranks::CompanyRanks;
use super::company_set::CompanySet;
use super::snapshot::Snapshot;
use crate::Result;
use crate::encoding::column::Column;
use crate::encoding::row::CompanyNumber;
use crate::query::{
    CompanyFilter, CompanyKey, CompanyOrder, CompanyQuery, CompanyStart, Facet, Filter,
    value_of_count,
};
use crate::segment::{CompanyAttributes, TextField};
use crate::signal::Company;

/// A filter under evaluation on a snapshot.
pub(super) struct CompanySearch<'s> {
    pub(super) snapshot: &'s Snapshot,
    pub(super) numbers: &'s CompanyRanks,
    pub(super) today: Date,
}

/// The companies that fulfil a filter, and what they are ordered by.
pub(super) struct FoundCompanies {
    pub(super) set: CompanySet,
    order: CompanyOrder,
    /// The matches that the order counts; `None` by slug.
    values: Option<MatchesByCompany>,
}

/// The first companies in an order, and whether there are more.
pub(super) struct FirstCompanies {
    pub(super) numbers: Vec<u32>,
    pub(super) has_more: bool,
}

/// A step of a search.
#[derive(Clone, Copy, Debug)]
pub(super) enum SearchStep {
    /// Keys, facets and words of the name.
    OfCompany,
    /// The condition of `has` at this index.
    Has(usize),
    /// The condition of `hasNot` at this index.
    HasNot(usize),
    /// Counting what the order needs, without a condition.
    Order,
    /// City, year and number of employees.
    OfAttributes,
}

/// Observes the steps of a search.
pub(super) trait SearchObserver {
    /// A step has run, and left a set of companies.
    fn ran(&mut self, step: SearchStep, matches: Option<&MatchesByCompany>, set: &CompanySet);
}

/// Observes nothing.
impl SearchObserver for () {
    fn ran(&mut self, _: SearchStep, _: Option<&MatchesByCompany>, _: &CompanySet) {}
}

impl<'s> CompanySearch<'s> {
    /// # Errors
    /// The keys of companies of a file are damaged.
    pub(super) fn new(snapshot: &'s Snapshot, today: Date) -> Result<CompanySearch<'s>> {
        Ok(CompanySearch {
            snapshot,
            numbers: snapshot.company_ranks()?,
            today,
        })
    }

    /// The companies that fulfil a filter.
    ///
    /// # Errors
    /// A part of a file that the filter needs is damaged.
    pub(super) fn find(
        &self,
        filter: &CompanyFilter,
        order: CompanyOrder,
    ) -> Result<FoundCompanies> {
        self.find_observed(filter, order, &mut ())
    }

    /// As [`find`](Self::find), with an observer of the steps.
    pub(super) fn find_observed(
        &self,
        filter: &CompanyFilter,
        order: CompanyOrder,
        observer: &mut impl SearchObserver,
    ) -> Result<FoundCompanies> {
        let mut set = CompanySet::all(self.numbers.len());
        let is_narrowed = !filter.company.is_empty();
        if is_narrowed {
            self.narrow_by_keys(&mut set, &filter.company)?;
            self.narrow_by_facets(&mut set, &filter.company)?;
            self.narrow_by_name(&mut set, &filter.company)?;
            observer.ran(SearchStep::OfCompany, None, &set);
        }
        if filter.has_attributes() {
            self.narrow_by_attributes(&mut set, filter)?;
            observer.ran(SearchStep::OfAttributes, None, &set);
        }
        let values = self.narrow_by_conditions(&mut set, filter, order, observer)?;
        Ok(FoundCompanies { set, order, values })
    }

    /// Applies conditions, and returns what the order counts.
    fn narrow_by_conditions(
        &self,
        set: &mut CompanySet,
        filter: &CompanyFilter,
        order: CompanyOrder,
        observer: &mut impl SearchObserver,
    ) -> Result<Option<MatchesByCompany>> {
        let is_narrowed = !filter.company.is_empty() || filter.has_attributes();
        let counts_first = order != CompanyOrder::Slug;
        let with_days = order == CompanyOrder::LatestMatch;
        let mut values = None;
        for (index, condition) in filter.has().iter().enumerate() {
            let candidates = (is_narrowed || index > 0).then_some(&*set);
            let is_of_order = counts_first && index == 0;
            let matches = self.matches(condition.filter(), candidates, with_days && is_of_order)?;
            set.intersect(&matches.allowed_by(condition));
            observer.ran(SearchStep::Has(index), Some(&matches), set);
            if is_of_order {
                values = Some(matches);
            }
        }
        for (index, condition) in filter.has_not().iter().enumerate() {
            let is_narrowed = is_narrowed || !filter.has().is_empty();
            let candidates = is_narrowed.then_some(&*set);
            let matches = self.matches(condition.filter(), candidates, false)?;
            set.subtract(&matches.allowed_by(condition));
            observer.ran(SearchStep::HasNot(index), Some(&matches), set);
        }
        if counts_first && values.is_none() {
            let matches = self.matches(&Filter::default(), Some(set), with_days)?;
            observer.ran(SearchStep::Order, Some(&matches), set);
            values = Some(matches);
        }
        Ok(values)
    }

    fn matches(
        &self,
        filter: &Filter,
        candidates: Option<&CompanySet>,
        with_days: bool,
    ) -> Result<MatchesByCompany> {
        let snapshot = self.snapshot;
        snapshot.matches_by_company(filter, self.today, candidates, with_days)
    }

    /// Applies `companySlug` and `companies`.
    fn narrow_by_keys(&self, set: &mut CompanySet, filter: &Filter) -> Result<()> {
        if let Some(slug) = filter.company_slug() {
            let mut one = CompanySet::none(self.numbers.len());
            for (index, handle) in self.snapshot.segments.iter().enumerate() {
                let company = handle.segment.company_keys()?.by_slug(slug);
                let number = company.and_then(|company| self.numbers.number(index, company));
                number.into_iter().for_each(|number| one.insert(number));
            }
            set.intersect(&one);
        }
        if !filter.companies.is_empty() {
            set.intersect(&self.named(filter)?);
        }
        Ok(())
    }

    /// The companies that `companies` names.
    fn named(&self, filter: &Filter) -> Result<CompanySet> {
        let mut named = CompanySet::none(self.numbers.len());
        for (index, handle) in self.snapshot.segments.iter().enumerate() {
            let (segment, keys) = (&handle.segment, handle.segment.company_keys()?);
            let mut similar = Vec::new();
            keys.by_slugs(filter.companies.iter().map(|it| &*it.slug), &mut similar);
            let known = similar.len();
            let name_keys = filter.companies.iter().map(|it| it.name.key());
            keys.by_names(name_keys, &mut similar, known);
            for company in similar {
                let name = segment.company_name(company)?;
                let candidate = Company::new(keys.slug(company), name);
                if filter.names_company(&candidate) {
                    let number = self.numbers.number_of_record(index, company);
                    number.into_iter().for_each(|number| named.insert(number));
                }
            }
        }
        Ok(named)
    }

    /// Applies `country`, `industry` and `size`.
    fn narrow_by_facets(&self, set: &mut CompanySet, filter: &Filter) -> Result<()> {
        for facet in Facet::OF_COMPANY {
            let keys = filter.value_keys(facet);
            if keys.is_empty() {
                continue;
            }
            let mut having = CompanySet::none(self.numbers.len());
            for (index, handle) in self.snapshot.segments.iter().enumerate() {
                for key in keys {
                    for rows in handle.segment.facet_postings(facet, key)? {
                        let companies = handle.segment.company_posting(facet, rows);
                        let Some(companies) = companies else { continue };
                        self.insert_all(&mut having, index, companies)?;
                    }
                }
            }
            self.visit_without_rows(set, |number, company| {
                let label = facet.company_label(company);
                let key = label.as_ref().map(|label| facet.key(label));
                if key.is_some_and(|key| keys.iter().any(|wanted| **wanted == *key)) {
                    having.insert(number);
                }
            })?;
            set.intersect(&having);
        }
        Ok(())
    }

    /// Applies city, year and number of employees.
    fn narrow_by_attributes(&self, set: &mut CompanySet, filter: &CompanyFilter) -> Result<()> {
        let mut within = CompanySet::none(self.numbers.len());
        for (index, handle) in self.snapshot.segments.iter().enumerate() {
            let ranges = attribute_ranges(handle.segment.company_attributes()?, filter);
            let keep = |set: &mut CompanySet| {
                let ranges = ranges.iter();
                ranges.for_each(|(codes, range)| set.keep_in_range(*codes, range));
            };
            if self.numbers.are_of_first() {
                keep(set);
                return Ok(());
            }
            let mut of_segment = CompanySet::all(handle.segment.company_count());
            keep(&mut of_segment);
            let companies = of_segment.iter().map(CompanyNumber);
            companies
                .filter_map(|company| self.numbers.number_of_record(index, company))
                .for_each(|number| within.insert(number));
        }
        set.intersect(&within);
        Ok(())
    }

    /// Reads the companies of a set that no posting of companies by value lists.
    pub(super) fn visit_without_rows(
        &self,
        set: &CompanySet,
        mut visit: impl FnMut(u32, &Company<'_>),
    ) -> Result<()> {
        for &number in self.numbers.without_rows(&self.snapshot.segments)? {
            if set.contains(number) {
                visit(number, &self.snapshot.company_of_number(number)?);
            }
        }
        Ok(())
    }

    /// Adds the companies of a posting of a segment that has their current records.
    fn insert_all(
        &self,
        set: &mut CompanySet,
        index: usize,
        posting: crate::encoding::posting::PostingId,
    ) -> Result<()> {
        for company in self.companies_of(index, posting)? {
            let number = self.numbers.number_of_record(index, company);
            number.into_iter().for_each(|number| set.insert(number));
        }
        Ok(())
    }

    /// The companies of a posting of a segment.
    pub(super) fn companies_of(
        &self,
        index: usize,
        posting: crate::encoding::posting::PostingId,
    ) -> Result<impl Iterator<Item = CompanyNumber> + 's> {
        let posting = self.snapshot.segments[index].segment.posting(posting)?;
        // Sets of companies have the encoding of sets of rows.
        Ok(posting.rows().map(|row| CompanyNumber(row.0)))
    }

    /// Applies `company`: first by the terms of names, then by the names.
    fn narrow_by_name(&self, set: &mut CompanySet, filter: &Filter) -> Result<()> {
        if filter.company_words.is_empty() {
            return Ok(());
        }
        let mut terms = Vec::with_capacity(self.snapshot.segments.len());
        for handle in &self.snapshot.segments {
            let words = filter.company_words.iter().flat_map(|words| words.terms());
            let numbers = words.map(|word| handle.segment.term(TextField::Name, word));
            // Without one of the words in the dictionary, no name of the segment has all.
            let numbers: Result<Option<Vec<_>>> = numbers
                .map(|found| Ok(found?.map(|(_, number)| number)))
                .collect();
            terms.push(numbers?);
        }
        set.retain(|number| {
            let (index, company) = self.numbers.record(number);
            let segment = &self.snapshot.segments[index].segment;
            // The dictionary has the words of companies with rows alone.
            if segment.company_rows(company)?.is_empty() {
                return Ok(filter.matches_company_name(segment.company_name(company)?));
            }
            let Some(terms) = &terms[index] else {
                return Ok(false);
            };
            Ok(segment.name_has(company, terms)?
                && filter.matches_company_name(segment.company_name(company)?))
        })
    }
}

/// A column, and the codes that are wanted.
type AttributeRange<'s> = (Column<'s>, RangeInclusive<u32>);
type AttributeRanges<'s> = SmallVec<[AttributeRange<'s>; 3]>;

/// The codes that a filter wants of the columns that it is on.
fn attribute_ranges<'s>(
    attributes: &CompanyAttributes<'s>,
    filter: &CompanyFilter,
) -> AttributeRanges<'s> {
    let mut ranges = SmallVec::new();
    if let Some(city) = &filter.city {
        let column = attributes.cities;
        ranges.push((column.codes(), column.codes_of(city)));
    }
    for (column, bounds) in [
        (attributes.founded, filter.founded),
        (attributes.employees, filter.employees),
    ] {
        if bounds.is_some() {
            ranges.push((column.codes(), column.codes_of(bounds.min, bounds.max)));
        }
    }
    ranges
}

impl FoundCompanies {
    /// The companies of the requested page.
    ///
    /// # Errors
    /// As [`first`](Self::first).
    pub(super) fn page(&self, snapshot: &Snapshot, query: &CompanyQuery) -> Result<FirstCompanies> {
        let limit = query.limit();
        match query.start() {
            CompanyStart::First => self.first(snapshot, None, 0, limit),
            CompanyStart::After(cursor) => self.first(snapshot, Some(cursor.last()), 0, limit),
            CompanyStart::Page(number) => {
                let skipped = (usize::from(*number) - 1) * limit;
                self.first(snapshot, None, skipped, limit)
            }
        }
    }

    /// The first companies after a key: at most `max` after the first `skipped`.
    ///
    /// # Errors
    /// The keys of companies of a file are damaged.
    ///
    /// Cost: one pass over the companies; only those that are returned are sorted.
    pub(super) fn first(
        &self,
        snapshot: &Snapshot,
        after: Option<&CompanyKey>,
        skipped: usize,
        max: usize,
    ) -> Result<FirstCompanies> {
        let start = match after {
            Some(key) => snapshot.count_slugs(|slug| *slug <= *key.slug)?,
            None => 0,
        };
        let wanted = skipped.saturating_add(max);
        // One more company tells whether there are more.
        let mut numbers: Vec<u32> = match &self.values {
            None => self
                .set
                .from(start)
                .take(wanted.saturating_add(1))
                .collect(),
            Some(values) => {
                let after = after.map(|key| (key.value, start));
                self.selected(values, after, wanted)
            }
        };
        let has_more = numbers.len() > wanted;
        numbers.truncate(wanted);
        numbers.drain(..skipped.min(numbers.len()));
        Ok(FirstCompanies { numbers, has_more })
    }

    /// The first companies by value, one more than wanted. `after` is a value, and the first company whose slug comes
    /// after the slug of the key.
    fn selected(
        &self,
        values: &MatchesByCompany,
        after: Option<(Option<i64>, u32)>,
        wanted: usize,
    ) -> Vec<u32> {
        let comes_after = |&(value, number): &(Option<i64>, u32)| {
            // Numbers ascend with slugs, and greater values come first.
            after.is_none_or(|(last, start)| value < last || value == last && number >= start)
        };
        let keys = self
            .set
            .iter()
            .map(|number| (self.value(values, number), number));
        let mut keys: Vec<(Option<i64>, u32)> = keys.filter(comes_after).collect();
        let in_order =
            |a: &(Option<i64>, u32), b: &(Option<i64>, u32)| b.0.cmp(&a.0).then(a.1.cmp(&b.1));
        // All keys may be wanted, and then there is nothing to select.
        if keys.len().checked_sub(1).is_some_and(|last| last > wanted) {
            keys.select_nth_unstable_by(wanted, in_order);
            keys.truncate(wanted + 1);
        }
        keys.sort_unstable_by(in_order);
        keys.into_iter().map(|(_, number)| number).collect()
    }

    /// The key of a company.
    ///
    /// # Errors
    /// The keys of companies of a file are damaged.
    pub(super) fn key(&self, snapshot: &Snapshot, number: u32) -> Result<CompanyKey> {
        let values = self.values.as_ref();
        let value = values.and_then(|values| self.value(values, number));
        Ok(CompanyKey::new(value, snapshot.slug_of_number(number)?))
    }

    fn value(&self, values: &MatchesByCompany, number: u32) -> Option<i64> {
        match self.order {
            CompanyOrder::Slug => None,
            CompanyOrder::MostMatches => Some(value_of_count(values.count(number))),
            CompanyOrder::LatestMatch => values.day(number).map(i64::from),
        }
    }
}
