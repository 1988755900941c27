//! Handles damage that is found during a query.
//!
//! Parts of a file are checked before their first use ([`parts`](super::parts)), deep inside functions that
//! cannot fail otherwise. So damage unwinds the query, and [`catch`] turns it into an error, without printing a
//! panic message. Without [`catch`], the caller sees a panic that names the file, but never an answer from
//! damaged data.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};

use crate::{Error, Result};

/// The panic payload.
struct Damage(Error);

thread_local! {
    /// The nesting depth of [`catch`] on this thread.
    static CATCHING: Cell<u32> = const { Cell::new(0) };
}

/// Runs `ask`, and converts damage into an error. Other panics propagate.
///
/// # Errors
/// The damage; the error names the file.
pub(crate) fn catch<T>(ask: impl FnOnce() -> T) -> Result<T> {
    // Queries change only buffers, which are dropped or cleared before their next use, so no
    // inconsistent state is visible after unwinding.
    let _catching = Catching::begin();
    panic::catch_unwind(AssertUnwindSafe(ask)).map_err(|thrown| match thrown.downcast::<Damage>() {
        Ok(damage) => damage.0,
        Err(other) => panic::resume_unwind(other),
    })
}

/// Ends the current query of this thread.
#[cold]
pub(crate) fn end_question(error: Error) -> ! {
    if CATCHING.get() > 0 && cfg!(panic = "unwind") {
        panic::resume_unwind(Box::new(Damage(error)))
    }
    panic!("{error}")
}

/// Counts an active call of [`catch`].
struct Catching;

impl Catching {
    fn begin() -> Catching {
        CATCHING.set(CATCHING.get() + 1);
        Catching
    }
}

impl Drop for Catching {
    fn drop(&mut self) {
        CATCHING.set(CATCHING.get() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_becomes_an_error_and_other_panics_stay() {
        assert_eq!(catch(|| 7).expect("an answer"), 7);
        let error = catch(|| -> u32 { end_question(Error::corrupt("worn")) }).expect_err("damage");
        assert!(error.is_corrupt() && error.to_string() == "worn", "{error}");
        let panicked =
            panic::catch_unwind(|| catch(|| -> u32 { panic::resume_unwind(Box::new(3_u8)) }));
        let thrown = panicked.expect_err("another panic");
        assert_eq!(thrown.downcast_ref(), Some(&3_u8));
        assert_eq!(CATCHING.get(), 0);
    }

    #[test]
    fn damage_that_is_not_caught_panics_with_its_message() {
        let thrown =
            panic::catch_unwind(|| end_question(Error::corrupt("worn"))).expect_err("a panic");
        assert_eq!(thrown.downcast_ref(), Some(&"worn".to_owned()));
    }
}
