//! `signaldex companies`: companies by themselves and by their signals.

use std::io::{BufWriter, Write};

use clap::ValueEnum;
use signaldex::json::{
    CompaniesData, CompanyColumns, CompanyItem, FilterOptions, company_item, write_csv_cell,
};
use signaldex::query::{CompanyCursor, CompanyQuery, MatchedCompany};
use signaldex::{CompanyPage, Facets, Snapshot};
use time::Date;

use crate::options::print_tables;
use crate::query::QueryArguments;
use crate::stderr::companies;
use crate::table::{Cell, TableColumn};
use crate::words::quoted;
use crate::{Failure, source, table, terminal};

/// Find companies that have, or have not, signals of a kind
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompaniesCommand {
    #[command(flatten)]
    query: QueryArguments,
    /// The output format; by default a table on a terminal, JSON elsewhere
    #[arg(long, value_enum)]
    format: Option<CompanyFormat>,
    /// The same as --format table
    #[arg(long, conflicts_with = "format")]
    table: bool,
}

const EXAMPLES: &str = "\
Examples:
  signaldex companies @sample 'has=(categories=hiring;days=90;min=2),(categories=funding)' order=-matches
  signaldex companies @sample country=Germany 'hasNot=(q=\"series a\")' --format csv
  signaldex companies @sample robotics
  signaldex companies @sample 'has=()&countOnly=true&facets=countries,sizes'

Parameters: company, companySlug, companies, country, industry, size, city, foundedFrom, foundedTo, employeesMin,
employeesMax, has, hasNot, order (slug, -matches, -latest), limit, cursor, page, countOnly, facets.
A condition of has and hasNot is (name=value;name=value) with the filters of `signaldex search`, min and max.";

/// Output formats of a page of companies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CompanyFormat {
    /// The response of the HTTP API, {"data": …}
    Json,
    /// One company per line
    Ndjson,
    /// A header and one company a row
    Csv,
    /// One slug per line
    Ids,
    /// A table as wide as the terminal
    Table,
}

impl CompaniesCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let query = self.query.company_query()?;
        let today = self.query.today();
        let snapshot = source::open(&self.query.directory)?.snapshot();
        if query.count_only() {
            return self.print_count(&snapshot, &query, today);
        }
        let page = snapshot.companies(&query, today)?;
        match self.format() {
            CompanyFormat::Json => print_page(&page),
            CompanyFormat::Table => {
                print_table(page.items())?;
                let total = companies(snapshot.count_companies(query.filter(), today)?);
                let mut output = std::io::stdout().lock();
                writeln!(output, "{} of {total}", page.len())?;
                if let Some(next) = page.next_cursor() {
                    writeln!(output, "next page: {}", self.next_command(next))?;
                }
                Ok(())
            }
            format => print_lines(page.items(), query.filter().has().len(), format),
        }
    }

    fn format(&self) -> CompanyFormat {
        let default = if self.table || terminal::is_terminal() {
            CompanyFormat::Table
        } else {
            CompanyFormat::Json
        };
        self.format.unwrap_or(default)
    }

    fn print_count(
        &self,
        snapshot: &Snapshot,
        query: &CompanyQuery,
        today: Date,
    ) -> Result<(), Failure> {
        let count = snapshot.count_companies(query.filter(), today)?;
        let facets = query.facets();
        let counts = match facets {
            [] => Facets::default(),
            _ => snapshot.company_facets(query.filter(), today, facets)?,
        };
        if self.format() == CompanyFormat::Table {
            writeln!(std::io::stdout(), "{}", companies(count))?;
            if facets.is_empty() {
                return Ok(());
            }
            writeln!(std::io::stdout())?;
            return print_tables(&counts, facets, "companies");
        }
        let counts = &counts;
        source::print_answer(CompaniesData {
            items: &[],
            next_cursor: None,
            count: Some(count),
            facets: (!facets.is_empty()).then_some(FilterOptions { counts, facets }),
        })
    }

    /// The command that prints the next page.
    fn next_command(&self, next: &CompanyCursor) -> String {
        let typed = self.query.company_query_string();
        let is_start = |pair: &str| pair.starts_with("cursor=") || pair.starts_with("page=");
        let kept = typed
            .split('&')
            .filter(|pair| !pair.is_empty() && !is_start(pair));
        let mut pairs: Vec<String> = kept.map(str::to_owned).collect();
        pairs.push(format!("cursor={next}"));
        let as_of = self.query.as_of.map(|date| format!(" --as-of {date}"));
        format!(
            "signaldex companies {} {} --table{}",
            quoted(&self.query.directory.to_string_lossy()),
            quoted(&pairs.join("&")),
            as_of.unwrap_or_default()
        )
    }
}

