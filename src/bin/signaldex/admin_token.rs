//! `signaldex admin-token`: a new token for the dashboard, also while a service runs.

use std::io::Write;

use crate::Failure;
use crate::keys::StateFile;

/// Make a new admin token for the dashboard and print it, this once; the old one ends
#[derive(Debug, clap::Args)]
pub(crate) struct AdminToken {
    #[command(flatten)]
    state: StateFile,
}

impl AdminToken {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let token = self.state.open()?.new_admin_token()?;
        Ok(writeln!(std::io::stdout(), "{}", token.as_str())?)
    }
}
