//! Tables and lists of fields for people, no line of them wider than the terminal.

use std::io::{self, Write};
use std::ops::Range;

use crate::Failure;
use crate::terminal::{self, clean, columns_of, cut, wrapped};

/// Spaces between columns.
const GAP: usize = 2;

/// What stands for null.
const NOTHING: &str = "-";

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableColumn {
    pub(crate) name: &'static str,
    /// Which columns give way first where a terminal is narrow: those with the greatest numbers.
    pub(crate) rank: usize,
    /// The fewest columns for its cells, unless all of them are narrower; with fewer it is left out.
    pub(crate) min: usize,
    /// Columns that its cells get before others get more.
    pub(crate) usual: usize,
    pub(crate) align: Align,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    /// Numbers.
    Right,
}

/// A cell, with the parts of its text that are emphasised.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    bold: Vec<Range<usize>>,
}

impl TableColumn {
    /// A column of texts, which are cut where there is no room.
    pub(crate) fn text(name: &'static str, rank: usize, min: usize, usual: usize) -> TableColumn {
        TableColumn {
            name,
            rank,
            min,
            usual,
            align: Align::Left,
        }
    }

    /// A column whose cells are shown whole or not at all, such as ids.
    pub(crate) fn whole(name: &'static str, rank: usize) -> TableColumn {
        TableColumn::text(name, rank, usize::MAX, usize::MAX)
    }

    /// As [`whole`](Self::whole), aligned to the right.
    pub(crate) fn number(name: &'static str, rank: usize) -> TableColumn {
        TableColumn {
            align: Align::Right,
            ..TableColumn::whole(name, rank)
        }
    }
}

impl Cell {
    pub(crate) fn new(text: &str) -> Cell {
        Cell::emphasised(text, |_| Vec::new())
    }

    /// A cell in which the parts that `find` finds in its text are emphasised.
    pub(crate) fn emphasised(text: &str, find: impl Fn(&str) -> Vec<Range<usize>>) -> Cell {
        let text = if text.is_empty() {
            NOTHING.to_owned()
        } else {
            clean(text)
        };
        let bold = if terminal::may_emphasise() {
            find(&text)
        } else {
            Vec::new()
        };
        Cell { text, bold }
    }

    /// The cell cut to a number of columns, with escapes, and how many it takes.
    fn shown(&self, columns: usize) -> (String, usize) {
        let shown = cut(&self.text, columns);
        let kept = if shown == self.text {
            self.text.len()
        } else {
            shown.len() - '…'.len_utf8()
        };
        let bold = self
            .bold
            .iter()
            .map(|part| part.start.min(kept)..part.end.min(kept));
        let bold: Vec<Range<usize>> = bold.collect();
        (terminal::emphasised(&shown, &bold), columns_of(&shown))
    }
}

/// Prints a header and a row for each record.
pub(crate) fn print(columns: &[TableColumn], rows: &[Vec<Cell>]) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    for line in lines(columns, rows, terminal::width()) {
        writeln!(output, "{line}")?;
    }
    Ok(())
}

/// The lines of a table, none of more columns than `width`.
fn lines(columns: &[TableColumn], rows: &[Vec<Cell>], width: usize) -> Vec<String> {
    let header: Vec<Cell> = columns
        .iter()
        .map(|column| Cell::new(column.name))
        .collect();
    let natural: Vec<usize> = (0..columns.len())
        .map(|index| {
            let cells = rows
                .iter()
                .chain([&header])
                .map(|row| columns_of(&row[index].text));
            cells.max().unwrap_or_default()
        })
        .collect();
    let shown = widths(columns, &natural, width);
    let last = shown.last().map(|&(index, _)| index);
    let line = |row: &Vec<Cell>| {
        let cells = shown.iter().map(|&(index, width)| {
            let (cell, used) = row[index].shown(width);
            let padding = " ".repeat(width - used);
            match columns[index].align {
                Align::Right => format!("{padding}{cell}"),
                Align::Left if Some(index) == last => cell,
                Align::Left => format!("{cell}{padding}"),
            }
        });
        cells.collect::<Vec<_>>().join(&" ".repeat(GAP))
    };
    [&header].into_iter().chain(rows).map(line).collect()
}

/// The columns that there is room for, by index, and how wide each is.
fn widths(columns: &[TableColumn], natural: &[usize], width: usize) -> Vec<(usize, usize)> {
    let min = |index: usize| columns[index].min.min(natural[index]);
    let mut by_rank: Vec<usize> = (0..columns.len()).collect();
    by_rank.sort_by_key(|&index| columns[index].rank);
    let needed = |kept: &[usize]| {
        let cells: usize = kept.iter().map(|&index| min(index)).sum();
        cells + GAP * kept.len().saturating_sub(1)
    };
    while by_rank.len() > 1 && needed(&by_rank) > width {
        by_rank.pop();
    }
    let mut spare = width.saturating_sub(needed(&by_rank));
    let mut widths: Vec<usize> = (0..columns.len()).map(min).collect();
    if let [only] = by_rank[..] {
        widths[only] = widths[only].min(width);
    }
    // What is left goes to the columns by their rank: first as much as is usual, then as much as they need.
    let usual = |index: usize| columns[index].usual.min(natural[index]);
    for wanted in [&usual as &dyn Fn(usize) -> usize, &|index| natural[index]] {
        for &index in &by_rank {
            let more = wanted(index).saturating_sub(widths[index]).min(spare);
            widths[index] += more;
            spare -= more;
        }
    }
    by_rank.sort_unstable();
    by_rank
        .into_iter()
        .map(|index| (index, widths[index]))
        .collect()
}

/// Columns below which a value stands on lines of its own.
const VALUE_MIN: usize = 16;

/// Prints a record as a list of its fields.
pub(crate) fn print_fields<'f>(
    fields: impl IntoIterator<Item = (&'f str, String)>,
) -> Result<(), Failure> {
    let fields: Vec<(&str, String)> = fields.into_iter().collect();
    let mut output = io::stdout().lock();
    for line in field_lines(&fields, terminal::width()) {
        writeln!(output, "{line}")?;
    }
    Ok(())
}

fn field_lines(fields: &[(&str, String)], width: usize) -> Vec<String> {
    let names = fields.iter().map(|(name, _)| columns_of(name));
    let indent = names.max().unwrap_or_default() + GAP;
    let mut lines = Vec::new();
    for (name, value) in fields {
        let value = if value.is_empty() {
            NOTHING.to_owned()
        } else {
            clean(value)
        };
        let room = width.saturating_sub(indent);
        if room < VALUE_MIN {
            lines.push((*name).to_owned());
            let value = wrapped(&value, width - GAP);
            lines.extend(
                value
                    .iter()
                    .map(|line| format!("{}{line}", " ".repeat(GAP))),
            );
            continue;
        }
        for (number, line) in wrapped(&value, room).iter().enumerate() {
            let name = if number == 0 { name } else { "" };
            lines.push(format!("{name:indent$}{line}"));
        }
    }
    lines
}

/// Prints a row for each object, with its members of these names as columns.
#[cfg(feature = "serve")]
pub(crate) fn print_objects(
    columns: &[TableColumn],
    objects: &[serde_json::Value],
) -> Result<(), Failure> {
    let cell = |value: &serde_json::Value| match value {
        serde_json::Value::Null => Cell::new(""),
        serde_json::Value::String(text) => Cell::new(text),
        other => Cell::new(&other.to_string()),
    };
    let row = |object: &serde_json::Value| {
        let cells = columns.iter().map(|column| cell(&object[column.name]));
        cells.collect()
    };
    print(columns, &objects.iter().map(row).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests;
