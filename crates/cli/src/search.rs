//! `signaldex search`: a page or a count, in several formats.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use clap::ValueEnum;
use signaldex::json::{SearchData, SignalItem, write_csv_header, write_csv_item};
use signaldex::query::{Cursor, Order};
use signaldex::{Filter, Item, Page, SignalId, Snapshot};

use time::Date;

use crate::query::{self, QueryArguments};
use crate::{Failure, source, table};

/// Search an index
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SearchCommand {
    #[command(flatten)]
    query: QueryArguments,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
    /// The same as --format table
    #[arg(long, conflicts_with = "format")]
    table: bool,
}

const EXAMPLES: &str = "\
Examples:
  signaldex search @sample robotics -intern --table
  signaldex search @sample 'q=\"series a\"&country=Germany' --format ids
  signaldex search @sample C++ size=1-49 days=30
  signaldex search @sample 'categories=funding&countOnly=true'

Parameters: q, all, any, exact, exclude, company, companySlug, companies, country, industry, size, days,
dateRanges, dateFrom, dateTo, categories, hiringType, jobFunction, seniority, employmentType,
workArrangement, fundingStage, fundingCurrency, fundingMin, fundingMax, ids, limit, cursor, page, countOnly.
`signaldex options DIR` lists values; docs/api.md has the details.";

/// Output formats of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The response of the HTTP API, {"data": …}
    Json,
    /// One signal per line
    Ndjson,
    /// A header and one signal a row
    Csv,
    /// One id per line
    Ids,
    /// A table as wide as the terminal
    Table,
}

impl SearchCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let query = self.query.query()?;
        let today = self.query.today();
        let snapshot = source::open(&self.query.directory)?.snapshot();
        query::warn_of_unknown(&snapshot, query.filter(), today)?;
        if query.count_only() {
            let count = snapshot.count(query.filter(), today)?;
            let data = SearchData {
                items: &[],
                next_cursor: None,
                count: Some(count),
            };
            return source::print_answer(data);
        }
        let page = snapshot.search(&query, today)?;
        let items = snapshot.records(&page)?;
        if self.table || self.format == Format::Table {
            let total = snapshot.count(query.filter(), today)?;
            let next = page.next_cursor().map(|next| self.next_command(next));
            return table::print(&items, total, query.filter(), next.as_deref());
        }
        match self.format {
            Format::Json | Format::Table => print_page(&items, &page),
            Format::Ndjson | Format::Csv | Format::Ids => {
                let mut output = BufWriter::new(std::io::stdout().lock());
                write_items(&mut output, items.iter(), self.format)?;
                Ok(output.flush()?)
            }
        }
    }

    /// The command that shows the next page.
    fn next_command(&self, next: &Cursor) -> String {
        let text = self.query.query_string();
        let rest = text.split('&').filter(|pair| {
            let name = pair.split('=').next().unwrap_or_default();
            !pair.is_empty() && name != "cursor" && name != "page"
        });
        let mut pairs: Vec<&str> = rest.collect();
        let cursor = format!("cursor={next}");
        pairs.push(&cursor);
        let directory = self.query.directory.display().to_string();
        let as_of = self.query.as_of.map(|day| format!(" --as-of {day}"));
        format!(
            "signaldex search {} {} --table{}",
            quoted(&directory),
            quoted(&pairs.join("&")),
            as_of.unwrap_or_default()
        )
    }
}

/// Quotes a word for a shell.
fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"@%+=:,./_-".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

fn print_page(items: &[Item<'_>], page: &Page) -> Result<(), Failure> {
    let items: Vec<SignalItem<'_>> = items.iter().map(SignalItem::from).collect();
    let next_cursor = page.next_cursor().map(ToString::to_string);
    source::print_answer(SearchData {
        items: &items,
        next_cursor: next_cursor.as_deref(),
        count: None,
    })
}

/// Writes signals one by one.
fn write_items<'i>(
    output: &mut impl Write,
    items: impl Iterator<Item = &'i Item<'i>>,
    format: Format,
) -> Result<(), Failure> {
    let mut line = Vec::new();
    if format == Format::Csv {
        write_csv_header(&mut line);
    }
    for item in items {
        write_item(&mut line, item, format)?;
        output.write_all(&line)?;
        line.clear();
    }
    Ok(output.write_all(&line)?)
}

/// Appends the line of a signal.
fn write_item(line: &mut Vec<u8>, item: &Item<'_>, format: Format) -> Result<(), Failure> {
    match format {
        Format::Csv => write_csv_item(line, &item.signal, &item.company_name),
        Format::Ids => writeln!(line, "{}", item.signal.id)?,
        Format::Json | Format::Ndjson | Format::Table => {
            serde_json::to_writer(&mut *line, &SignalItem::from(item))?;
            line.push(b'\n');
        }
    }
    Ok(())
}

/// Print all matches, not just one page
#[derive(Debug, clap::Args)]
#[command(after_help = EXPORT_EXAMPLES)]
pub(crate) struct ExportCommand {
    #[command(flatten)]
    query: QueryArguments,
    /// The output format
    #[arg(long, value_enum, default_value_t = LineFormat::Ndjson)]
    format: LineFormat,
    /// The file to write; standard output by default
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print at most this many signals
    #[arg(long, value_name = "N")]
    max_items: Option<usize>,
    /// Continue after the signal with this id
    #[arg(long, value_name = "ID")]
    after: Option<SignalId>,
}

const EXPORT_EXAMPLES: &str = "\
Examples:
  signaldex export index country=Germany --format csv --out germany.csv
  signaldex export index robotics -intern | jq -r .title
  signaldex export index --after 1234 >> signals.ndjson     continue a broken export

docs/records.md lists the columns of CSV.";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LineFormat {
    /// One JSON object per line
    Ndjson,
    /// A header and one signal a row
    Csv,
}

impl ExportCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let filter = self.query.filter()?;
        let today = self.query.today();
        let snapshot = source::open(&self.query.directory)?.snapshot();
        query::warn_of_unknown(&snapshot, &filter, today)?;
        match &self.out {
            Some(path) => {
                let file = File::create(path)
                    .map_err(|error| format!("{}: cannot write: {error}", path.display()))?;
                self.write(&snapshot, &filter, today, file)
            }
            None => self.write(&snapshot, &filter, today, std::io::stdout().lock()),
        }
    }

    fn write(
        &self,
        snapshot: &Snapshot,
        filter: &Filter,
        today: Date,
        output: impl Write,
    ) -> Result<(), Failure> {
        let mut output = BufWriter::new(output);
        let mut line = Vec::new();
        let format = match self.format {
            LineFormat::Ndjson => Format::Ndjson,
            LineFormat::Csv => Format::Csv,
        };
        // A continued file already has a header.
        if format == Format::Csv && self.after.is_none() {
            write_csv_header(&mut line);
        }
        let mut matches = snapshot.matches(filter, today, Order::NewestFirst);
        if let Some(id) = self.after {
            matches = matches.after(id);
        }
        for item in matches.take(self.max_items.unwrap_or(usize::MAX)) {
            write_item(&mut line, &item?, format)?;
            output.write_all(&line)?;
            line.clear();
        }
        output.write_all(&line)?;
        Ok(output.flush()?)
    }
}
