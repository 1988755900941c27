//! Exports of a cluster: the next rows of each shard, merged by id, as far as a slice goes. Nothing is held between two
//! slices but the [lease](super::leases) of the generation.

use time::Date;

use super::asking::RowShare;
use super::coordinator::Coordinator;
use super::pages::page_rows;
use super::question::{ROWS_MAX, RowFormat};
use signaldex::Error;
use signaldex::json::Rendering;
use signaldex::query::SortKey;
use signaldex_server::corpus::{
    CorpusView, ExportFormat, ExportRequest, ExportSlice, SLICE_BYTES, SLICE_SIGNALS_MAX,
    Unanswered,
};

impl Coordinator {
    /// The next slice, as [`Corpus::export`](signaldex_server::corpus::Corpus::export) says. It may be shorter than that of
    /// one index: it ends where a node has sent ids alone.
    pub(super) async fn find_slice(
        &self,
        at: &CorpusView,
        request: &ExportRequest,
        today: Date,
    ) -> Result<ExportSlice, Unanswered> {
        for share in [RowShare::Expected, RowShare::All] {
            let slice = self.slice(at, request, today, share).await?;
            if slice.is_last || !slice.keys.is_empty() {
                return Ok(slice);
            }
        }
        let error = Error::corrupt("a node has not written the first row of an export");
        Err(Unanswered::Failed(error))
    }

    async fn slice(
        &self,
        at: &CorpusView,
        request: &ExportRequest,
        today: Date,
        share: RowShare,
    ) -> Result<ExportSlice, Unanswered> {
        let query = request.query(SLICE_SIGNALS_MAX, today);
        let query = query.map_err(Unanswered::Failed)?;
        let length = query.limit();
        // One more, to know whether this is the last slice.
        let query = query.part(query.start().clone(), length + 1);
        let format = match request.format {
            ExportFormat::Ndjson => RowFormat::Item(Rendering::Whole),
            ExportFormat::Csv => RowFormat::Csv,
        };
        let rows = self.rows(at, query, today, Some(format), share).await?;
        let rows = page_rows(rows).map_err(Unanswered::Failed)?;
        let (mut keys, mut body) = (Vec::new(), Vec::new());
        let written = rows.iter().take(length);
        for (key, row) in written.take_while(|(_, row)| !row.is_empty()) {
            keys.push(*key);
            body.extend_from_slice(row);
            if request.format == ExportFormat::Ndjson {
                body.push(b'\n');
            }
            if body.len() >= SLICE_BYTES {
                break;
            }
        }
        let is_last = keys.len() as u64 == request.items_max || keys.len() == rows.len();
        Ok(ExportSlice {
            keys,
            body,
            is_last,
        })
    }

    /// The sort keys of the next signals, as [`Corpus::export_keys`](signaldex_server::corpus::Corpus::export_keys) says.
    pub(super) async fn find_export_keys(
        &self,
        at: &CorpusView,
        request: &ExportRequest,
        max: usize,
        today: Date,
    ) -> Result<Vec<SortKey>, Unanswered> {
        let wanted = request.items_max.min(max as u64) as usize;
        let (mut keys, mut rest) = (Vec::new(), Some(request.clone()));
        // Each turn adds as many keys as a question may ask for, or is the last.
        while let Some(request) = rest.take_if(|_| keys.len() < wanted) {
            let length = (wanted - keys.len()).min(ROWS_MAX);
            let query = request.query(length, today);
            let query = query.map_err(Unanswered::Failed)?;
            let rows = self.rows(at, query, today, None, RowShare::All).await?;
            let rows = page_rows(rows).map_err(Unanswered::Failed)?;
            let next: Vec<SortKey> = rows.into_iter().map(|(key, _)| key).collect();
            rest = request.after_keys(&next).filter(|_| next.len() == length);
            keys.extend(next);
        }
        Ok(keys)
    }
}

#[cfg(test)]
mod tests;
