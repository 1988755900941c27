//! `signaldex search`: a page or a count, as JSON or as a table.

use signaldex::Query;
use signaldex::json::{SearchData, SignalItem};

use crate::{Failure, source, table};

/// Search an index
#[derive(Debug, clap::Args)]
pub(crate) struct Search {
    #[command(flatten)]
    question: source::Question,
    /// Show a table for people rather than JSON
    #[arg(long)]
    table: bool,
}

impl Search {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let query = Query::parse(&self.question.query)?;
        let (snapshot, today) = (self.question.snapshot()?, self.question.today());
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
        if self.table {
            let total = snapshot.count(query.filter(), today)?;
            return table::print(&items, total, page.next_cursor());
        }
        let items: Vec<SignalItem<'_>> = items.iter().map(SignalItem::from).collect();
        let next_cursor = page.next_cursor().map(ToString::to_string);
        let next_cursor = next_cursor.as_deref();
        source::print_answer(SearchData {
            items: &items,
            next_cursor,
            count: None,
        })
    }
}
