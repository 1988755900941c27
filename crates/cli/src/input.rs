//! The options by which records are read, and what is told of a load.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use signaldex::Snapshot;
use signaldex::json::{
    CheckSink, FaultGroup, LoadOptions, LoadReport, Loader, RecordKind, Rejected, Sink,
};

use crate::Failure;
use crate::mistakes::{command_of, typed_words};
use crate::output_file::unwritable;
use crate::progress::ProgressLine;
use crate::stderr::{companies, counted, say, signals};
use crate::words::quoted;

/// Options for reading records.
///
/// Where VALUE begins with `companies:` or `signals:`, an option concerns that file alone.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Records")]
pub(crate) struct Input {
    /// Read their column or member as our field; THEIRS= leaves it out, @FILE has one a line
    #[arg(long, value_name = "THEIRS=OURS", value_parser = option("map"))]
    map: Vec<String>,
    /// The value of records without one, such as category=news
    #[arg(long, value_name = "FIELD=VALUE", value_parser = option("set"))]
    set: Vec<String>,
    /// The encoding of a text that is not UTF-8, such as windows-1252
    #[arg(long, value_name = "LABEL", value_parser = option("encoding"))]
    encoding: Vec<String>,
    /// What separates the cells of CSV, instead of what the header shows
    #[arg(long, value_name = "CHARACTER", value_parser = option("delimiter"))]
    delimiter: Vec<String>,
    /// Leave out this many lines above the header
    #[arg(long, value_name = "N", value_parser = option("skip-rows"))]
    skip_rows: Vec<String>,
    /// The sheet of a workbook
    #[arg(long, value_name = "NAME", value_parser = option("sheet"))]
    sheet: Vec<String>,
    /// Make slugs from names and titles, find companies by name, and number signals in a new index
    #[arg(long)]
    make_keys: bool,
    /// A text that means null, beside an empty cell
    #[arg(long, value_name = "TEXT", value_parser = option("null"))]
    null: Vec<String>,
    /// The decimal mark, where a number has two readings
    #[arg(long, value_name = "MARK", value_parser = option("decimal"))]
    decimal: Vec<String>,
    /// Read 51-200 employees as their lower bound
    #[arg(long, value_name = "lower", value_parser = option("employee-ranges"))]
    employee_ranges: Vec<String>,
    /// What a sign of several currencies means, such as $=USD
    #[arg(long, value_name = "SIGN=CODE", value_parser = option("currency"))]
    currency: Vec<String>,
    /// Read k, M, B and bn behind an amount
    #[arg(long)]
    amount_suffixes: bool,
    /// A format of dates, of %Y %y %m %d %b %B %H %M %S, such as %d.%m.%Y
    #[arg(long, value_name = "FORMAT", value_parser = option("date-format"))]
    date_format: Vec<String>,
    /// Read numbers as the days of a spreadsheet, whose system begins in 1900 or 1904
    #[arg(long, value_name = "YEAR", value_parser = option("excel-dates"))]
    excel_dates: Vec<String>,
    /// The offset from UTC of times without one: Z, or such as +02:00
    #[arg(long, value_name = "OFFSET", value_parser = option("utc-offset"), allow_hyphen_values = true)]
    utc_offset: Vec<String>,
    /// Refuse records with unknown fields instead of counting the fields
    #[arg(long)]
    strict: bool,
    /// Load optional cells with a fault as null, and count them
    #[arg(long)]
    invalid_as_null: bool,
    /// Skip and count invalid records instead of stopping
    #[arg(long)]
    skip_invalid: bool,
    /// Read everything, say everything, and build nothing
    #[arg(long)]
    check: bool,
    /// Write the numbers and the faults of the load to this file, as JSON
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Write each fault of a skipped record to this file: file, line, field, value and reason
    #[arg(long, value_name = "FILE", requires = "skip_invalid")]
    report: Option<PathBuf>,
}

/// What to say where neither a directory nor `--check` is given.
pub(crate) const NEEDS_OUT: &str = "--out DIR is needed, unless with --check";

/// Where the records of a load go.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LoadTarget<'i> {
    New,
    /// Its companies may be named by the signals of the load.
    Index(&'i Snapshot),
    #[cfg(feature = "cluster")]
    Shards,
}

/// Checks the value of an option, so that a wrong one is wrong usage.
fn option(
    name: &'static str,
) -> impl Fn(&str) -> Result<String, String> + Clone + Send + Sync + 'static {
    move |value| {
        let mut options = LoadOptions::default();
        let set = options.set(name, value);
        set.map(|()| value.to_owned())
            .map_err(|error| error.to_string())
    }
}

impl Input {
    /// Whether nothing is to be built.
    pub(crate) fn is_check(&self) -> bool {
        self.check
    }

