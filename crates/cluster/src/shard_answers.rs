//! Answers of a node's shards: each is searched separately, and only rows of the merged answer are rendered.

use std::ops::ControlFlow;
use std::sync::Arc;

use axum::body::Bytes;

use super::aggregates::AggregatesPart;
use super::answer::{AnswerRow, CountedFacets, ShardAnswer};
use super::loaded_shards::AskedShard;
use super::question::{Question, RowFormat, ShardRequest};
use super::shard_changes;
use super::shard_companies::{self, ShardCompanies};
use signaldex::json::{visit_items, write_csv_item};
use signaldex::query::limits::PAGE_BYTES_MAX;
use signaldex::query::{CompanyKey, SortKey};
use signaldex::{FacetCounters, Page, Result, Snapshot};
use signaldex_server::corpus::{company_answer, signal_answer};

/// The result of one shard.
pub(super) enum ShardResult {
    /// Rows to render.
    Page(Page),
    /// Companies to render.
    Companies(Vec<CompanyKey>),
    /// Counts of facets.
    Facets(FacetCounters),
    /// Anything else.
    Answer(ShardAnswer),
}

/// Searches a shard.
///
/// # Errors
/// The shard is damaged.
pub(super) fn find(asked: &AskedShard, wanted: &ShardRequest) -> Result<ShardResult> {
    let shard = &*asked.snapshot;
    let answer = match wanted {
        ShardRequest::Rows {
            query,
            today,
            rendering,
        } => {
            let page = shard.search(query, *today)?;
            if rendering.is_some() {
                return Ok(ShardResult::Page(page));
            }
            let keys = page.keys().map(|key| row(key, Bytes::new()));
            ShardAnswer::Rows(keys.collect())
        }
        ShardRequest::Count { filter, today } => ShardAnswer::Count(shard.count(filter, *today)?),
        ShardRequest::Facets { query, today } => {
            let mut counters = asked.facets.counters();
            let wanted = (&query.filter, &query.facets[..]);
            asked
                .facets
                .count_on(asked.number, shard, wanted, *today, &mut counters)?;
            return Ok(ShardResult::Facets(counters));
        }
        ShardRequest::Aggregates { query, today } => {
            ShardAnswer::Aggregates(AggregatesPart::find(shard, query, *today)?)
        }
        ShardRequest::Companies(wanted) => match wanted.find(shard)? {
            ShardCompanies::Keys(keys) => return Ok(ShardResult::Companies(keys)),
            ShardCompanies::Answer(answer) => answer,
        },
        ShardRequest::Signal(id) => lone(id.get(), signal_answer(shard, *id)?),
        ShardRequest::Company(slug) => lone(0, company_answer(shard, slug)?),
        ShardRequest::Hints { filter, is_empty } => {
            ShardAnswer::Hints(shard.hint_facts(filter, *is_empty)?)
        }
        ShardRequest::Changes(wanted) => ShardAnswer::Changes(shard_changes::find(asked, wanted)?),
        ShardRequest::Deleted(wanted) => {
            let ids = shard_changes::deleted(asked, wanted)?.into_iter();
            ShardAnswer::Rows(ids.map(|id| lone_row(id.get(), Vec::new())).collect())
        }
    };
    Ok(ShardResult::Answer(answer))
}

fn row(key: SortKey, bytes: Bytes) -> AnswerRow {
    AnswerRow {
        id: key.id().get(),
        value: key.bits(),
        bytes,
    }
}

fn lone(id: u64, bytes: Option<Vec<u8>>) -> ShardAnswer {
    let rows = bytes.map(|bytes| lone_row(id, bytes));
    ShardAnswer::Rows(rows.into_iter().collect())
}

fn lone_row(id: u64, bytes: Vec<u8>) -> AnswerRow {
    AnswerRow {
        id,
        value: u64::MAX,
        bytes: Bytes::from(bytes),
    }
}

/// The merged answer of shards that are searched one after the other.
pub(super) fn answer(question: &Question, shards: &[AskedShard]) -> Result<ShardAnswer> {
    let of_each = question.of_each_shard();
    let found = shards.iter().map(|shard| find(shard, &of_each));
    merged(question, shards, found.collect::<Result<_>>()?)
}

/// Merges the results of shards, given in the same order.
pub(super) fn merged(
    question: &Question,
    shards: &[AskedShard],
    found: Vec<ShardResult>,
) -> Result<ShardAnswer> {
    let (mut pages, mut answers, mut counters) = (Vec::new(), Vec::new(), None);
    let mut companies = Vec::new();
    for found in found {
        match found {
            ShardResult::Page(page) => pages.push(page),
            ShardResult::Companies(keys) => companies.push(keys),
            ShardResult::Facets(of_shard) => match &mut counters {
                None => counters = Some(of_shard),
                Some(sum) => sum.add(of_shard),
            },
            ShardResult::Answer(answer) => answers.push(answer),
        }
    }
    if !pages.is_empty() {
        answers.push(rendered(question, shards, pages)?);
    }
    if let (Some(wanted), false) = (question.wanted.companies(), companies.is_empty()) {
        answers.push(shard_companies::rendered(
            question, wanted, shards, &companies,
        )?);
    }
    if let (Some(counters), Some(shard)) = (counters, shards.first()) {
        let dictionary = Arc::clone(&shard.facets);
        answers.push(ShardAnswer::Counters(CountedFacets {
            dictionary,
            counters,
        }));
    }
    ShardAnswer::merge(&question.wanted, answers)
}

