//! Every way in which a text may arrive: plain, compressed, damaged, with odd ends of lines.

use std::io::Write;

use flate2::write::GzEncoder;
use proptest::prelude::*;
use tempfile::NamedTempFile;

use super::*;
use crate::ErrorKind;

fn file(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary file can be made");
    file.write_all(bytes).expect("it can be written");
    file
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("memory can be written to");
    encoder.finish().expect("memory can be written to")
}

fn zstd_frame(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("memory can be written to")
}

/// Numbers and contents; an over-long line is `None`.
type Read = Vec<(u64, Option<Vec<u8>>)>;

fn read_rest(lines: &mut Lines) -> Result<Read> {
    let mut read = Vec::new();
    while let Some(line) = lines.next_line()? {
        read.push((line.number, line.content.ok().map(<[u8]>::to_vec)));
    }
    Ok(read)
}

fn read(bytes: &[u8]) -> Result<Read> {
    read_rest(&mut Lines::open(file(bytes).path())?)
}

fn numbered<'a>(lines: impl IntoIterator<Item = (u64, &'a str)>) -> Read {
    lines
        .into_iter()
        .map(|(number, text)| (number, Some(text.as_bytes().to_vec())))
        .collect()
}

#[test]
fn ends_of_lines_and_blank_lines_are_not_content() {
    let table: [(&str, &[(u64, &str)]); 10] = [
        ("", &[]),
        ("\n", &[]),
        ("a", &[(1, "a")]),
        ("a\n", &[(1, "a")]),
        ("a\r\nb\r\n", &[(1, "a"), (2, "b")]),
        ("a\n\n \t\r\nb", &[(1, "a"), (4, "b")]),
        ("\u{feff}a\nb", &[(1, "a"), (2, "b")]),
        ("\u{feff}\nb", &[(2, "b")]),
        ("a\n\u{feff}b", &[(1, "a"), (2, "\u{feff}b")]),
        ("a\rb\r\r\n", &[(1, "a\rb\r")]),
    ];
    for (text, expected) in table {
        let expected = numbered(expected.iter().copied());
        assert_eq!(read(text.as_bytes()).expect(text), expected, "{text:?}");
        assert_eq!(
            read(&gzip(text.as_bytes())).expect(text),
            expected,
            "{text:?}"
        );
        assert_eq!(
            read(&zstd_frame(text.as_bytes())).expect(text),
            expected,
            "{text:?}"
        );
    }
}

#[test]
fn parts_that_were_compressed_apart_are_one_text() {
    let expected = numbered([(1, "one"), (2, "two"), (3, "three")]);
    for compress in [gzip, zstd_frame] {
        let parts = [compress(b"one\ntw"), compress(b""), compress(b"o\nthree")].concat();
        assert_eq!(read(&parts).expect("the parts are whole"), expected);
    }
}

#[test]
fn a_zstd_file_may_begin_with_a_frame_to_be_skipped() {
    let skipped = [0x50, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 9, 9];
    let bytes = [&skipped[..], &zstd_frame(b"one")].concat();
    assert_eq!(
        read(&bytes).expect("the frame is whole"),
        numbered([(1, "one")])
    );
}

#[test]
fn a_line_may_be_as_long_as_the_limit_and_no_longer() {
    let longest = "x".repeat(LINE_BYTES_MAX);
    for (start, end) in [("", ""), ("", "\n"), ("", "\r\n"), ("\u{feff}", "\r\n")] {
        let text = format!("{start}{longest}{end}");
        let read = read(text.as_bytes()).expect("the file can be read");
        assert!(
            read == numbered([(1, longest.as_str())]),
            "{start:?} {end:?}"
        );
        let text = format!("{start}x{longest}{end}");
        let read = self::read(text.as_bytes()).expect("the file can be read");
        assert!(read == [(1, None)], "{start:?} {end:?}");
    }
}

#[test]
fn an_over_long_line_is_passed_over_in_bounded_memory() {
    let long = "x".repeat(LINE_BYTES_MAX * 5);
    let file = file(&zstd_frame(format!("one\n{long}\nthree\n").as_bytes()));
    let mut lines = Lines::open(file.path()).expect("the file is there");
    let read = read_rest(&mut lines).expect("the file can be read");
    let expected = [
        (1, Some(b"one".to_vec())),
        (2, None),
        (3, Some(b"three".to_vec())),
    ];
    assert!(read == expected);
    assert!(lines.line.capacity() <= LINE_BYTES_MAX * 2 + 64);
}