    /// Reads the files of a new index, and builds nothing.
    pub(crate) fn check_new(
        &self,
        company_file: Option<&Path>,
        signal_file: Option<&Path>,
    ) -> Result<(), Failure> {
        let mut sink = CheckSink::default();
        let checked = self.load(&mut sink, company_file, signal_file, LoadTarget::New)?;
        say(format_args!("{checked}; nothing is built"));
        Ok(())
    }

    /// Refuses to write over a file that is read, or over another one that is written.
    ///
    /// Cost: opens nothing, and follows the links of each path.
    pub(crate) fn refuse_overwriting<'p>(
        &'p self,
        read: impl IntoIterator<Item = &'p Path>,
    ) -> Result<(), Failure> {
        let (summary, report) = (self.summary.as_deref(), self.report.as_deref());
        if summary.is_some() && summary == report {
            return Err("--summary and --report need a file each".into());
        }
        // `companies:@FILE` reads names of fields for one of the files.
        let maps = self.map.iter().filter_map(|map| map.split_once('@'));
        let maps = maps.filter(|(kind, _)| kind.is_empty() || kind.ends_with(':'));
        let read: Vec<&Path> = read
            .into_iter()
            .chain(maps.map(|(_, file)| Path::new(file)))
            .collect();
        for (option, written) in [("--summary", summary), ("--report", report)] {
            let Some(written) = written else { continue };
            if read.iter().any(|read| is_same_file(read, written)) {
                let written = written.display();
                return Err(format!("{option} {written}: this file is read; name another").into());
            }
        }
        Ok(())
    }

    fn options(&self) -> Result<LoadOptions, Failure> {
        let with_values = [
            ("map", &self.map),
            ("set", &self.set),
            ("encoding", &self.encoding),
            ("delimiter", &self.delimiter),
            ("skip-rows", &self.skip_rows),
            ("sheet", &self.sheet),
            ("null", &self.null),
            ("decimal", &self.decimal),
            ("employee-ranges", &self.employee_ranges),
            ("currency", &self.currency),
            ("date-format", &self.date_format),
            ("excel-dates", &self.excel_dates),
            ("utc-offset", &self.utc_offset),
        ];
        let flags = [
            ("make-keys", self.make_keys),
            ("amount-suffixes", self.amount_suffixes),
            ("strict", self.strict),
            ("invalid-as-null", self.invalid_as_null),
            ("skip-invalid", self.skip_invalid || self.check),
        ];
        let mut options = LoadOptions::default();
        for (name, values) in with_values {
            for value in values {
                options.set(name, value)?;
            }
        }
        for (name, _) in flags.into_iter().filter(|(_, is_given)| *is_given) {
            options.set(name, "")?;
        }
        Ok(options)
    }

    /// Loads companies and signals, with progress on a terminal, and prints what was found. Returns a summary.
    pub(crate) fn load(
        &self,
        sink: &mut impl Sink,
        company_file: Option<&Path>,
        signal_file: Option<&Path>,
        target: LoadTarget<'_>,
    ) -> Result<String, Failure> {
        let read = [company_file, signal_file];
        if read == [Some(Path::new("-")); 2] {
            return Err(
                "--companies and --signals are both -; standard input holds one file".into(),
            );
        }
        self.refuse_overwriting(read.into_iter().flatten())?;
        let mut report = created(self.report.as_deref())?;
        // Created before anything is read, so that a load does not end for want of it.
        let mut summary_file = created(self.summary.as_deref())?;
        let bar = RefCell::new((ProgressLine::new(), None));
        let mut unreported = Ok(());
        let mut loader = Loader::with_options(self.options()?);
        match target {
            LoadTarget::New => loader = loader.making_ids(),
            LoadTarget::Index(snapshot) => loader.remember_companies(snapshot)?,
            #[cfg(feature = "cluster")]
            LoadTarget::Shards => {}
        }
        let mut loader = loader
            .on_progress(|kind, progress| {
                let (bar, shown) = &mut *bar.borrow_mut();
                if shown.replace(kind) != Some(kind) {
                    bar.begin(kind.plural());
                }
                bar.show(progress);
            })
            .on_rejected(|rejected| {
                if let (Some(report), Ok(())) = (&mut report, &unreported) {
                    unreported = write_rejected(report, rejected);
                }
            });
        let loaded = loader.load(company_file, signal_file, sink);
        bar.borrow().0.end();
        tell(&loader);
        if let Some(file) = &mut summary_file {
            file.write_all(&loader.summary())?;
            file.flush()?;
        }
        let (done, suggested) = (loader.report(), loader.suggested_options().to_vec());
        drop(loader);
        unreported?;
        report.as_mut().map(Write::flush).transpose()?;
        match loaded {
            Err(error) if !suggested.is_empty() => {
                Err(with_command(&format!("{error:#}"), &suggested).into())
            }
            Err(error) => Err(error.into()),
            Ok(()) if self.check && done.rejected > 0 => {
                Err(format!("{}; a load would reject these", summary(done)).into())
            }
            Ok(()) => Ok(summary(done)),
        }
    }
}

