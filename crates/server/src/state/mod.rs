//! The persistent state in one SQLite file: keys, usage, idempotency records, series, people, the audit.
//!
//! Reads use a few connections and threads of their own (`readers`) and never wait for writes. All writes of requests go through
//! one thread (`writer`), which commits everything that has arrived since the last commit together: an
//! fsync takes milliseconds, and many requests share it.

mod activity_store;
mod alert_queue;
mod audit_store;
mod clock;
mod commit;
mod error;
mod export_store;
mod files;
mod functions;
mod kept_store;
mod key_pages;
mod key_store;
mod number;
mod outcome;
mod pace;
mod people_store;
mod quota_store;
mod readers;
mod replay_store;
mod schema;
mod search_pages;
mod search_store;
mod series_store;
mod tables;
mod turn;
mod usage_store;
mod webhook_changes;
mod webhook_queue;
mod webhook_store;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, Transaction};
use time::{Date, UtcDateTime};

pub use audit_store::AuditEntry;
pub use error::StateError;
pub use usage_store::UsageLine;

pub(crate) use activity_store::{BusyKey, CountedBy, NewRequests, RequestTotal};
pub(crate) use alert_queue::DueAlert;
pub(crate) use audit_store::AuditWanted;
pub(crate) use commit::{Charge, KeptContent};
pub(crate) use export_store::{ExportCharge, ExportName};
pub(crate) use files::LostFile;
pub(crate) use kept_store::{KeptFull, KeptLimits};
pub(crate) use key_pages::{KeyPage, KeysWanted};
pub(crate) use outcome::{ChargeError, Charged};
pub(crate) use pace::Arrival;
pub(crate) use quota_store::{QuotaAlert, REACHED_MAX, TOLD_AT};
pub(crate) use readers::{NotRead, Readers};
pub(crate) use replay_store::{NewReplay, StoredReplay};
pub(crate) use search_pages::SearchesWanted;
pub(crate) use series_store::{SeriesFigures, SeriesLine, SeriesStep};
pub(crate) use usage_store::KeyUsage;
pub(crate) use webhook_changes::ChangedSearch;
pub(crate) use webhook_queue::{
    BatchIds, DueSearch, DueWork, FeedMove, NewBatch, StoredBatch, TurnEnd,
};
pub(crate) use writer::ChargeWriter;

use crate::keys::KeyHash;
use clock::Clock;
use files::StateFiles;
use turn::Turn;

/// Connections kept for reading: one for each thread that reads for requests, the others for the dashboard
/// and the follower.
const IDLE_READERS: usize = 8;

/// The state file of a service: keys, usage and idempotency records.
///
/// Any number of processes may open it, so keys can be created and usage read while a service runs.
#[derive(Debug)]
pub struct State {
    path: PathBuf,
    clock: Clock,
    files: Arc<StateFiles>,
    readers: Mutex<Vec<Connection>>,
    /// The hash of this process's trial key, which is not in the file.
    trial: Mutex<Option<KeyHash>>,
    /// Called before each commit of charges, so that tests can delay it or make it fail.
    #[cfg(test)]
    pub(crate) before_commit: commit::Hook,
}

impl State {
    /// Opens a state file, or creates it with access for its owner only.
    ///
    /// # Errors
    /// The file cannot be opened or created, is not a state file, has several hard links, or was written by a later
    /// release.
    pub fn open(path: impl AsRef<Path>) -> Result<State, StateError> {
        schema::create(path.as_ref())?;
        State::open_existing(path)
    }

    /// Opens an existing state file.
    ///
    /// # Errors
    /// As [`open`](State::open), and if the file does not exist.
    pub fn open_existing(path: impl AsRef<Path>) -> Result<State, StateError> {
        let path = path.as_ref().to_owned();
        schema::refuse_links(&path)?;
        let first = schema::open(&path)?;
        // From here on, a connection is always open, so SQLite keeps using the files found now.
        let files = StateFiles::at(&path)
            .map_err(|error| StateError::of_file(&path, "cannot be opened", &error))?;
        Ok(State {
            files: Arc::new(files),
            path,
            clock: Clock::default(),
            readers: Mutex::new(vec![first]),
            trial: Mutex::default(),
            #[cfg(test)]
            before_commit: commit::Hook::default(),
        })
    }

    /// Replaces the clock of the operating system, so that a host's tests can let a day or a month pass.
    ///
    /// The state and the services over it take from it the day and month of usage, [`Today::Clock`], the end of
    /// keys and of kept answers. Rate limits and time limits keep to a monotonic clock. It must not block.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicI64, Ordering};
    ///
    /// use signaldex_server::State;
    /// use time::UtcDateTime;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("signaldex.db");
    /// let seconds = Arc::new(AtomicI64::new(1_795_132_800));
    /// let shared = Arc::clone(&seconds);
    /// let state = State::open(path)?.with_clock(move || {
    ///     let now = UtcDateTime::from_unix_timestamp(shared.load(Ordering::Relaxed));
    ///     now.unwrap_or(UtcDateTime::UNIX_EPOCH)
    /// });
    /// seconds.fetch_add(24 * 60 * 60, Ordering::Relaxed); // a day later
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// [`Today::Clock`]: crate::Today::Clock
    #[must_use]
    pub fn with_clock(self, clock: impl Fn() -> UtcDateTime + Send + Sync + 'static) -> State {
        State {
            clock: Clock::of(clock),
            ..self
        }
    }

    /// The present instant.
    pub(crate) fn now(&self) -> UtcDateTime {
        self.clock.now()
    }

    /// The path of the log of requests, beside the state.
    pub(crate) fn request_log_path(&self) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push("-requests");
        path.into()
    }

    /// Checks that the open files are still those at the path. Commits to other files would be lost.
    pub(crate) fn check_files(&self) -> Result<(), LostFile> {
        self.files.check()
    }

    /// Whether the last check found a file deleted or replaced.
    pub(crate) fn is_lost(&self) -> bool {
        self.files.were_lost()
    }

    /// Runs a read or a rare write on a separate connection.
    fn with<T>(
        &self,
        run: impl FnOnce(&mut Connection) -> Result<T, StateError>,
    ) -> Result<T, StateError> {
        let idle = self
            .readers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => schema::open_same(&self.path, self.files.database())?,
        };
        let result = run(&mut connection);
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.len() < IDLE_READERS {
            readers.push(connection);
        }
        result
    }
}

impl State {
    /// Begins a rare write, in turn with the commits of charges of all processes.
    fn begin<'c>(&self, connection: &'c Connection) -> rusqlite::Result<Transaction<'c>> {
        Turn::at(&self.path).begin(connection)
    }
}

/// The date of a stored day number. Invalid numbers occur only in damaged files.
fn day_of(julian: i32) -> Date {
    Date::from_julian_day(julian).unwrap_or(Date::MIN)
}
