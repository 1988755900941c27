//! Panics: what they print, and that one of the main thread ends the process.

use crate::stderr;

/// The exit status of a panic.
const PANICKED: i32 = 101;

/// From now on a panic prints its message, without a backtrace, whatever the environment says: a backtrace takes
/// memory while it holds a lock, and an allocation that fails waits for the same lock, for ever.
///
/// A panic of the main thread ends the process here. Unwinding could wait for ever, too: a runtime of which a
/// thread could not be started waits for those that were.
pub(crate) fn report() {
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("unnamed");
        stderr::fail(format_args!("thread {name:?}: {panic}"));
        if name == "main" {
            #[cfg(feature = "serve")]
            crate::service::log::finish();
            std::process::exit(PANICKED);
        }
    }));
}
