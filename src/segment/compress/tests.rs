//! Compressed segments: the same records in fewer bytes, and no harm from forged ones.

use super::*;
use crate::ErrorKind;
use crate::encoding::row::Row;
use crate::fixtures::Random;
use crate::segment::record::forge_checksum;
use crate::signal::{Company, Signal, SignalId};

const SIGNALS: u64 = 3_000;

/// A builder with signals in any order that have some texts, every tenth of them of random characters. One signal and
/// one company were added twice.
fn builder() -> SegmentBuilder<Vec<u8>> {
    let random = &mut Random::new(7);
    let mut builder = SegmentBuilder::new(Vec::new()).expect("memory");
    for number in 0..20 {
        let mut company = Company::new(format!("acme-{number}"), format!("Acme {number} GmbH"));
        company.about = Some("Builds rockets – and “sells” them".into());
        company.employees = Some(-1);
        builder.add_company(&company).expect("a valid company");
    }
    let company = Company::new("acme-7", "Acme 7 again");
    builder.add_company(&company).expect("a valid company");
    for number in (1..=SIGNALS).chain([1]) {
        // Every number below the prime comes once.
        let id = SignalId::new(number * 7919 % (SIGNALS + 1) * 3).expect("a small number");
        let slug = format!("acme-{}", random.below(20));
        let title = format!("{slug} raises Series {}", random.below(5));
        let mut signal = Signal::new(id, slug, title);
        signal.evidence = Some(evidence(random, number).into());
        signal.published_at = Some(time::macros::utc_datetime!(1969-12-31 23:59:59.000_000_001));
        signal.updated_at = signal.published_at;
        builder.add_signal(&signal).expect("a known company");
    }
    builder
}

/// The bytes of a segment of these signals.
fn plain() -> Vec<u8> {
    builder().finish().expect("memory")
}

fn evidence(random: &mut Random, number: u64) -> String {
    if !number.is_multiple_of(10) {
        return format!(
            "The round of {} million was led by its founders",
            random.below(90)
        );
    }
    let character = |_| char::from_u32(0x4E00 + random.below(0x5000) as u32).unwrap_or('x');
    (0..20).map(character).collect()
}

fn compressed() -> (Segment, Segment) {
    let plain = Segment::from_bytes(&plain()).expect("what was just built");
    let view = |bytes: &Vec<u8>| Ok(Bytes::copy(bytes));
    let mut told = |_| ();
    let progress = &mut FinishProgress::new(&mut told);
    let bytes = builder().finish_compressed(Vec::new(), view, || Ok(()), progress);
    let bytes = bytes.expect("memory");
    let compressed = Segment::from_bytes(&bytes).expect("what was just compressed");
    (plain, compressed)
}

#[test]
fn a_compressed_segment_has_the_same_records_in_fewer_bytes() {
    let (plain, compressed) = compressed();
    compressed.verify().expect("a whole segment");
    let [before, after] = [&plain, &compressed].map(|segment| segment.views().records.len());
    assert!(after * 2 < before, "{after} of {before} bytes");
    let mut buffer = Vec::new();
    for row in plain.rows() {
        let expected = plain.signal(row).expect("a whole record");
        assert_eq!(compressed.signal(row).expect("a whole record"), expected);
        let signal = compressed.signal_in(row, &mut buffer);
        assert_eq!(signal.expect("a whole record"), expected);
    }
    for company in plain.companies() {
        let expected = plain.company(company).expect("a whole record");
        let found = compressed.company(company).expect("a whole record");
        assert_eq!(found, expected);
    }
}

#[test]
fn texts_that_codes_would_lengthen_stay_as_they_are() {
    let encoder = Encoder::train(std::iter::repeat_n(b"raises Series A".as_slice(), 20));
    let mut builder = SegmentBuilder::with_encoder(Vec::new(), Some(encoder)).expect("memory");
    let company = Company::new("acme", "Acme");
    builder.add_company(&company).expect("a valid company");
    for (number, title) in (1..).zip(["raises Series A", "日本語の見出し"]) {
        let id = SignalId::new(number).expect("a small number");
        let signal = Signal::new(id, "acme", title);
        builder.add_signal(&signal).expect("a known company");
    }
    let segment = Segment::from_bytes(&builder.finish().expect("memory")).expect("a segment");
    let stored = |row| segment.stored_signal(Row(row)).expect("a whole record");
    assert!(stored(0).are_codes());
    assert!(!stored(1).are_codes());
    segment.verify().expect("a whole segment");
}

