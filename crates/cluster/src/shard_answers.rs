//! Answers of a node's shards: each is searched separately, and only rows of the merged answer are rendered.

use std::ops::ControlFlow;
use std::sync::Arc;

use axum::body::Bytes;

use super::answer::{AnswerRow, ShardAnswer, values_of};
use super::question::ShardRequest;
use signaldex::json::search_item;
use signaldex::query::limits::PAGE_BYTES_MAX;
use signaldex::{Page, Result, Snapshot};
use signaldex_server::corpus::{company_answer, signal_answer};

/// The result of one shard.
pub(super) enum ShardResult {
    /// Rows to render.
    Page(Page),
    /// Anything else.
    Answer(ShardAnswer),
}

/// Searches a shard.
///
/// # Errors
/// The shard is damaged.
pub(super) fn find(shard: &Snapshot, wanted: &ShardRequest) -> Result<ShardResult> {
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
            let ids = page.ids().map(|id| row(id.get(), Vec::new()));
            ShardAnswer::Rows(ids.collect())
        }
        ShardRequest::Count { filter, today } => ShardAnswer::Count(shard.count(filter, *today)?),
        ShardRequest::Facets { query, today } => {
            let facets = shard.facets_of(&query.filter, *today, &query.facets)?;
            ShardAnswer::Facets(values_of(&facets))
        }
        ShardRequest::Signal(id) => lone(id.get(), signal_answer(shard, *id)?),
        ShardRequest::Company(slug) => lone(0, company_answer(shard, slug)?),
        ShardRequest::LoadedShards => ShardAnswer::Rows(Vec::new()),
    };
    Ok(ShardResult::Answer(answer))
}

fn row(id: u64, bytes: Vec<u8>) -> AnswerRow {
    AnswerRow {
        id,
        bytes: Bytes::from(bytes),
    }
}

fn lone(id: u64, bytes: Option<Vec<u8>>) -> ShardAnswer {
    let rows = bytes.map(|bytes| row(id, bytes));
    ShardAnswer::Rows(rows.into_iter().collect())
}

/// Merges the results of shards, given in the same order.
pub(super) fn merged(
    wanted: &ShardRequest,
    shards: &[Arc<Snapshot>],
    found: Vec<ShardResult>,
) -> Result<ShardAnswer> {
    let (mut pages, mut answers) = (Vec::new(), Vec::new());
    for found in found {
        match found {
            ShardResult::Page(page) => pages.push(page),
            ShardResult::Answer(answer) => answers.push(answer),
        }
    }
    if !pages.is_empty() {
        answers.push(rendered(wanted, shards, &pages)?);
    }
    ShardAnswer::merge(wanted, answers)
}

/// Renders the rows of these pages that are among the first of all.
fn rendered(
    wanted: &ShardRequest,
    shards: &[Arc<Snapshot>],
    pages: &[Page],
) -> Result<ShardAnswer> {
    let mut rows = Vec::new();
    // Invariant: the rows are the first ones of the pages so far, and those past a page's bytes are empty.
    for ((shard, page), shown) in shards.iter().zip(pages).zip(shown(wanted, pages)) {
        rows.extend(rendered_rows(wanted, shard, page, shown)?);
        rows = wanted.first_rows(rows);
        empty_past_page(&mut rows);
    }
    Ok(ShardAnswer::Rows(rows))
}

/// The first rows of a shard's page, empty past a page's bytes.
fn rendered_rows(
    wanted: &ShardRequest,
    shard: &Snapshot,
    page: &Page,
    shown: usize,
) -> Result<Vec<AnswerRow>> {
    let mut rows = Vec::with_capacity(shown);
    if shown == 0 {
        return Ok(rows);
    }
    let (rendering, mut bytes) = (wanted.rendering(), 0);
    shard.visit_records(page, |signal, company_name| {
        let item = search_item(signal, company_name, rendering);
        bytes += item.len();
        rows.push(row(signal.id.get(), item));
        if rows.len() == shown || bytes > PAGE_BYTES_MAX {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    let rest = page.ids().take(shown).skip(rows.len());
    rows.extend(rest.map(|id| row(id.get(), Vec::new())));
    Ok(rows)
}

/// Empties the rows that no page of the merged answer has room for.
fn empty_past_page(rows: &mut [AnswerRow]) {
    let mut bytes = 0;
    for row in rows {
        if bytes > PAGE_BYTES_MAX {
            row.bytes = Bytes::new();
        }
        bytes += row.bytes.len();
    }
}

/// The number of rows of each page that are among the first of all.
fn shown(wanted: &ShardRequest, pages: &[Page]) -> Vec<usize> {
    let ids = pages.iter().enumerate().flat_map(|(index, page)| {
        let ids = page.ids();
        ids.map(move |id| (id.get(), index))
    });
    let mut ids: Vec<(u64, usize)> = ids.collect();
    // A stable sort merges runs.
    if wanted.ascends() {
        ids.sort();
    } else {
        ids.sort_by(|a, b| b.cmp(a));
    }
    let mut shown = vec![0; pages.len()];
    for &(_, index) in ids.iter().take(wanted.rows_max()) {
        shown[index] += 1;
    }
    shown
}

#[cfg(test)]
mod tests;
