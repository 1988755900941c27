//! Files of CSV as the lines of JSON that they become.

use std::io::Write;

use proptest::prelude::*;
use tempfile::NamedTempFile;

use crate::json::fields::RecordKind;
use crate::json::item_csv::write_csv_cell;
use crate::json::records::RecordReader;
use crate::json::rename::Renames;

fn file(text: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary file can be made");
    file.write_all(text).expect("it can be written");
    file
}

/// Each record's line number, and its JSON or what is wrong.
fn read(text: &[u8], renames: &[(&str, &str)]) -> Vec<(u64, String)> {
    let mut names = Renames::default();
    for (theirs, ours) in renames {
        names.add(theirs, ours).expect("a field");
    }
    let file = file(text);
    let records = RecordReader::open(file.path(), RecordKind::Signal, &names);
    let mut records = match records {
        Ok(records) => records,
        Err(error) => return vec![(0, error.to_string())],
    };
    let mut found = Vec::new();
    while let Some(line) = records.next().expect("a readable file") {
        let content = match line.content {
            Ok(content) => String::from_utf8(content.to_vec()).expect("text"),
            Err(error) => error.to_string(),
        };
        found.push((line.number, content));
    }
    found
}

#[test]
fn rows_become_lines_of_json() {
    let text = "\u{feff}id,title,funding.stage,hiring.seniority,funding.amount,note\r\n\
                1,\"Acme, \"\"the\"\" firm\",Seed,senior,1.5,x\r\n\
                \r\n\
                2,\"two\r\n\r\nlines\",,,,\n\
                3,last,,,,";
    let expected = [
        (
            2,
            r#"{"id":"1","title":"Acme, \"the\" firm","note":"x","funding":{"stage":"Seed","amount":"1.5"},"hiring":{"seniority":"senior"}}"#,
        ),
        (4, r#"{"id":"2","title":"two\n\nlines"}"#),
        (7, r#"{"id":"3","title":"last"}"#),
    ];
    let expected = expected.map(|(number, line)| (number, line.to_owned()));
    assert_eq!(read(text.as_bytes(), &[]), expected);
}

#[test]
fn line_ends_of_a_written_cell_are_read_as_lf() {
    let mut text = b"id,title,evidence\r\n1,".to_vec();
    write_csv_cell(&mut text, "a\r\nb\rc\n\r\n");
    text.extend_from_slice(b",x\r\n2,d,\r\n");
    let expected = [
        (
            2,
            r#"{"id":"1","title":"a\nb\rc\n\n","evidence":"x"}"#.to_owned(),
        ),
        (6, r#"{"id":"2","title":"d"}"#.to_owned()),
    ];
    assert_eq!(read(&text, &[]), expected);
}

#[test]
fn the_header_may_have_other_names_and_separators() {
    for separator in [",", ";", "\t"] {
        let text = "No§Headline§\"Stage\"\n7§a§b\n".replace('§', separator);
        let names = [
            ("No", "id"),
            ("Headline", "title"),
            ("Stage", "funding.stage"),
        ];
        let expected = r#"{"id":"7","title":"a","funding":{"stage":"b"}}"#;
        assert_eq!(read(text.as_bytes(), &names), [(2, expected.to_owned())]);
    }
}

#[test]
fn broken_rows_say_what_is_wrong_and_the_next_one_is_read() {
    let text = b"id,title\n1\n2,a,b\n3,\xff\n4,good\n5,\"open\n6,x\n";
    let shown: Vec<String> = read(text, &[])
        .into_iter()
        .map(|(number, line)| format!("{number}: {line}"))
        .collect();
    assert_eq!(
        shown,
        [
            "2: the row has 1 cells and the header 2; quote a cell that holds the separator",
            "3: the row has 3 cells and the header 2; quote a cell that holds the separator",
            "4: not UTF-8",
            r#"5: {"id":"4","title":"good"}"#,
            "6: a quoted cell is not closed before the end of the file",
        ]
    );
}

#[test]
fn a_header_with_a_column_twice_is_refused() {
    let names = [("headline", "title")];
    for text in ["id,title,title\n", "id,title,headline\n"] {
        let found = read(text.as_bytes(), &names);
        assert!(
            found[0].1.ends_with(
                "the header: the column \"title\" is given twice; a column is given once"
            ),
            "{found:?}"
        );
    }
}

#[test]
fn what_is_no_header_is_read_as_json() {
    for text in ["not json\n", "{\"id\": 1, \"title\": 2}\n", "a,b\n1,2\n"] {
        let first = text.lines().next().expect("a line").to_owned();
        assert_eq!(read(text.as_bytes(), &[])[0], (1, first));
    }
}

#[test]
fn a_json_array_is_refused_with_the_way_out() {
    let found = read(b"[\n{\"id\": 1}]\n", &[]);
    assert!(
        found[0]
            .1
            .contains("is a JSON array; one object a line is needed: jq -c '.[]'"),
        "{found:?}"
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
        let found = read(text.as_bytes(), &[]);
        prop_assert_eq!(found.len(), rows.len());
        for ((_, line), row) in found.iter().zip(&rows) {
            let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
            for (name, cell) in ["id", "title", "slug"].iter().zip(row) {
                prop_assert_eq!(value[name].as_str().unwrap_or_default(), cell);
            }
        }
    }

    #[test]
    fn any_bytes_are_read_to_their_end(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let found = read(&[b"id,title,slug\n", &bytes[..]].concat(), &[]);
        prop_assert!(found.len() <= 1 + bytes.len());
    }
}
