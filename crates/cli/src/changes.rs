//! `signaldex changes`: prints the changes after a position, once or continuously.

use std::io::{BufWriter, Write};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use signaldex::json::ChangeItem;
use signaldex::{Filter, Index, Position, Snapshot};

use crate::query::{self, QueryArguments};
use crate::{Failure, source};

/// Print the changes after a position
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ChangesCommand {
    #[command(flatten)]
    query: QueryArguments,
    /// The position printed as `next` by an earlier call; by default, only the current position is printed
    #[arg(long, value_name = "POSITION", value_parser = parse_position)]
    since: Option<Position>,
    /// Keep printing changes as they are committed, with a `next` line after each batch
    #[arg(long)]
    follow: bool,
}

const EXAMPLES: &str = "\
Examples:
  signaldex changes index                                   the present position
  signaldex changes index country=Germany --since start     everything that matches
  signaldex changes index --since POSITION --follow | ./notify

Each change is a line: {\"op\":\"upsert\",\"signal\":{…}} or {\"op\":\"remove\",\"id\":\"…\"}. The last line is
{\"next\":\"POSITION\"}. Begin with --since start, and follow from the position that is printed:
docs/changes.md shows how.";

/// How often the directory is checked for commits.
const INTERVAL: Duration = Duration::from_millis(200);

/// The line after a batch.
#[derive(Serialize)]
struct NextLine {
    next: String,
}

pub(crate) fn parse_position(text: &str) -> Result<Position, String> {
    let position = Position::parse(text);
    position.map_err(|error| format!("the position {error}"))
}

impl ChangesCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let query = self.query.filters()?;
        let index = source::open(&self.query.directory)?;
        if self.since.is_none() {
            // What finds nothing should be known before one follows it.
            query::print_hints(&index.snapshot(), &query, true)?;
        }
        print_batches(
            &index,
            self.since.as_ref(),
            self.follow,
            |snapshot, since| self.print(snapshot, query.filter(), since),
        )
    }

    /// Prints the changes after a position, and returns the position after them.
    fn print(
        &self,
        snapshot: &Snapshot,
        filter: &Filter,
        since: &Position,
    ) -> Result<Position, Failure> {
        let changes = snapshot.changes(filter, self.query.today(), since);
        let mut changes = changes.map_err(|error| format!("--since: the position {error}"))?;
        let mut output = BufWriter::new(std::io::stdout().lock());
        for change in &mut changes {
            serde_json::to_writer(&mut output, &ChangeItem { change: &change? })?;
            output.write_all(b"\n")?;
        }
        output.flush()?;
        Ok(changes.position())
    }
}

/// Prints the changes after a position, if there is one, with `print`, which returns the position after
/// them, and then that position. Repeats this for later commits if `follow` is set.
pub(crate) fn print_batches(
    index: &Index,
    since: Option<&Position>,
    follow: bool,
    print: impl Fn(&Snapshot, &Position) -> Result<Position, Failure>,
) -> Result<(), Failure> {
    let snapshot = index.snapshot();
    let mut position = match since {
        Some(since) => print(&snapshot, since)?,
        None => snapshot.position(),
    };
    print_next(&position)?;
    if !follow {
        return Ok(());
    }
    loop {
        let snapshot = next_snapshot(index, &snapshot, &position)?;
        position = print(&snapshot, &position)?;
        print_next(&position)?;
    }
}

/// Waits for a snapshot with changes after a position.
fn next_snapshot(
    index: &Index,
    opened: &Snapshot,
    position: &Position,
) -> Result<std::sync::Arc<Snapshot>, Failure> {
    loop {
        index.refresh()?;
        let snapshot = index.snapshot();
        let is_another = snapshot.identity() != opened.identity();
        if is_another || snapshot.position() != *position {
            return Ok(snapshot);
        }
        thread::sleep(INTERVAL);
    }
}

fn print_next(position: &Position) -> Result<(), Failure> {
    let next = position.to_string();
    let mut output = std::io::stdout().lock();
    serde_json::to_writer(&mut output, &NextLine { next })?;
    output.write_all(b"\n")?;
    Ok(output.flush()?)
}
