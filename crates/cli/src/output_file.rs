//! A new file that gets its name once it is whole.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::{Failure, unfinished};

/// A file under another name until it is published; removed if it is not.
pub(crate) struct OutputFile {
    published: PathBuf,
    path: PathBuf,
    file: File,
}

impl OutputFile {
    /// Creates a file beside the one of `--out`, which must not exist.
    pub(crate) fn create(published: &Path) -> Result<OutputFile, Failure> {
        refuse_existing(published)?;
        let path = unfinished::path_beside(published);
        // Only a dead process can have had the number of this one.
        let file = File::create(&path).map_err(|error| unwritable(published, &error))?;
        Ok(OutputFile {
            published: published.to_owned(),
            path,
            file,
        })
    }

    /// What writes to the file.
    pub(crate) fn output(&self) -> Result<File, Failure> {
        let output = self.file.try_clone();
        Ok(output.map_err(|error| unwritable(&self.published, &error))?)
    }

    /// Makes the file durable and gives it its name, unless another one has it meanwhile.
    pub(crate) fn publish(self) -> Result<(), Failure> {
        refuse_existing(&self.published)?;
        let synced = self.file.sync_all();
        let renamed = synced.and_then(|()| fs::rename(&self.path, &self.published));
        Ok(renamed.map_err(|error| unwritable(&self.published, &error))?)
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        // Nothing is there once it is published.
        let _ = fs::remove_file(&self.path);
    }
}

fn refuse_existing(path: &Path) -> Result<(), Failure> {
    match fs::symlink_metadata(path) {
        Ok(_) => {
            let path = path.display();
            Err(
                format!("{path} exists and is not replaced: remove it, or choose another --out")
                    .into(),
            )
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(unwritable(path, &error).into()),
    }
}

/// What is said of a file that cannot be written.
pub(crate) fn unwritable(path: &Path, error: &io::Error) -> String {
    format!("{}: cannot write: {error}", path.display())
}
