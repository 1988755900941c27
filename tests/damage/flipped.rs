//! Flipped bits and cuts: an error that names the file, or the same answers.

use std::fs;
use std::ops::Range;
use std::path::Path;

use signaldex::{ErrorKind, Index, Query};

use crate::fixture::{Whole, is_damage, is_long};
use crate::random::Random;
use crate::segment_file::Table;

/// In the ordinary run, every so manieth bit is flipped and every so manieth length tried; a prime,
/// so that all bits of a byte have their turn.
const STRIDE: usize = 1999;

/// The same for the parts that everything else is found by.
const FRAME_STRIDE: usize = 23;

/// Random bits of each section that are flipped in the long run, and in the ordinary one.
const BITS_OF_SECTION: [usize; 2] = [1000, 2];

/// Kinds of the sections of dictionaries and the order of words, and of the checkpoints.
const DICTIONARIES: [u32; 8] = [6, 7, 8, 9, 21, 22, 32, 33];

/// A damaged copy of a file.
struct Damage {
    name: String,
    bytes: Vec<u8>,
}

fn flipped(whole: &[u8], bit: usize) -> Damage {
    let mut bytes = whole.to_vec();
    bytes[bit / 8] ^= 1 << (bit % 8);
    Damage {
        name: format!("bit {bit} flipped"),
        bytes,
    }
}

fn cut(whole: &[u8], length: usize) -> Damage {
    Damage {
        name: format!("cut at {length}"),
        bytes: whole[..length].to_vec(),
    }
}

/// Every one of some places, or every n-th in the ordinary run.
fn some(places: Range<usize>, n: usize) -> impl Iterator<Item = usize> {
    places.step_by(if is_long() { 1 } else { n })
}

/// Bits all over a file, and lengths.
fn everywhere(whole: &[u8]) -> impl Iterator<Item = Damage> {
    let bits = some(0..whole.len() * 8, STRIDE).map(|bit| flipped(whole, bit));
    bits.chain(some(0..whole.len(), STRIDE).map(|length| cut(whole, length)))
}

/// The parts of a segment by which the rest is found: header, dictionaries, table and footer.
fn frame(whole: &[u8]) -> Vec<Range<usize>> {
    let (table, range) = Table::of(whole).expect("a whole file");
    let dictionaries = table
        .lines
        .iter()
        .filter(|line| DICTIONARIES.contains(&line.kind));
    let dictionaries = dictionaries.filter_map(|line| line.range(whole.len()));
    let ends = [0..16, range.start..whole.len()];
    ends.into_iter().chain(dictionaries).collect()
}

/// Each section with its name, where it is not empty.
fn sections(whole: &[u8]) -> Vec<(String, Range<usize>)> {
    let (table, _) = Table::of(whole).expect("a whole file");
    let lines = table.lines.iter().filter(|line| line.length > 0);
    let named = lines.map(|line| {
        let range = line.range(whole.len()).expect("a whole file");
        (format!("kind {} of field {}", line.kind, line.field), range)
    });
    named.collect()
}

/// Asks everything of damaged copies of a file; returns how many gave an error.
fn check(whole: &Whole, file: &Path, damages: impl Iterator<Item = Damage>) -> usize {
    let expected = whole.answers("none").expect("a whole index");
    let bytes = fs::read(file).expect("a readable file");
    let mut noticed = 0;
    let mut cases = 0;
    for Damage { name, bytes } in damages {
        whole.replace(file, &bytes);
        drop(bytes);
        cases += 1;
        match whole.answers(&name) {
            Ok(answers) => assert_eq!(answers, expected, "{name}"),
            Err(error) => {
                assert!(is_damage(&error), "{name}: {error}");
                assert_eq!(error.path(), Some(file), "{name}: {error}");
                noticed += 1;
            }
        }
    }
    whole.replace(file, &bytes);
    println!("{noticed} of {cases} damaged copies noticed");
    noticed
}

#[test]
fn bits_and_cuts_of_a_segment_never_change_an_answer() {
    let whole = Whole::build();
    let bytes = fs::read(&whole.segment).expect("a readable file");
    assert!(bytes.len() >= 64 * 1024, "{} bytes", bytes.len());
    assert!(check(&whole, &whole.segment, everywhere(&bytes)) > 0);
}

