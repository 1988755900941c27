//! `signaldex match`: matches changes with saved searches, once or continuously.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use signaldex::json::{Lines, SignalItem};
use signaldex::{Filter, Position, SavedSearches, Snapshot};
use time::Date;

use crate::changes::{parse_position, print_batches};
use crate::{Failure, source};

/// Print which saved searches match the changes after a position
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Match {
    /// The index's directory, or @sample
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The saved searches, one per line: {"name":"…","query":"…"}
    #[arg(value_name = "FILE")]
    searches: PathBuf,
    /// The position printed as `next` by an earlier call; by default, only the current position is printed
    #[arg(long, value_name = "POSITION", value_parser = parse_position)]
    since: Option<Position>,
    /// Keep printing matches as changes are committed, with a `next` line after each batch
    #[arg(long)]
    follow: bool,
    /// The day that counts as today
    #[arg(long, value_name = "DATE", value_parser = source::parse_date)]
    as_of: Option<Date>,
}

const EXAMPLES: &str = "\
Examples:
  signaldex match index searches.jsonl                      the present position
  signaldex match index searches.jsonl --since POSITION --follow | ./notify

A search is a line of FILE: {\"name\":\"robots\",\"query\":\"q=robotics&country=Germany\"}. Each match is a line:
{\"search\":\"robots\",\"isNew\":true,\"signal\":{…}}. The last line is {\"next\":\"POSITION\"}.";

/// A line of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchLine {
    name: String,
    query: String,
}

/// A line of output.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MatchLine<'a> {
    search: &'a str,
    is_new: bool,
    signal: SignalItem<'a>,
}

impl Match {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let index = source::open(&self.directory)?;
        let empty = SavedSearches::for_index(&index.snapshot(), self.today())?;
        let searches = self.read(empty)?;
        print_batches(
            &index,
            self.since.as_ref(),
            self.follow,
            |snapshot, since| self.print(&searches, snapshot, since),
        )
    }

    fn today(&self) -> Date {
        let today = self.as_of;
        today.unwrap_or_else(|| source::today_of(&self.directory))
    }

    /// Reads the file of searches; an error names its line and what is wrong.
    fn read(&self, mut searches: SavedSearches) -> Result<SavedSearches, Failure> {
        let path = &self.searches;
        let mut lines = Lines::open(path)?;
        while let Some(line) = lines.next_line()? {
            let number = line.number;
            let failed =
                |fault: &dyn std::fmt::Display| format!("{}:{number}: {fault}", path.display());
            let content = line.content.map_err(|error| failed(&error))?;
            let line: SearchLine =
                serde_json::from_slice(content).map_err(|error| failed(&without_place(&error)))?;
            if line.name.is_empty() {
                return Err(failed(&"the name is empty; every search needs one").into());
            }
            let filter = Filter::from_query_string(&line.query).map_err(|error| failed(&error))?;
            if searches.insert(&line.name, filter).is_some() {
                let fault = format!("the name {:?} is given twice", line.name);
                return Err(failed(&fault).into());
            }
        }
        Ok(searches)
    }

    /// Prints the matches after a position, and returns the position after them.
    fn print(
        &self,
        searches: &SavedSearches,
        snapshot: &Snapshot,
        since: &Position,
    ) -> Result<Position, Failure> {
        let matching = searches.matching(snapshot, since, self.today());
        let mut matching = matching.map_err(|error| format!("--since: the position {error}"))?;
        let mut output = BufWriter::new(std::io::stdout().lock());
        for matched in &mut matching {
            let matched = matched?;
            for search in &matched.searches {
                let line = MatchLine {
                    search,
                    is_new: matched.is_new,
                    signal: SignalItem::from(&matched.item),
                };
                serde_json::to_writer(&mut output, &line)?;
                output.write_all(b"\n")?;
            }
        }
        output.flush()?;
        Ok(matching.position())
    }
}

/// The message of serde without its line number, which counts from this line.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((what, _)) => what.to_owned(),
        None => text,
    }
}
