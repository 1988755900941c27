//! The commands of features that the program was built without: they say how to get them.

use std::ffi::OsString;

use crate::Failure;

/// The commands of the feature `serve`.
#[cfg(not(feature = "serve"))]
#[derive(Debug, clap::Subcommand)]
pub(crate) enum AbsentServiceCommand {
    #[command(hide = true)]
    Serve(Ignored),
    #[command(hide = true)]
    Health(Ignored),
    #[command(hide = true)]
    Mcp(Ignored),
    #[command(hide = true)]
    Publish(Ignored),
    #[command(hide = true)]
    Prune(Ignored),
    #[command(hide = true)]
    Keys(Ignored),
    #[command(hide = true)]
    Searches(Ignored),
    #[command(hide = true)]
    Usage(Ignored),
    #[command(hide = true)]
    AdminToken(Ignored),
    #[command(hide = true)]
    People(Ignored),
    #[command(hide = true)]
    Audit(Ignored),
    #[command(hide = true)]
    Completions(Ignored),
    #[command(hide = true)]
    Man(Ignored),
}

#[cfg(not(feature = "serve"))]
impl AbsentServiceCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        absent("serve")
    }
}

/// The commands of the feature `cluster`.
#[cfg(not(feature = "cluster"))]
#[derive(Debug, clap::Subcommand)]
pub(crate) enum AbsentClusterCommand {
    #[command(hide = true)]
    Shard(Ignored),
    #[command(hide = true)]
    PublishShards(Ignored),
}

#[cfg(not(feature = "cluster"))]
impl AbsentClusterCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        absent("cluster")
    }
}

/// The command of the feature `sql`.
#[cfg(not(feature = "sql"))]
#[derive(Debug, clap::Subcommand)]
pub(crate) enum AbsentSqlCommand {
    #[command(hide = true)]
    Sql(Ignored),
}

#[cfg(not(feature = "sql"))]
impl AbsentSqlCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        absent("sql")
    }
}

/// Arguments that nothing reads.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Ignored {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _arguments: Vec<OsString>,
}

pub(crate) fn absent<T>(feature: &str) -> Result<T, Failure> {
    Err(format!(
        "this program was built without the feature `{feature}`; \
         `cargo build --release --features {feature}` builds it with the feature"
    )
    .into())
}
