//! Pages of signals: the first rows of all shards, which nodes render as far as a page probably needs them.

use axum::body::Bytes;
use time::Date;

use super::answer::AnswerRow;
use super::asking::RowShare;
use super::coordinator::Coordinator;
use super::question::{RowFormat, ShardRequest};
use signaldex::json::{Rendering, SearchAnswer};
use signaldex::query::limits::PAGE_BYTES_MAX;
use signaldex::query::{SortKey, Start};
use signaldex::{Error, Query};
use signaldex_server::corpus::{CorpusView, RenderedPage, Unanswered};

impl Coordinator {
    /// A page, as [`Corpus::page`](signaldex_server::corpus::Corpus::page) says.
    pub(super) async fn find_page(
        &self,
        at: &CorpusView,
        query: &Query,
        today: Date,
        rendering: Rendering,
    ) -> Result<RenderedPage, Unanswered> {
        let start = match query.start() {
            Start::First => Start::First,
            Start::After(cursor) => Start::After(cursor.clone()),
            Start::Page(number) => match self.start_of(at, query, *number, today).await? {
                Some(start) => start,
                None => return Ok(page_of(query, today, Vec::new())),
            },
        };
        // One more than the page, to know whether there is a next page.
        let part = query.part(start, query.limit() + 1);
        let format = RowFormat::Item(rendering);
        let rows = self.rendered_rows(at, &part, today, format).await?;
        page_rows(rows)
            .map(|rows| page_of(query, today, rows))
            .map_err(Unanswered::Failed)
    }

    /// The rows of a page and one more. Each node renders the share of the page that its shards probably have; from the
    /// first row on that none has rendered, nodes are asked again.
    async fn rendered_rows(
        &self,
        at: &CorpusView,
        part: &Query,
        today: Date,
        format: RowFormat,
    ) -> Result<Vec<AnswerRow>, Unanswered> {
        let whole = part.part(part.start().clone(), part.limit());
        let share = RowShare::Expected;
        let mut rows = self.rows(at, whole, today, Some(format), share).await?;
        // Of the one more, the id is enough.
        let Some(missing) = first_missing(rows.iter().map(|row| &row.bytes), part.limit() - 1)
        else {
            return Ok(rows);
        };
        rows.truncate(missing);
        let last = rows.last().and_then(AnswerRow::key);
        let start = match last {
            Some(last) => Start::After(part.cursor_after(last, today)),
            None => part.start().clone(),
        };
        let rest = part.part(start, part.limit() - missing);
        let rest = self
            .rows(at, rest, today, Some(format), RowShare::All)
            .await?;
        rows.extend(rest);
        Ok(rows)
    }

    /// The start of a numbered page: after the last row of the previous pages, of which only ids are queried. `None` if
    /// there are no more rows.
    async fn start_of(
        &self,
        at: &CorpusView,
        query: &Query,
        number: u16,
        today: Date,
    ) -> Result<Option<Start>, Unanswered> {
        let skipped = (usize::from(number) - 1) * query.limit();
        if skipped == 0 {
            return Ok(Some(Start::First));
        }
        let ids = query.part(Start::First, skipped);
        let rows = self.rows(at, ids, today, None, RowShare::All).await?;
        let last = rows.get(skipped - 1).and_then(AnswerRow::key);
        Ok(last.map(|last| Start::After(query.cursor_after(last, today))))
    }

    /// The first rows of a result.
    pub(super) async fn rows(
        &self,
        at: &CorpusView,
        query: Query,
        today: Date,
        rendering: Option<RowFormat>,
        share: RowShare,
    ) -> Result<Vec<AnswerRow>, Unanswered> {
        let shards = self.shards(at, query.filter());
        let wanted = ShardRequest::Rows {
            query: Box::new(query.without_key()),
            today,
            rendering,
        };
        let answer = self.ask_shards(at, &shards, wanted, share).await?;
        answer.rows().map_err(Unanswered::Failed)
    }
}

/// The first of a page's rows that no node has rendered, although the page has room for it.
pub(super) fn first_missing<'r>(
    rows: impl ExactSizeIterator<Item = &'r Bytes>,
    limit: usize,
) -> Option<usize> {
    let (shown, mut bytes) = (rows.len().min(limit), 0);
    let rendered = rows.take(limit).take_while(|row| {
        bytes += row.len();
        !row.is_empty()
    });
    let rendered = rendered.count();
    (rendered < shown && bytes <= PAGE_BYTES_MAX).then_some(rendered)
}

/// The rows with checked ids.
pub(super) fn page_rows(rows: Vec<AnswerRow>) -> signaldex::Result<Vec<(SortKey, Bytes)>> {
    let row = |row: AnswerRow| {
        row.key()
            .map(|key| (key, row.bytes))
            .ok_or_else(|| Error::corrupt("a node returned an invalid id"))
    };
    rows.into_iter().map(row).collect()
}

/// Creates a page from its rows and possibly one more. The first row that is empty or has no room ends it.
pub(super) fn page_of(query: &Query, today: Date, mut rows: Vec<(SortKey, Bytes)>) -> RenderedPage {
    let has_more = rows.len() > query.limit();
    rows.truncate(query.limit());
    let mut answer = SearchAnswer::with_capacity(rows.len(), Rendering::Whole);
    for (_, item) in &rows {
        if item.is_empty() || !answer.push_written(item) {
            break;
        }
    }
    let keys: Vec<SortKey> = rows.into_iter().map(|(key, _)| key).collect();
    let last = keys.last().filter(|_| has_more);
    let page = RenderedPage {
        next_cursor: last.map(|&last| query.cursor_after(last, today)),
        answer,
        keys,
        ends_early: false,
        // Counted by the node that checked them.
        rows_checked: 0,
    };
    page.ended(query, today)
}
