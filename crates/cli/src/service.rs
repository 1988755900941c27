//! The commands of the service: serving, keys, usage, people and their changes, publishing for replicas, and manuals.

mod address;
mod admin_token;
mod audit;
mod blocking;
mod health;
mod keys;
pub(crate) mod log;
mod manual;
mod mcp;
mod people;
mod prune;
mod publish;
mod query_threads;
mod replica;
mod searches;
mod serve;
#[cfg(feature = "sql")]
mod sql_listener;
#[cfg(all(feature = "cluster", feature = "sql"))]
mod sql_nodes;
mod usage;
mod values;
mod webhooks;

pub(crate) use blocking::block_on;
#[cfg(feature = "cluster")]
pub(crate) use values::parse_seconds;

use crate::Failure;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum ServiceCommand {
    Serve(Box<serve::Serve>),
    Health(health::Health),
    Mcp(mcp::Mcp),
    Publish(publish::Publish),
    Prune(prune::Prune),
    #[command(subcommand)]
    Keys(keys::KeysCommand),
    #[command(subcommand)]
    Searches(Box<searches::SearchesCommand>),
    Usage(usage::UsageCommand),
    AdminToken(admin_token::AdminTokenCommand),
    #[command(subcommand)]
    People(people::PeopleCommand),
    Audit(audit::AuditCommand),
    Completions(manual::Completions),
    Man(manual::Man),
}

impl ServiceCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self {
            ServiceCommand::Serve(serve) => serve.run(),
            ServiceCommand::Health(health) => health.run(),
            ServiceCommand::Mcp(mcp) => mcp.run(),
            ServiceCommand::Publish(publish) => publish.run(),
            ServiceCommand::Prune(prune) => prune.run(),
            ServiceCommand::Keys(keys) => keys.run(),
            ServiceCommand::Searches(searches) => searches.run(),
            ServiceCommand::Usage(usage) => usage.run(),
            ServiceCommand::AdminToken(token) => token.run(),
            ServiceCommand::People(people) => people.run(),
            ServiceCommand::Audit(audit) => audit.run(),
            ServiceCommand::Completions(completions) => completions.run(),
            ServiceCommand::Man(man) => man.run(),
        }
    }
}
