//! `signaldex search`: a page or a count, in several formats.

use std::borrow::Cow;
use std::io::{BufWriter, Write};

use clap::ValueEnum;
use signaldex::json::{
    ColumnSource, ColumnValue, SearchData, SignalColumns, SignalItem, write_csv_header,
    write_csv_item,
};
use signaldex::query::{Cursor, Start};
use signaldex::{Company, Filter, Found, Item, Page, Signal, Snapshot};

use crate::query::{self, QueryArguments};
use crate::stderr::signals;
use crate::table::{Cell, TableColumn};
use crate::words::quoted;
use crate::{Failure, source, table, terminal};

/// Search an index
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SearchCommand {
    #[command(flatten)]
    query: QueryArguments,
    /// The output format; by default a table on a terminal, JSON elsewhere
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// The same as --format table
    #[arg(long, conflicts_with = "format")]
    table: bool,
    /// The columns of a table, CSV or NDJSON in the order wanted, such as title,company.country,funding.amount
    #[arg(long, value_name = "NAMES", value_parser = parse_columns)]
    columns: Option<SignalColumns>,
}

const EXAMPLES: &str = "\
Examples:
  signaldex search @sample robotics -intern
  signaldex search @sample 'q=\"series a\"&country=Germany' --format ids
  signaldex search @sample C++ size=1-49 --format csv --columns title,company.country
  signaldex search @sample 'categories=funding&countOnly=true'

Parameters: q, all, any, exact, exclude, company, companySlug, companies, country, industry, size, days,
dateRanges, dateFrom, dateTo, categories, hiringType, jobFunction, seniority, employmentType,
workArrangement, fundingStage, fundingCurrency, fundingMin, fundingMax, ids, order, limit, cursor, page, countOnly.
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

/// Reads the names of columns from the command line.
pub(crate) fn parse_columns(names: &str) -> Result<SignalColumns, String> {
    SignalColumns::parse(names).map_err(|error| error.to_string())
}

impl SearchCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let format = self.format()?;
        let query = self.query.query()?;
        let today = self.query.today();
        let snapshot = source::open(&self.query.directory)?.snapshot();
        if query.count_only() {
            let count = snapshot.count(query.filter(), today)?;
            query::print_hints(&snapshot, &query, count == 0)?;
            return print_count(count, format);
        }
        let page = snapshot.search(&query, today)?;
        if matches!(query.start(), Start::First | Start::Page(1)) {
            query::print_hints(&snapshot, &query, page.is_empty())?;
        }
        match format {
            Format::Json => print_page(&snapshot, &page),
            Format::Table => {
                self.print_table(&snapshot, &page, query.filter())?;
                let total = signals(snapshot.count(query.filter(), today)?);
                let mut output = std::io::stdout().lock();
                writeln!(output, "{} of {total}", page.len())?;
                if let Some(next) = page.next_cursor() {
                    writeln!(output, "next page: {}", self.next_command(next))?;
                }
                Ok(())
            }
            Format::Ndjson | Format::Csv | Format::Ids => {
                self.print_lines(&snapshot, &page, format)
            }
        }
    }

    fn format(&self) -> Result<Format, Failure> {
        let default = if terminal::is_terminal() {
            Format::Table
        } else {
            Format::Json
        };
        let format = self.format.filter(|_| !self.table);
        let format = format.unwrap_or(if self.table { Format::Table } else { default });
        if self.columns.is_none() || !matches!(format, Format::Json | Format::Ids) {
            return Ok(format);
        }
        // Columns in a pipe are objects on lines, unless another format was asked for.
        if self.format.is_none() {
            return Ok(Format::Ndjson);
        }
        Err("--columns is of --format table, csv and ndjson".into())
    }

    fn print_lines(&self, snapshot: &Snapshot, page: &Page, format: Format) -> Result<(), Failure> {
        let mut output = BufWriter::new(std::io::stdout().lock());
        let mut line = Vec::new();
        write_header(&mut line, self.columns.as_ref(), format);
        for found in details(snapshot, page, self.columns.as_ref())? {
            write_line(&mut line, self.columns.as_ref(), found.source(), format)?;
        }
        output.write_all(&line)?;
        Ok(output.flush()?)
    }

    fn print_table(
        &self,
        snapshot: &Snapshot,
        page: &Page,
        filter: &Filter,
    ) -> Result<(), Failure> {
        let default = SignalColumns::parse("id,date,companyName,title")?;
        let names = self.columns.as_ref().unwrap_or(&default);
        let columns: Vec<TableColumn> = match &self.columns {
            None => vec![
                TableColumn::number("id", 1),
                TableColumn::whole("date", 2),
                TableColumn::text("company", 3, 12, 24),
                TableColumn::text("title", 0, 16, 24),
            ],
            Some(chosen) => chosen.names().enumerate().map(chosen_column).collect(),
        };
        let titles: Vec<bool> = names.names().map(|name| name == "title").collect();
        let mut rows = Vec::with_capacity(page.len());
        for found in details(snapshot, page, Some(names))? {
            let values = names.values(found.source());
            let cells = values.iter().zip(&titles).map(|(value, is_title)| {
                let text = value.to_text();
                if *is_title {
                    Cell::emphasised(&text, |title| filter.matched_words(title))
                } else {
                    Cell::new(&text)
                }
            });
            rows.push(cells.collect());
        }
        table::print(&columns, &rows)
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
        let columns = self.columns.as_ref().map(|columns| {
            let names: Vec<&str> = columns.names().collect();
            format!(" --columns {}", names.join(","))
        });
        format!(
            "signaldex search {} {} --table{}{}",
            quoted(&directory),
            quoted(&pairs.join("&")),
            as_of.unwrap_or_default(),
            columns.unwrap_or_default()
        )
    }
}

