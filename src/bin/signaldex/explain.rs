//! `signaldex explain`: the plan of a query and what came of it.

use std::io::Write;

use signaldex::Query;

use crate::{Failure, source};

/// Show how a query is answered: steps, estimated and actual rows, blocks, times
#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    #[command(flatten)]
    question: source::Question,
}

impl Explain {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let query = Query::parse(&self.question.query)?;
        let (snapshot, today) = (self.question.snapshot()?, self.question.today());
        let explanation = snapshot.explain(&query, today)?;
        write!(std::io::stdout().lock(), "{explanation}")?;
        Ok(())
    }
}
