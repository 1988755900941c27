//! Companies over shards: each is in one shard with all of its signals, so pages are merged by key, and counts added.

use std::fmt;

use axum::body::Bytes;
use time::Date;

use super::answer::{FacetValue, ShardAnswer};
use super::loaded_shards::AskedShard;
use super::question::{Question, ShardRequest};
use signaldex::json::company_item;
use signaldex::query::limits::PAGE_BYTES_MAX;
use signaldex::query::{CompanyKey, CompanyOrder, CompanyQuery, Facet};
use signaldex::{Facets, Result, Snapshot};

/// Companies whose records are read at once.
const BATCH: usize = 50;

/// A question for companies.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CompaniesQuestion {
    pub(super) kind: CompaniesKind,
    pub(super) query: CompanyQuery,
    pub(super) today: Date,
}

/// What is asked about the companies that fulfil a query's filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CompaniesKind {
    /// The first `limit` of them, rendered as long as a page has room for them.
    Items,
    /// The keys of the first `limit`.
    Keys,
    Count,
    /// Counts by the query's facets.
    Facets,
}

/// A company of a page: its key, and its rendered JSON.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CompanyRow {
    pub(super) key: CompanyKey,
    pub(super) bytes: Bytes,
}

/// What a shard has found.
pub(super) enum FoundCompanies {
    /// The keys of a page to render.
    Keys(Vec<CompanyKey>),
    Answer(ShardAnswer),
}

impl CompaniesQuestion {
    pub(super) fn is_of_rows(&self) -> bool {
        matches!(self.kind, CompaniesKind::Items | CompaniesKind::Keys)
    }

    /// Searches a shard.
    ///
    /// # Errors
    /// The shard is damaged.
    pub(super) fn find(&self, shard: &Snapshot) -> Result<FoundCompanies> {
        let (query, today) = (&self.query, self.today);
        let filter = query.filter();
        let answer = match self.kind {
            CompaniesKind::Items => {
                return Ok(FoundCompanies::Keys(shard.company_keys(query, today)?));
            }
            CompaniesKind::Keys => {
                let keys = shard.company_keys(query, today)?.into_iter();
                ShardAnswer::Companies(keys.map(CompanyRow::of_key).collect())
            }
            CompaniesKind::Count => ShardAnswer::Count(shard.count_companies(filter, today)?),
            CompaniesKind::Facets => {
                let facets = shard.company_facets(filter, today, query.facets())?;
                ShardAnswer::Facets(values_of(&facets))
            }
        };
        Ok(FoundCompanies::Answer(answer))
    }

    /// A description of how answers are merged.
    pub(super) fn merging(&self) -> String {
        let by = match (self.kind, self.query.order()) {
            (CompaniesKind::Count, _) => return "sum".to_owned(),
            (CompaniesKind::Facets, _) => return "sum by value".to_owned(),
            (_, CompanyOrder::Slug) => "slug",
            (_, CompanyOrder::MostMatches) => "number of matches, descending, and slug",
            (_, CompanyOrder::LatestMatch) => "latest date, descending, and slug",
        };
        format!("merge by {by}, first {}", self.query.limit())
    }

    /// The first rows of several sorted runs.
    pub(super) fn first_rows(&self, mut rows: Vec<CompanyRow>) -> Vec<CompanyRow> {
        // A stable sort merges runs.
        rows.sort_by(|a, b| a.key.compare(&b.key));
        rows.truncate(self.query.limit());
        rows
    }

    /// The first companies of a shard, rendered while a page has room for them.
    fn render(&self, shard: &Snapshot, keys: &[CompanyKey]) -> Result<Vec<CompanyRow>> {
        let (mut rows, mut bytes) = (Vec::with_capacity(keys.len()), 0);
        for keys in keys.chunks(BATCH) {
            if bytes > PAGE_BYTES_MAX {
                rows.extend(keys.iter().cloned().map(CompanyRow::of_key));
                continue;
            }
            let items = shard.companies_of_keys(&self.query, keys, self.today)?;
            for (key, item) in keys.iter().zip(&items) {
                let item = company_item(item);
                bytes += item.len();
                rows.push(CompanyRow {
                    key: key.clone(),
                    bytes: item.into(),
                });
            }
        }
        Ok(rows)
    }
}

impl fmt::Display for CompaniesQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (filter, limit) = (self.query.filter(), self.query.limit());
        match self.kind {
            CompaniesKind::Items | CompaniesKind::Keys => {
                write!(f, "companies, filter=[{filter}], limit={limit}")
            }
            CompaniesKind::Count => write!(f, "count of companies, filter=[{filter}]"),
            CompaniesKind::Facets => write!(f, "facets of companies, filter=[{filter}]"),
        }
    }
}

impl CompanyRow {
    fn of_key(key: CompanyKey) -> CompanyRow {
        CompanyRow {
            key,
            bytes: Bytes::new(),
        }
    }
}

fn values_of(facets: &Facets) -> Vec<FacetValue> {
    let values = |facet: Facet| {
        let values = facets.values(facet).iter();
        values.map(move |value| FacetValue {
            facet: facet as u8,
            label: value.label().to_owned().into(),
            count: value.count(),
        })
    };
    Facet::ALL.into_iter().flat_map(values).collect()
}

/// The first rows of the pages of shards, given in the same order; those that a node renders are read.
///
/// # Errors
/// A shard is damaged.
pub(super) fn rendered(
    question: &Question,
    wanted: &CompaniesQuestion,
    shards: &[AskedShard],
    pages: &[Vec<CompanyKey>],
) -> Result<ShardAnswer> {
    let keys = pages.iter().enumerate().flat_map(|(index, keys)| {
        let keys = keys.iter();
        keys.map(move |key| (key, index))
    });
    let mut keys: Vec<(&CompanyKey, usize)> = keys.collect();
    // A stable sort merges runs.
    keys.sort_by(|(a, _), (b, _)| a.compare(b));
    keys.truncate(wanted.query.limit());
    let (shown, others) = keys.split_at(question.rendered_max.min(keys.len()));
    let mut rows = Vec::with_capacity(keys.len());
    for (index, shard) in shards.iter().enumerate() {
        let own = shown.iter().filter(|(_, of)| *of == index);
        let own: Vec<CompanyKey> = own.map(|(key, _)| CompanyKey::clone(key)).collect();
        rows.extend(wanted.render(&shard.snapshot, &own)?);
    }
    let others = others.iter().map(|(key, _)| CompanyKey::clone(key));
    rows.extend(others.map(CompanyRow::of_key));
    let mut rows = wanted.first_rows(rows);
    super::shard_answers::empty_past_page(rows.iter_mut().map(|row| &mut row.bytes));
    Ok(ShardAnswer::Companies(rows))
}

impl ShardRequest {
    /// The question for companies, if it is one.
    pub(super) fn companies(&self) -> Option<&CompaniesQuestion> {
        match self {
            ShardRequest::Companies(wanted) => Some(wanted),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
