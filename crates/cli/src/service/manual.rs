//! `signaldex completions` and `signaldex man`: shell completions and manual pages, generated from the
//! definition of the command line.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::{Arguments, Failure};

/// Print completions for a shell
#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Print a manual page, such as: signaldex man search | man -l -
#[derive(Debug, clap::Args)]
pub(crate) struct Man {
    /// The command that the page is about; the program as a whole by default
    command: Option<String>,
}

impl Completions {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let mut text = Vec::new();
        clap_complete::generate(
            self.shell,
            &mut Arguments::command(),
            "signaldex",
            &mut text,
        );
        Ok(std::io::stdout().write_all(&text)?)
    }
}

impl Man {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let mut program = Arguments::command();
        program.build();
        let page = match &self.command {
            Some(name) => program
                .find_subcommand(name)
                .cloned()
                .ok_or_else(|| format!("there is no command {name:?}"))?,
            None => program,
        };
        let mut text = Vec::new();
        clap_mangen::Man::new(page).render(&mut text)?;
        Ok(std::io::stdout().write_all(&text)?)
    }
}
