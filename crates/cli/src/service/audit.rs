//! `signaldex audit`: who changed which key or person, as JSON lines, also while a service runs.

use std::io::{BufWriter, Write};

use time::format_description::well_known::Rfc3339;
use time::{OffsetDateTime, UtcDateTime};

use super::keys::StateFile;
use crate::{Failure, source};

/// Print the changes of keys and people of the last 400 days as JSON lines, oldest first
#[derive(Debug, clap::Args)]
pub(crate) struct AuditCommand {
    #[command(flatten)]
    state: StateFile,
    /// Only changes at or after an instant, such as 2026-11-26T08:00:00Z, or a day (UTC), such as 2026-11-26
    #[arg(long, value_name = "INSTANT", value_parser = parse_instant)]
    since: Option<UtcDateTime>,
    /// Only changes of a key, by its id, or of a person, as person:NAME
    #[arg(long, value_name = "ID")]
    target: Option<String>,
}

impl AuditCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let state = self.state.open_existing()?;
        let mut output = BufWriter::new(std::io::stdout().lock());
        let mut last = 0;
        loop {
            let entries = state.audit(self.since, self.target.as_deref(), last)?;
            let Some(newest) = entries.last() else {
                return Ok(output.flush()?);
            };
            last = newest.number;
            for entry in entries {
                serde_json::to_writer(&mut output, &entry)?;
                output.write_all(b"\n")?;
            }
        }
    }
}

/// Reads an instant in the form of RFC 3339, or a day, which means its beginning.
fn parse_instant(text: &str) -> Result<UtcDateTime, String> {
    if let Ok(day) = source::parse_date(text) {
        return Ok(day.midnight().as_utc());
    }
    let instant = OffsetDateTime::parse(text, &Rfc3339).ok();
    let instant = instant.and_then(|instant| instant.checked_to_utc());
    instant.ok_or_else(|| {
        "an instant as 2026-11-26T08:00:00Z or a day as 2026-11-26 is needed".to_owned()
    })
}
