//! The escapes of JSON, which records have in the texts that answers send: those that serde writes.

/// Whether a text needs no escapes in JSON.
pub(crate) fn is_plain(text: &[u8]) -> bool {
    match text.last_chunk() {
        // Checking the last 16 bytes again is faster than checking fewer.
        Some(last) => {
            let (chunks, _) = text.as_chunks();
            special_bytes(chunks.iter().chain([last])) == 0
        }
        None => !text.iter().any(|&byte| is_special(byte)),
    }
}

/// Non-zero if any byte needs an escape. Without branches, it compiles to a few vector instructions.
fn special_bytes<'c>(chunks: impl Iterator<Item = &'c [u8; 16]>) -> u8 {
    let mut found = [0; 16];
    for chunk in chunks {
        for (found, &byte) in found.iter_mut().zip(chunk) {
            *found |= u8::from(is_special(byte));
        }
    }
    found.iter().fold(0, |any, &found| any | found)
}

fn is_special(byte: u8) -> bool {
    (byte < b' ') | (byte == b'"') | (byte == b'\\')
}

/// Appends a text with its escapes.
pub(crate) fn push_escaped(output: &mut Vec<u8>, text: &str) {
    if is_plain(text.as_bytes()) {
        return output.extend_from_slice(text.as_bytes());
    }
    let mut rest = text.as_bytes();
    // Invariant: everything before `rest` is written.
    while let (plain, [byte, after @ ..]) = rest.split_at(plain_bytes(rest)) {
        output.extend_from_slice(plain);
        push_escape(output, *byte);
        rest = after;
    }
    output.extend_from_slice(rest);
}

/// The number of bytes before the first that needs an escape.
fn plain_bytes(text: &[u8]) -> usize {
    let (chunks, _) = text.as_chunks();
    let is_plain = |chunk: &&[u8; 16]| special_bytes(std::iter::once(*chunk)) == 0;
    let checked = chunks.iter().take_while(is_plain).count() * 16;
    let others = text[checked..].iter();
    checked + others.take_while(|&&byte| !is_special(byte)).count()
}

/// Appends the escape of a byte that needs one.
fn push_escape(output: &mut Vec<u8>, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    match ESCAPES.iter().find(|&&(_, escaped)| escaped == byte) {
        Some(&(letter, _)) => output.extend_from_slice(&[b'\\', letter]),
        None => {
            let [high, low] = [byte >> 4, byte & 0xF].map(|digit| DIGITS[usize::from(digit)]);
            output.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
        }
    }
}

/// The letters of the short escapes, and what they stand for.
const ESCAPES: [(u8, u8); 7] = [
    (b'"', b'"'),
    (b'\\', b'\\'),
    (b'n', b'\n'),
    (b't', b'\t'),
    (b'r', b'\r'),
    (b'b', 8),
    (b'f', 12),
];

/// A text without the escapes that [`push_escaped`] wrote. `None` if it has others, or a byte that needs one.
pub(crate) fn unescaped(text: &str) -> Option<String> {
    let mut output = String::with_capacity(text.len());
    let mut rest = text;
    // Invariant: `output` has what is before `rest`.
    while let Some((plain, escape)) = rest.split_at_checked(plain_bytes(rest.as_bytes())) {
        output.push_str(plain);
        if escape.is_empty() {
            break;
        }
        let (character, after) = take_escape(escape.strip_prefix('\\')?)?;
        output.push(character);
        rest = after;
    }
    Some(output)
}

/// The character of an escape without its backslash, and what follows it.
fn take_escape(escape: &str) -> Option<(char, &str)> {
    if let Some(code) = escape.strip_prefix('u') {
        let (code, after) = code.split_at_checked(4)?;
        return Some((char::from(u8::from_str_radix(code, 16).ok()?), after));
    }
    let letter = *escape.as_bytes().first()?;
    let (_, escaped) = ESCAPES.iter().find(|&&(known, _)| known == letter)?;
    Some((char::from(*escaped), &escape[1..]))
}

#[cfg(all(test, feature = "json"))]
mod tests;
