//! `signaldex dump`: everything that an index holds, as files that `build` reads back without loss.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use flate2::write::GzEncoder;

use crate::progress::ProgressLine;
use crate::stderr::{companies, say, signals};
use crate::{Failure, source, unfinished};

/// Write all companies and signals as files that `build` reads back without loss
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Dump {
    /// The directory of the index, or @sample
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The folder to write; it appears when both files are complete, and never replaces one with files
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// Compress the files
    #[arg(long, value_enum)]
    compress: Option<Compression>,
}

const EXAMPLES: &str = "\
Examples:
  signaldex dump index --out backup/2026-06-30
  signaldex dump index --out dump --compress gzip
  signaldex build --companies dump/companies.jsonl.gz --signals dump/signals.jsonl.gz --out rebuilt

The dump is of one moment, also while the index is updated. It is written in FOLDER.unfinished-N, which a
killed dump leaves behind: delete it.";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Compression {
    /// .jsonl.zst: small and fast; needs a program with the feature `serve`
    Zstd,
    /// .jsonl.gz
    Gzip,
}

const BUFFER_BYTES: usize = 1 << 20;

impl Dump {
    pub(crate) fn run(self) -> Result<(), Failure> {
        refuse_missing_feature(self.compress)?;
        let snapshot = source::open(&self.directory)?.snapshot();
        let folder = UnfinishedFolder::create(&self.out)?;
        let bar = RefCell::new(ProgressLine::new());
        let companies_total = snapshot.company_count()?;
        bar.borrow_mut()
            .begin_counting("companies", Some(companies_total));
        let open = |name: &str| DumpFile::create(&folder.path, name, self.compress);
        let (mut company_file, mut signal_file) = (open("companies")?, open("signals")?);
        let signals_begin = || {
            let total = Some(snapshot.signal_count());
            bar.borrow_mut().begin_counting("signals", total);
        };
        let dumped = snapshot.dump(
            LineCounter::new(&mut company_file, &bar, || {}),
            LineCounter::new(&mut signal_file, &bar, signals_begin),
        )?;
        bar.borrow_mut().begin("syncing");
        for file in [company_file, signal_file] {
            file.finish()
                .map_err(|error| unwritable(&folder.path, error))?;
        }
        folder.publish(&self.out)?;
        bar.borrow().end();
        say(format_args!(
            "{} and {} in {}",
            companies(dumped.companies),
            signals(dumped.signals),
            self.out.display()
        ));
        Ok(())
    }
}

fn refuse_missing_feature(compress: Option<Compression>) -> Result<(), Failure> {
    if cfg!(not(feature = "serve")) && compress == Some(Compression::Zstd) {
        return Err(
            "--compress zstd needs a program with the feature `serve`; --compress gzip does not"
                .into(),
        );
    }
    Ok(())
}

fn unwritable(path: &Path, error: io::Error) -> Failure {
    format!("{}: cannot write the dump: {error}", path.display()).into()
}

/// A folder under another name until its files are complete. Unless it is published, it is removed.
struct UnfinishedFolder {
    path: PathBuf,
}

impl UnfinishedFolder {
    /// Creates a folder beside the one that will be published, which must have no files.
    fn create(published: &Path) -> Result<UnfinishedFolder, Failure> {
        if published.file_name().is_none() {
            return Err("--out needs the name of a new folder".into());
        }
        refuse_occupied(published)?;
        let path = unfinished::path_beside(published);
        if let Some(parent) = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
        {
            fs::create_dir_all(parent).map_err(|error| unwritable(parent, error))?;
        }
        // Only a dead process can have had the number of this one.
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(unwritable(&path, error));
            }
            _ => {}
        }
        fs::create_dir(&path).map_err(|error| unwritable(&path, error))?;
        Ok(UnfinishedFolder { path })
    }

    /// Gives the folder its name, in one step that fails if there are files meanwhile.
    fn publish(self, published: &Path) -> Result<(), Failure> {
        sync_folder(&self.path).map_err(|error| unwritable(&self.path, error))?;
        refuse_occupied(published)?;
        fs::rename(&self.path, published).map_err(|error| unwritable(published, error))?;
        let parent = published
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        sync_folder(parent).map_err(|error| unwritable(parent, error))
    }
}

