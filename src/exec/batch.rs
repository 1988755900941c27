//! A few matches of a block, taken at once, since asking for each anew takes longer than using it.

/// Offsets that are taken at once: a page of the usual length and one more.
const BATCH_ROWS: usize = 64;

/// The next matches of a block, in the order in which they are wanted.
#[derive(Debug)]
pub(super) struct Batch {
    block: u32,
    offsets: [u16; BATCH_ROWS],
    next: usize,
    end: usize,
    /// How many may be taken.
    most: usize,
}

impl Batch {
    pub(super) fn new() -> Batch {
        Batch {
            block: 0,
            offsets: [0; BATCH_ROWS],
            next: 0,
            end: 0,
            most: 0,
        }
    }

    /// Starts anew, with room for as many as are wanted, or as many as there can be.
    pub(super) fn begin(&mut self, block: u32, wanted: usize) {
        self.block = block;
        (self.next, self.end) = (0, 0);
        self.most = wanted.min(BATCH_ROWS);
    }

    pub(super) fn block(&self) -> u32 {
        self.block
    }

    /// What was pushed and has not been taken.
    pub(super) fn offsets(&self) -> &[u16] {
        &self.offsets[self.next..self.end]
    }

    /// Takes the next ones out.
    pub(super) fn take(&mut self, count: usize) {
        self.next = self.end.min(self.next + count);
    }

    /// How many more can be pushed.
    pub(super) fn room(&self) -> usize {
        self.most - self.end
    }

    pub(super) fn push(&mut self, offset: u16) {
        self.offsets[self.end] = offset;
        self.end += 1;
    }

    /// Keeps those that pass a test.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(u16) -> bool) {
        let mut kept = self.next;
        for place in self.next..self.end {
            let offset = self.offsets[place];
            self.offsets[kept] = offset;
            kept += usize::from(keep(offset));
        }
        self.end = kept;
    }
}
