//! `signaldex search`: a page or a count, as JSON or as a table.

use std::path::PathBuf;

use signaldex::Query;
use signaldex::json::{SearchData, SignalItem};
use time::Date;

use crate::{Failure, source, table};

/// Search an index
#[derive(Debug, clap::Args)]
pub(crate) struct Search {
    /// The directory of the index, or @sample
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The query, such as 'all=series a&country=Germany'
    #[arg(default_value = "")]
    query: String,
    /// Show a table for people rather than JSON
    #[arg(long)]
    table: bool,
    /// The day that counts as today
    #[arg(long, value_name = "DATE", value_parser = source::parse_date)]
    as_of: Option<Date>,
}

impl Search {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let query = Query::parse(&self.query)?;
        let index = source::open(&self.directory)?;
        let today = source::today(&self.directory, self.as_of);
        let snapshot = index.snapshot();
        if query.count_only() {
            let count = snapshot.count(query.filter(), today)?;
            let data = SearchData { items: &[], next_cursor: None, count: Some(count) };
            return source::print_answer(data);
        }
        let page = snapshot.search(&query, today)?;
        let found = snapshot.records(&page)?;
        if self.table {
            let total = snapshot.count(query.filter(), today)?;
            return table::print(&found, total, page.next_cursor());
        }
        let items: Vec<SignalItem<'_>> = found
            .iter()
            .map(|found| SignalItem { signal: &found.signal, company: &found.company })
            .collect();
        let next_cursor = page.next_cursor().map(ToString::to_string);
        let next_cursor = next_cursor.as_deref();
        source::print_answer(SearchData { items: &items, next_cursor, count: None })
    }
}
