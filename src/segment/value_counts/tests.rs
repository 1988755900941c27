//! Value counts: those of every posting, their damage, and the bytes that they take.

use super::*;
use crate::encoding::row::Row;
use crate::fixtures::Random;
use crate::segment::{Segment, SegmentBuilder};
use crate::signal::{Company, Signal, SignalId};

const CATEGORIES: [&str; 3] = ["funding", "hiring", "launch"];

/// A segment of `rows` signals of some companies.
fn segment_bytes(rows: u64) -> Vec<u8> {
    let mut random = Random::new(rows);
    let mut builder = SegmentBuilder::new(Vec::new()).expect("memory");
    for (slug, country) in [("a", Some("France")), ("b", Some("Japan")), ("c", None)] {
        let mut company = Company::new(slug, slug);
        company.country = country.map(Into::into);
        builder.add_company(&company).expect("a valid company");
    }
    for id in 1..=rows {
        let id = SignalId::new(id).expect("a small number");
        let title = format!("{} hires", random.word(&["Acme", "Beta", "Gamma"]));
        let mut signal = Signal::new(id, random.word(&["a", "b", "c"]), title);
        signal.category = random.chance(90).then(|| random.word(&CATEGORIES).into());
        builder.add_signal(&signal).expect("a valid signal");
    }
    builder.finish().expect("memory")
}

/// The values of a facet among the rows of a posting, one by one.
fn counted(segment: &Segment, posting: PostingId, facet: Facet) -> Vec<u64> {
    let mut counts = vec![0; segment.facet(facet).len()];
    let column = segment.facet_column(facet).expect("a whole segment");
    for row in segment.posting(posting).expect("a whole segment").rows() {
        if let Some(value) = column.get(Row(row.0)).checked_sub(1) {
            counts[value as usize] += 1;
        }
    }
    counts
}

#[test]
fn the_counts_of_each_posting_are_those_of_its_rows() {
    for rows in [1, 40, 700, 70_000] {
        let segment = Segment::from_bytes(&segment_bytes(rows)).expect("a segment");
        let stored: Vec<PostingId> = segment.views().value_counts.postings().collect();
        assert!(
            stored.len() >= 3,
            "{rows} rows have {} postings",
            stored.len()
        );
        for posting in stored {
            let counts = segment.value_counts(posting).expect("whole counts");
            let counts = counts.expect("stored counts");
            for facet in Facet::ALL {
                let mut read = vec![0; segment.facet(facet).len()];
                counts.add_to(facet, &mut read);
                assert_eq!(
                    read,
                    counted(&segment, posting, facet),
                    "{rows}, {posting:?}, {facet:?}"
                );
            }
        }
        segment.verify().expect("a whole segment");
    }
}

/// The section of a segment.
fn section(segment: &[u8]) -> &[u8] {
    let (table, _) = super::super::format::read_table(segment).expect("a table");
    let mut optional = table.optional.iter();
    let entry = optional
        .find(|entry| entry.kind == VALUE_COUNTS)
        .expect("counts");
    &segment[entry.offset as usize..][..entry.length as usize]
}

/// Words with these bytes, aligned as those of a section.
fn aligned(bytes: &[u8]) -> Vec<u32> {
    let mut words = vec![0; bytes.len().div_ceil(4)];
    bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
    words
}

/// Reads everything that a section says.
fn read_all(bytes: &[u8], values: [usize; FACETS]) -> Result<()> {
    let counts = ValueCounts::new(bytes)?;
    counts.validate(u32::MAX)?;
    for index in 0..counts.len() {
        counts.validate_counts(index, values)?;
        let of = counts.get(index, values);
        for facet in Facet::ALL {
            of.add_to(facet, &mut vec![0; values[facet as usize]]);
        }
    }
    Ok(())
}

