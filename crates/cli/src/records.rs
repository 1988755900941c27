//! `signaldex signal` and `signaldex company`: one record by id or slug.

use std::path::PathBuf;

use signaldex::json::{CompanyDetail, SignalDetail};
use signaldex::{Found, SignalId};

use crate::{Failure, source};

/// Show a signal with its company
#[derive(Debug, clap::Args)]
pub(crate) struct SignalCommand {
    /// The directory of the index, or @sample
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The signal's id
    id: String,
}

/// Show a company
#[derive(Debug, clap::Args)]
pub(crate) struct CompanyCommand {
    /// The directory of the index, or @sample
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The company's slug
    slug: String,
}

impl SignalCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let id: SignalId = self
            .id
            .parse()
            .map_err(|error| format!("{:?} is not a signal's id: {error}", self.id))?;
        let snapshot = source::open(&self.directory)?.snapshot();
        match snapshot.signal(id)? {
            Some(Found {
                signal, company, ..
            }) => source::print_answer(SignalDetail {
                signal: &signal,
                company: &company,
            }),
            None => Err(format!("there is no signal {id}").into()),
        }
    }
}

impl CompanyCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let snapshot = source::open(&self.directory)?.snapshot();
        match snapshot.company(&self.slug)? {
            Some(profile) => source::print_answer(CompanyDetail { profile: &profile }),
            None => Err(format!("there is no company {:?}", self.slug).into()),
        }
    }
}
