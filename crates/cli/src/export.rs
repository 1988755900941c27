//! `signaldex export`: every match, or every company with a match, one a line.

use std::cell::RefCell;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::PathBuf;

use clap::ValueEnum;
use signaldex::json::{CompanyColumns, SignalColumns};
use signaldex::query::SortKey;
use signaldex::{Filter, Matches, Query, Snapshot};

use crate::output_file::OutputFile;
use crate::progress::ProgressLine;
use crate::query::{self, QueryArguments};
use crate::search::{Format, ShownSignal, write_header, write_line};
use crate::{Failure, source};

/// Print all matches, not just one page
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExportCommand {
    #[command(flatten)]
    query: QueryArguments,
    /// The companies of which a signal matches, by slug; all companies without QUERY
    #[arg(long, conflicts_with_all = ["after"])]
    companies: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t = LineFormat::Ndjson)]
    format: LineFormat,
    /// The columns in the order wanted, such as title,company.country; with --companies such as slug,signalCount
    #[arg(long, value_name = "NAMES")]
    columns: Option<String>,
    /// The file to write, new or none; standard output by default
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print at most this many signals or companies
    #[arg(long, value_name = "N")]
    max_items: Option<usize>,
    /// Continue after this signal: its id, or with an order by value VALUE,ID such as 2026-03-01,123
    #[arg(long, value_name = "KEY")]
    after: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  signaldex export index country=Germany --format csv --out germany.csv
  signaldex export index robotics --format csv --columns title,companyName,company.country,funding.amount
  signaldex export index categories=funding --companies
  signaldex export index --after 1234 >> signals.ndjson     continue a broken export
  signaldex export index fundingCurrency=USD order=-amount --format csv --max-items 100

Columns of signals: id, slug, title, evidence, category, date, publishedAt, updatedAt, companySlug, companyName,
activityUrl, authorName, authorTitle, authorUrl, funding.stage, funding.amount, funding.currency,
hiring.hiringType, hiring.jobFunction, hiring.seniority, hiring.employmentType, hiring.workArrangement,
company.about, company.tagline, company.logoUrl, company.country, company.city, company.employees,
company.industry, company.foundedYear, company.linkedinUrl.
Columns of companies: slug, name, about, tagline, logoUrl, country, city, employees, industry, foundedYear,
linkedinUrl, signalCount, latestSignalDate, updatedAt.";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LineFormat {
    /// One JSON object per line
    Ndjson,
    /// A header and one record a row
    Csv,
}

/// What is exported, with the columns that were asked for.
enum Exported {
    Signals(Option<SignalColumns>),
    Companies(CompanyColumns),
}

