//! What the index does of the conditions of a scan: a filter that finds all rows for which they hold, and the conditions
//! that each of these rows has still to fulfil.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use datafusion::common::{Result, plan_err};
use signaldex::query::{Order, QueryBuilder};
use signaldex::{Facet, Filter, Query, SignalId};
use time::Date;

use crate::conditions::{Comparison, SqlCondition};
use crate::error::of_corpus;
use crate::snapshot_set::SnapshotSet;

/// The days from 1970 back to the start of time's count of days.
const DAYS_BEFORE_1970: i32 = 2_440_588;

/// Most ids that the index looks up; more are compared row by row.
const IDS_MAX: usize = 10_000;

/// The conditions of a scan, divided between the index and the scan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Narrowed {
    /// All of them.
    pub(crate) conditions: Vec<SqlCondition>,
    /// The search that was asked for, as typed.
    pub(crate) search: Option<String>,
    /// Finds every row for which all conditions hold, and others.
    pub(crate) filter: Filter,
    /// The ids among which these rows are; `None` if no row can fulfil the conditions.
    pub(crate) ids: Option<RangeInclusive<SignalId>>,
    /// The conditions that rows found by the filter may not fulfil.
    pub(crate) residual: Vec<SqlCondition>,
}

impl Narrowed {
    /// # Errors
    /// There are two searches, or labels of the corpus are damaged.
    pub(crate) fn new(corpus: &SnapshotSet, conditions: &[SqlCondition]) -> Result<Narrowed> {
        let mut narrowed = Narrowed {
            conditions: conditions.to_vec(),
            search: None,
            filter: Filter::default(),
            ids: Some(SignalId::MIN..=SignalId::MAX),
            residual: Vec::new(),
        };
        // The search comes first: what narrows it is chosen so that it does not replace a part of it.
        for condition in conditions {
            if let SqlCondition::Search(text) = condition {
                narrowed.search(text)?;
            }
        }
        for condition in conditions {
            if !narrowed.takes(corpus, condition)? {
                narrowed.residual.push(condition.clone());
            }
        }
        Ok(narrowed)
    }

    /// Whether the rows are those of the filter.
    pub(crate) fn is_exact(&self) -> bool {
        self.residual.is_empty() && self.ids == Some(SignalId::MIN..=SignalId::MAX)
    }

    /// Whether every row is found.
    pub(crate) fn is_everything(&self) -> bool {
        self.is_exact() && self.filter.is_empty()
    }

    fn search(&mut self, text: &str) -> Result<()> {
        match &self.search {
            Some(other) if other == text => Ok(()),
            Some(other) => plan_err!(
                "query has one search at a time, not '{other}' and '{text}'; join their parameters with & instead"
            ),
            None => match Filter::from_query_string(text) {
                Ok(filter) => {
                    self.filter = filter;
                    self.search = Some(text.to_owned());
                    Ok(())
                }
                Err(invalid) => plan_err!("query = '{text}': {invalid}"),
            },
        }
    }

    /// Lets the index evaluate a condition as far as it can. Returns whether that is all of it.
    fn takes(&mut self, corpus: &SnapshotSet, condition: &SqlCondition) -> Result<bool> {
        Ok(match condition {
            SqlCondition::Search(_) => true,
            SqlCondition::Labels(facet, labels) => self.takes_labels(corpus, *facet, labels)?,
            SqlCondition::Slugs(slugs) => self.takes_slugs(slugs),
            SqlCondition::Ids(ids) => self.takes_ids(ids),
            SqlCondition::IdRange(first, last) => {
                self.keep_ids(*first, *last);
                true
            }
            SqlCondition::Days(first, last) => self.takes_days(*first, *last),
            SqlCondition::Amount(comparison, amount) => self.takes_amount(*comparison, *amount),
            SqlCondition::HasValue(..) => false,
        })
    }

    fn takes_labels(
        &mut self,
        corpus: &SnapshotSet,
        facet: Facet,
        labels: &BTreeSet<String>,
    ) -> Result<bool> {
        if labels.is_empty() {
            self.ids = None;
            return Ok(true);
        }
        if self.has_part(facet.parameter().name())
            || !self.narrow(|builder| builder.facet(facet, labels))
        {
            return Ok(false);
        }
        // Labels with other letters or accents have the same key.
        let keys: BTreeSet<&str> = self.filter.chosen(facet).collect();
        let known = corpus.labels(facet).map_err(of_corpus)?;
        let mut known = known.labels.iter().flatten();
        Ok(known.all(|label| labels.contains(label) || !keys.contains(&*facet.key(label))))
    }

