//! `signaldex options`: the values of all facets with their counts.

use std::io::Write;

use signaldex::json::FilterOptions;
use signaldex::{Facet, FacetQuery, Facets};

use crate::query::QueryArguments;
use crate::shown_as::ShownAs;
use crate::table::{Cell, TableColumn};
use crate::{Failure, source, table};

/// List the values to filter on, with counts under the filters given; facets=sizes,countries lists some only
#[derive(Debug, clap::Args)]
pub(crate) struct OptionsCommand {
    #[command(flatten)]
    query: QueryArguments,
    #[command(flatten)]
    shown_as: ShownAs,
}

impl OptionsCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let FacetQuery { filter, facets, .. } = self.query.facet_query()?;
        let today = self.query.today();
        let snapshot = source::open(&self.query.directory)?.snapshot();
        let counts = &snapshot.facets_of(&filter, today, &facets)?;
        let facets = &facets;
        if self.shown_as.is_table() {
            return print_tables(counts, facets, "signals");
        }
        source::print_answer(FilterOptions { counts, facets })
    }
}

/// Prints a table for each facet: its values, and how many of what is `counted` have them.
pub(crate) fn print_tables(
    counts: &Facets,
    facets: &[Facet],
    counted: &'static str,
) -> Result<(), Failure> {
    for (position, &facet) in facets.iter().enumerate() {
        if position > 0 {
            writeln!(std::io::stdout())?;
        }
        let columns = [
            TableColumn::text(facet.description().options, 0, 16, 24),
            TableColumn::number(counted, 1),
        ];
        let row = |value: &signaldex::FacetCount| {
            let count = Cell::new(&value.count().to_string());
            vec![Cell::new(value.label()), count]
        };
        let rows: Vec<Vec<Cell>> = counts.values(facet).iter().map(row).collect();
        table::print(&columns, &rows)?;
    }
    Ok(())
}
