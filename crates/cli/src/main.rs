//! The command line: one file a command, all of them over the library.

#[cfg(not(all(feature = "cluster", feature = "sql")))]
mod absent;
mod aggregate;
mod build;
mod changes;
#[cfg(feature = "cluster")]
mod cluster;
mod companies;
mod dump;
mod explain;
mod export;
mod failure;
mod fields;
mod generate;
mod input;
mod match_searches;
mod mistakes;
mod options;
mod output_file;
mod panics;
mod place;
mod progress;
mod query;
mod records;
mod search;
#[cfg(feature = "serve")]
mod service;
mod shown_as;
mod source;
#[cfg(feature = "sql")]
mod sql;
mod stats;
mod stderr;
mod table;
mod terminal;
mod unfinished;
mod update;
mod verify;
mod words;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[cfg(not(feature = "cluster"))]
use absent::AbsentClusterCommand as ClusterCommand;
#[cfg(not(feature = "serve"))]
use absent::AbsentServiceCommand as ServiceCommand;
#[cfg(not(feature = "sql"))]
use absent::AbsentSqlCommand as SqlCommand;
#[cfg(feature = "cluster")]
use cluster::ClusterCommand;
use failure::Failure;
#[cfg(feature = "serve")]
use service::ServiceCommand;
#[cfg(feature = "sql")]
use sql::SqlCommand;

#[cfg(feature = "serve")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A search engine for signals: dated facts about companies.
///
/// Where a command reads DIR, `@sample` stands for the sample data that come with the program.
#[derive(Debug, Parser)]
#[command(name = "signaldex", version, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  signaldex search @sample 'q=\"series a\"&country=Germany'
  signaldex build --companies companies.csv --signals signals.jsonl --out index
  signaldex search index robotics -intern
  signaldex export index country=Germany --format csv --out germany.csv
  signaldex dump index --out backup

`signaldex COMMAND --help` has more.";

#[derive(Debug, Subcommand)]
enum Command {
    Build(build::Build),
    Update(update::Update),
    Search(search::SearchCommand),
    Export(export::ExportCommand),
    Dump(dump::Dump),
    Changes(changes::ChangesCommand),
    Match(match_searches::Match),
    Explain(explain::Explain),
    Signal(records::SignalCommand),
    Company(records::CompanyCommand),
    Companies(companies::CompaniesCommand),
    Options(options::OptionsCommand),
    Aggregate(aggregate::AggregateCommand),
    Stats(stats::Stats),
    Verify(verify::Verify),
    Compact(verify::Compact),
    Generate(generate::Generate),
    Fields(fields::Fields),
    #[command(flatten)]
    Sql(SqlCommand),
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
    let typed: Vec<OsString> = std::env::args_os().collect();
    let arguments = match parse(&typed) {
        Ok(arguments) => arguments,
        Err(error) => mistakes::refuse_usage(error, &typed, parse),
    };
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

/// Parses the arguments as typed.
fn parse(typed: &[OsString]) -> Result<Arguments, clap::Error> {
    Arguments::try_parse_from(query::mark_excluded(typed.iter().cloned()))
}

/// Runs a command. [`main`] shows how it failed.
fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Build(build) => build.run(),
        Command::Update(update) => update.run(),
        Command::Search(search) => search.run(),
        Command::Export(export) => export.run(),
        Command::Dump(dump) => dump.run(),
        Command::Changes(changes) => changes.run(),
        Command::Match(searches) => searches.run(),
        Command::Explain(explain) => explain.run(),
        Command::Signal(signal) => signal.run(),
        Command::Company(company) => company.run(),
        Command::Companies(companies) => companies.run(),
        Command::Options(options) => options.run(),
        Command::Aggregate(aggregate) => aggregate.run(),
        Command::Stats(stats) => stats.run(),
        Command::Verify(verify) => verify.run(),
        Command::Compact(compact) => compact.run(),
        Command::Generate(generate) => generate.run(),
        Command::Fields(fields) => fields.run(),
        Command::Sql(command) => command.run(),
        Command::Service(command) => command.run(),
        Command::Cluster(command) => command.run(),
    }
}
