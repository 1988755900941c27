//! Scans as bytes: what is written is read, and what nobody writes is refused.

use signaldex::sample;

use super::*;

fn scan(output: ScanOutput, conditions: Vec<SqlCondition>) -> ShardScan {
    ShardScan {
        output,
        conditions,
        slugs: None,
        limit: None,
        as_of: sample::AS_OF,
    }
}

fn texts(texts: &[&str]) -> BTreeSet<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

fn conditions() -> Vec<SqlCondition> {
    let mut all = vec![
        SqlCondition::Search("q=\"series a\"&days=90".to_owned()),
        SqlCondition::Labels(Facet::Country, texts(&["Germany", "", "Österreich"])),
        SqlCondition::Labels(Facet::Size, texts(&[])),
        SqlCondition::Slugs(texts(&["acme", "cpp-foundry"])),
        SqlCondition::Ids([0, 1, u64::MAX].into()),
        SqlCondition::IdRange(1, 0),
        SqlCondition::Days(i32::MIN, i32::MAX),
        SqlCondition::HasValue(Nullable::Date, true),
        SqlCondition::HasValue(Nullable::Amount, false),
        SqlCondition::HasValue(Nullable::Facet(Facet::Category), false),
    ];
    let amounts = [0.0, -1.5, f64::INFINITY, 12_500_000.5];
    for (comparison, amount) in COMPARISONS.into_iter().zip(amounts.into_iter().cycle()) {
        all.push(SqlCondition::Amount(comparison, amount));
    }
    all
}

#[test]
fn what_is_written_is_read() {
    let outputs = [
        ScanOutput::Signals((0..SIGNAL_COLUMNS.len()).collect()),
        ScanOutput::Signals(vec![3]),
        ScanOutput::Companies(vec![14, 0]),
        ScanOutput::SignalCounts(None),
        ScanOutput::SignalCounts(Some(Facet::Category)),
        ScanOutput::CompanyCount,
    ];
    for output in outputs {
        let mut sent = scan(output, conditions());
        for (limit, slugs) in [
            (None, None),
            (Some(0), Some(texts(&[]))),
            (Some(7), Some(texts(&["acme"]))),
        ] {
            (sent.limit, sent.slugs) = (limit, slugs);
            assert_eq!(ShardScan::from_bytes(&sent.to_bytes()), Ok(sent.clone()));
        }
    }
}

/// A change that makes a message malformed, and what the error names.
type Refused = (fn(&mut ScanMessage), &'static str);

#[test]
fn what_nobody_writes_is_refused() {
    let message = |change: fn(&mut ScanMessage)| {
        let sent = scan(ScanOutput::Signals(vec![0]), conditions());
        let mut message = ScanMessage::decode(&sent.to_bytes()[..]).expect("a message");
        change(&mut message);
        let read = ShardScan::from_bytes(&message.encode_to_vec());
        read.expect_err("it is malformed").to_string()
    };
    let refused: [Refused; 9] = [
        (|message| message.kind = None, "kind"),
        (|message| message.kind = Some(5), "kind"),
        (|message| message.columns.clear(), "columns"),
        (|message| message.columns = vec![26], "columns"),
        (|message| message.columns = vec![1, 1], "columns"),
        (|message| message.as_of = None, "day"),
        (|message| message.as_of = Some(i32::MAX), "day"),
        (|message| message.conditions[1].facet = Some(11), "facet"),
        (
            |message| message.conditions[0].kind = Some(0),
            "kind of a condition",
        ),
    ];
    for (change, field) in refused {
        assert_eq!(message(change), format!("the scan is malformed: {field}"));
    }
}

#[test]
fn no_bytes_are_read_beyond_what_they_say() {
    let bytes = scan(ScanOutput::Signals(vec![0, 1]), conditions()).to_bytes();
    for end in 0..bytes.len() {
        // Whatever it means, it is read or refused.
        let _ = ShardScan::from_bytes(&bytes[..end]);
    }
    for index in 0..bytes.len() {
        for value in [0, 0x7f, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[index] = value;
            let _ = ShardScan::from_bytes(&changed);
        }
    }
}
