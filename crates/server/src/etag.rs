//! Weak entity tags: derived from the snapshot and the request, never from the key.

use axum::http::HeaderMap;
use axum::http::header::IF_NONE_MATCH;
use sha2::{Digest, Sha256};

/// Bytes of the hash in a tag: enough that answers do not collide by chance.
const TAG_BYTES: usize = 12;

/// The tag of an answer, from everything that determines its content.
pub(crate) fn of(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let bytes: [u8; 32] = hash.finalize().into();
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    let mut tag = String::with_capacity("W/\"\"".len() + 2 * TAG_BYTES);
    tag.push_str("W/\"");
    for byte in &bytes[..TAG_BYTES] {
        tag.extend([digit(byte >> 4), digit(byte & 0xF)]);
    }
    tag.push('"');
    tag
}

/// Whether a client already has the answer with this tag.
pub(crate) fn is_current(headers: &HeaderMap, tag: &str) -> bool {
    fn opaque(tag: &str) -> &str {
        tag.trim().trim_start_matches("W/")
    }
    let wanted = opaque(tag);
    headers
        .get_all(IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|held| held.trim() == "*" || opaque(held) == wanted)
}

#[cfg(test)]
mod tests;
