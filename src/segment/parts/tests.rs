//! What belongs to which part.

use std::collections::HashSet;

use super::*;
use crate::segment::schema;

#[test]
fn every_section_is_checked_with_a_part_or_by_itself() {
    for (section, field) in schema::sections() {
        let by_itself = [
            SectionKind::PostingRows,
            SectionKind::Containers,
            SectionKind::Arrays,
            SectionKind::Bitsets,
            SectionKind::Records,
            SectionKind::Checkpoints,
        ];
        let kind = section.kind;
        let part = Part::of(kind, field);
        assert_eq!(
            part.is_none(),
            by_itself.contains(&kind),
            "{kind:?} of {field:?}"
        );
    }
}

#[test]
fn parts_have_bits_of_their_own_and_all_have_sections() {
    let bits: HashSet<u64> = Part::all().map(Part::bit).collect();
    assert_eq!(bits.len(), Part::all().count());
    // Value counts have an optional section, which is not in the schema.
    for part in Part::all().filter(|&part| part != Part::ValueCounts) {
        let mut sections = schema::sections();
        assert!(
            sections.any(|(section, field)| Part::of(section.kind, field) == Some(part)),
            "{part:?}"
        );
    }
}
