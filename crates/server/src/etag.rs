//! Weak entity tags: derived from the snapshot and the request, never from the key.

use axum::http::HeaderMap;
use axum::http::header::IF_NONE_MATCH;
use sha2::{Digest, Sha256};

use super::call::Call;
use crate::corpus::CorpusView;

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

/// The tag of an answer of some kind to a query; of `shown` items, if the key's quota has cut it.
pub(super) fn of_page(
    kind: &[u8],
    (call, view): (&Call<'_>, &CorpusView),
    query: &[u8],
    shown: Option<usize>,
) -> String {
    let today = call.today.to_julian_day().to_le_bytes();
    let shown = shown.map_or(u64::MAX, |shown| shown as u64).to_le_bytes();
    of(&[kind, &view.tag_seed, query, &today, &shown])
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
