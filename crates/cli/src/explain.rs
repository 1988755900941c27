//! `signaldex explain`: the plan of a query, with estimated and actual rows.

use std::io::Write;

use crate::query::QueryArguments;
use crate::{Failure, source};

/// Show how a query is answered: steps, estimated and actual rows, blocks, times
#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    #[command(flatten)]
    query: QueryArguments,
    /// Explain a query of `signaldex aggregate`: how matches were found, grouped and measured
    #[arg(long)]
    aggregates: bool,
    /// Explain a query for companies, as `signaldex companies` takes it
    #[arg(long)]
    companies: bool,
}

impl Explain {
    pub(crate) fn run(self) -> Result<(), Failure> {
        if self.aggregates {
            return self.explain_aggregates();
        }
        if self.companies {
            return self.explain_companies();
        }
        let query = self.query.query()?;
        let today = self.query.today();
        let snapshot = source::open(&self.query.directory)?.snapshot();
        let explanation = snapshot.explain(&query, today)?;
        write!(std::io::stdout().lock(), "{explanation}")?;
        Ok(())
    }

    fn explain_aggregates(&self) -> Result<(), Failure> {
        let query = self.query.aggregate_query()?;
        let today = self.query.today();
        let snapshot = source::open(&self.query.directory)?.snapshot();
        let explanation = snapshot.explain_aggregate(&query, today)?;
        write!(std::io::stdout().lock(), "{explanation}")?;
        Ok(())
    }

    fn explain_companies(&self) -> Result<(), Failure> {
        let query = self.query.company_query()?;
        let snapshot = source::open(&self.query.directory)?.snapshot();
        let explanation = snapshot.explain_companies(&query, self.query.today())?;
        write!(std::io::stdout().lock(), "{explanation}")?;
        Ok(())
    }
}
