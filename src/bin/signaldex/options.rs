//! `signaldex options`: the values of all facets with their counts.

use signaldex::Filter;
use signaldex::json::FilterOptions;

use crate::{Failure, source};

/// List the values to filter on, with counts under the filters given
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    question: source::Question,
}

impl Options {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let filter = Filter::parse(&self.question.query)?;
        let (snapshot, today) = (self.question.snapshot()?, self.question.today());
        let facets = snapshot.facets(&filter, today)?;
        source::print_answer(FilterOptions { facets: &facets })
    }
}
