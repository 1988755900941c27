//! `signaldex options`: the values of all facets with their counts.

use signaldex::FacetQuery;
use signaldex::json::FilterOptions;

use crate::query::Question;
use crate::{Failure, source};

/// List the values to filter on, with counts under the filters given; facets=sizes,countries lists some only
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    question: Question,
}

impl Options {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let FacetQuery { filter, facets, .. } = self.question.facet_query()?;
        let today = self.question.today();
        let snapshot = source::open(&self.question.directory)?.snapshot();
        let counts = &snapshot.facets_of(&filter, today, &facets)?;
        let facets = &facets;
        source::print_answer(FilterOptions { counts, facets })
    }
}
