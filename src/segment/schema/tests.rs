//! The table of sections against the document.

use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use super::*;
use crate::segment::format::FieldNumber;

#[test]
fn the_document_has_the_table_of_sections() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/format.md");
    let document = fs::read_to_string(path).unwrap();
    let (_, table) = document.split_once("| kind | name |").unwrap();
    let documented = table.lines().skip(2);
    let documented: Vec<&str> = documented
        .take_while(|line| line.starts_with('|'))
        .collect();
    let expected: Vec<String> = SECTIONS.iter().map(row_of).collect();
    assert!(documented == expected, "expected:\n{}", expected.join("\n"));
}

/// The row of the document's table.
fn row_of(section: &Section) -> String {
    let Section {
        kind,
        width,
        count,
        what,
        ..
    } = section;
    let fields = fields_of(section);
    format!(
        "| {} | {kind:?} | {fields} | {width} | {count} | {what} |",
        *kind as u32
    )
}

/// The numbers of the fields: `0 to 10, 14`, or `none`.
fn fields_of(section: &Section) -> String {
    if section.fields == [Field::None] {
        return "none".into();
    }
    let mut runs: Vec<RangeInclusive<FieldNumber>> = Vec::new();
    for number in section.fields.iter().map(|field| field.number()) {
        match runs.last_mut() {
            Some(run) if *run.end() + 1 == number => *run = *run.start()..=number,
            _ => runs.push(number..=number),
        }
    }
    let text = |run: RangeInclusive<FieldNumber>| match (run.start(), run.end()) {
        (start, end) if start == end => start.to_string(),
        (start, end) => format!("{start} to {end}"),
    };
    runs.into_iter().map(text).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_section_has_as_many_elements_as_its_row_says() {
    let table = Table {
        format_version: 1,
        analysis_version: 1,
        rows: 70_000,
        companies: 3,
        field_postings: (0..=20).map(|field| 7 * field).collect(),
        sections: Vec::new(),
        optional: Vec::new(),
    };
    let elements = |kind: SectionKind, field| SECTIONS[kind as usize].count.of(field, &table);
    assert_eq!(elements(Kind::Records, Field::None), None);
    assert_eq!(elements(Kind::Permutations, Field::Date), None);
    assert_eq!(elements(Kind::CompanyRows, Field::Company), Some(70_000));
    assert_eq!(elements(Kind::BlockZones, Field::Amount), Some(2));
    assert_eq!(elements(Kind::FineZones, Field::Date), Some(35));
    assert_eq!(elements(Kind::Postings, Field::None), Some(140));
    assert_eq!(elements(Kind::KeyEnds, Field::Title), Some(7));
    assert_eq!(elements(Kind::KeyEnds, Field::CompanyKey), Some(6));
    assert_eq!(elements(Kind::CompanyStarts, Field::Company), Some(4));
    assert_eq!(linear_frames_len(Field::CompanyName, &table), 3);
    assert_eq!(linear_frames_len(Field::CompanyRecord, &table), 3);
    assert_eq!(linear_frames_len(Field::SignalRecord, &table), 70_000);
    assert_eq!(elements(Kind::FrameOfReference, Field::Id), Some(1094));
    assert_eq!(elements(Kind::FrameOfReference, Field::Name), Some(1));

    let zones = &SECTIONS[Kind::BlockZones as usize];
    assert!(zones.check_length(Field::Date, 16, &table).is_ok());
    for bytes in [0, 8, 15, 17, 24] {
        let error = zones.check_length(Field::Date, bytes, &table).unwrap_err();
        let expected = format!(
            "section BlockZones of Date has {bytes} bytes, 8 an element; there should be 2"
        );
        assert_eq!(error.to_string(), expected);
    }
    let rows = &SECTIONS[Kind::PostingRows as usize];
    assert!(rows.check_length(Field::None, 12, &table).is_ok());
    let error = rows.check_length(Field::None, 13, &table).unwrap_err();
    let expected = "section PostingRows of None has 13 bytes, 4 an element";
    assert_eq!(error.to_string(), expected);
}