impl ExportCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let exported = self.exported()?;
        let query = if self.companies {
            self.query.filters()?
        } else {
            self.query.ordered_filters()?
        };
        let order = query.order();
        let after = self.after.as_deref().map(|text| order.parse_key(text));
        let after = after
            .transpose()
            .map_err(|error| format!("--after: {error}"))?;
        let filter = query.filter();
        let snapshot = source::open(&self.query.directory)?.snapshot();
        if self.after.is_none() {
            let mut first = snapshot.matches(filter, self.query.today(), order);
            query::print_hints(&snapshot, &query, first.next().transpose()?.is_none())?;
        }
        match &self.out {
            Some(path) => {
                let file = OutputFile::create(path)?;
                self.write(&snapshot, (&query, after), &exported, file.output()?, true)?;
                file.publish()
            }
            None => {
                let output = std::io::stdout().lock();
                let is_file = !output.is_terminal();
                self.write(&snapshot, (&query, after), &exported, output, is_file)
            }
        }
    }

    fn exported(&self) -> Result<Exported, Failure> {
        let names = self.columns.as_deref();
        let exported = if self.companies {
            let columns = names.map(CompanyColumns::parse);
            let columns = columns.unwrap_or_else(|| Ok(CompanyColumns::all()));
            columns.map(Exported::Companies)
        } else {
            names
                .map(SignalColumns::parse)
                .transpose()
                .map(Exported::Signals)
        };
        exported.map_err(|error| format!("--columns: {error}").into())
    }

    /// Writes everything, with progress if the output is not what people look at.
    fn write(
        &self,
        snapshot: &Snapshot,
        (query, after): (&Query, Option<SortKey>),
        exported: &Exported,
        output: impl Write,
        has_progress: bool,
    ) -> Result<(), Failure> {
        let mut output = BufWriter::with_capacity(1 << 16, output);
        let bar = RefCell::new(ProgressLine::new());
        let (filter, today) = (query.filter(), self.query.today());
        if has_progress {
            let total = match exported {
                Exported::Signals(_) => Some(snapshot.count(filter, today)?),
                Exported::Companies(_) => None,
            };
            bar.borrow_mut().begin_counting("exporting", total);
        }
        let mut write = |line: &mut Vec<u8>| {
            bar.borrow_mut().add(1);
            let written = output.write_all(line);
            line.clear();
            written
        };
        match exported {
            Exported::Signals(columns) => {
                let matches = snapshot.matches(filter, today, query.order());
                let matches = match after {
                    Some(key) => matches.after(key),
                    None => matches,
                };
                self.write_signals(matches, columns.as_ref(), &mut write)?;
            }
            Exported::Companies(columns) => {
                self.write_companies(snapshot, filter, columns, &mut write)?;
            }
        }
        output.flush()?;
        bar.borrow().end();
        Ok(())
    }

    fn write_signals(
        &self,
        matches: Matches<'_>,
        columns: Option<&SignalColumns>,
        write: &mut impl FnMut(&mut Vec<u8>) -> std::io::Result<()>,
    ) -> Result<(), Failure> {
        let format = match self.format {
            LineFormat::Ndjson => Format::Ndjson,
            LineFormat::Csv => Format::Csv,
        };
        let mut line = Vec::new();
        // A continued file already has a header.
        if self.after.is_none() {
            write_header(&mut line, columns, format);
        }
        let mut found = signals(matches, columns);
        let most = self.max_items.unwrap_or(usize::MAX);
        for shown in found.by_ref().take(most) {
            write_line(&mut line, columns, shown?.source(), format)?;
            write(&mut line)?;
        }
        // A header without a row.
        if !line.is_empty() {
            write(&mut line)?;
        }
        Ok(())
    }

    fn write_companies(
        &self,
        snapshot: &Snapshot,
        filter: &Filter,
        columns: &CompanyColumns,
        write: &mut impl FnMut(&mut Vec<u8>) -> std::io::Result<()>,
    ) -> Result<(), Failure> {
        let mut line = Vec::new();
        if self.format == LineFormat::Csv {
            columns.write_header(&mut line);
        }
        let most = self.max_items.unwrap_or(usize::MAX);
        for slug in self.slugs(snapshot, filter)?.iter().take(most) {
            if let Some(profile) = snapshot.company(slug)? {
                match self.format {
                    LineFormat::Ndjson => columns.write_line(&mut line, &profile),
                    LineFormat::Csv => columns.write_row(&mut line, &profile),
                }
                write(&mut line)?;
            }
        }
        if !line.is_empty() {
            write(&mut line)?;
        }
        Ok(())
    }

    /// The slugs of the companies to export, ascending.
    fn slugs(&self, snapshot: &Snapshot, filter: &Filter) -> Result<Vec<String>, Failure> {
        if self.query.has_terms() {
            let slugs = snapshot.slugs_of_matches(filter, self.query.today())?;
            return Ok(slugs.into_iter().map(str::to_owned).collect());
        }
        let companies = snapshot.companies_by_slug()?;
        let slugs = companies.map(|company| Ok(company?.slug.into_owned()));
        Ok(slugs.collect::<signaldex::Result<_>>()?)
    }
}

/// The matches, with their companies if columns need them.
fn signals<'s>(
    matches: Matches<'s>,
    columns: Option<&SignalColumns>,
) -> Box<dyn Iterator<Item = signaldex::Result<ShownSignal<'s>>> + 's> {
    if columns.is_some_and(SignalColumns::need_company) {
        let found = matches.with_companies();
        Box::new(found.map(|found| found.map(ShownSignal::from)))
    } else {
        Box::new(matches.map(|item| item.map(ShownSignal::from)))
    }
}
