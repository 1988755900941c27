//! `signaldex options`: the values of all facets with their counts.

use std::path::PathBuf;

use signaldex::Filter;
use signaldex::json::FilterOptions;
use time::Date;

use crate::{Failure, source};

/// List the values to filter on, with counts under the filters given
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The directory of the index, or @sample
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The filters, such as 'country=Germany'
    #[arg(default_value = "")]
    query: String,
    /// The day that counts as today
    #[arg(long, value_name = "DATE", value_parser = source::parse_date)]
    as_of: Option<Date>,
}

impl Options {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let filter = Filter::parse(&self.query)?;
        let index = source::open(&self.directory)?;
        let today = source::today(&self.directory, self.as_of);
        let facets = index.snapshot().facets(&filter, today)?;
        source::print_answer(FilterOptions { facets: &facets })
    }
}
