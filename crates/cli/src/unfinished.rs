//! What is not complete yet: where it is, and its removal when a load is interrupted, by Ctrl-C or a plain `kill`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where what will have another name is until it is complete: beside it, under the number of this process.
pub(crate) fn path_beside(published: &Path) -> PathBuf {
    let mut name = published.file_name().unwrap_or_default().to_owned();
    name.push(format!(".unfinished-{}", std::process::id()));
    published.with_file_name(name)
}

/// A folder before a load writes to it.
pub(crate) struct Untouched {
    folder: PathBuf,
    names: BTreeSet<OsString>,
    /// It and those around it that a load has to create, the innermost first.
    new_folders: Vec<PathBuf>,
}

impl Untouched {
    pub(crate) fn new(folder: &Path) -> Untouched {
        let is_new = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let new_folders = folder.ancestors().take_while(is_new).map(Path::to_owned);
        Untouched {
            folder: folder.to_owned(),
            names: names_in(folder).collect(),
            new_folders: new_folders.collect(),
        }
    }

    /// Removes what the folder has now and had not before. What cannot be removed stays.
    #[cfg(unix)]
    fn restore(&self) {
        for name in names_in(&self.folder).filter(|name| !self.names.contains(name)) {
            let path = self.folder.join(name);
            let _ = if path.is_dir() {
                fs::remove_dir_all(path)
            } else {
                fs::remove_file(path)
            };
        }
        for folder in &self.new_folders {
            let _ = fs::remove_dir(folder);
        }
    }
}

fn names_in(folder: &Path) -> impl Iterator<Item = OsString> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.file_name()))
}

/// A load that an interrupt undoes while this value lives. Created once nobody else may write to the folder.
pub(crate) struct Unfinished {
    #[cfg(unix)]
    untouched: Arc<Mutex<Option<Untouched>>>,
}

#[cfg(unix)]
const RESTORED_TIMES: usize = 3;

#[cfg(unix)]
impl Unfinished {
    pub(crate) fn new(untouched: Untouched) -> std::io::Result<Unfinished> {
        let untouched = Arc::new(Mutex::new(Some(untouched)));
        let of_thread = Arc::clone(&untouched);
        let mut signals = signal_hook::iterator::Signals::new(heeded_signals())?;
        std::thread::Builder::new()
            .name("interrupts".to_owned())
            .spawn(move || {
                // The lock is kept until the process ends, so the load cannot become complete meanwhile.
                for signal in signals.forever() {
                    let untouched = lock(&of_thread);
                    // The load goes on and may create a file while others are removed.
                    for untouched in untouched.iter().cycle().take(RESTORED_TIMES) {
                        untouched.restore();
                    }
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                }
            })?;
        Ok(Unfinished { untouched })
    }
}

#[cfg(unix)]
impl Drop for Unfinished {
    fn drop(&mut self) {
        lock(&self.untouched).take();
    }
}

#[cfg(unix)]
fn lock(untouched: &Mutex<Option<Untouched>>) -> MutexGuard<'_, Option<Untouched>> {
    untouched.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The signals that end a load, but for those that it was started to ignore: by `nohup`, or in the background.
#[cfg(unix)]
fn heeded_signals() -> Vec<i32> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    // Only Linux tells; elsewhere nothing is known to be ignored.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let ignored = mask.unwrap_or(0);
    let mut signals = vec![SIGHUP, SIGINT, SIGTERM];
    signals.retain(|signal| ignored >> (signal - 1) & 1 == 0);
    signals
}

#[cfg(not(unix))]
impl Unfinished {
    /// Nothing is undone here: the same command completes an interrupted load.
    pub(crate) fn new(_untouched: Untouched) -> std::io::Result<Unfinished> {
        Ok(Unfinished {})
    }
}
