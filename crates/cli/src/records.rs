//! `signaldex signal` and `signaldex company`: one record by id or slug.

use std::path::PathBuf;

use signaldex::json::{ColumnSource, CompanyColumns, CompanyDetail, SignalColumns, SignalDetail};
use signaldex::{Found, SignalId};

use crate::search::fields;
use crate::shown_as::ShownAs;
use crate::{Failure, source, table};

/// Show a signal with its company
#[derive(Debug, clap::Args)]
pub(crate) struct SignalCommand {
    /// The directory of the index, or @sample
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The signal's id
    id: String,
    #[command(flatten)]
    shown_as: ShownAs,
}

/// Show a company
#[derive(Debug, clap::Args)]
pub(crate) struct CompanyCommand {
    /// The directory of the index, or @sample
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The company's slug
    slug: String,
    #[command(flatten)]
    shown_as: ShownAs,
}

impl SignalCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let id: SignalId = self
            .id
            .parse()
            .map_err(|error| format!("{:?} is not a signal's id: {error}", self.id))?;
        let snapshot = source::open(&self.directory)?.snapshot();
        match snapshot.signal(id)? {
            Some(found) if self.shown_as.is_table() => print_signal(&found),
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
            Some(profile) if self.shown_as.is_table() => {
                let columns = CompanyColumns::all();
                table::print_fields(fields(columns.names(), &columns.values(&profile)))
            }
            Some(profile) => source::print_answer(CompanyDetail { profile: &profile }),
            None => Err(format!(
                "there is no company with the slug {:?}; `signaldex companies` finds companies by name",
                self.slug
            )
            .into()),
        }
    }
}

fn print_signal(found: &Found<'_>) -> Result<(), Failure> {
    let columns = SignalColumns::of_detail();
    let source = ColumnSource {
        signal: &found.signal,
        company_name: &found.company.name,
        company: Some(&found.company),
    };
    table::print_fields(fields(columns.names(), &columns.values(source)))
}
