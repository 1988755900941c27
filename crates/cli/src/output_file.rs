//! A new file that gets its name once it is whole.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::unfinished;

/// A file under another name until it is published; removed if it is not.
pub(crate) struct OutputFile {
    path: PathBuf,
    file: File,
}

impl OutputFile {
    /// Creates a file beside the one that will be published, which must not exist.
    pub(crate) fn create(published: &Path) -> io::Result<OutputFile> {
        refuse_existing(published)?;
        let path = unfinished::path_beside(published);
        // Only a dead process can have had the number of this one.
        let file = File::create(&path)?;
        Ok(OutputFile { path, file })
    }

    /// What writes to the file.
    pub(crate) fn output(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Makes the file durable and gives it its name, unless another one has it meanwhile.
    pub(crate) fn publish(self, published: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        refuse_existing(published)?;
        fs::rename(&self.path, published)
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        // Nothing is there once it is published.
        let _ = fs::remove_file(&self.path);
    }
}

fn refuse_existing(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
