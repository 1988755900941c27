//! A directory in memory for the files of one input after the other.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Names the folder for such directories; `run.sh` sets it, and removes the folder at the end.
const FOLDER_VARIABLE: &str = "SIGNALDEX_FUZZ_SCRATCH";

/// Numbers the directories of a process: its tests run side by side, also those with one name.
static CREATED: AtomicU32 = AtomicU32::new(0);

/// A directory of one test or target alone.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Creates the directory, empty.
    pub fn new(name: &str) -> Scratch {
        let folder =
            std::env::var_os(FOLDER_VARIABLE).map_or_else(std::env::temp_dir, PathBuf::from);
        let number = CREATED.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("{name}-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder that can be written to");
        Scratch(path)
    }

    /// The path of a file, or of the directory for an empty name.
    pub fn path(&self, name: &str) -> PathBuf {
        match name {
            "" => self.0.clone(),
            _ => self.0.join(name),
        }
    }

    /// Writes a file, in place of the one of that name. The old one may still be mapped, so it
    /// is removed rather than changed.
    pub fn write(&self, name: &str, bytes: &[u8]) {
        self.remove(name);
        fs::write(self.path(name), bytes).expect("a folder that can be written to");
    }

    /// Gives the directory a file that exists elsewhere, without copying it.
    pub fn link(&self, name: &str, existing: &Path) {
        self.remove(name);
        fs::hard_link(existing, self.path(name)).expect("a folder that can be written to");
    }

    /// Removes every file.
    pub fn clear(&self) {
        let entries = fs::read_dir(&self.0).expect("a folder that can be read");
        for entry in entries {
            let name = entry.expect("a folder that can be read").file_name();
            self.remove(&name.to_string_lossy());
        }
    }

    fn remove(&self, name: &str) {
        match fs::remove_file(self.path(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => panic!("{name}: {error}"),
            _ => (),
        }
    }
}
