//! What a shard finds for a question for companies: keys first, then the records of those that are shown.

use super::answer::{FacetValue, ShardAnswer};
use super::companies::{CompaniesKind, CompaniesQuestion, CompanyRow};
use super::loaded_shards::AskedShard;
use super::question::Question;
use super::shard_answers::empty_past_page;
use signaldex::json::company_item;
use signaldex::query::CompanyKey;
use signaldex::query::limits::PAGE_BYTES_MAX;
use signaldex::{Facet, Facets, Result, Snapshot};

/// Companies whose records are read at once.
const BATCH: usize = 50;

/// What a shard has found.
pub(super) enum ShardCompanies {
    /// The keys of a page to render.
    Keys(Vec<CompanyKey>),
    Answer(ShardAnswer),
}

impl CompaniesQuestion {
    /// Searches a shard.
    ///
    /// # Errors
    /// The shard is damaged.
    pub(super) fn find(&self, shard: &Snapshot) -> Result<ShardCompanies> {
        let (query, today) = (&self.query, self.today);
        let filter = query.filter();
        let answer = match self.kind {
            CompaniesKind::Items => {
                return Ok(ShardCompanies::Keys(shard.company_keys(query, today)?));
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
        Ok(ShardCompanies::Answer(answer))
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
    empty_past_page(rows.iter_mut().map(|row| &mut row.bytes));
    Ok(ShardAnswer::Companies(rows))
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

#[cfg(test)]
mod tests;
