//! The command line: one file a command, all of them over the library.

mod admin_token;
mod build;
#[cfg_attr(not(feature = "cluster"), path = "no_cluster.rs")]
mod cluster;
mod explain;
mod generate;
mod keys;
mod options;
#[cfg(feature = "replicate")]
mod publish;
mod records;
#[cfg_attr(not(feature = "replicate"), path = "no_replica.rs")]
mod replica;
mod search;
mod serve;
#[cfg(feature = "cluster")]
mod shard;
mod source;
mod stats;
mod stderr;
mod table;
mod update;
mod usage;
mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A search engine for signals: activities of companies.
///
/// Where a command takes DIR, `@sample` stands for the sample corpus that comes with the program.
/// Queries are the query strings of the HTTP interface, such as 'q="series a"&country=Germany'.
#[derive(Debug, Parser)]
#[command(name = "signaldex", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Build(build::Build),
    Update(update::Update),
    Search(search::Search),
    Explain(explain::Explain),
    Signal(records::Signal),
    Company(records::Company),
    Options(options::Options),
    Stats(stats::Stats),
    Verify(verify::Verify),
    Compact(verify::Compact),
    Generate(generate::Generate),
    Serve(Box<serve::Serve>),
    #[cfg(feature = "replicate")]
    Publish(publish::Publish),
    #[cfg(feature = "cluster")]
    Shard(shard::Shard),
    #[cfg(feature = "cluster")]
    PublishShards(shard::PublishShards),
    #[command(subcommand)]
    Keys(keys::Keys),
    Usage(usage::Usage),
    AdminToken(admin_token::AdminToken),
}

/// What ends a command early: shown on standard error, exit status 1.
type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    cluster::install_crypto_provider();
    // Wrong usage ends here, with exit status 2.
    let arguments = Arguments::parse();
    let outcome = match arguments.command {
        Command::Build(build) => build.run(),
        Command::Update(update) => update.run(),
        Command::Search(search) => search.run(),
        Command::Explain(explain) => explain.run(),
        Command::Signal(signal) => signal.run(),
        Command::Company(company) => company.run(),
        Command::Options(options) => options.run(),
        Command::Stats(stats) => stats.run(),
        Command::Verify(verify) => verify.run(),
        Command::Compact(compact) => compact.run(),
        Command::Generate(generate) => generate.run(),
        Command::Serve(serve) => serve.run(),
        #[cfg(feature = "replicate")]
        Command::Publish(publish) => publish.run(),
        #[cfg(feature = "cluster")]
        Command::Shard(shard) => shard.run(),
        #[cfg(feature = "cluster")]
        Command::PublishShards(publish) => publish.run(),
        Command::Keys(keys) => keys.run(),
        Command::Usage(usage) => usage.run(),
        Command::AdminToken(token) => token.run(),
    };
    let status = match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if is_closed_pipe(&*failure) => ExitCode::SUCCESS,
        Err(failure) => {
            stderr::say(format_args!("signaldex: {failure:#}"));
            ExitCode::FAILURE
        }
    };
    stderr::finish();
    status
}

/// Whether the reader of our output has gone, as `head` does, which is nobody's fault.
fn is_closed_pipe(failure: &(dyn std::error::Error + 'static)) -> bool {
    let io = match failure.downcast_ref::<serde_json::Error>() {
        Some(error) => error.io_error_kind(),
        None => failure
            .downcast_ref::<std::io::Error>()
            .map(std::io::Error::kind),
    };
    io == Some(std::io::ErrorKind::BrokenPipe)
}