#[test]
fn bits_of_what_the_rest_is_found_by_never_change_an_answer() {
    let whole = Whole::build();
    let bytes = fs::read(&whole.segment).expect("a readable file");
    let bits = frame(&bytes).into_iter();
    let bits = bits.flat_map(|range| some(range.start * 8..range.end * 8, FRAME_STRIDE));
    assert!(check(&whole, &whole.segment, bits.map(|bit| flipped(&bytes, bit))) > 0);
}

#[test]
fn bits_and_cuts_of_a_manifest_are_noticed() {
    let whole = Whole::build();
    let file = whole.manifest();
    let bytes = fs::read(&file).expect("a readable file");
    let bits = (0..bytes.len() * 8).map(|bit| flipped(&bytes, bit));
    let lengths = (0..bytes.len()).map(|length| cut(&bytes, length));
    let all = bytes.len() * 9;
    assert_eq!(check(&whole, &file, bits.chain(lengths)), all);
}

#[test]
fn random_bits_of_each_section_never_change_an_answer() {
    let whole = Whole::build();
    let bytes = fs::read(&whole.segment).expect("a readable file");
    let [long, short] = BITS_OF_SECTION;
    let count = if is_long() { long } else { short };
    let mut random = Random::new(26);
    for (section, range) in sections(&bytes) {
        let bits: Vec<usize> = (0..count)
            .map(|_| range.start * 8 + random.below(range.len() * 8))
            .collect();
        let noticed = check(
            &whole,
            &whole.segment,
            bits.into_iter().map(|bit| flipped(&bytes, bit)),
        );
        println!("{section}: {noticed}");
    }
}

#[test]
fn a_check_notices_each_section_by_name_and_records_when_they_are_read() {
    let whole = Whole::build();
    let bytes = fs::read(&whole.segment).expect("a readable file");
    let (table, _) = Table::of(&bytes).expect("a whole file");
    for line in table.lines.iter().filter(|line| line.length > 0) {
        let range = line.range(bytes.len()).expect("a whole file");
        let damage = flipped(&bytes, range.start * 8 + 3);
        whole.replace(&whole.segment, &damage.bytes);
        let checked = Index::open(whole.path()).and_then(|index| {
            let snapshot = index.snapshot();
            snapshot.check()?;
            snapshot.scan().try_for_each(|found| found.map(drop))
        });
        let error = checked.expect_err("damage");
        assert_eq!(error.path(), Some(&*whole.segment), "{error}");
        let text = error.to_string();
        assert!(
            text.contains("section") && text.contains("checksum"),
            "{text}"
        );
    }
}

#[test]
fn an_error_names_the_file_and_the_section_and_other_questions_are_answered() {
    let whole = Whole::build();
    let bytes = fs::read(&whole.segment).expect("a readable file");
    let (table, _) = Table::of(&bytes).expect("a whole file");
    let (ids_kind, ids_field) = (0, 19);
    let mut lines = table.lines.iter();
    let ids = lines.find(|line| (line.kind, line.field) == (ids_kind, ids_field));
    let ids = ids.and_then(|line| line.range(bytes.len())).expect("ids");
    whole.replace(&whole.segment, &flipped(&bytes, ids.start * 8).bytes);
    let snapshot = Index::open(whole.path())
        .expect("opening reads no ids")
        .snapshot();
    let query = Query::from_query_string("q=series").expect("a query");
    let today = time::macros::date!(2026 - 06 - 30);
    let error = snapshot.search(&query, today).expect_err("damage");
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    let message = error.to_string();
    assert!(
        message.contains("segment-") && message.contains("FrameOfReference"),
        "{message}"
    );
    // Questions that need no ids are answered.
    assert!(
        snapshot
            .count(query.filter(), today)
            .expect("whole postings")
            > 0
    );
}

#[test]
fn verify_covers_every_byte_of_a_segment() {
    let whole = Whole::build();
    let bytes = fs::read(&whole.segment).expect("a readable file");
    // The header's padding ends where the first section starts.
    let padding = (12..64).map(|byte| flipped(&bytes, byte * 8));
    for damage in padding.chain(everywhere(&bytes)) {
        whole.replace(&whole.segment, &damage.bytes);
        let verified = Index::open(whole.path()).and_then(|index| index.snapshot().verify());
        let error = verified.expect_err(&damage.name);
        assert_eq!(
            error.path(),
            Some(&*whole.segment),
            "{}: {error}",
            damage.name
        );
    }
}
