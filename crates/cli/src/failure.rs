//! What ends a command early.

use std::error::Error;
use std::io;

/// What ends a command early: shown on standard error, exit status 1.
pub(crate) type Failure = Box<dyn Error>;

/// Whether the reader of our output has gone, as `head` does, which is nobody's error.
pub(crate) fn is_closed_pipe(failure: &(dyn Error + 'static)) -> bool {
    let kind = match failure.downcast_ref::<serde_json::Error>() {
        Some(error) => error.io_error_kind(),
        None => failure.downcast_ref::<io::Error>().map(io::Error::kind),
    };
    kind == Some(io::ErrorKind::BrokenPipe)
}