/// What is forged has its checksum, so that only the reader of records can notice.
#[test]
fn forged_records_are_errors_or_records_and_allocate_little() {
    let (_, compressed) = compressed();
    let random = &mut Random::new(11);
    for _ in 0..200_000 {
        let row = Row(random.below(SIGNALS) as u32);
        let mut bytes = compressed
            .stored_signal(row)
            .expect("a whole record")
            .bytes
            .to_vec();
        for _ in 0..=random.below(3) {
            let place = 4 + random.below(bytes.len() as u64 - 4) as usize;
            bytes[place] ^= 1 << random.below(8);
        }
        forge_checksum(&mut bytes);
        let checked = crate::segment::parts::Checked::none(1);
        let records = crate::segment::record::Records {
            bytes: &bytes,
            symbols: compressed.symbols().expect("a whole segment"),
            checked: &checked,
        };
        let mut buffer = Vec::new();
        let of = (SignalId::MIN, "acme");
        let is_read = records.signal_in(0, 0, of, &mut buffer).is_ok();
        let of = (SignalId::MIN, [&b"acme"[..], b"Acme"]);
        let is_copied = records.sent_item_in(0, 0, of, &mut buffer).is_ok();
        assert!(is_copied || !is_read, "what is parsed can be copied");
        assert!(
            buffer.capacity() <= 16 * bytes.len() + 64,
            "{}",
            buffer.capacity()
        );
    }
}

#[test]
fn every_flipped_bit_of_the_symbols_and_records_is_noticed() {
    let (_, compressed) = compressed();
    let bytes = compressed.bytes.borrow_owner().to_vec();
    let random = &mut Random::new(13);
    use SectionKind as Kind;
    let kinds = [
        Kind::Records,
        Kind::LinearFrames,
        Kind::SymbolStarts,
        Kind::Symbols,
        Kind::Checkpoints,
    ];
    let table = &compressed.views().table;
    let sections = table.sections.iter();
    for entry in sections.filter(|entry| kinds.contains(&entry.kind)) {
        for _ in 0..1_000 {
            if entry.length == 0 {
                break;
            }
            let mut damaged = bytes.clone();
            let place = entry.offset + random.below(entry.length);
            damaged[place as usize] ^= 1 << random.below(8);
            let noticed = match Segment::from_bytes(&damaged) {
                Err(error) => error.kind() == ErrorKind::Corrupt,
                Ok(segment) => {
                    let mut rows = segment.rows();
                    let mut companies = segment.companies();
                    rows.any(|row| segment.signal(row).is_err())
                        || companies.any(|company| segment.company(company).is_err())
                }
            };
            assert!(noticed, "{:?} at {place}", entry.kind);
        }
    }
}

/// Symbols are kept while they serve, and made anew for other texts.
#[test]
fn symbols_are_kept_while_they_serve() {
    let (_, own) = compressed();
    let encoder = Encoder::of_table(own.symbols().expect("a whole segment"));
    assert!(serves(&encoder, &own, &[&own, &own]).expect("whole records"));
    let mut builder = SegmentBuilder::new(Vec::new()).expect("memory");
    builder
        .add_company(&Company::new("acme", "Acme"))
        .expect("a valid company");
    let random = &mut Random::new(17);
    for number in 1..2_000 {
        let id = SignalId::new(number).expect("a small number");
        let mut title = String::new();
        (0..9).for_each(|_| title.push_str(random.word(&["日本", "Straße", "über", "gründet"])));
        let signal = Signal::new(id, "acme", title);
        builder.add_signal(&signal).expect("a known company");
    }
    let other = Segment::from_bytes(&builder.finish().expect("memory")).expect("a segment");
    assert!(!serves(&encoder, &own, &[&own, &other]).expect("whole records"));
}

/// Segments that are merged beside a large one get its symbols, and later its records are copied with theirs.
#[test]
fn the_symbols_of_the_largest_segment_of_the_index_are_kept() {
    let (_, largest) = compressed();
    let bytes = long_texts("The round of 7 million was led by its founders");
    let other = Segment::from_bytes(&bytes).expect("a segment");
    let [with, without] = [Some(&largest), None].map(|largest_of_index| {
        let encoder = encoder_for(&[&other, &other], largest_of_index).expect("whole records");
        encoder.expect("texts that are worth it").symbols()
    });
    let own = largest.symbols().expect("a whole segment");
    assert!(with.starts == own.starts && with.bytes == own.bytes);
    assert!(without.bytes != own.bytes);
    let small = Segment::from_bytes(&plain()).expect("a segment");
    let encoder = encoder_for(&[&small], Some(&largest)).expect("whole records");
    assert!(encoder.is_none(), "few texts are not worth it");
}

/// A segment of few signals whose texts take more than what is not compressed.
fn long_texts(words: &str) -> Vec<u8> {
    let mut builder = SegmentBuilder::new(Vec::new()).expect("memory");
    let company = Company::new("acme", "Acme");
    builder.add_company(&company).expect("a valid company");
    let evidence = words.repeat(COMPRESSED_FROM as usize / (words.len() * 100) + 1);
    for number in 1..=100 {
        let id = SignalId::new(number).expect("a small number");
        let mut signal = Signal::new(id, "acme", "Acme raises");
        signal.evidence = Some(evidence.as_str().into());
        builder.add_signal(&signal).expect("a known company");
    }
    builder.finish().expect("memory")
}
