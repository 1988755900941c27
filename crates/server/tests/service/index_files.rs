//! Indexes of one signal on disk, and their files as other programs overwrite them.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use signaldex::{Company, IndexBuilder, Signal, SignalId};

/// An index of one signal, whose files are as long as those of any other title of the same length.
pub(crate) fn build(directory: &Path, title: &str) {
    let mut builder = IndexBuilder::in_directory(directory).expect("an empty directory");
    let company = Company::new("acme", "Acme");
    builder.add_company(&company).expect("added");
    let signal = Signal::new(SignalId::MIN, "acme", title.to_owned());
    builder.add_signal(&signal).expect("added");
    builder.finish().expect("an index");
}

pub(crate) fn segment(directory: &Path) -> PathBuf {
    let entries = fs::read_dir(directory).expect("the directory");
    let mut paths = entries.map(|entry| entry.expect("an entry").path());
    let is_segment = |path: &PathBuf| path.display().to_string().contains("segment-");
    paths.find(is_segment).expect("a segment")
}

pub(crate) fn bytes(path: &Path) -> Vec<u8> {
    fs::read(path).expect("a file")
}

/// Writes into a file that stays the same one, without truncating it first.
pub(crate) fn overwrite(path: &Path, bytes: &[u8]) {
    // Files that are written within one tick of the file system's clock have the same times.
    std::thread::sleep(Duration::from_millis(20));
    let file = OpenOptions::new().write(true).open(path);
    file.expect("a file").write_all(bytes).expect("written");
}
