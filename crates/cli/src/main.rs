//! The command line: one file a command, all of them over the library.

#[cfg(not(feature = "cluster"))]
mod absent;
mod build;
mod changes;
#[cfg(feature = "cluster")]
mod cluster;
mod explain;
mod failure;
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
use absent::AbsentClusterCommand as ClusterCommand;
#[cfg(not(feature = "serve"))]
use absent::AbsentServiceCommand as ServiceCommand;
#[cfg(feature = "cluster")]
use cluster::ClusterCommand;
use failure::Failure;
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
    Search(search::SearchCommand),
    Export(search::ExportCommand),
    Changes(changes::ChangesCommand),
    Match(match_searches::Match),
    Explain(explain::Explain),
    Signal(records::SignalCommand),
    Company(records::CompanyCommand),
    Options(options::OptionsCommand),
    Stats(stats::Stats),
    Verify(verify::Verify),
    Compact(verify::Compact),
    Generate(generate::Generate),
    #[command(flatten)]
    Service(ServiceCommand),
    #[command(flatten)]
    Cluster(ClusterCommand),
}

fn main() -> ExitCode {
    panics::report();
    #[cfg(feature = "cluster")]
    cluster::install_crypto_provider();
    // Wrong usage ends here, with exit status 2.
    let arguments = Arguments::parse_from(query::mark_excluded(std::env::args_os()));
    let status = match run(arguments.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure::is_closed_pipe(&*failure) => ExitCode::SUCCESS,
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
