//! `signaldex options`: the values of all facets with their counts.

use signaldex::FacetQuery;
use signaldex::json::FilterOptions;

use crate::query::QueryArguments;
use crate::{Failure, source};

/// List the values to filter on, with counts under the filters given; facets=sizes,countries lists some only
#[derive(Debug, clap::Args)]
pub(crate) struct OptionsCommand {
    #[command(flatten)]
    query: QueryArguments,
}

impl OptionsCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let FacetQuery { filter, facets, .. } = self.query.facet_query()?;
        let today = self.query.today();
        let snapshot = source::open(&self.query.directory)?.snapshot();
        let counts = &snapshot.facets_of(&filter, today, &facets)?;
        let facets = &facets;
        source::print_answer(FilterOptions { counts, facets })
    }
}
