//! White-box tests of `replicate/publication.rs`.

use super::*;
use crate::ErrorKind;

fn publication() -> Publication {
    let deleted = PublishedFile {
        sha256: Digest::of(b"deleted"),
        length: 34,
    };
    Publication {
        index: serde_json::from_str("\"0123456789abcdef0123456789abcdef\"").expect("an identity"),
        generation: 7,
        history: History {
            last_commit: 5,
            remembered_commits: 100_000,
        },
        segments: vec![PublishedSegment {
            sha256: Digest::of(b"segment"),
            length: 1234,
            table: Digest::of(b"table"),
            deleted: Some(deleted.clone()),
        }],
        chain: serde_json::from_str::<ChainLine<()>>(
            r#"{"newest":"0123456789abcdef0123456789abcdef","recent":[],"files":[]}"#,
        )
        .expect("a chain")
        .with_files(vec![deleted]),
    }
}

#[test]
fn a_manifest_reads_back() {
    let publication = publication();
    let bytes = publication.encode().expect("written");
    assert_eq!(Publication::decode(&bytes).expect("read"), publication);
}

#[test]
fn a_manifest_that_no_replica_would_read_is_not_written() {
    let mut long = publication();
    long.segments = vec![long.segments[0].clone(); 30_000];
    assert_eq!(long.encode().expect_err("refused").kind(), ErrorKind::Full);
}

#[test]
fn every_cut_and_every_changed_byte_is_noticed() {
    let bytes = publication().encode().expect("written");
    for length in 0..bytes.len() {
        assert!(Publication::decode(&bytes[..length]).is_err(), "{length}");
    }
    for index in 0..bytes.len() {
        let mut altered = bytes.clone();
        altered[index] ^= 1;
        assert!(Publication::decode(&altered).is_err(), "{index}");
    }
}

#[test]
fn a_later_format_is_told_from_damage() {
    let text = String::from_utf8(publication().encode().expect("written")).expect("text");
    let later = text.replacen(" 1 ", " 2 ", 1);
    let error = Publication::decode(later.as_bytes()).expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::NewerFormat, "{error}");
    let error = Publication::decode(b"<html>").expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Foreign, "{error}");
}
