//! Exports of a local index, slice by slice.

use std::ops::ControlFlow;

use time::Date;

use signaldex::json::{write_csv_header, write_csv_item, write_item_line};
use signaldex::query::{Order, Start};
use signaldex::{Filter, Query, Result, SignalId, Snapshot};

/// Maximum number of signals in a slice, which is charged before it is sent.
pub(super) const SLICE_SIGNALS_MAX: u64 = 1000;

/// Bytes after which a slice ends: about 1,000 typical signals, so that large signals take no more memory. A slice
/// exceeds it by at most one signal.
const SLICE_BYTES: usize = 1 << 20;

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
    /// How they are written.
    pub format: ExportFormat,
    /// The slice starts after this signal.
    pub after: Option<SignalId>,
    /// Maximum number of signals from there on.
    pub items_max: u64,
}

/// Consecutive signals of an export, newest id first.
#[derive(Debug)]
pub struct ExportSlice {
    /// The signals, in order.
    pub ids: Vec<SignalId>,
    /// A line per signal.
    pub body: Vec<u8>,
    /// Whether this is the last slice.
    pub is_last: bool,
}

impl ExportRequest {
    /// The request for the next slice, if there is one.
    pub fn after_slice(&self, slice: &ExportSlice) -> Option<ExportRequest> {
        if slice.is_last {
            return None;
        }
        self.after_ids(&slice.ids)
    }

    /// The request for what follows its first signals; `None` without any.
    pub fn after_ids(&self, ids: &[SignalId]) -> Option<ExportRequest> {
        Some(ExportRequest {
            after: Some(*ids.last()?),
            items_max: self.items_max.saturating_sub(ids.len() as u64),
            ..self.clone()
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
    let length = request.items_max.min(SLICE_SIGNALS_MAX);
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let query = Query::of_filter(request.filter.clone(), Order::NewestFirst, length);
    let query = match request.after {
        None => query,
        Some(id) => query.part(Start::After(query.cursor_after(id, today)), length),
    };
    let page = snapshot.search(&query, today)?;
    let write = match request.format {
        ExportFormat::Ndjson => write_item_line,
        ExportFormat::Csv => write_csv_item,
    };
    let mut ids = Vec::with_capacity(page.len());
    let mut body = Vec::with_capacity(SLICE_BYTES.min(page.len() << 10));
    snapshot.visit_records(&page, |signal, company_name| {
        ids.push(signal.id);
        write(&mut body, signal, company_name);
        if body.len() < SLICE_BYTES {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    })?;
    let is_whole_page = ids.len() == page.len();
    let is_last =
        ids.len() as u64 == request.items_max || (is_whole_page && page.next_cursor().is_none());
    Ok(ExportSlice { ids, body, is_last })
}

/// The ids of the next signals of an export, at most `max`. Reads no records.
pub(super) fn ids(
    snapshot: &Snapshot,
    request: &ExportRequest,
    max: usize,
    today: Date,
) -> Result<Vec<SignalId>> {
    let matches = snapshot.matches(&request.filter, today, Order::NewestFirst);
    let matches = match request.after {
        None => matches,
        Some(id) => matches.after(id),
    };
    let wanted = usize::try_from(request.items_max).unwrap_or(usize::MAX);
    matches.ids().take(wanted.min(max)).collect()
}
