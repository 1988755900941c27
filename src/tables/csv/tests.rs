//! Files of CSV as rows of cells.

use std::io::Write;

use proptest::prelude::*;
use tempfile::NamedTempFile;

use super::*;
use crate::tables::{Cell, FileOptions, Source};

fn file(text: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary file can be made");
    file.write_all(text).expect("it can be written");
    file
}

/// A row's line number, and its cells or what is wrong.
type Row = (u64, Result<Vec<String>, String>);

/// The header and the rows of a table, or why it is none.
fn read_with(text: &[u8], options: &FileOptions) -> Result<(Vec<String>, Vec<Row>), String> {
    let file = file(text);
    let source = Source::open(file.path(), options).map_err(|error| error.to_string())?;
    let Source::Table(mut table) = source else {
        return Err("no table".to_owned());
    };
    let mut rows = RowBatch::default();
    while table
        .next_row(&mut rows)
        .map_err(|error| error.to_string())?
    {}
    let shown = rows.iter().map(|(number, row)| {
        let cells = row.map(|cells| {
            let texts = cells.iter().map(|cell| match cell {
                Cell::Text(text) => text.to_owned(),
                _ => String::new(),
            });
            texts.collect()
        });
        (number, cells.map_err(ToString::to_string))
    });
    Ok((table.header().to_vec(), shown.collect()))
}

fn read(text: &[u8]) -> (Vec<String>, Vec<Row>) {
    read_with(text, &FileOptions::default()).expect("a table")
}

fn row(number: u64, cells: &[&str]) -> Row {
    (
        number,
        Ok(cells.iter().map(|cell| (*cell).to_owned()).collect()),
    )
}

#[test]
fn rows_have_the_numbers_of_their_first_lines() {
    let text = "\u{feff}id,title,note\r\n\
                1,\"Acme, \"\"the\"\" firm\",x\r\n\
                \r\n\
                ,,\r\n\
                2,\"two\r\n\r\nlines\",\n\
                3,last,";
    let (header, rows) = read(text.as_bytes());
    assert_eq!(header, ["id", "title", "note"]);
    let expected = [
        row(2, &["1", "Acme, \"the\" firm", "x"]),
        row(5, &["2", "two\n\nlines", ""]),
        row(8, &["3", "last", ""]),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn separators_are_counted_outside_of_quotes() {
    for separator in [",", ";", "\t", "|"] {
        let text = "id§\"a,b;c,d;e,f;g\"§c§d§e§f§g§h\n1§2§3§4§5§6§7§8\n".replace('§', separator);
        let (header, rows) = read(text.as_bytes());
        assert_eq!((header.len(), rows.len()), (8, 1), "{separator:?}");
        assert!(rows[0].1.is_ok());
    }
    let (header, rows) = read(b"sep=;\nid;a,b,c\n1;2\n");
    assert_eq!(header, ["id", "a,b,c"]);
    assert_eq!(rows, [row(3, &["1", "2"])]);
}

#[test]
fn options_choose_the_separator_and_the_header() {
    let options = FileOptions {
        delimiter: Some(b'|'),
        skip_rows: 2,
        ..FileOptions::default()
    };
    let found = read_with(b"Companies\n\nid|a,b,c\n1|2\n", &options);
    assert_eq!(
        found,
        Ok((
            vec!["id".to_owned(), "a,b,c".to_owned()],
            vec![row(4, &["1", "2"])]
        ))
    );
}

#[test]
fn broken_rows_say_what_is_wrong_and_the_next_one_is_read() {
    let (_, rows) = read(b"id,title\n1\n2,a,b\n4,good\n5,\"open\n6,x\n");
    let shown: Vec<String> = rows
        .into_iter()
        .map(|(number, row)| format!("{number}: {row:?}"))
        .collect();
    assert_eq!(
        shown,
        [
            "2: Err(\"the row has 1 cells and the header 2; quote a cell that holds the separator\")",
            "3: Err(\"the row has 3 cells and the header 2; quote a cell that holds the separator\")",
            "4: Ok([\"4\", \"good\"])",
            "5: Err(\"a quoted cell is not closed before the end of the file\")",
        ]
    );
}

#[test]
fn bytes_that_are_not_utf_8_end_the_load_with_the_encoding_that_they_look_like() {
    let refused =
        read_with(b"id,title\n1,a\n2,Caf\xe9\n", &FileOptions::default()).expect_err("not UTF-8");
    assert!(
        refused.contains(":3: is not UTF-8 and looks like windows-1252: --encoding windows-1252"),
        "{refused}"
    );
}

#[test]
fn a_table_has_at_most_a_thousand_columns() {
    let header = |columns: usize| {
        (0..columns)
            .map(|n| format!("c{n}"))
            .collect::<Vec<_>>()
            .join(",")
    };
    assert_eq!(read(header(COLUMNS_MAX).as_bytes()).0.len(), COLUMNS_MAX);
    let refused = read_with(header(COLUMNS_MAX + 1).as_bytes(), &FileOptions::default());
    assert!(refused.is_err_and(|reason| reason.contains("at most 1000 are allowed")));
}

#[test]
fn a_row_has_at_most_sixteen_mebibytes() {
    let text = |bytes: usize| {
        format!(
            "id,title\n1,\"{}\"\n2,b\n",
            format!("{}\n", "x".repeat(1023)).repeat(bytes / 1024)
        )
    };
    let (_, rows) = read(text(LINE_BYTES_MAX - 4096).as_bytes());
    assert!(rows[0].1.is_ok());
    let (_, rows) = read(text(LINE_BYTES_MAX + 4096).as_bytes());
    assert!(
        rows[0]
            .1
            .as_ref()
            .is_err_and(|reason| reason.contains("longer than 16777216 bytes")),
        "{}",
        rows.len()
    );
}

proptest! {
    #[test]
    fn any_cells_come_out_as_they_went_in(rows in prop::collection::vec(prop::collection::vec("[a-z,;\"\n é]{0,9}", 3), 1..20)) {
        let quoted = |cell: &String| format!("\"{}\"", cell.replace('"', "\"\""));
        let mut text = "id,title,slug\n".to_owned();
        for row in &rows {
            text.push_str(&row.iter().map(quoted).collect::<Vec<_>>().join(","));
            text.push('\n');
        }
        let (_, found) = read(text.as_bytes());
        let is_blank = |row: &&Vec<String>| row.iter().all(|cell| cell.bytes().all(|byte| byte.is_ascii_whitespace()));
        let expected: Vec<&Vec<String>> = rows.iter().filter(|row| !is_blank(row)).collect();
        prop_assert_eq!(found.len(), expected.len());
        for ((_, cells), row) in found.iter().zip(expected) {
            prop_assert_eq!(cells.as_ref(), Ok(row));
        }
    }

    #[test]
    fn any_bytes_are_read_to_their_end(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok((_, rows)) = read_with(&[b"id,title,slug\n", &bytes[..]].concat(), &FileOptions::default()) {
            prop_assert!(rows.len() <= 1 + bytes.len());
        }
    }
}

#[test]
fn lines_that_end_with_cr_alone_are_refused_by_name() {
    for text in ["id,title\r1,Acme\r2,Bolt\r", &"1,Acme\r".repeat(2000)] {
        let refused = read_with(text.as_bytes(), &FileOptions::default());
        let message = refused.expect_err("no rows");
        assert!(message.contains("lines end with CR alone"), "{message}");
    }
    // Within a quoted cell it stays.
    let (_, rows) = read(b"id,title\n1,\"Acme\rhires\"\n");
    assert_eq!(rows, [row(2, &["1", "Acme\rhires"])]);
}
