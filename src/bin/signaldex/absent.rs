//! The commands of the service in a program built without it: they say which feature to enable.

use crate::Failure;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Absent {
    #[command(hide = true)]
    Serve(Ignored),
    #[command(hide = true)]
    Mcp(Ignored),
    #[command(hide = true)]
    Keys(Ignored),
    #[command(hide = true)]
    Usage(Ignored),
    #[command(hide = true)]
    AdminToken(Ignored),
    #[command(hide = true)]
    Completions(Ignored),
    #[command(hide = true)]
    Man(Ignored),
}

#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Ignored {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<std::ffi::OsString>,
}

impl Absent {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let (Absent::Serve(ignored)
        | Absent::Mcp(ignored)
        | Absent::Keys(ignored)
        | Absent::Usage(ignored)
        | Absent::AdminToken(ignored)
        | Absent::Completions(ignored)
        | Absent::Man(ignored)) = self;
        drop(ignored.arguments);
        Err("this program was built without the service; \
             `cargo build --release --features cli` builds it with the service"
            .into())
    }
}
