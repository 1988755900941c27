//! Sections of later releases: optional ones are passed over, others are refused.

use super::*;
use crate::ErrorKind;
use crate::encoding::row::Row;
use crate::segment::{Segment, SegmentBuilder, check_file};
use crate::signal::{Company, Signal, SignalId};

fn segment() -> Vec<u8> {
    let mut builder = SegmentBuilder::new(Vec::new()).expect("memory");
    builder
        .add_company(&Company::new("acme", "Acme"))
        .expect("added");
    let signal = Signal::new(SignalId::MIN, "acme", "Acme hires");
    builder.add_signal(&signal).expect("added");
    builder.finish().expect("a segment")
}

/// The segment with a further section of a kind, as a later release would write it.
fn with_section(file: &[u8], kind: KindNumber, content: &[u8]) -> Vec<u8> {
    let (table, start) = read_table_at(file).expect("a table");
    let mut longer = file[..start].to_vec();
    longer.resize(start.next_multiple_of(SECTION_ALIGNMENT as usize), 0);
    let entry = SectionEntry {
        kind,
        field: Field::None.number(),
        offset: longer.len() as u64,
        length: content.len() as u64,
        checksum: crc32c::crc32c(content),
    };
    longer.extend_from_slice(content);
    let mut sections = StoredTable::of(&table).sections;
    sections.push(entry);
    let head = (
        table.format_version,
        table.analysis_version,
        table.rows,
        table.companies,
    );
    let bytes =
        bincode::serde::encode_to_vec((head, &table.field_postings, sections), table_encoding());
    let bytes = bytes.expect("a table");
    let offset = longer.len() as u64;
    longer.extend_from_slice(&bytes);
    longer.extend_from_slice(&offset.to_le_bytes());
    longer.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    longer.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
    let length = longer.len() as u64 + 16;
    longer.extend_from_slice(&length.to_le_bytes());
    longer.extend_from_slice(FOOTER_MAGIC);
    longer
}

#[test]
fn an_optional_section_of_a_later_release_is_passed_over() {
    let file = segment();
    for kind in [OPTIONAL_KINDS + 1, OPTIONAL_KINDS + 7, KindNumber::MAX] {
        let longer = with_section(&file, kind, b"what a later release knows");
        check_file(&longer[..]).expect("a whole file");
        let (old, new) = (Segment::from_bytes(&file), Segment::from_bytes(&longer));
        let (old, new) = (old.expect("a segment"), new.expect("a segment"));
        new.verify().expect("a whole segment");
        let first = Row(0);
        let signal = |segment: &Segment| segment.signal(first).expect("a record").into_owned();
        assert_eq!(signal(&new), signal(&old));
        assert!(new.section_sizes().eq(old.section_sizes()));
    }
}

#[test]
fn damage_of_an_optional_section_is_found_by_verify_and_one_outside_the_file_at_once() {
    let mut file = with_section(
        &segment(),
        OPTIONAL_KINDS + 1,
        b"what a later release knows",
    );
    let place = file
        .windows(4)
        .position(|window| window == b"what")
        .expect("the content");
    file[place] ^= 1;
    let segment = Segment::from_bytes(&file).expect("not read");
    let error = segment.verify().expect_err("damage").to_string();
    assert!(
        error.contains("65537") && error.contains("checksum"),
        "{error}"
    );
    file[place] ^= 1;
    let (table, start) = read_table_at(&file).expect("a table");
    let mut entry = *table.optional.last().expect("a section");
    entry.offset = file.len().next_multiple_of(SECTION_ALIGNMENT as usize) as u64;
    assert!(check_bounds(&file, &entry).is_err());
    assert!(start > place);
}

#[test]
fn any_other_unknown_kind_is_damage() {
    let file = segment();
    for kind in [SECTIONS.len() as KindNumber, OPTIONAL_KINDS - 1] {
        let longer = with_section(&file, kind, b"unknown");
        let error = Segment::from_bytes(&longer).expect_err("an unknown kind");
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains(&kind.to_string()), "{error}");
    }
}