/// Whether both paths lead to one regular file.
fn is_same_file(one: &Path, other: &Path) -> bool {
    match (fs::canonicalize(one), fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other && one.is_file(),
        _ => false,
    }
}

/// A file that is written to during a load.
fn created(path: Option<&Path>) -> Result<Option<BufWriter<File>>, Failure> {
    let create = |path| File::create(path).map_err(|error| unwritable(path, &error));
    Ok(path.map(create).transpose()?.map(BufWriter::new))
}

/// Tells what a load has found beside its records.
fn tell(loader: &Loader<'_>) {
    for field in &loader.unknown_fields() {
        let option = field.nearest.map(|nearest| {
            let map = format!("{}:{}={nearest}", field.record.plural(), field.name);
            format!(" --map {} reads it so", quoted(&map))
        });
        say(format_args!(
            "warning: {field}{}",
            option.unwrap_or_default()
        ));
    }
    for replaced in loader.replaced() {
        let (path, line) = (replaced.path.display(), replaced.line);
        let kind = replaced.record.name();
        say(format_args!(
            "{path}:{line}: replaces an earlier {kind} {}",
            replaced.key
        ));
    }
    for group in &loader.faults() {
        say(describe(group));
    }
    let report = loader.report();
    if report.signals_of_rejected_companies > 0 {
        say(taken_along(report));
    }
}

/// A group of faults: its first, how many there are, and what would help.
fn describe(group: &FaultGroup) -> String {
    let mut text = format!("{}:{}: ", group.path.display(), group.line);
    text.extend(group.field.map(|field| format!("{field}: ")));
    text.extend(group.value.as_ref().map(|value| format!("{value} ")));
    text.push_str(&group.reason);
    if group.count > 1 {
        text.push_str(&format!("; {} such faults", group.count));
    }
    let best = group.options.first().map_or(0, |(_, count)| *count);
    let options = group.options.iter().take_while(|(_, count)| *count == best);
    let options: Vec<&str> = options.map(|(option, _)| &**option).take(3).collect();
    if !options.is_empty() {
        let verb = if options.len() == 1 { "reads" } else { "read" };
        text.push_str(&format!(
            "; {} {verb} {best} of these {}",
            options.join(" or "),
            group.count
        ));
    }
    text
}

/// What rejected companies took along.
fn taken_along(report: LoadReport) -> String {
    let (rejected, kept) = (report.companies_rejected, report.companies_nulls_would_keep);
    let rejected_companies = companies(rejected);
    let with_them = signals(report.signals_of_rejected_companies);
    let help = match kept {
        0 => String::new(),
        _ if kept == rejected => "; --invalid-as-null keeps both".to_owned(),
        _ => format!("; --invalid-as-null keeps {kept} of these companies and their signals"),
    };
    format!("{rejected_companies} rejected, and with them {with_them}{help}")
}

/// The message of a refused header, with the command that would be accepted.
fn with_command(message: &str, options: &[String]) -> String {
    match typed_words() {
        Some(words) => format!(
            "{message}\nType:\n\n  {} {}\n",
            command_of(&words),
            options.join(" ")
        ),
        None => message.to_owned(),
    }
}

/// Summarises a load in one sentence.
fn summary(done: LoadReport) -> String {
    let mut summary = format!(
        "loaded {} ({} replaced) and {} ({} replaced), {} rejected",
        companies(done.companies),
        done.companies_replaced,
        signals(done.signals),
        done.signals_replaced,
        done.rejected
    );
    if done.signals_without_company > 0 {
        let without = signals(done.signals_without_company);
        summary.push_str(&format!(
            ", {without} of them because their company was not loaded ({} rejected)",
            companies(done.companies_rejected)
        ));
    }
    if done.nulled > 0 {
        summary.push_str(&format!(
            ", {} made null",
            counted(done.nulled, "cell", "cells")
        ));
    }
    summary
}

fn write_rejected(report: &mut impl Write, rejected: &Rejected) -> std::io::Result<()> {
    writeln!(report, "{rejected}")
}

/// The kinds of records by the names of their files.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum RecordFile {
    Companies,
    Signals,
}

impl From<RecordFile> for RecordKind {
    fn from(file: RecordFile) -> RecordKind {
        match file {
            RecordFile::Companies => RecordKind::Company,
            RecordFile::Signals => RecordKind::Signal,
        }
    }
}
