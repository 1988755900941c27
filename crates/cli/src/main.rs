//! The command line: one file a command, all of them over the library.

#[cfg(not(feature = "cluster"))]
mod absent;
mod build;
mod changes;
#[cfg(feature = "cluster")]
mod cluster;
mod explain;
mod generate;
mod match_searches;
mod options;
mod panics;
mod place;
mod progress;
mod query;
mod records;
mod search;
#[cfg(feature = "serve")]
mod service;
mod source;
mod stats;
mod stderr;
mod table;
mod update;
mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[cfg(not(feature = "cluster"))]
use absent::ClusterCommand;
#[cfg(not(feature = "serve"))]
use absent::ServiceCommand;
#[cfg(feature = "cluster")]
use cluster::ClusterCommand;
#[cfg(feature = "serve")]
use service::ServiceCommand;

#[cfg(feature = "serve")]
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
    #[command(flatten)]
    Service(ServiceCommand),
    #[command(flatten)]
    Cluster(ClusterCommand),
}

/// What ends a command early: shown on standard error, exit status 1.
type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    panics::report();
    #[cfg(feature = "cluster")]
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
    #[cfg(feature = "serve")]
    service::log::finish();
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
        Command::Service(command) => command.run(),
        Command::Cluster(command) => command.run(),
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
