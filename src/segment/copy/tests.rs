//! White-box tests of `segment/copy.rs`.

use std::borrow::Cow;

use super::*;
use crate::ErrorKind;
use crate::encoding::symbols::Encoder;
use crate::fixtures::Random;
use crate::signal::{Company, Currency, Funding, Hiring, Signal, SignalId};

const WORDS: [&str; 12] = [
    "acme",
    "raises",
    "Series",
    "a",
    "C++",
    "U.S.'s",
    "Café",
    "Straße",
    "日本",
    "\"quoted\"",
    "\u{1F680}",
    "of",
];
const LABELS: [&str; 5] = ["Germany", "germany ", "GERMANY", "Côte d’Ivoire", " "];
/// Segments that are merged.
const SEGMENTS: u64 = 3;
/// Companies of each at most.
const RECORDS_MAX: u64 = 60;

fn text(random: &mut Random) -> String {
    let words: Vec<&str> = (0..random.below(7)).map(|_| random.word(&WORDS)).collect();
    words.join(" ")
}

fn label(random: &mut Random) -> Option<Cow<'static, str>> {
    let label = random.word(&LABELS);
    random.chance(60).then_some(Cow::Borrowed(label))
}

fn company(random: &mut Random) -> Company<'static> {
    let slug = format!("c{}", random.below(12));
    let mut company = Company::new(slug, text(random));
    company.country = label(random);
    company.industry = label(random);
    company.employees = random.chance(50).then(|| random.below(700) as i64);
    company
}

fn signal(random: &mut Random, slug: &str) -> Signal<'static> {
    let id = SignalId::new(1 + random.below(90)).expect("a small number");
    let mut signal = Signal::new(id, slug.to_owned(), text(random));
    signal.category = label(random);
    let days = random.below(120) as i64;
    let date = time::macros::date!(2026 - 06 - 30) - time::Duration::days(days);
    signal.date = random.chance(80).then_some(date);
    signal.funding = random.chance(50).then(|| Funding {
        stage: label(random),
        amount: Some(*random.pick(&[0.0, -0.0, 0.5, 1e6, 2e6])),
        currency: Currency::new(random.word(&["USD", "EUR"])),
    });
    signal.hiring = random.chance(50).then(|| Hiring {
        hiring_type: label(random),
        job_function: label(random),
        ..Default::default()
    });
    signal
}

/// Encoders of different symbols, and none.
fn encoder(number: u64) -> Option<Encoder> {
    let sample = match number {
        0 => return None,
        1 => "Series a raises Café ".repeat(50),
        _ => "GERMANY \"quoted\" Côte d’Ivoire ".repeat(50),
    };
    Some(Encoder::train(std::iter::once(sample.as_bytes())))
}

/// A segment of random records; some replace others, and some companies have no signals.
fn segment(random: &mut Random) -> Segment {
    let encoder = encoder(random.below(3));
    let mut builder = SegmentBuilder::with_encoder(Vec::new(), encoder).expect("memory");
    for _ in 0..=random.below(RECORDS_MAX) {
        let company = company(random);
        builder.add_company(&company).expect("a valid company");
        for _ in 0..random.below(3) {
            let signal = signal(random, &company.slug);
            builder.add_signal(&signal).expect("a known company");
        }
    }
    Segment::from_bytes(&builder.finish().expect("memory")).expect("what was just built")
}

/// Of each segment the rows to keep, all of whose companies are kept as well.
fn kept_rows(random: &mut Random, segments: &[Segment]) -> Vec<Vec<Row>> {
    let share = random.below(101);
    let mut keep = |segment: &Segment| segment.rows().filter(|_| random.chance(share)).collect();
    segments.iter().map(&mut keep).collect()
}

