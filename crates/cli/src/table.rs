//! Search results as a table for people.

use std::io::{self, IsTerminal, Write};

use signaldex::{Filter, Item};
use unicode_segmentation::UnicodeSegmentation;

use crate::Failure;
use crate::stderr::signals;

/// Columns of a table that goes to no terminal.
const WIDTH_DEFAULT: usize = 120;

/// Characters that a company's name takes.
const NAME_CHARS: usize = 24;

/// Columns before the title: id, date, name, and two spaces after each.
const BEFORE_TITLE: usize = 19 + 2 + 10 + 2 + NAME_CHARS + 2;

/// Characters that a title may take even on the narrowest terminal.
const TITLE_CHARS_MIN: usize = 24;

const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

/// Prints a page, as wide as the terminal, with the words of the query emphasised, and the command of
/// the next page.
pub(crate) fn print(
    items: &[Item<'_>],
    total: u64,
    filter: &Filter,
    next: Option<&str>,
) -> Result<(), Failure> {
    let is_terminal = io::stdout().is_terminal();
    let mut output = io::stdout().lock();
    let title_chars = width(is_terminal)
        .saturating_sub(BEFORE_TITLE)
        .max(TITLE_CHARS_MIN);
    let is_emphasised = is_terminal && std::env::var_os("NO_COLOR").is_none();
    let shown = |title: &str| {
        let title = cut(title, title_chars);
        if is_emphasised {
            emphasised(&title, filter)
        } else {
            title
        }
    };
    writeln!(
        output,
        "{:>19}  {:10}  {:NAME_CHARS$}  title",
        "id", "date", "company"
    )?;
    for Item {
        signal,
        company_name,
        ..
    } in items
    {
        let date = signal.date.map_or("-".to_owned(), |date| date.to_string());
        writeln!(
            output,
            "{:>19}  {date:10}  {}  {}",
            signal.id.get(),
            padded(&cut(company_name, NAME_CHARS), NAME_CHARS),
            shown(&signal.title)
        )?;
    }
    writeln!(output, "{} of {}", items.len(), signals(total))?;
    if let Some(next) = next {
        writeln!(output, "next page: {next}")?;
    }
    Ok(())
}

/// Prints a row for each object, with its members of these names as columns.
#[cfg(feature = "serve")]
pub(crate) fn print_values(columns: &[&str], rows: &[serde_json::Value]) -> Result<(), Failure> {
    let cell = |value: &serde_json::Value| match value {
        serde_json::Value::Null => "-".to_owned(),
        serde_json::Value::String(text) => text.replace(char::is_control, " "),
        other => other.to_string(),
    };
    let names = columns.iter().map(|&name| name.to_owned()).collect();
    let mut lines: Vec<Vec<String>> = vec![names];
    lines.extend(
        rows.iter()
            .map(|row| columns.iter().map(|&name| cell(&row[name])).collect()),
    );
    let length = |text: &String| text.graphemes(true).count();
    let widths: Vec<usize> = (0..columns.len())
        .map(|column| lines.iter().map(|line| length(&line[column])).max())
        .map(Option::unwrap_or_default)
        .collect();
    let mut output = io::stdout().lock();
    for line in lines {
        let cells = line.iter().zip(&widths);
        let cells: Vec<String> = cells.map(|(text, &width)| padded(text, width)).collect();
        writeln!(output, "{}", cells.join("  ").trim_end())?;
    }
    Ok(())
}

fn width(is_terminal: bool) -> usize {
    let given = std::env::var("COLUMNS").ok();
    let given = given.and_then(|columns| columns.parse().ok());
    let measured = || {
        let size = is_terminal.then(terminal_size::terminal_size).flatten();
        size.map(|(terminal_size::Width(columns), _)| usize::from(columns))
    };
    given.or_else(measured).unwrap_or(WIDTH_DEFAULT)
}

/// The title with each word that the filter looks for in bold.
fn emphasised(title: &str, filter: &Filter) -> String {
    let mut shown = String::with_capacity(title.len());
    let mut end = 0;
    for word in filter.matched_words(title) {
        shown.push_str(&title[end..word.start]);
        shown.push_str(&format!("{BOLD}{}{PLAIN}", &title[word.clone()]));
        end = word.end;
    }
    shown.push_str(&title[end..]);
    shown
}

fn cut(text: &str, most: usize) -> String {
    let clean = text.replace(char::is_control, " ");
    if clean.graphemes(true).count() <= most {
        clean
    } else {
        clean.graphemes(true).take(most - 1).chain(["…"]).collect()
    }
}

fn padded(text: &str, width: usize) -> String {
    let length = text.graphemes(true).count();
    format!("{text}{}", " ".repeat(width.saturating_sub(length)))
}
