//! `signaldex options`: the values of all facets with their counts.

use signaldex::json::FilterOptions;

use crate::query::Question;
use crate::{Failure, source};

/// List the values to filter on, with counts under the filters given
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    question: Question,
}

impl Options {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let filter = self.question.filter()?;
        let today = self.question.today();
        let snapshot = source::open(&self.question.directory)?.snapshot();
        let facets = snapshot.facets(&filter, today);
        source::print_answer(FilterOptions { facets: &facets })
    }
}