/// The column of a table for a column that was asked for: the first ones stay longest.
fn chosen_column((position, name): (usize, &'static str)) -> TableColumn {
    match name {
        "id" | "funding.amount" | "company.employees" | "company.foundedYear" => {
            TableColumn::number(name, position)
        }
        _ => TableColumn::text(name, position, 10, 24),
    }
}

/// A signal with as much of its company as columns need.
pub(crate) struct ShownSignal<'s> {
    signal: Signal<'s>,
    /// Empty where the whole company is there.
    company_name: Cow<'s, str>,
    company: Option<Company<'s>>,
}

impl ShownSignal<'_> {
    pub(crate) fn source(&self) -> ColumnSource<'_> {
        let company = self.company.as_ref();
        ColumnSource {
            signal: &self.signal,
            company_name: company.map_or(&self.company_name, |company| &company.name),
            company,
        }
    }
}

impl<'s> From<Item<'s>> for ShownSignal<'s> {
    fn from(item: Item<'s>) -> ShownSignal<'s> {
        ShownSignal {
            signal: item.signal,
            company_name: item.company_name,
            company: None,
        }
    }
}

impl<'s> From<Found<'s>> for ShownSignal<'s> {
    fn from(found: Found<'s>) -> ShownSignal<'s> {
        ShownSignal {
            signal: found.signal,
            company_name: Cow::Borrowed(""),
            company: Some(found.company),
        }
    }
}

/// The signals of a page, with their companies if columns need them.
fn details<'s>(
    snapshot: &'s Snapshot,
    page: &Page,
    columns: Option<&SignalColumns>,
) -> Result<Vec<ShownSignal<'s>>, Failure> {
    if !columns.is_some_and(SignalColumns::need_company) {
        let items = snapshot.records(page)?.into_iter();
        return Ok(items.map(ShownSignal::from).collect());
    }
    let found = snapshot.records_with_companies(page)?.into_iter();
    Ok(found.map(ShownSignal::from).collect())
}

fn print_count(count: u64, format: Format) -> Result<(), Failure> {
    if format == Format::Table {
        return Ok(writeln!(std::io::stdout(), "{}", signals(count))?);
    }
    source::print_answer(SearchData {
        items: &[],
        next_cursor: None,
        count: Some(count),
    })
}

fn print_page(snapshot: &Snapshot, page: &Page) -> Result<(), Failure> {
    let items = snapshot.records(page)?;
    let items: Vec<SignalItem<'_>> = items.iter().map(SignalItem::from).collect();
    let next_cursor = page.next_cursor().map(ToString::to_string);
    source::print_answer(SearchData {
        items: &items,
        next_cursor: next_cursor.as_deref(),
        count: None,
    })
}

/// Appends the header of CSV.
pub(crate) fn write_header(line: &mut Vec<u8>, columns: Option<&SignalColumns>, format: Format) {
    match columns {
        _ if format != Format::Csv => {}
        Some(columns) => columns.write_header(line),
        None => write_csv_header(line),
    }
}

/// Appends the line of a signal.
pub(crate) fn write_line(
    line: &mut Vec<u8>,
    columns: Option<&SignalColumns>,
    source: ColumnSource<'_>,
    format: Format,
) -> Result<(), Failure> {
    match (format, columns) {
        (Format::Csv, Some(columns)) => columns.write_row(line, source),
        (Format::Csv, None) => write_csv_item(line, source.signal, source.company_name),
        (Format::Ids, _) => writeln!(line, "{}", source.signal.id)?,
        (_, Some(columns)) => columns.write_line(line, source),
        (_, None) => signaldex::json::write_item_line(line, source.signal, source.company_name),
    }
    Ok(())
}

/// The fields of a record for a list: names and values.
pub(crate) fn fields<'v>(
    names: impl Iterator<Item = &'static str>,
    values: &'v [ColumnValue<'v>],
) -> Vec<(&'static str, String)> {
    let texts = values.iter().map(ColumnValue::to_text).map(Cow::into_owned);
    names.zip(texts).collect()
}
