//! The command line: one file a command, all of them over the library.

#[cfg(not(feature = "cli"))]
mod absent;
#[cfg(feature = "cli")]
mod admin_token;
mod build;
mod changes;
#[cfg(feature = "cli")]
#[cfg_attr(not(feature = "cluster"), path = "no_cluster.rs")]
mod cluster;
mod explain;
mod generate;
#[cfg(feature = "cli")]
mod keys;
#[cfg(feature = "cli")]
mod log;
#[cfg(feature = "cli")]
mod manual;
mod match_searches;
#[cfg(feature = "cli")]
mod mcp;
mod options;
mod panics;
mod progress;
#[cfg(feature = "replicate")]
mod prune;
#[cfg(feature = "replicate")]
mod publish;
mod query;
mod records;
#[cfg(feature = "cli")]
#[cfg_attr(not(feature = "replicate"), path = "no_replica.rs")]
mod replica;
mod search;
#[cfg(feature = "cli")]
mod serve;
#[cfg(all(feature = "cluster", feature = "cli"))]
mod shard;
mod source;
mod stats;
mod stderr;
mod table;
mod update;
#[cfg(feature = "cli")]
mod usage;
mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[cfg(feature = "cli")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A search engine for signals: dated facts about companies.
///
/// Where a command takes DIR, `@sample` stands for the sample data that come with the program.
#[derive(Debug, Parser)]
#[command(name = "signaldex", version, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  signaldex search @sample 'q=\"series a\"&country=Germany' --table
  signaldex build --companies companies.csv --signals signals.jsonl --out index
  signaldex search index robotics -intern
  signaldex export index country=Germany --format csv --out germany.csv

`signaldex COMMAND --help` has more.";

#[derive(Debug, Subcommand)]
enum Command {
    Build(build::Build),
    Update(update::Update),
    Search(search::Search),
    Export(search::Export),
    Changes(changes::Changes),
    Match(match_searches::Match),
    Explain(explain::Explain),
    Signal(records::Signal),
    Company(records::Company),
    Options(options::Options),
    Stats(stats::Stats),
    Verify(verify::Verify),
    Compact(verify::Compact),
    Generate(generate::Generate),
    #[cfg(feature = "cli")]
    Serve(Box<serve::Serve>),
    #[cfg(feature = "cli")]
    Mcp(mcp::Mcp),
    #[cfg(feature = "replicate")]
    Publish(publish::Publish),
    #[cfg(feature = "replicate")]
    Prune(prune::Prune),
    #[cfg(all(feature = "cluster", feature = "cli"))]
    Shard(shard::Shard),
    #[cfg(all(feature = "cluster", feature = "cli"))]
    PublishShards(shard::PublishShards),
    #[cfg(feature = "cli")]
    #[command(subcommand)]
    Keys(keys::Keys),
    #[cfg(feature = "cli")]
    Usage(usage::Usage),
    #[cfg(feature = "cli")]
    AdminToken(admin_token::AdminToken),
    #[cfg(feature = "cli")]
    Completions(manual::Completions),
    #[cfg(feature = "cli")]
    Man(manual::Man),
    #[cfg(not(feature = "cli"))]
    #[command(flatten)]
    Absent(absent::Absent),
}

/// What ends a command early: shown on standard error, exit status 1.
type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    panics::report();
    #[cfg(feature = "cli")]
    cluster::install_crypto_provider();
    // Wrong usage ends here, with exit status 2.
    let arguments = Arguments::parse_from(query::mark_excluded(std::env::args_os()));
    let status = match run(arguments.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if is_closed_pipe(&*failure) => ExitCode::SUCCESS,
        Err(failure) => {
            stderr::fail(format_args!("signaldex: {failure:#}"));
            ExitCode::FAILURE
        }
    };
    #[cfg(feature = "cli")]
    log::finish();
    status
}

/// Runs a command. [`main`] shows how it failed.
fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Build(build) => build.run(),
        Command::Update(update) => update.run(),
        Command::Search(search) => search.run(),
        Command::Export(export) => export.run(),
        Command::Changes(changes) => changes.run(),
        Command::Match(searches) => searches.run(),
        Command::Explain(explain) => explain.run(),
        Command::Signal(signal) => signal.run(),
        Command::Company(company) => company.run(),
        Command::Options(options) => options.run(),
        Command::Stats(stats) => stats.run(),
        Command::Verify(verify) => verify.run(),
        Command::Compact(compact) => compact.run(),
        Command::Generate(generate) => generate.run(),
        #[cfg(feature = "cli")]
        Command::Serve(serve) => serve.run(),
        #[cfg(feature = "cli")]
        Command::Mcp(mcp) => mcp.run(),
        #[cfg(feature = "replicate")]
        Command::Publish(publish) => publish.run(),
        #[cfg(feature = "replicate")]
        Command::Prune(prune) => prune.run(),
        #[cfg(all(feature = "cluster", feature = "cli"))]
        Command::Shard(shard) => shard.run(),
        #[cfg(all(feature = "cluster", feature = "cli"))]
        Command::PublishShards(publish) => publish.run(),
        #[cfg(feature = "cli")]
        Command::Keys(keys) => keys.run(),
        #[cfg(feature = "cli")]
        Command::Usage(usage) => usage.run(),
        #[cfg(feature = "cli")]
        Command::AdminToken(token) => token.run(),
        #[cfg(feature = "cli")]
        Command::Completions(completions) => completions.run(),
        #[cfg(feature = "cli")]
        Command::Man(man) => man.run(),
        #[cfg(not(feature = "cli"))]
        Command::Absent(absent) => absent.run(),
    }
}

/// Whether the reader of our output has gone, as `head` does, which is nobody's error.
fn is_closed_pipe(failure: &(dyn std::error::Error + 'static)) -> bool {
    let io = match failure.downcast_ref::<serde_json::Error>() {
        Some(error) => error.io_error_kind(),
        None => failure
            .downcast_ref::<std::io::Error>()
            .map(std::io::Error::kind),
    };
    io == Some(std::io::ErrorKind::BrokenPipe)
}