#[test]
fn an_over_long_line_says_so() {
    let file = file("x".repeat(LINE_BYTES_MAX + 1).as_bytes());
    let mut lines = Lines::open(file.path()).expect("the file is there");
    let line = lines
        .next_line()
        .expect("the file can be read")
        .expect("there is a line");
    let error = line.content.expect_err("the line is too long");
    assert_eq!(
        (line.number, error.to_string()),
        (1, "the line is longer than 16777216 bytes".to_owned())
    );
}

#[test]
fn damage_is_an_error_that_names_file_and_line() {
    let text: String = (0..20_000)
        .map(|number| format!("{}\n", number * 7_919 % 10_007))
        .collect();
    for (name, whole) in [
        ("gzip", gzip(text.as_bytes())),
        ("zstd", zstd_frame(text.as_bytes())),
    ] {
        let cut = whole[..whole.len() - 5].to_vec();
        let half = whole[..whole.len() / 2].to_vec();
        let start = whole[..6].to_vec();
        let followed = [&whole[..], b"neither member nor frame"].concat();
        for damaged in [cut, half, start, followed] {
            let file = file(&damaged);
            let mut lines = Lines::open(file.path()).expect("the beginning is whole");
            let error = read_rest(&mut lines).expect_err("the file is damaged");
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
            assert_eq!(error.path(), Some(file.path()));
            let expected = format!(
                "{}: the {name} data is damaged or cut short at line {}: ",
                file.path().display(),
                lines.number + 1
            );
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
    }
}

#[test]
fn a_flipped_byte_of_gzip_is_noticed() {
    let mut bytes = gzip(b"a text of some length, so that there is something to flip\n");
    let index = bytes.len() - 6;
    bytes[index] ^= 1;
    assert!(read(&bytes).expect_err("the checksum is wrong").kind() == ErrorKind::Corrupt);
}

#[test]
fn a_file_that_cannot_be_opened_or_read_is_named() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let absent = folder.path().join("absent.jsonl");
    for path in [absent.as_path(), folder.path()] {
        let error = Lines::open(path).expect_err("there is no file");
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        assert_eq!(error.path(), Some(path));
    }
}

#[test]
fn progress_counts_the_bytes_of_the_file() {
    let text = "line\n".repeat(1_000_000);
    for bytes in [
        text.as_bytes().to_vec(),
        gzip(text.as_bytes()),
        zstd_frame(text.as_bytes()),
    ] {
        let file = file(&bytes);
        let mut lines = Lines::open(file.path()).expect("the file is there");
        assert_eq!(lines.total_bytes(), Some(bytes.len() as u64));
        assert!(lines.bytes_read() <= 4 + BUFFER_BYTES as u64);
        read_rest(&mut lines).expect("the file is whole");
        assert_eq!(lines.bytes_read(), bytes.len() as u64);
    }
}

proptest! {
    #[test]
    fn lines_are_those_of_the_text(
        lines in prop::collection::vec("[a-z]{0,9}", 0..50),
        parts in 1..5usize,
    ) {
        let text = lines.join("\n");
        let expected: Read = (1..)
            .zip(&lines)
            .filter(|(_, line)| !line.is_empty())
            .map(|(number, line)| (number, Some(line.clone().into_bytes())))
            .collect();
        let size = text.len().div_ceil(parts).max(1);
        for compress in [gzip, zstd_frame, <[u8]>::to_vec] {
            let bytes: Vec<u8> = text.as_bytes().chunks(size).flat_map(compress).collect();
            prop_assert_eq!(&read(&bytes).expect("the parts are whole"), &expected);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        beginning in prop_oneof![
            Just(vec![]),
            Just(vec![0x1F, 0x8B, 8]),
            Just(vec![0x28, 0xB5, 0x2F, 0xFD]),
            Just(vec![0x5F, 0x2A, 0x4D, 0x18]),
        ],
        rest in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let bytes = [beginning, rest].concat();
        match read(&bytes) {
            Ok(read) => prop_assert!(read.len() <= bytes.len() * 1_100),
            Err(error) => prop_assert!(error.kind() == ErrorKind::Corrupt, "{}", error),
        }
    }
}
