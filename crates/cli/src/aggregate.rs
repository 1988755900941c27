//! `signaldex aggregate`: counts, sums and quantiles of matches by group, in several formats.

use std::io::Write;

use clap::ValueEnum;
use signaldex::json::{AggregateAnswer, write_csv_cell};
use signaldex::query::{GroupBy, Measure};
use signaldex::{AggregateQuery, Aggregates, AmountFigures, Figures, KeyValue};

use crate::query::QueryArguments;
use crate::stderr::signals;
use crate::table::{Cell, TableColumn};
use crate::{Failure, source, table, terminal};

/// Count, sum and compare the matches of a query by month, country, company, …
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AggregateCommand {
    #[command(flatten)]
    query: QueryArguments,
    /// The output format; by default a table on a terminal, JSON elsewhere
    #[arg(long, value_enum)]
    format: Option<AggregateFormat>,
    /// The same as --format table
    #[arg(long, conflicts_with = "format")]
    table: bool,
}

const EXAMPLES: &str = "\
Examples:
  signaldex aggregate @sample 'categories=funding&by=month&measures=sum,median'
  signaldex aggregate @sample raises by=quarter,countries measures=companies limit=20
  signaldex aggregate @sample by=company fundingCurrency=USD order=-sum measures=sum --format csv

by: day, week, month, quarter or year; a list of `signaldex options`, such as countries; company.
measures: count, companies, sum, min, max, median, p25, p75. order: key, -key, -count, -sum. limit: 1 to 1000.
All parameters of `signaldex search` that filter hold.";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AggregateFormat {
    /// The response of the HTTP API, {"data": …}
    Json,
    /// One group per line; without `by`, the totals
    Ndjson,
    /// A header, and a row for each group and currency
    Csv,
    /// A table as wide as the terminal
    Table,
}

impl AggregateCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let query = &self.query.aggregate_query()?;
        let today = self.query.today();
        let snapshot = source::open(&self.query.directory)?.snapshot();
        let aggregates = &snapshot.aggregate(query, today)?;
        let answer = AggregateAnswer { query, aggregates };
        match self.format() {
            AggregateFormat::Json => source::print_answer(answer),
            AggregateFormat::Table => print_table(query, aggregates),
            AggregateFormat::Ndjson => {
                let mut lines = Vec::new();
                answer.write_lines(&mut lines);
                Ok(std::io::stdout().lock().write_all(&lines)?)
            }
            AggregateFormat::Csv => {
                let rows = csv(query, aggregates);
                Ok(std::io::stdout().lock().write_all(&rows)?)
            }
        }
    }

    fn format(&self) -> AggregateFormat {
        let is_table = self.table || (self.format.is_none() && terminal::is_terminal());
        let otherwise = if is_table {
            AggregateFormat::Table
        } else {
            AggregateFormat::Json
        };
        self.format.unwrap_or(otherwise)
    }
}

/// The names of the columns of rows: the key, then the figures.
fn columns(query: &AggregateQuery) -> Vec<TableColumn> {
    let mut columns = Vec::new();
    for by in query.by() {
        match by {
            GroupBy::Company => {
                columns.push(TableColumn::text("company.slug", 2, 8, 24));
                columns.push(TableColumn::text("company.name", 0, 12, 24));
            }
            by => columns.push(TableColumn::text(by.as_str(), 0, 10, 24)),
        }
    }
    columns.push(TableColumn::number("count", 1));
    if query.has(Measure::Companies) {
        columns.push(TableColumn::number("companies", 3));
    }
    if query.has_amounts() {
        columns.push(TableColumn::text("currency", 1, 3, 8));
        columns.push(TableColumn::number("amounts", 4));
        let measured = query
            .measures()
            .iter()
            .filter(|measure| measure.is_of_amounts());
        columns.extend(measured.map(|measure| TableColumn::number(measure.as_str(), 2)));
    }
    columns
}

/// The rows of all groups, or that of the totals if there is no grouping: one for each currency.
fn rows(query: &AggregateQuery, aggregates: &Aggregates) -> Vec<Vec<String>> {
    if query.by().is_empty() {
        return figure_rows(query, Vec::new(), &aggregates.totals.figures);
    }
    let groups = aggregates.groups.iter();
    let of_group = |group: &signaldex::AggregateGroup| {
        let key = group
            .key
            .iter()
            .zip(query.by())
            .flat_map(|(value, by)| key_cells(value, *by));
        figure_rows(query, key.collect(), &group.figures)
    };
    groups.flat_map(of_group).collect()
}

fn key_cells(value: &Option<KeyValue>, by: GroupBy) -> Vec<String> {
    match value {
        Some(KeyValue::Time(period)) => vec![period.to_string()],
        Some(KeyValue::Label(label)) => vec![label.clone()],
        Some(KeyValue::Company { slug, name }) => vec![slug.clone(), name.clone()],
        None if by == GroupBy::Company => vec![String::new(), String::new()],
        None => vec![String::new()],
    }
}

fn figure_rows(query: &AggregateQuery, key: Vec<String>, figures: &Figures) -> Vec<Vec<String>> {
    let mut start = key;
    start.push(figures.count.to_string());
    if query.has(Measure::Companies) {
        start.push(figures.companies.unwrap_or_default().to_string());
    }
    if !query.has_amounts() {
        return vec![start];
    }
    let with = |cells: Vec<String>| [start.clone(), cells].concat();
    let amounts = figures.amounts.as_deref().unwrap_or_default();
    if amounts.is_empty() {
        return vec![with(vec![
            String::new();
            amount_cells(query, &AmountFigures::default())
                .len()
        ])];
    }
    amounts
        .iter()
        .map(|amounts| with(amount_cells(query, amounts)))
        .collect()
}

fn amount_cells(query: &AggregateQuery, amounts: &AmountFigures) -> Vec<String> {
    let currency = amounts
        .currency
        .map_or_else(String::new, |currency| currency.to_string());
    let mut cells = vec![currency, amounts.count.to_string()];
    let measured = query
        .measures()
        .iter()
        .filter(|measure| measure.is_of_amounts());
    cells.extend(measured.map(|measure| {
        let figure = amounts.figure(*measure);
        figure.map_or_else(String::new, |figure| figure.to_string())
    }));
    cells
}

fn csv(query: &AggregateQuery, aggregates: &Aggregates) -> Vec<u8> {
    let header: Vec<String> = columns(query)
        .iter()
        .map(|column| column.name.to_owned())
        .collect();
    let mut output = Vec::new();
    for row in [header].into_iter().chain(rows(query, aggregates)) {
        for (position, cell) in row.iter().enumerate() {
            if position > 0 {
                output.push(b',');
            }
            write_csv_cell(&mut output, cell);
        }
        output.extend_from_slice(b"\r\n");
    }
    output
}

fn print_table(query: &AggregateQuery, aggregates: &Aggregates) -> Result<(), Failure> {
    let cells = |row: &Vec<String>| row.iter().map(|cell| Cell::new(cell)).collect();
    let rows: Vec<Vec<Cell>> = rows(query, aggregates).iter().map(cells).collect();
    table::print(&columns(query), &rows)?;
    let total = signals(aggregates.totals.figures.count);
    let mut output = std::io::stdout().lock();
    if query.by().is_empty() {
        return Ok(());
    }
    let (shown, groups) = (aggregates.groups.len(), aggregates.totals.groups);
    Ok(writeln!(output, "{shown} of {groups} groups, {total}")?)
}
