//! Lists as text: items separated by commas, ignoring white space around them. Items with a comma or with
//! white space at their ends are in double quotes, and quotes within are doubled.
//!
//! ```
//! use signaldex::query::list;
//!
//! let items = list::split(r#"acme, "Smith, Jones" "#)?;
//! assert_eq!(items, ["acme", "Smith, Jones"]);
//! assert_eq!(list::join(items), r#"acme,"Smith, Jones""#);
//! # Ok::<(), list::ListError>(())
//! ```

use std::borrow::Cow;
use std::fmt;

/// Why a text is not a valid list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListError {
    /// The item of this number, from 1 on, is empty.
    EmptyItem(usize),
    /// The quotes of the item of this number are not closed.
    OpenQuote(usize),
    /// Something follows the closing quote of the item of this number.
    AfterQuote(usize),
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListError::EmptyItem(number) => write!(f, "item {number} is empty"),
            ListError::OpenQuote(number) => write!(f, "the quotes of item {number} are not closed"),
            ListError::AfterQuote(number) => {
                write!(f, "a comma is missing after the quotes of item {number}")
            }
        }
    }
}

impl std::error::Error for ListError {}

/// The items of a list, at least one.
///
/// ```
/// use signaldex::query::list::{ListError, split};
///
/// assert_eq!(split(r#"acme, "Example, Inc.""#)?, ["acme", "Example, Inc."]);
/// assert_eq!(split("acme,,example"), Err(ListError::EmptyItem(2)));
/// # Ok::<(), ListError>(())
/// ```
///
/// # Errors
/// An item is empty, or its quotes are not closed or not at its ends.
pub fn split(text: &str) -> Result<Vec<Cow<'_, str>>, ListError> {
    let mut items = Vec::new();
    let mut rest = text;
    // Each iteration consumes one item and the comma after it.
    loop {
        let number = items.len() + 1;
        let (item, after) = match rest.trim_start().strip_prefix('"') {
            Some(quoted) => {
                let (item, after) = take_quoted(quoted).ok_or(ListError::OpenQuote(number))?;
                (Cow::Owned(item), after.trim_start())
            }
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (Cow::Borrowed(rest[..end].trim()), &rest[end..])
            }
        };
        if item.is_empty() {
            return Err(ListError::EmptyItem(number));
        }
        items.push(item);
        if after.is_empty() {
            return Ok(items);
        }
        rest = after
            .strip_prefix(',')
            .ok_or(ListError::AfterQuote(number))?;
    }
}

/// Writes a list, which [`split`] reads back if no item is empty.
///
/// ```
/// use signaldex::query::list;
///
/// assert_eq!(list::join(["acme", "Example, Inc."]), r#"acme,"Example, Inc.""#);
/// ```
pub fn join<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    let mut text = String::new();
    write(&mut text, items).expect("a string can be written to");
    text
}

/// Writes what [`join`] returns.
pub(super) fn write<T: AsRef<str>>(
    out: &mut impl fmt::Write,
    items: impl IntoIterator<Item = T>,
) -> fmt::Result {
    for (position, item) in items.into_iter().enumerate() {
        if position > 0 {
            out.write_char(',')?;
        }
        let item = item.as_ref();
        if item.contains(',') || item.starts_with('"') || item.trim() != item {
            write!(out, "\"{}\"", item.replace('"', "\"\""))?;
        } else {
            out.write_str(item)?;
        }
    }
    Ok(())
}

/// Reads a quoted item after its opening quote. Returns the item and the text after its closing quote.
fn take_quoted(text: &str) -> Option<(String, &str)> {
    let mut item = String::new();
    let mut rest = text;
    // Each iteration consumes the text up to a quote, and the quote.
    loop {
        let quote = rest.find('"')?;
        item.push_str(&rest[..quote]);
        rest = &rest[quote + 1..];
        match rest.strip_prefix('"') {
            Some(after) => {
                item.push('"');
                rest = after;
            }
            None => return Some((item, rest)),
        }
    }
}

#[cfg(test)]
mod tests;
