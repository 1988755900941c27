//! `signaldex fields`: what records have, and by which names tables may call it.

use std::io::{self, Write};

use signaldex::json::{RecordKind, field_words};

use crate::Failure;
use crate::input::RecordFile;

/// Show the fields of records, their rules, and other names of headers
#[derive(Debug, clap::Args)]
pub(crate) struct Fields {
    /// Of these records alone
    #[arg(value_name = "companies|signals", hide_possible_values = true)]
    file: Option<RecordFile>,
    /// Print an empty CSV with a header
    #[arg(long, requires = "file")]
    template: bool,
}

impl Fields {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let mut output = io::stdout().lock();
        if let Some(file) = self.file.filter(|_| self.template) {
            let names: Vec<&str> = RecordKind::from(file).fields().collect();
            writeln!(output, "{}", names.join(","))?;
            return Ok(());
        }
        let kinds = match self.file {
            Some(file) => vec![file.into()],
            None => vec![RecordKind::Company, RecordKind::Signal],
        };
        for (index, kind) in kinds.into_iter().enumerate() {
            if index > 0 {
                writeln!(output)?;
            }
            write_fields(&mut output, kind)?;
        }
        Ok(())
    }
}

fn write_fields(output: &mut impl Write, kind: RecordKind) -> io::Result<()> {
    writeln!(output, "{}:", kind.plural())?;
    let width = kind.fields().map(str::len).max().unwrap_or(0);
    for field in kind.fields() {
        let rule = kind
            .field_type(field)
            .map_or("", |field_type| field_type.expected());
        let required = if kind.is_required(field) {
            ", required"
        } else {
            ""
        };
        writeln!(output, "  {field:width$}  {rule}{required}")?;
        let words: Vec<&str> = field_words(kind, field).collect();
        if !words.is_empty() {
            writeln!(
                output,
                "  {:width$}  suggested for: {}",
                "",
                words.join(", ")
            )?;
        }
    }
    writeln!(
        output,
        "\nHeaders are read without regard to case, white space, _, - and .; {} may stand before a name,\n\
         and hiring. may be missing. --map THEIRS=OURS reads any other header.",
        kind.name()
    )
}
