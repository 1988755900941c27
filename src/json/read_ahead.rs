//! Reading ahead: a thread of its own reads and decompresses lines, and turns CSV into them, while the
//! records of earlier ones are parsed and taken.
//!
//! Lines cross over as bytes, many in one buffer. Parsing on that thread as well was measured to
//! be slower than no thread at all: the records would have to own their texts, a dozen
//! allocations each, made on one thread and freed on the other.

use std::ops::Range;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::Scope;

use super::error::RecordError;
use super::records::Records;
use crate::Result;

/// Bytes after which a batch is full: a few hundred records, so that the cost of handing over
/// vanishes, in a buffer that still fits the second-level cache.
const BATCH_BYTES: usize = 256 << 10;

/// Lines of a batch at most, for lines of a few bytes or of too many to be held.
const BATCH_LINES_MAX: usize = 1 << 12;

/// Batches that may wait. With one at either end and a line of the maximum length in each, this
/// bounds the memory of a load.
const BATCHES_WAITING_MAX: usize = 2;

/// Some lines of a file, in order.
#[derive(Default)]
pub(super) struct Batch {
    text: Vec<u8>,
    lines: Vec<BatchLine>,
    /// The bytes that were taken from the file up to here.
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

    /// Each line's number, with its bytes or what is wrong with it.
    pub(super) fn lines(&self) -> impl Iterator<Item = (u64, Result<&[u8], &RecordError>)> {
        self.lines.iter().map(|line| {
            let content = line.content.as_ref().map(|range| &self.text[range.clone()]);
            (line.number, content)
        })
    }

    fn is_full(&self) -> bool {
        self.text.len() >= BATCH_BYTES || self.lines.len() >= BATCH_LINES_MAX
    }

    fn fill(&mut self, records: &mut Records) -> Result<()> {
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

/// Starts the thread, which ends with the lines, after an error, or once nobody receives.
pub(super) fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    mut records: Records,
) -> Receiver<Result<Batch>> {
    let (sender, receiver) = mpsc::sync_channel(BATCHES_WAITING_MAX);
    scope.spawn(move || {
        // A send fails where the load has ended already, which leaves nothing to tell.
        if let Err(Stop::Failed(error)) = send_all(&mut records, &sender) {
            let _ = sender.send(Err(error));
        }
    });
    receiver
}

/// Why a thread stops before the end of the lines.
enum Stop {
    Failed(crate::Error),
    NobodyReceives,
}

fn send_all(records: &mut Records, sender: &SyncSender<Result<Batch>>) -> Result<(), Stop> {
    loop {
        let mut batch = Batch {
            text: Vec::with_capacity(BATCH_BYTES),
            ..Batch::default()
        };
        let filled = batch.fill(records);
        batch.bytes_read = records.lines().bytes_read();
        let at_end = batch.len() == 0;
        // What stands before damaged bytes is handed over before the damage is told.
        if !at_end {
            sender.send(Ok(batch)).map_err(|_| Stop::NobodyReceives)?;
        }
        filled.map_err(Stop::Failed)?;
        if at_end {
            return Ok(());
        }
    }
}