/// Renders the rows of these pages that are among the first of all.
fn rendered(
    question: &Question,
    shards: &[AskedShard],
    mut pages: Vec<Page>,
) -> Result<ShardAnswer> {
    let wanted = &*question.wanted;
    let shown = shown_of_all(question, shards, &mut pages)?;
    let (mut rows, mut bytes) = (Vec::new(), 0);
    // Invariant: `bytes` are at most those of a page and of a shard's.
    for ((shard, page), shown) in shards.iter().zip(&pages).zip(shown) {
        let rendered =
            RenderedRows::of(wanted.row_format(), &shard.snapshot, page, shown.rendered)?;
        bytes += rendered.bytes.len();
        rows.extend(rendered.rows(page.keys().take(shown.all)));
        if bytes > PAGE_BYTES_MAX {
            rows = first_of_page(wanted, rows);
            // Copied, so that the bytes of the other rows are freed.
            for row in &mut rows {
                row.bytes = Bytes::copy_from_slice(&row.bytes);
            }
            bytes = rows.iter().map(|row| row.bytes.len()).sum();
        }
    }
    Ok(ShardAnswer::Rows(first_of_page(wanted, rows)))
}

/// The first rows of several sorted runs, of which those past a page's bytes are empty.
fn first_of_page(wanted: &ShardRequest, rows: Vec<AnswerRow>) -> Vec<AnswerRow> {
    let mut rows = wanted.first_rows(rows);
    empty_past_page(rows.iter_mut().map(|row| &mut row.bytes));
    rows
}

/// The first rows of a shard's page, as many as a page has room for, one after the other.
#[derive(Default)]
struct RenderedRows {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
}

impl RenderedRows {
    fn of(format: RowFormat, shard: &Snapshot, page: &Page, limit: usize) -> Result<RenderedRows> {
        let mut rendered = RenderedRows::default();
        if limit == 0 {
            return Ok(rendered);
        }
        match format {
            RowFormat::Item(rendering) => visit_items(shard, page, limit, rendering, |item| {
                rendered.bytes.extend_from_slice(item);
                rendered.end_row(limit)
            })?,
            RowFormat::Csv => shard.visit_records(page, |signal, company_name| {
                write_csv_item(&mut rendered.bytes, signal, company_name);
                rendered.end_row(limit)
            })?,
        }
        Ok(rendered)
    }

    /// Ends a row, and all if there is no room for another one.
    fn end_row(&mut self, limit: usize) -> ControlFlow<()> {
        self.ends.push(self.bytes.len());
        if self.ends.len() == limit || self.bytes.len() > PAGE_BYTES_MAX {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// The rows with their keys; empty ones for the keys after those that were rendered.
    fn rows(self, keys: impl Iterator<Item = SortKey>) -> impl Iterator<Item = AnswerRow> {
        let (bytes, mut start) = (Bytes::from(self.bytes), 0);
        let mut ends = self.ends.into_iter();
        keys.map(move |key| {
            let end = ends.next().unwrap_or(start);
            let item = bytes.slice(start..end);
            start = end;
            row(key, item)
        })
    }
}

/// Empties the rows that no page of the merged answer has room for.
pub(super) fn empty_past_page<'r>(rows: impl Iterator<Item = &'r mut Bytes>) {
    let mut bytes = 0;
    for row in rows {
        if bytes > PAGE_BYTES_MAX {
            *row = Bytes::new();
        }
        bytes += row.len();
    }
}

/// The rows of a page that are among the first of all pages.
#[derive(Clone, Copy, Default)]
struct ShownRows {
    all: usize,
    /// Those to render, which are the first.
    rendered: usize,
}

/// The rows of each page that are among the first of all. A shard that has more than it was asked for, where all of that is
/// among the first, is searched again.
fn shown_of_all(
    question: &Question,
    shards: &[AskedShard],
    pages: &mut [Page],
) -> Result<Vec<ShownRows>> {
    let first = shown(question, pages);
    let ShardRequest::Rows { query, today, .. } = &*question.wanted else {
        return Ok(first);
    };
    let mut is_complete = true;
    for ((shard, page), shown) in shards.iter().zip(&mut *pages).zip(&first) {
        let is_used_up = shown.all == page.len() && page.next_cursor().is_some();
        if is_used_up && page.len() < query.limit() {
            *page = shard.snapshot.search(query, *today)?;
            is_complete = false;
        }
    }
    Ok(if is_complete {
        first
    } else {
        shown(question, pages)
    })
}

fn shown(question: &Question, pages: &[Page]) -> Vec<ShownRows> {
    let keys = pages.iter().enumerate().flat_map(|(index, page)| {
        let keys = page.keys();
        keys.map(move |key| (key, index))
    });
    let mut keys: Vec<(SortKey, usize)> = keys.collect();
    // A stable sort merges runs.
    keys.sort_by(|(a, _), (b, _)| question.wanted.compare(Some(*a), Some(*b)));
    let mut shown = vec![ShownRows::default(); pages.len()];
    for (rank, &(_, index)) in keys.iter().take(question.wanted.rows_max()).enumerate() {
        shown[index].all += 1;
        shown[index].rendered += usize::from(rank < question.rendered_max);
    }
    shown
}

#[cfg(test)]
mod tests;
