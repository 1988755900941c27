//! `signaldex admin-token`: a new token for the dashboard, also while a service runs.

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
        println!("{}", token.as_str());
        Ok(())
    }
}
