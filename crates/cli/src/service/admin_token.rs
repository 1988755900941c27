//! `signaldex admin-token`: a new token for the dashboard, also while a service runs.

use std::io::Write;

use super::keys::StateFile;
use crate::Failure;

/// Create a new token for the person admin of the dashboard and print it once; the old one is refused from then on
#[derive(Debug, clap::Args)]
pub(crate) struct AdminTokenCommand {
    #[command(flatten)]
    state: StateFile,
}

impl AdminTokenCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let token = self.state.open()?.new_admin_token()?;
        Ok(writeln!(std::io::stdout(), "{}", token.as_str())?)
    }
}
