//! Exports of a local index, slice by slice.

use std::ops::ControlFlow;

use time::Date;

use signaldex::json::{write_csv_header, write_csv_item, write_item_line};
use signaldex::query::{Order, SortKey, Start};
use signaldex::{Error, Filter, Query, Result, SignalId, Snapshot};

/// Maximum number of signals in a slice, which is charged before it is sent.
pub const SLICE_SIGNALS_MAX: usize = 1000;

/// Bytes after which a slice ends: about 1,000 typical signals, so that large signals take no more memory. A slice
/// exceeds it by at most one signal.
pub const SLICE_BYTES: usize = 1 << 20;

/// The format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// One JSON object per line.
    Ndjson,
    /// One row per signal (RFC 4180).
    Csv,
}

impl ExportFormat {
    /// The names of the formats, in their order.
    pub const NAMES: [&str; 2] = ["ndjson", "csv"];
}

/// A request for a slice.
#[derive(Clone, Debug)]
pub struct ExportRequest {
    /// Which signals are exported.
    pub filter: Filter,
    /// In which order.
    pub order: Order,
    /// How they are written.
    pub format: ExportFormat,
    /// The slice starts after this signal.
    pub after: Option<SortKey>,
    /// Maximum number of signals from there on.
    pub items_max: u64,
}

/// Consecutive signals of an export.
#[derive(Debug)]
pub struct ExportSlice {
    /// The sort keys of the signals, in order.
    pub keys: Vec<SortKey>,
    /// A line per signal.
    pub body: Vec<u8>,
    /// Whether this is the last slice.
    pub is_last: bool,
}

impl ExportSlice {
    /// The ids of the signals.
    pub fn ids(&self) -> Vec<SignalId> {
        self.keys.iter().map(|key| key.id()).collect()
    }
}

impl ExportRequest {
    /// The request for the next slice, if there is one.
    pub fn after_slice(&self, slice: &ExportSlice) -> Option<ExportRequest> {
        if slice.is_last {
            return None;
        }
        self.after_keys(&slice.keys)
    }

    /// The request for what follows its first signals; `None` without any.
    pub fn after_keys(&self, keys: &[SortKey]) -> Option<ExportRequest> {
        Some(ExportRequest {
            after: Some(*keys.last()?),
            items_max: self.items_max.saturating_sub(keys.len() as u64),
            ..self.clone()
        })
    }

    /// The query for its first signals, at most `max`.
    ///
    /// # Errors
    /// The order is by amount, and the filter has no currency.
    pub fn query(&self, max: usize, today: Date) -> Result<Query> {
        let length = usize::try_from(self.items_max).unwrap_or(usize::MAX);
        let query = Query::of_filter(self.filter.clone(), self.order, length.min(max));
        let query = query.map_err(|refused| Error::invalid(refused.to_string()))?;
        Ok(match self.after {
            None => query,
            Some(key) => query.part(Start::After(query.cursor_after(key, today)), query.limit()),
        })
    }
}

/// The header of a file that starts with the first signal.
pub fn header(format: ExportFormat) -> Vec<u8> {
    let mut header = Vec::new();
    match format {
        ExportFormat::Ndjson => {}
        ExportFormat::Csv => write_csv_header(&mut header),
    }
    header
}

/// The next slice of an export.
pub fn slice(snapshot: &Snapshot, request: &ExportRequest, today: Date) -> Result<ExportSlice> {
    let page = snapshot.search(&request.query(SLICE_SIGNALS_MAX, today)?, today)?;
    let write = match request.format {
        ExportFormat::Ndjson => write_item_line,
        ExportFormat::Csv => write_csv_item,
    };
    let mut written = 0;
    let mut body = Vec::with_capacity(SLICE_BYTES.min(page.len() << 10));
    snapshot.visit_records(&page, |signal, company_name| {
        written += 1;
        write(&mut body, signal, company_name);
        if body.len() < SLICE_BYTES {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    })?;
    let is_whole_page = written == page.len();
    let is_last =
        written as u64 == request.items_max || (is_whole_page && page.next_cursor().is_none());
    Ok(ExportSlice {
        keys: page.keys().take(written).collect(),
        body,
        is_last,
    })
}

/// The sort keys of the next signals of an export, at most `max`. Reads no records.
pub(super) fn keys(
    snapshot: &Snapshot,
    request: &ExportRequest,
    max: usize,
    today: Date,
) -> Result<Vec<SortKey>> {
    let page = snapshot.search(&request.query(max, today)?, today)?;
    Ok(page.keys().collect())
}
