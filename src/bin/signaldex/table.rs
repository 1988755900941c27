//! Search results as a table for people.

use std::io::Write;

use signaldex::Item;
use signaldex::query::Cursor;
use unicode_segmentation::UnicodeSegmentation;

use crate::Failure;

/// Characters that a title may take in a table; longer ones are cut.
const TITLE_CHARS_MAX: usize = 64;

/// Characters that a company's name may take in a table; longer ones are cut.
const NAME_CHARS_MAX: usize = 24;

/// Prints a page.
pub(crate) fn print(items: &[Item<'_>], total: u64, next: Option<&Cursor>) -> Result<(), Failure> {
    let mut output = std::io::stdout().lock();
    writeln!(
        output,
        "{:>19}  {:10}  {:NAME_CHARS_MAX$}  title",
        "id", "date", "company"
    )?;
    for Item {
        signal,
        company_name,
    } in items
    {
        let date = signal.date.map_or("-".to_owned(), |date| date.to_string());
        writeln!(
            output,
            "{:>19}  {date:10}  {}  {}",
            signal.id.get(),
            padded(&cut(company_name, NAME_CHARS_MAX), NAME_CHARS_MAX),
            cut(&signal.title, TITLE_CHARS_MAX)
        )?;
    }
    writeln!(output, "{} of {total} signals", items.len())?;
    if let Some(next) = next {
        writeln!(output, "next page: add '&cursor={next}'")?;
    }
    Ok(())
}

fn cut(text: &str, most: usize) -> String {
    let clean = text.replace(char::is_control, " ");
    match clean.graphemes(true).count() <= most {
        true => clean,
        false => clean.graphemes(true).take(most - 1).chain(["…"]).collect(),
    }
}

fn padded(text: &str, width: usize) -> String {
    let length = text.graphemes(true).count();
    format!("{text}{}", " ".repeat(width.saturating_sub(length)))
}