impl Drop for UnfinishedFolder {
    fn drop(&mut self) {
        // Nothing is there once it is published.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn refuse_occupied(folder: &Path) -> Result<(), Failure> {
    let occupied = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) => error.kind() != ErrorKind::NotFound,
    };
    if occupied {
        return Err(format!(
            "{}: is there already; a dump replaces nothing: name a new folder with --out",
            folder.display()
        )
        .into());
    }
    Ok(())
}

/// Makes the names in a folder durable.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// A file of a dump, compressed or not.
struct DumpFile(BufWriter<Compressor>);

enum Compressor {
    Plain(File),
    Gzip(GzEncoder<File>),
    #[cfg(feature = "serve")]
    Zstd(zstd::Encoder<'static, File>),
}

impl DumpFile {
    fn create(
        folder: &Path,
        name: &str,
        compress: Option<Compression>,
    ) -> Result<DumpFile, Failure> {
        let ending = match compress {
            None => "",
            Some(Compression::Gzip) => ".gz",
            Some(Compression::Zstd) => ".zst",
        };
        let path = folder.join(format!("{name}.jsonl{ending}"));
        let file = File::create_new(&path).map_err(|error| unwritable(&path, error))?;
        let compressor = match compress {
            None => Compressor::Plain(file),
            Some(Compression::Gzip) => {
                Compressor::Gzip(GzEncoder::new(file, flate2::Compression::default()))
            }
            #[cfg(feature = "serve")]
            Some(Compression::Zstd) => Compressor::Zstd(zstd::Encoder::new(file, 0)?),
            #[cfg(not(feature = "serve"))]
            Some(Compression::Zstd) => {
                return refuse_missing_feature(compress).and(Err("no zstd".into()));
            }
        };
        Ok(DumpFile(BufWriter::with_capacity(BUFFER_BYTES, compressor)))
    }

    /// Ends the compression and makes the file durable.
    fn finish(self) -> io::Result<()> {
        let file = match self.0.into_inner()? {
            Compressor::Plain(file) => file,
            Compressor::Gzip(encoder) => encoder.finish()?,
            #[cfg(feature = "serve")]
            Compressor::Zstd(encoder) => encoder.finish()?,
        };
        file.sync_all()
    }
}

impl Write for Compressor {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Compressor::Plain(file) => file.write(bytes),
            Compressor::Gzip(encoder) => encoder.write(bytes),
            #[cfg(feature = "serve")]
            Compressor::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Compressor::Plain(file) => file.flush(),
            Compressor::Gzip(encoder) => encoder.flush(),
            #[cfg(feature = "serve")]
            Compressor::Zstd(encoder) => encoder.flush(),
        }
    }
}

/// Counts lines, each of which a dump writes with one call.
struct LineCounter<'f, F> {
    file: &'f mut DumpFile,
    bar: &'f RefCell<ProgressLine>,
    /// Called before the first line.
    begin: Option<F>,
}

impl<'f, F: FnOnce()> LineCounter<'f, F> {
    fn new(file: &'f mut DumpFile, bar: &'f RefCell<ProgressLine>, begin: F) -> LineCounter<'f, F> {
        let begin = Some(begin);
        LineCounter { file, bar, begin }
    }
}

impl<F: FnOnce()> Write for LineCounter<'_, F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(begin) = self.begin.take() {
            begin();
        }
        self.bar.borrow_mut().add(1);
        self.file.0.write_all(bytes)?;
        Ok(bytes.len())
    }

    /// The file is flushed when it is finished: compression would otherwise end a block here.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
