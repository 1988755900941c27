//! A per-thread pool of candidate buffers, reused across queries.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

use super::candidates::Candidates;

/// Candidates from the thread's pool, returned on drop, so that queries do not allocate them.
#[derive(Debug)]
pub(super) struct PooledCandidates(Option<Box<Candidates>>);

thread_local! {
    #[expect(clippy::vec_box, reason = "they are lent out, and a box is moved faster than candidates")]
    static SPARE: RefCell<Vec<Box<Candidates>>> = const { RefCell::new(Vec::new()) };
}

/// Maximum number of spare candidates per thread: enough for a query over that many segments.
const SPARE_MAX: usize = 16;

impl PooledCandidates {
    /// Takes spare candidates or creates new ones.
    pub(super) fn take() -> PooledCandidates {
        // `try_with` fails while the thread is ending; then new candidates are created.
        let spare = SPARE
            .try_with(|spare| spare.borrow_mut().pop())
            .ok()
            .flatten();
        PooledCandidates(Some(spare.unwrap_or_default()))
    }
}

impl Deref for PooledCandidates {
    type Target = Candidates;

    fn deref(&self) -> &Candidates {
        self.0
            .as_ref()
            .expect("candidates are only given back on drop")
    }
}

impl DerefMut for PooledCandidates {
    fn deref_mut(&mut self) -> &mut Candidates {
        self.0
            .as_mut()
            .expect("candidates are only given back on drop")
    }
}

impl Drop for PooledCandidates {
    fn drop(&mut self) {
        let Some(candidates) = self.0.take() else {
            return;
        };
        // Fails while the thread is ending.
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            // More than this are freed, so that one query over many segments does not keep its
            // memory.
            if spare.len() < SPARE_MAX {
                spare.push(candidates);
            }
        });
    }
}
