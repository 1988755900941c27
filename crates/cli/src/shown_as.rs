//! The option `--format` of commands with one answer: a table on a terminal, JSON elsewhere.

use clap::ValueEnum;

use crate::terminal;

/// How an answer is printed.
#[derive(Debug, clap::Args)]
pub(crate) struct ShownAs {
    /// The output format; by default a table on a terminal, JSON elsewhere
    #[arg(long, value_enum)]
    format: Option<AnswerFormat>,
    /// The same as --format table
    #[arg(long, conflicts_with = "format")]
    table: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AnswerFormat {
    /// As wide as the terminal
    Table,
    /// Indented JSON
    Json,
}

impl ShownAs {
    pub(crate) fn is_table(&self) -> bool {
        let default = || terminal::is_terminal();
        let chosen = self.format.map(|format| format == AnswerFormat::Table);
        self.table || chosen.unwrap_or_else(default)
    }
}
