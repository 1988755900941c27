//! White-box tests of `request_target.rs`.

use proptest::prelude::*;

use super::*;

/// What is passed on of a text that arrives in pieces of these sizes.
fn passed(text: &str, sizes: &[usize]) -> String {
    let mut bound = TargetBound::new();
    let mut passed = Vec::new();
    let mut rest = text.as_bytes();
    for &size in sizes.iter().cycle() {
        let (piece, tail) = rest.split_at(size.clamp(1, rest.len().max(1)).min(rest.len()));
        let mut piece = piece.to_vec();
        let kept = bound.retain(&mut piece);
        passed.extend_from_slice(&piece[..kept]);
        rest = tail;
        if rest.is_empty() {
            break;
        }
    }
    String::from_utf8(passed).expect("ASCII")
}

fn request(target_bytes: usize, header_bytes: usize, body_bytes: usize) -> String {
    let (target, header) = ("a".repeat(target_bytes), "b c".repeat(header_bytes));
    let mut text = format!("GET {target} HTTP/1.1\r\nhost: a\r\nx: {header}\r\n");
    if body_bytes > 0 {
        text.push_str(&format!("Content-Length: {body_bytes} \r\n"));
    }
    text + "\r\n" + &body(body_bytes)
}

/// A body that would be a request with a long target if it stood elsewhere.
fn body(bytes: usize) -> String {
    format!("GET {}", "d".repeat(bytes))
        .chars()
        .take(bytes)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_target_is_cut_and_nothing_else(
        lengths in prop::collection::vec((0_usize..200_000, 0_usize..30_000, 0_usize..100_000), 1..4),
        sizes in prop::collection::vec(1_usize..20_000, 1..8),
    ) {
        let requests = |most: usize| -> String {
            lengths
                .iter()
                .map(|&(target, header, body)| request(target.min(most), header, body))
                .collect()
        };
        prop_assert_eq!(passed(&requests(usize::MAX), &sizes), requests(PASSED_BYTES_MAX));
    }
}

#[test]
fn nothing_is_cut_behind_a_body_in_chunks() {
    let head = "POST / HTTP/1.1\r\ntransfer-Encoding: chunked\r\n\r\n";
    let text = format!("{head}{}", body(200_000));
    assert_eq!(passed(&text, &[7, 4_096]), text);
}
