//! A few matches of a block, taken at once, since asking for each anew takes longer than using it.

/// Offsets that are taken at once: a page of the usual length and one more.
pub(super) const BATCH_ROWS: usize = 64;

/// The next candidates of a block, in the order in which they are wanted.
#[derive(Debug)]
pub(super) struct Batch {
    offsets: [u16; BATCH_ROWS],
    next: usize,
    end: usize,
}

impl Batch {
    pub(super) fn new() -> Batch {
        Batch {
            offsets: [0; BATCH_ROWS],
            next: 0,
            end: 0,
        }
    }

    /// Takes the next one out.
    pub(super) fn pop(&mut self) -> Option<u16> {
        let offset = *self.offsets[..self.end].get(self.next)?;
        self.next += 1;
        Some(offset)
    }

    /// The one that comes last.
    pub(super) fn last(&self) -> Option<u16> {
        self.offsets[..self.end].last().copied()
    }

    pub(super) fn clear(&mut self) {
        (self.next, self.end) = (0, 0);
    }

    pub(super) fn is_full(&self) -> bool {
        self.end == BATCH_ROWS
    }

    pub(super) fn push(&mut self, offset: u16) {
        self.offsets[self.end] = offset;
        self.end += 1;
    }
}