fn print_page(page: &CompanyPage<'_>) -> Result<(), Failure> {
    let items = page.items().iter();
    let items: Vec<CompanyItem<'_>> = items.map(|matched| CompanyItem { matched }).collect();
    let next_cursor = page.next_cursor().map(ToString::to_string);
    source::print_answer(CompaniesData {
        items: &items,
        next_cursor: next_cursor.as_deref(),
        count: None,
        facets: None,
    })
}

fn print_table(items: &[MatchedCompany<'_>]) -> Result<(), Failure> {
    let columns = [
        TableColumn::text("slug", 1, 12, 24),
        TableColumn::text("name", 0, 12, 28),
        TableColumn::text("country", 4, 8, 16),
        TableColumn::number("signals", 3),
        TableColumn::whole("latest", 5),
        TableColumn::whole("matches", 2),
    ];
    let row = |item: &MatchedCompany<'_>| {
        let (profile, company) = (&item.profile, &item.profile.company);
        let latest = profile.latest_signal_date.map(|date| date.to_string());
        let counts = item.matches.iter().map(|matches| matches.count.to_string());
        let counts: Vec<String> = counts.collect();
        vec![
            Cell::new(&company.slug),
            Cell::new(&company.name),
            Cell::new(company.country.as_deref().unwrap_or_default()),
            Cell::new(&profile.signal_count.to_string()),
            Cell::new(&latest.unwrap_or_default()),
            Cell::new(&counts.join(", ")),
        ]
    };
    let rows: Vec<Vec<Cell>> = items.iter().map(row).collect();
    table::print(&columns, &rows)
}

fn print_lines(
    items: &[MatchedCompany<'_>],
    conditions: usize,
    format: CompanyFormat,
) -> Result<(), Failure> {
    let mut lines = Vec::new();
    if format == CompanyFormat::Csv {
        write_csv_rows(&mut lines, items, conditions);
    }
    for item in items {
        match format {
            CompanyFormat::Ids => writeln!(lines, "{}", item.profile.company.slug)?,
            CompanyFormat::Ndjson => {
                lines.extend(company_item(item));
                lines.push(b'\n');
            }
            CompanyFormat::Json | CompanyFormat::Csv | CompanyFormat::Table => {}
        }
    }
    let mut output = BufWriter::new(std::io::stdout().lock());
    output.write_all(&lines)?;
    Ok(output.flush()?)
}

/// Appends a header and a row for each company: its members, then two columns for each condition.
fn write_csv_rows(lines: &mut Vec<u8>, items: &[MatchedCompany<'_>], conditions: usize) {
    const ROW_END: &[u8] = b"\r\n";
    let columns = CompanyColumns::all();
    let names = columns.names().map(str::to_owned);
    let own = (1..=conditions)
        .flat_map(|number| ["count", "latestDate"].map(|name| format!("matches.{number}.{name}")));
    let names: Vec<String> = names.chain(own).collect();
    lines.extend(names.join(",").as_bytes());
    lines.extend(ROW_END);
    for item in items {
        columns.write_row(lines, &item.profile);
        // The row goes on after the members of the company.
        lines.truncate(lines.len() - ROW_END.len());
        for matches in &item.matches {
            let latest = matches.latest_date.map(|date| date.to_string());
            for cell in [matches.count.to_string(), latest.unwrap_or_default()] {
                lines.push(b',');
                write_csv_cell(lines, &cell);
            }
        }
        lines.extend(ROW_END);
    }
}