#[test]
fn each_changed_bit_and_each_shorter_section_is_an_error() {
    let file = segment_bytes(40);
    let values = Segment::from_bytes(&file).expect("a segment").facet_sizes();
    let mut words: Vec<u32> = aligned(section(&file));
    let length = section(&file).len();
    read_all(&bytemuck::cast_slice(&words)[..length], values).expect("a whole section");
    for length in 0..length {
        let bytes = &bytemuck::cast_slice(&words)[..length];
        assert!(read_all(bytes, values).is_err(), "{length} bytes");
    }
    for bit in 0..8 * length {
        let flip = |words: &mut [u32]| {
            bytemuck::cast_slice_mut::<u32, u8>(words)[bit / 8] ^= 1 << (bit % 8);
        };
        flip(&mut words);
        let bytes = &bytemuck::cast_slice(&words)[..length];
        assert!(read_all(bytes, values).is_err(), "bit {bit}");
        flip(&mut words);
    }
}

#[test]
fn forged_counts_with_right_checksums_are_read_or_refused_without_panic() {
    let mut random = Random::new(7);
    for _ in 0..2_000 {
        let bytes: Vec<u8> = (0..random.below(60))
            .map(|_| random.below(5) as u8)
            .collect();
        let kept = [(PostingId(random.below(4) as u32), bytes)];
        let mut section = section_of(&kept);
        if random.chance(20) {
            section.truncate(random.below(section.len() as u64) as usize);
        }
        let words: Vec<u32> = aligned(&section);
        let _ = read_all(&bytemuck::cast_slice(&words)[..section.len()], [2; FACETS]);
    }
}

#[test]
fn counts_that_are_not_those_of_the_rows_are_found_by_verify() {
    let mut file = segment_bytes(40);
    let (start, forged) = {
        let bytes = section(&file);
        let words: Vec<u32> = aligned(bytes);
        let counts = ValueCounts::new(&bytemuck::cast_slice(&words)[..bytes.len()]).expect("whole");
        let kept = counts.postings().enumerate();
        let mut kept: Vec<_> = kept
            .map(|(index, id)| (id, counts.bytes_of(index).to_vec()))
            .collect();
        // The last number of the first posting.
        *kept[0].1.last_mut().expect("numbers") ^= 1;
        let start = bytes.as_ptr() as usize - file.as_ptr() as usize;
        (start, section_of(&kept))
    };
    file[start..start + forged.len()].copy_from_slice(&forged);
    let segment = Segment::from_bytes(&file).expect("the section's own checksums are right");
    assert!(segment.verify_value_counts().is_err());
}

#[test]
fn the_section_takes_its_share_of_the_file_at_most_the_most_frequent_first() {
    let rows: Vec<u32> = (0..1000).collect();
    let mut sections = crate::encoding::posting::PostingSections::default();
    for n in [10, 1000, 100, 500] {
        sections.push(&rows[..n], 1000, crate::encoding::posting::Optimize::Time);
    }
    let bytes: Vec<u8> = (0..1000_u32).map(|row| (row % 8) as u8).collect();
    let facet = CountedFacet {
        values: 20,
        first_posting: 4,
        column: FacetColumn::new(&bytes, 1000, 20).expect("a column"),
    };
    // Values without rows, which are intersected with sets.
    (0..20).for_each(|_| sections.push(&[], 1000, crate::encoding::posting::Optimize::Time));
    let facets = [facet; FACETS];
    let view = sections.view();
    for file_bytes in 0..3_000 {
        let section = encode((&view, 4), &facets, 1000, file_bytes).expect("whole postings");
        let length = section.as_ref().map_or(0, Vec::len) as u64;
        assert!(
            length * FILE_SHARE <= file_bytes,
            "{length} of {file_bytes}"
        );
        let Some(section) = section else { continue };
        let words: Vec<u32> = aligned(&section);
        let counts =
            ValueCounts::new(&bytemuck::cast_slice(&words)[..section.len()]).expect("whole");
        let ids: Vec<u32> = counts.postings().map(|id| id.0).collect();
        let frequent_first = [vec![1], vec![1, 3], vec![1, 2, 3], vec![0, 1, 2, 3]];
        assert!(frequent_first.contains(&ids), "{ids:?}");
    }
}
