//! Writes signals as rows of CSV with fixed columns.

use std::borrow::Cow;
use std::convert::Infallible;

use super::item::{FundingMember, ItemMember, visit_funding, visit_members};
use super::text_encoding;
use crate::signal::{FundingView, Signal, SignalView};
use crate::tables::needs_escape;

/// The columns in order: the members of a search item.
pub const CSV_COLUMNS: [&str; 17] = [
    "id",
    "slug",
    "title",
    "evidence",
    "category",
    "date",
    "publishedAt",
    "updatedAt",
    "companySlug",
    "companyName",
    "activityUrl",
    "authorName",
    "authorTitle",
    "authorUrl",
    "funding.stage",
    "funding.amount",
    "funding.currency",
];

/// Appends the header row.
///
/// ```
/// let mut rows = Vec::new();
/// signaldex::json::write_csv_header(&mut rows);
/// assert!(rows.starts_with(b"id,slug,title,") && rows.ends_with(b"\r\n"));
/// ```
pub fn write_csv_header(output: &mut Vec<u8>) {
    output.extend_from_slice(CSV_COLUMNS.join(",").as_bytes());
    output.extend_from_slice(b"\r\n");
}

/// Appends the row of a signal (RFC 4180). A text that a spreadsheet would evaluate as a formula is
/// prefixed with an apostrophe, the spreadsheet's own escape, which a load takes away.
///
/// ```
/// use signaldex::{Signal, SignalId, json};
///
/// let mut row = Vec::new();
/// json::write_csv_item(&mut row, &Signal::new(SignalId::MIN, "acme", "=1+1"), "Acme GmbH");
/// assert_eq!(row, b"1,1,\"'=1+1\",,,,,,acme,Acme GmbH,,,,,,,\r\n");
/// ```
pub fn write_csv_item(output: &mut Vec<u8>, signal: &Signal<'_>, company_name: &str) {
    let mut cells: Vec<Cow<'_, str>> = Vec::with_capacity(CSV_COLUMNS.len());
    let Ok(()) = visit_members(&SignalView::of(signal, company_name), |_, member| {
        match member {
            ItemMember::Funding(funding) => push_funding(&mut cells, funding),
            _ => cells.push(cell(member)),
        }
        Ok::<(), Infallible>(())
    });
    for (index, cell) in cells.iter().enumerate() {
        if index > 0 {
            output.push(b',');
        }
        write_csv_cell(output, cell);
    }
    output.extend_from_slice(b"\r\n");
}

/// The cell of a member that has a single one; empty for null.
fn cell(member: ItemMember<'_>) -> Cow<'_, str> {
    let short = |text: text_encoding::Text| Cow::Owned(text.as_str().to_owned());
    let value = match member {
        ItemMember::Id(id) => Some(short(text_encoding::id(id))),
        ItemMember::Text(text) => text.map(Cow::Borrowed),
        ItemMember::Day(day) => day.map(|day| short(text_encoding::day(day))),
        ItemMember::Instant(instant) => {
            instant.map(|instant| short(text_encoding::instant(instant)))
        }
        ItemMember::CompanySlug(text) | ItemMember::CompanyName(text) => Some(text.into()),
        ItemMember::Funding(_) => unreachable!("funding takes three cells"),
    };
    value.unwrap_or_default()
}

fn push_funding<'s>(cells: &mut Vec<Cow<'s, str>>, funding: Option<FundingView<'s>>) {
    let Some(funding) = funding else {
        // Stage, amount and currency.
        return cells.extend([const { Cow::Borrowed("") }; 3]);
    };
    let Ok(()) = visit_funding(funding, |_, member| {
        let value = match member {
            FundingMember::Text(text) => text.map(Cow::Borrowed),
            FundingMember::Amount(amount) => amount.map(|amount| amount.to_string().into()),
        };
        cells.push(value.unwrap_or_default());
        Ok::<(), Infallible>(())
    });
}

/// Appends a cell, quoted if necessary, for rows with columns of your own.
///
/// ```
/// let mut row = Vec::new();
/// signaldex::json::write_csv_cell(&mut row, "Series A, led by Acme");
/// assert_eq!(row, b"\"Series A, led by Acme\"");
/// ```
pub fn write_csv_cell(output: &mut Vec<u8>, cell: &str) {
    let is_formula = needs_escape(cell);
    let is_quoted = is_formula || cell.contains(['"', ',', '\n', '\r']);
    if !is_quoted {
        output.extend_from_slice(cell.as_bytes());
        return;
    }
    output.push(b'"');
    if is_formula {
        output.push(b'\'');
    }
    output.extend_from_slice(cell.replace('"', "\"\"").as_bytes());
    output.push(b'"');
}

#[cfg(test)]
mod tests;
