//! Signals as rows of CSV, in a fixed order of columns.

use std::borrow::Cow;

use crate::signal::Item;
use crate::text_encoding;

/// The columns, in their order; those of a search item.
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
pub fn write_csv_header(output: &mut Vec<u8>) {
    output.extend_from_slice(CSV_COLUMNS.join(",").as_bytes());
    output.extend_from_slice(b"\r\n");
}

/// Appends the row of a signal, as RFC 4180 has it. A text that a spreadsheet would run as a formula
/// gets an apostrophe before it, as spreadsheets do themselves.
pub fn write_csv_item(output: &mut Vec<u8>, item: &Item<'_>) {
    let signal = &item.signal;
    let funding = signal.funding.as_ref();
    let text = |text: &Option<Cow<'_, str>>| text.as_deref().unwrap_or_default().to_owned();
    let cells: [String; CSV_COLUMNS.len()] = [
        signal.id.to_string(),
        signal.slug.to_string(),
        signal.title.to_string(),
        text(&signal.evidence),
        text(&signal.category),
        signal.date.map_or_else(String::new, |day| {
            text_encoding::day(day).as_str().to_owned()
        }),
        signal.published_at.map_or_else(String::new, |instant| {
            text_encoding::instant(instant).as_str().to_owned()
        }),
        signal.updated_at.map_or_else(String::new, |instant| {
            text_encoding::instant(instant).as_str().to_owned()
        }),
        signal.company_slug.to_string(),
        item.company_name.to_string(),
        text(&signal.activity_url),
        text(&signal.author_name),
        text(&signal.author_title),
        text(&signal.author_url),
        funding
            .map(|funding| text(&funding.stage))
            .unwrap_or_default(),
        funding
            .and_then(|funding| funding.amount)
            .map_or_else(String::new, |amount| amount.to_string()),
        funding
            .and_then(|funding| funding.currency)
            .map_or_else(String::new, |code| code.as_str().to_owned()),
    ];
    for (index, cell) in cells.iter().enumerate() {
        if index > 0 {
            output.push(b',');
        }
        write_csv_cell(output, cell);
    }
    output.extend_from_slice(b"\r\n");
}

/// Appends a cell, quoted where it has to be.
pub(crate) fn write_csv_cell(output: &mut Vec<u8>, cell: &str) {
    let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
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
mod tests {
    use super::*;
    use crate::json::parse_signal;

    #[test]
    fn a_row_has_every_column_and_no_formula() {
        let line = r#"{"id":"7","slug":"s","title":"=1+1, \"x\"","companySlug":"-c","date":"2026-06-12",
            "publishedAt":"2026-06-12","funding":{"stage":"Seed","amount":1500000.5,"currency":"EUR"}}"#;
        let item = Item {
            signal: parse_signal(line.as_bytes()).expect("a signal"),
            company_name: "A\nB".into(),
        };
        let mut row = Vec::new();
        write_csv_item(&mut row, &item);
        assert_eq!(
            String::from_utf8(row).expect("text"),
            "7,s,\"'=1+1, \"\"x\"\"\",,,2026-06-12,2026-06-12T00:00:00Z,,\"'-c\",\"A\nB\",,,,,Seed,1500000.5,EUR\r\n"
        );
        let mut header = Vec::new();
        write_csv_header(&mut header);
        let commas = header.iter().filter(|&&byte| byte == b',').count();
        assert_eq!(commas + 1, CSV_COLUMNS.len());
    }
}