fn merged_from_records(
    segments: &[Segment],
    kept: &[Vec<Row>],
    encoder: Option<Encoder>,
) -> Vec<u8> {
    let mut builder = SegmentBuilder::with_encoder(Vec::new(), encoder).expect("memory");
    for segment in segments {
        for company in segment.companies() {
            let company = segment.company(company).expect("a whole record");
            builder.add_company(&company).expect("a valid company");
        }
    }
    for (segment, rows) in segments.iter().zip(kept) {
        for &row in rows {
            let signal = segment.signal(row).expect("a whole record");
            builder.add_signal(&signal).expect("a known company");
        }
    }
    builder.finish().expect("memory")
}

fn merged_by_copying(segments: &[Segment], kept: &[Vec<Row>], encoder: Option<Encoder>) -> Vec<u8> {
    let mut builder = SegmentBuilder::with_encoder(Vec::new(), encoder).expect("memory");
    let mut sources: Vec<_> = segments
        .iter()
        .map(|segment| builder.copy_source(segment).expect("a whole segment"))
        .collect();
    for source in &mut sources {
        for company in source.segment.companies() {
            builder
                .copy_company(source, company)
                .expect("a whole record");
        }
    }
    for (source, rows) in sources.iter_mut().zip(kept) {
        for &row in rows {
            builder.copy_signal(source, row).expect("a whole record");
        }
    }
    builder.finish().expect("memory")
}

#[test]
fn a_copied_segment_has_the_bytes_of_one_that_is_built_from_the_records() {
    for seed in 0..300 {
        let random = &mut Random::new(seed);
        let mut segments: Vec<_> = (0..SEGMENTS).map(|_| segment(random)).collect();
        let kept = kept_rows(random, &segments);
        let to = random.below(3);
        let merged = merged_by_copying(&segments, &kept, encoder(to));
        let expected = merged_from_records(&segments, &kept, encoder(to));
        assert!(merged == expected, "seed {seed}");
        let merged = Segment::from_bytes(&merged).expect("what was just built");
        merged.verify().expect("a whole segment");
        // What is merged is merged again.
        segments[0] = merged;
        let kept = kept_rows(random, &segments);
        let again = merged_by_copying(&segments, &kept, encoder(to));
        let expected = merged_from_records(&segments, &kept, encoder(to));
        assert!(again == expected, "seed {seed}");
    }
}

/// The bytes of a segment of one signal, whose record holds the text `needle`.
fn with_needle() -> Vec<u8> {
    let mut builder = SegmentBuilder::new(Vec::new()).expect("memory");
    let mut company = Company::new("acme", "Acme");
    company.about = Some("company-needle".into());
    builder.add_company(&company).expect("a valid company");
    let mut signal = Signal::new(SignalId::MIN, "acme", "Hiring");
    signal.evidence = Some("signal-needle".into());
    builder.add_signal(&signal).expect("a known company");
    builder.finish().expect("memory")
}

#[test]
fn a_damaged_record_is_not_copied() {
    let whole = with_needle();
    for needle in ["company-needle", "signal-needle"] {
        let mut bytes = whole.clone();
        let found = bytes.windows(needle.len());
        let mut places = found.enumerate();
        let (place, _) = places
            .find(|(_, window)| *window == needle.as_bytes())
            .expect("the record");
        bytes[place] ^= 1;
        // Opening does not read the records.
        let segment = Segment::from_bytes(&bytes).expect("sections that are whole");
        let mut builder = SegmentBuilder::new(Vec::new()).expect("memory");
        let source = builder.copy_source(&segment);
        let mut source = source.expect("whole dictionaries");
        let copied = builder
            .copy_company(&mut source, CompanyNumber(0))
            .and_then(|()| builder.copy_signal(&mut source, Row(0)));
        assert_eq!(copied.unwrap_err().kind(), ErrorKind::Corrupt, "{needle}");
    }
}

#[test]
fn a_signal_is_not_copied_before_its_company() {
    let segment = Segment::from_bytes(&with_needle()).expect("what was just built");
    let mut builder = SegmentBuilder::new(Vec::new()).expect("memory");
    let source = builder.copy_source(&segment);
    let mut source = source.expect("whole dictionaries");
    let copied = builder.copy_signal(&mut source, Row(0));
    assert_eq!(copied.unwrap_err().kind(), ErrorKind::UnknownCompany);
}
