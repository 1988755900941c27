//! Reads ahead: a thread reads and decompresses lines, and converts CSV, while the records of earlier
//! lines are parsed and added.
//!
//! Lines are passed as bytes, many in one buffer. Parsing on that thread, too, was slower than having no
//! thread: records would have to own their texts, with a dozen allocations each, made on one thread and
//! freed on the other.

use std::ops::Range;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, Scope};

use super::error::RecordError;
use super::records::RecordReader;
use crate::{Error, Result};

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

    fn fill(&mut self, records: &mut RecordReader) -> Result<()> {
        while !self.is_full() {
            let Some(line) = records.next()? else {
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
pub(super) fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    mut records: RecordReader,
) -> Result<Receiver<Result<Batch>>> {
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

/// Why a thread stops before the end of the lines.
enum ReadStop {
    Failed(crate::Error),
    NobodyReceives,
}

fn send_all(
    records: &mut RecordReader,
    sender: &SyncSender<Result<Batch>>,
) -> Result<(), ReadStop> {
    loop {
        let mut batch = Batch {
            text: Vec::with_capacity(BATCH_BYTES + LAST_LINE_BYTES),
            ..Batch::default()
        };
        let filled = batch.fill(records);
        batch.bytes_read = records.lines().bytes_read();
        let at_end = batch.len() == 0;
        // Lines before the damage are sent before the error.
        if !at_end {
            sender
                .send(Ok(batch))
                .map_err(|_| ReadStop::NobodyReceives)?;
        }
        filled.map_err(ReadStop::Failed)?;
        if at_end {
            return Ok(());
        }
    }
}
