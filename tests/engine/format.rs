//! docs/format.md against what is written: the versions, and the table of sections.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use signaldex::{Company, IndexBuilder};

use crate::house::root;

/// The kind and the field of a section.
type Section = (u32, u16);

const NO_FIELD: u16 = 65535;

#[test]
fn the_document_lists_the_sections_of_the_stored_index() {
    let documented = documented_sections();
    let files = fs::read_dir(root().join("data/index/v1")).expect("the stored index");
    let paths = files.map(|file| file.expect("an entry").path());
    let is_segment = |path: &PathBuf| path.to_string_lossy().contains("segment-");
    let segments: Vec<PathBuf> = paths.filter(is_segment).collect();
    assert_eq!(segments.len(), 2);
    for path in segments {
        let stored = stored_sections(&fs::read(path).expect("a stored segment"));
        let missing: Vec<_> = stored.difference(&documented).collect();
        let unused: Vec<_> = documented.difference(&stored).collect();
        assert!(missing.is_empty(), "not in docs/format.md: {missing:?}");
        assert!(unused.is_empty(), "only in docs/format.md: {unused:?}");
    }
}

#[test]
fn the_document_names_the_versions_that_are_written() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut builder = IndexBuilder::in_directory(folder.path()).expect("an empty folder");
    builder
        .add_company(&Company::new("acme", "Acme"))
        .expect("a folder with room");
    builder.finish().expect("an index");
    let written = |file: &str, offset: usize| {
        let bytes = fs::read(folder.path().join(file)).expect("a file of the index");
        u16::from_le_bytes([bytes[offset], bytes[offset + 1]])
    };
    let segment = "segment-00000000000000000001";
    let (format, analysis) = (written(segment, 8), written(segment, 10));
    assert_eq!(written("manifest", 8), format);
    assert_eq!(analysis, signaldex::text::ANALYSIS_VERSION);
    // The sentence at the top, and the rows of the headers.
    assert_eq!(documented_versions("format version"), [format; 3]);
    assert_eq!(documented_versions("text-analysis version"), [analysis; 2]);
}

/// The numbers behind a name, as in `format version 7` and `format version: 7`.
fn documented_versions(name: &str) -> Vec<u16> {
    let text = fs::read_to_string(root().join("docs/format.md")).expect("the document");
    let text = text.to_lowercase();
    let behind = text.split(name).skip(1);
    let number = behind.filter_map(|text| {
        let digits = text.strip_prefix(": ").or(text.strip_prefix(' '))?;
        let end = digits.find(|letter: char| !letter.is_ascii_digit());
        digits[..end.unwrap_or(digits.len())].parse().ok()
    });
    number.collect()
}

/// The rows of the document's table: `| 6 | KeyEnds | 0 to 13 | ... |` stands for 14 sections.
fn documented_sections() -> BTreeSet<Section> {
    let text = fs::read_to_string(root().join("docs/format.md")).expect("the document");
    let (_, table) = text.split_once("| kind | name |").expect("the table");
    let rows = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let mut sections = BTreeSet::new();
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let kind = cells[1].parse().expect("the number of a kind");
        sections.extend(fields(cells[3]).into_iter().map(|field| (kind, field)));
    }
    sections
}

/// The fields of a cell such as `none` or `0 to 10, 14`.
fn fields(cell: &str) -> Vec<u16> {
    if cell == "none" {
        return vec![NO_FIELD];
    }
    let number = |text: &str| text.parse::<u16>().expect("the number of a field");
    let ranges = cell.split(", ").map(|range| {
        let (first, last) = range.split_once(" to ").unwrap_or((range, range));
        number(first)..=number(last)
    });
    ranges.flatten().collect()
}

/// Reads the table as the document describes it, without the engine.
fn stored_sections(file: &[u8]) -> BTreeSet<Section> {
    let number = |offset: usize, width: usize| {
        let mut bytes = [0; 8];
        bytes[..width].copy_from_slice(&file[offset..offset + width]);
        u64::from_le_bytes(bytes) as usize
    };
    let table = number(file.len() - 32, 8);
    let field_postings = number(table + 12, 8);
    let count = table + 20 + 4 * field_postings;
    let entries = (0..number(count, 8)).map(|index| count + 8 + 26 * index);
    let sections = entries.map(|entry| (number(entry, 4) as u32, number(entry + 4, 2) as u16));
    sections.collect()
}
