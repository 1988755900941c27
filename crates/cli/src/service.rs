//! The commands of the service: serving, keys and usage, publishing for replicas, and manuals.

mod admin_token;
mod keys;
pub(crate) mod log;
mod manual;
mod mcp;
mod prune;
mod publish;
mod replica;
mod serve;
mod usage;

#[cfg(feature = "cluster")]
pub(crate) use serve::parse_seconds;

use tokio::runtime::Builder;

use crate::Failure;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum ServiceCommand {
    Serve(Box<serve::Serve>),
    Mcp(mcp::Mcp),
    Publish(publish::Publish),
    Prune(prune::Prune),
    #[command(subcommand)]
    Keys(keys::Keys),
    Usage(usage::Usage),
    AdminToken(admin_token::AdminToken),
    Completions(manual::Completions),
    Man(manual::Man),
}

impl ServiceCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self {
            ServiceCommand::Serve(serve) => serve.run(),
            ServiceCommand::Mcp(mcp) => mcp.run(),
            ServiceCommand::Publish(publish) => publish.run(),
            ServiceCommand::Prune(prune) => prune.run(),
            ServiceCommand::Keys(keys) => keys.run(),
            ServiceCommand::Usage(usage) => usage.run(),
            ServiceCommand::AdminToken(token) => token.run(),
            ServiceCommand::Completions(completions) => completions.run(),
            ServiceCommand::Man(man) => man.run(),
        }
    }
}

/// Waits on this thread for what is done with an object store.
pub(crate) fn block_on<T>(work: impl Future<Output = signaldex::Result<T>>) -> Result<T, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(work)?)
}