    fn takes_slugs(&mut self, slugs: &BTreeSet<String>) -> bool {
        let mut only = slugs.iter();
        match (only.next(), only.next()) {
            (None, _) => {
                self.ids = None;
                true
            }
            (Some(slug), None) if !self.has_part("companySlug") => {
                self.narrow(|builder| builder.company_slug(slug.as_str()))
                    && self.filter.company_slug() == Some(slug.as_str())
            }
            _ => false,
        }
    }

    fn takes_ids(&mut self, ids: &BTreeSet<u64>) -> bool {
        let (Some(&first), Some(&last)) = (ids.first(), ids.last()) else {
            self.ids = None;
            return true;
        };
        // A number that is no id is that of no row.
        let ids: Vec<SignalId> = ids.iter().filter_map(|&id| SignalId::new(id)).collect();
        if ids.is_empty() {
            self.ids = None;
            return true;
        }
        let is_narrowed = ids.len() <= IDS_MAX
            && !self.has_part("ids")
            && self.narrow(|builder| builder.ids(ids));
        if !is_narrowed {
            self.keep_ids(first, last);
        }
        is_narrowed
    }

    /// Keeps the ids of a range.
    fn keep_ids(&mut self, first: u64, last: u64) {
        self.ids = self.ids.take().and_then(|ids| {
            let first = first.max(ids.start().get());
            let last = last.min(ids.end().get());
            let range = SignalId::new(first)?..=SignalId::new(last)?;
            (first <= last).then_some(range)
        });
    }

    fn takes_days(&mut self, first: i32, last: i32) -> bool {
        // Days beyond the calendar bound nothing.
        let (from, to) = (date_of(first), date_of(last));
        let is_bounded =
            (from.is_some() || first == i32::MIN) && (to.is_some() || last == i32::MAX);
        // A range without an end is one of signals that have a date, which the filter would not say.
        let is_range = from.is_some() || to.is_some();
        let is_free = (from.is_none() || !self.has_part("dateFrom"))
            && (to.is_none() || !self.has_part("dateTo"));
        let is_narrowed = is_free
            && is_range
            && first <= last
            && self.narrow(|mut builder| {
                if from.is_some() {
                    builder = builder.date_from(from);
                }
                if to.is_some() {
                    builder = builder.date_to(to);
                }
                builder
            });
        is_narrowed && is_bounded
    }

    fn takes_amount(&mut self, comparison: Comparison, amount: f64) -> bool {
        // Negative numbers, NaN and infinity are no amounts of a filter.
        if !amount.is_finite() || amount < 0.0 {
            return false;
        }
        let (is_min, is_max) = match comparison {
            Comparison::Equal => (true, true),
            Comparison::Less | Comparison::LessOrEqual => (false, true),
            Comparison::Greater | Comparison::GreaterOrEqual => (true, false),
        };
        let is_free =
            (!is_min || !self.has_part("fundingMin")) && (!is_max || !self.has_part("fundingMax"));
        let is_narrowed = is_free
            && self.narrow(|mut builder| {
                if is_min {
                    builder = builder.funding_min(amount);
                }
                if is_max {
                    builder = builder.funding_max(amount);
                }
                builder
            });
        let includes = !matches!(comparison, Comparison::Less | Comparison::Greater);
        // The engine puts negative zero before zero; a filter does not.
        is_narrowed && includes && amount > 0.0
    }

    /// Whether the filter has a parameter.
    fn has_part(&self, name: &str) -> bool {
        let text = self.filter.to_string();
        let mut names = text.split('&').filter_map(|pair| pair.split('=').next());
        names.any(|given| given == name)
    }

    /// Narrows the filter by parameters that it does not have. Returns whether they are valid together.
    fn narrow(&mut self, add: impl FnOnce(QueryBuilder) -> QueryBuilder) -> bool {
        let query = Query::of_filter(self.filter.clone(), Order::NewestFirst, 1);
        let narrowed = query.and_then(|query| add(query.into_builder()).build());
        if let Ok(narrowed) = &narrowed {
            self.filter = narrowed.filter().clone();
        }
        narrowed.is_ok()
    }
}

/// The date of a number of days since 1970, if the calendar of filters has it.
fn date_of(days: i32) -> Option<Date> {
    let date = Date::from_julian_day(days.checked_add(DAYS_BEFORE_1970)?).ok()?;
    (0..=9999).contains(&date.year()).then_some(date)
}
