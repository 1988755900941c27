//! `signaldex signal` and `signaldex company`: one record by id or slug.

use std::path::PathBuf;

use signaldex::SignalId;
use signaldex::json::output::{CompanyDetail, SignalDetail};

use crate::{Failure, source};

/// Show a signal with its company
#[derive(Debug, clap::Args)]
pub(crate) struct Signal {
    /// The directory of the index, or @sample
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The signal's id
    id: SignalId,
}

/// Show a company
#[derive(Debug, clap::Args)]
pub(crate) struct Company {
    /// The directory of the index, or @sample
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The company's slug
    slug: String,
}

impl Signal {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let snapshot = source::open(&self.directory)?.snapshot();
        match snapshot.signal(self.id)? {
            Some(found) => source::print_answer(SignalDetail::from(&found)),
            None => Err(format!("there is no signal {}", self.id).into()),
        }
    }
}

impl Company {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let snapshot = source::open(&self.directory)?.snapshot();
        match snapshot.company(&self.slug)? {
            Some(profile) => source::print_answer(CompanyDetail::from(&profile)),
            None => Err(format!("there is no company {:?}", self.slug).into()),
        }
    }
}
