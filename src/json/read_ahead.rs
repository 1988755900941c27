//! Reads ahead: a thread reads and decompresses lines, or the rows of a table, while the records of earlier
//! ones are parsed and added.
//!
//! Lines are passed as bytes, many in one buffer. Parsing on that thread, too, was slower than having no
//! thread: records would have to own their texts, with a dozen allocations each, made on one thread and
//! freed on the other.

use std::ops::Range;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, Scope};

use crate::tables::{Lines, RecordError, RowBatch, TableSource};
use crate::{Error, Result};

/// What is read on the thread, in batches.
pub(super) trait ReadAhead: Send {
    type Batch: Default + Send;

    /// Reads until the batch is full or nothing is left. Returns whether the batch has anything.
    ///
    /// # Errors
    /// The file cannot be read; what was read before is in the batch.
    fn fill(&mut self, batch: &mut Self::Batch) -> (bool, Result<()>);
}

impl ReadAhead for Lines {
    type Batch = Batch;

    fn fill(&mut self, batch: &mut Batch) -> (bool, Result<()>) {
        batch.text.reserve(BATCH_BYTES + LAST_LINE_BYTES);
        let filled = batch.fill(self);
        batch.bytes_read = self.bytes_read();
        (batch.len() > 0, filled)
    }
}

impl ReadAhead for Box<dyn TableSource> {
    type Batch = RowBatch;

    fn fill(&mut self, batch: &mut RowBatch) -> (bool, Result<()>) {
        let filled = batch.fill(&mut **self);
        (batch.len() > 0, filled)
    }
}

/// Bytes of a full batch: a few hundred records, so that the cost of passing it is negligible, in a buffer
/// that fits into the L2 cache.
const BATCH_BYTES: usize = 256 << 10;

/// Room for the line that fills a batch, so that the buffer is not copied for it. Longer lines are rare.
const LAST_LINE_BYTES: usize = 16 << 10;

/// Maximum number of lines in a batch, which matters for very short and for skipped lines.
const BATCH_LINES_MAX: usize = 1 << 12;

/// Batches in the queue. With one more at each end, and a line of maximum length in each, this bounds the
/// memory of a load.
const BATCHES_WAITING_MAX: usize = 2;

/// Consecutive lines of a file.
#[derive(Default)]
pub(super) struct Batch {
    text: Vec<u8>,
    lines: Vec<BatchLine>,
    /// Bytes read from the file up to here.
    pub(super) bytes_read: u64,
}

struct BatchLine {
    number: u64,
    content: Result<Range<usize>, RecordError>,
}

impl Batch {
    /// The number of lines.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// The lines with their numbers; each is bytes or an error.
    pub(super) fn lines(&self) -> impl Iterator<Item = (u64, Result<&[u8], &RecordError>)> {
        self.lines.iter().map(|line| {
            let content = line.content.as_ref().map(|range| &self.text[range.clone()]);
            (line.number, content)
        })
    }

    fn is_full(&self) -> bool {
        self.text.len() >= BATCH_BYTES || self.lines.len() >= BATCH_LINES_MAX
    }

    fn fill(&mut self, lines: &mut Lines) -> Result<()> {
        while !self.is_full() {
            let Some(line) = lines.next_line()? else {
                return Ok(());
            };
            let start = self.text.len();
            let content = line.content.map(|content| {
                self.text.extend_from_slice(content);
                start..self.text.len()
            });
            self.lines.push(BatchLine {
                number: line.number,
                content,
            });
        }
        Ok(())
    }
}

/// Starts the thread. It ends at the end of the lines, after an error, or when the receiver is dropped.
///
/// # Errors
/// The thread cannot be started, for want of memory.
pub(super) fn start<'scope, R: ReadAhead + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    mut records: R,
) -> Result<Receiver<Result<R::Batch>>>
where
    R::Batch: 'scope,
{
    let (sender, receiver) = mpsc::sync_channel(BATCHES_WAITING_MAX);
    let read = move || {
        // Sending fails only if the load has already ended.
        if let Err(ReadStop::Failed(error)) = send_all(&mut records, &sender) {
            let _ = sender.send(Err(error));
        }
    };
    let started = thread::Builder::new().spawn_scoped(scope, read);
    started.map_err(|error| Error::io("start a thread", error))?;
    Ok(receiver)
}

/// Why a thread stops before the end of the records.
enum ReadStop {
    Failed(crate::Error),
    NobodyReceives,
}

fn send_all<R: ReadAhead>(
    records: &mut R,
    sender: &SyncSender<Result<R::Batch>>,
) -> Result<(), ReadStop> {
    loop {
        let mut batch = R::Batch::default();
        let (has_records, filled) = records.fill(&mut batch);
        // Records before the damage are sent before the error.
        if has_records {
            sender
                .send(Ok(batch))
                .map_err(|_| ReadStop::NobodyReceives)?;
        }
        filled.map_err(ReadStop::Failed)?;
        if !has_records {
            return Ok(());
        }
    }
}
