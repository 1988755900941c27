//! `signaldex usage`: what keys have used, by month, also while a service runs.

use serde_json::{Value, json};
use signaldex_server::Month;

use super::keys::StateFile;
use crate::shown_as::ShownAs;
use crate::table::TableColumn;
use crate::{Failure, source, table};

/// Show what each key has used, as JSON or a table
#[derive(Debug, clap::Args)]
pub(crate) struct UsageCommand {
    #[command(flatten)]
    state: StateFile,
    /// That month alone, as YYYY-MM
    #[arg(long, value_name = "YYYY-MM", value_parser = parse_month)]
    month: Option<Month>,
    #[command(flatten)]
    shown_as: ShownAs,
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
        if self.shown_as.is_table() {
            let columns = [
                TableColumn::whole("month", 1),
                TableColumn::text("keyId", 2, 8, 12),
                TableColumn::text("name", 0, 8, 24),
                TableColumn::number("signals", 3),
                TableColumn::number("activities", 4),
                TableColumn::number("companies", 5),
                TableColumn::number("freeAnswers", 6),
            ];
            return table::print_objects(&columns, &lines);
        }
        source::print_json(&lines)
    }
}

fn parse_month(text: &str) -> Result<Month, String> {
    Month::parse(text).ok_or_else(|| "a month as YYYY-MM is needed".to_owned())
}
