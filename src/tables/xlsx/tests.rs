//! Workbooks at their bounds, and with rows and cells left out.

use std::io::Write;

use tempfile::NamedTempFile;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;
use crate::tables::Cell;

const TYPES: &str = r#"<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>"#;
const ROOT: &str = r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>"#;
const RELATIONS: &str = r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>"#;
const BOOK: &str = r#"<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="One" sheetId="1" r:id="r1"/></sheets></workbook>"#;

/// Cells of the style 1 are days.
const STYLES: &str = r#"<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>"#;

/// A workbook of one sheet with these rows, and with `shared_bytes` of shared texts.
pub(crate) fn workbook(rows: &str, shared_bytes: usize) -> NamedTempFile {
    let sheet = format!(
        r#"<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{rows}</sheetData></worksheet>"#
    );
    let frame = "<sst></sst>";
    let shared = format!(
        "<sst>{}</sst>",
        " ".repeat(shared_bytes.saturating_sub(frame.len()))
    );
    let mut file = NamedTempFile::new().expect("a temporary file can be made");
    let mut writer = ZipWriter::new(file.as_file_mut());
    let parts = [
        ("[Content_Types].xml", TYPES),
        ("_rels/.rels", ROOT),
        ("xl/workbook.xml", BOOK),
        ("xl/_rels/workbook.xml.rels", RELATIONS),
        ("xl/styles.xml", STYLES),
        ("xl/worksheets/sheet1.xml", &sheet),
        ("xl/sharedStrings.xml", &shared),
    ];
    for (name, content) in parts {
        writer
            .start_file(name, SimpleFileOptions::default())
            .expect("a part");
        writer.write_all(content.as_bytes()).expect("its content");
    }
    writer.finish().expect("an archive");
    file
}

fn text_cell_at(place: &str, text: &str) -> String {
    format!(r#"<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>"#)
}

/// A row with its number, as text.
type ShownRow = (u64, String);

/// The header and the rows.
fn read(file: &NamedTempFile) -> Result<(Vec<String>, Vec<ShownRow>)> {
    let mut book = Workbook::open(file.path(), &FileOptions::default())?;
    let mut rows = RowBatch::default();
    while book.next_row(&mut rows)? {}
    let shown = rows.iter().map(|(number, row)| {
        let cells = row.map(|cells| {
            cells
                .iter()
                .map(|cell| cell.shown())
                .collect::<Vec<String>>()
                .join("|")
        });
        (number, cells.unwrap_or_else(ToString::to_string))
    });
    Ok((book.header().to_vec(), shown.collect()))
}

#[test]
fn rows_begin_in_the_first_column_whatever_is_left_out() {
    let rows = [
        format!(
            r#"<row r="3">{}{}</row>"#,
            text_cell_at("A3", "slug"),
            text_cell_at("C3", "name")
        ),
        format!(
            r#"<row r="5">{}<c r="C5"><v>120</v></c></row>"#,
            text_cell_at("B5", "b")
        ),
        r#"<row r="6"><c r="A6"/></row>"#.to_owned(),
        format!(r#"<row r="7">{}</row>"#, text_cell_at("D7", "too far")),
    ];
    let (header, rows) = read(&workbook(&rows.concat(), 0)).expect("a workbook");
    assert_eq!(header, ["slug", "", "name"]);
    assert_eq!(rows[0], (5, "an empty cell|\"b\"|120".to_owned()));
    assert_eq!(
        rows[1],
        (7, "the row has 4 cells and the header 3".to_owned())
    );
    assert_eq!(rows.len(), 2);
}

#[test]
fn errors_and_truth_values_are_faults() {
    let row = format!(
        r##"<row r="1">{}{}</row><row r="2"><c r="A2" t="e"><v>#N/A</v></c><c r="B2" t="b"><v>1</v></c></row>"##,
        text_cell_at("A1", "slug"),
        text_cell_at("B1", "name")
    );
    let file = workbook(&row, 0);
    let mut book = Workbook::open(file.path(), &FileOptions::default()).expect("a workbook");
    let mut rows = RowBatch::default();
    assert!(book.next_row(&mut rows).expect("a row"));
    let (_, cells) = rows.iter().next().expect("a row");
    let cells: Vec<Cell<'_>> = cells.expect("cells").iter().collect();
    assert_eq!(cells, [Cell::Other("#N/A"), Cell::Other("TRUE")]);
}

#[test]
fn parts_are_bounded_when_decompressed() {
    let file = workbook("", 5000);
    assert!(check_sizes(file.path(), 1000, 5000).is_ok());
    let refused = check_sizes(file.path(), 1000, 4999).expect_err("too large");
    assert!(
        refused
            .to_string()
            .contains("sharedstrings.xml has more than 4999 bytes"),
        "{refused}"
    );
    assert!(check_sizes(file.path(), 50, 5000).is_err());
}

#[test]
fn a_row_has_at_most_a_thousand_columns() {
    let row = |place: &str| format!(r#"<row r="1">{}</row>"#, text_cell_at(place, "slug"));
    assert_eq!(
        read(&workbook(&row("ALL1"), 0))
            .expect("a workbook")
            .0
            .len(),
        COLUMNS_MAX
    );
    let refused = read(&workbook(&row("ALM1"), 0)).expect_err("too many");
    assert!(
        refused
            .to_string()
            .contains("column 1001; at most 1000 are allowed"),
        "{refused}"
    );
}

#[test]
fn damage_is_an_error() {
    for bytes in [&b"PK\x03\x04"[..], b"PK\x03\x04[Content_Types].xml", b""] {
        let mut file = NamedTempFile::new().expect("a temporary file can be made");
        file.write_all(bytes).expect("it can be written");
        let refused = Workbook::open(file.path(), &FileOptions::default());
        assert!(refused.is_err());
    }
}
