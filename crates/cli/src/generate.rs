//! `signaldex generate`: a synthetic corpus of any size.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use signaldex::json::{write_company, write_signal};
use signaldex_synthetic::Corpus;

use crate::Failure;
use crate::output_file::OutputFile;
use crate::progress::ProgressLine;
use crate::stderr::{companies, say, signals};

/// Write a synthetic corpus: companies.jsonl and signals.jsonl
#[derive(Debug, clap::Args)]
pub(crate) struct Generate {
    /// The number of signals, 1 to 100000000
    #[arg(long, value_name = "N")]
    signals: u64,
    /// The same seed gives the same corpus
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// The directory to write to; a file that exists is not replaced
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Size of the write buffer.
const BUFFER_BYTES: usize = 1 << 20;

impl Generate {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let corpus = Corpus::new(self.signals, self.seed)?;
        fs::create_dir_all(&self.out)?;
        let [companies_file, signals_file] = ["companies.jsonl", "signals.jsonl"]
            .map(|name| OutputFile::create(&self.out.join(name)));
        let (companies_file, signals_file) = (companies_file?, signals_file?);
        let mut bar = ProgressLine::new();
        bar.begin_counting("companies", Some(corpus.company_count()));
        write_lines(&companies_file, corpus.companies(), |line, company| {
            write_company(line, &company);
            bar.add(1);
        })?;
        bar.begin_counting("signals", Some(corpus.signal_count()));
        write_lines(&signals_file, corpus.signals(), |line, signal| {
            write_signal(line, &signal);
            bar.add(1);
        })?;
        companies_file.publish()?;
        signals_file.publish()?;
        bar.end();
        say(format_args!(
            "{} of {} in {}; today is {}",
            signals(corpus.signal_count()),
            companies(corpus.company_count()),
            self.out.display(),
            corpus.as_of()
        ));
        Ok(())
    }
}

fn write_lines<T>(
    file: &OutputFile,
    records: impl Iterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) -> Result<(), Failure> {
    let mut output = BufWriter::with_capacity(BUFFER_BYTES, file.output()?);
    let mut line = Vec::new();
    for record in records {
        line.clear();
        write(&mut line, record);
        output.write_all(&line)?;
    }
    Ok(output.flush()?)
}
