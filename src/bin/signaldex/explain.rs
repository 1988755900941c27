//! `signaldex explain`: the plan of a query and what came of it.

use std::io::Write;
use std::path::PathBuf;

use signaldex::Query;
use time::Date;

use crate::{Failure, source};

/// Show how a query is answered: steps, estimated and actual rows, blocks, times
#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    /// The directory of the index, or @sample
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The query, such as 'all=series a&country=Germany'
    #[arg(default_value = "")]
    query: String,
    /// The day that counts as today
    #[arg(long, value_name = "DATE", value_parser = source::parse_date)]
    as_of: Option<Date>,
}

impl Explain {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let query = Query::parse(&self.query)?;
        let index = source::open(&self.directory)?;
        let today = source::today(&self.directory, self.as_of);
        let explanation = index.snapshot().explain(&query, today)?;
        write!(std::io::stdout().lock(), "{explanation}")?;
        Ok(())
    }
}
