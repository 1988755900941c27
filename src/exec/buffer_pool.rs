//! A pool of candidate buffers, one per thread, kept from query to query.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

use super::candidates::Candidates;

/// Candidates from the thread's pool, returned on drop, so that a query allocates none.
#[derive(Debug)]
pub(super) struct PooledCandidates(Option<Box<Candidates>>);

thread_local! {
    #[expect(clippy::vec_box, reason = "they are lent out, and a box is moved faster than candidates")]
    static SPARE: RefCell<Vec<Box<Candidates>>> = const { RefCell::new(Vec::new()) };
}

/// How many spare candidates a thread keeps: enough for a query over that many segments.
const SPARE_MAX: usize = 16;

impl PooledCandidates {
    /// Spare candidates, or new ones.
    pub(super) fn take() -> PooledCandidates {
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
        // A thread that is ending has no spare ones any more.
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < SPARE_MAX {
                spare.push(candidates);
            }
        });
    }
}
