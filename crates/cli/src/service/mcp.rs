//! `signaldex mcp`: the tools for agents over standard input and output.

use std::io;
use std::path::PathBuf;

use signaldex::sample;
use signaldex_server::{Today, serve_mcp};
use time::Date;
use tracing::level_filters::LevelFilter;

use crate::{Failure, source};

/// Answer an agent's tool calls over standard input and output (Model Context Protocol)
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Mcp {
    /// The directory of the index, or @sample; it is followed while another process updates it
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The day that counts as today
    #[arg(long, value_name = "DATE", value_parser = source::parse_date)]
    as_of: Option<Date>,
}

const EXAMPLE: &str = "\
A client starts it by itself. In its configuration:
  {\"mcpServers\": {\"signaldex\": {\"command\": \"signaldex\", \"args\": [\"mcp\", \"@sample\"]}}}

docs/mcp.md lists the tools.";

impl Mcp {
    pub(crate) fn run(self) -> Result<(), Failure> {
        // Standard output is reserved for the protocol.
        tracing_subscriber::fmt()
            .with_writer(io::stderr)
            .with_max_level(LevelFilter::WARN)
            .init();
        let index = source::open(&self.directory)?;
        let is_sample = source::is_sample(&self.directory);
        let fixed = self.as_of.or(is_sample.then_some(sample::AS_OF));
        let today = fixed.map_or(Today::Clock, Today::Fixed);
        Ok(serve_mcp(
            index,
            today,
            io::stdin().lock(),
            io::stdout().lock(),
        )?)
    }
}
