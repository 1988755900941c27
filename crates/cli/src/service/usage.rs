//! `signaldex usage`: what keys have used, by month, also while a service runs.

use serde_json::{Value, json};
use signaldex_server::Month;

use super::keys::StateFile;
use crate::{Failure, source, table};

/// Show what each key has used, as JSON or a table
#[derive(Debug, clap::Args)]
pub(crate) struct UsageCommand {
    #[command(flatten)]
    state: StateFile,
    /// That month alone, as YYYY-MM
    #[arg(long, value_name = "YYYY-MM", value_parser = parse_month)]
    month: Option<Month>,
    /// Show a table rather than JSON
    #[arg(long)]
    table: bool,
}

impl UsageCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let usage = self.state.open_existing()?.usage(self.month)?;
        let lines: Vec<Value> = usage
            .iter()
            .map(|line| {
                let [signals, activities, companies, free_answers] = line.counts;
                json!({
                    "keyId": line.key_id,
                    "name": line.name,
                    "month": line.month.to_string(),
                    "signals": signals,
                    "activities": activities,
                    "companies": companies,
                    "freeAnswers": free_answers,
                })
            })
            .collect();
        if self.table {
            const COLUMNS: [&str; 7] = [
                "month",
                "keyId",
                "name",
                "signals",
                "activities",
                "companies",
                "freeAnswers",
            ];
            return table::print_values(&COLUMNS, &lines);
        }
        source::print_json(&lines)
    }
}

fn parse_month(text: &str) -> Result<Month, String> {
    Month::parse(text).ok_or_else(|| "a month as YYYY-MM is needed".to_owned())
}
