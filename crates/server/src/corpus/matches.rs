//! The matches of a saved search: upserts of the feed of changes under its filter, each with one id for ever.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use time::Date;

use signaldex::json::search_item;
use signaldex::{Change, ChangeKind, Item, PositionError, Result, SignalId, Snapshot};

use super::{FeedPosition, MatchesRequest, RenderedMatch, RenderedMatches};

/// Bytes of the hash in an id: enough that no two matches have the same by chance.
const ID_BYTES: usize = 16;

/// Which change of a signal a match is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangePlace {
    /// The shard of a cluster; `None` for an index that is whole.
    pub shard: Option<u32>,
    /// The commit.
    pub commit: u64,
}

/// The id of a match. It derives from the search, the signal and the commit of the change, so that every attempt to deliver
/// a match, and every pull of it, names the same.
///
/// ```
/// use signaldex::SignalId;
/// use signaldex_server::corpus::{ChangePlace, match_id};
///
/// let at = |commit| ChangePlace { shard: None, commit };
/// let id = match_id("srch_a", SignalId::MIN, at(7));
/// assert!(id.starts_with("mtch_") && id == match_id("srch_a", SignalId::MIN, at(7)));
/// assert_ne!(id, match_id("srch_a", SignalId::MIN, at(8)));
/// assert_ne!(id, match_id("srch_a", SignalId::MIN, ChangePlace { shard: Some(0), commit: 7 }));
/// ```
pub fn match_id(search: &str, signal: SignalId, place: ChangePlace) -> String {
    let mut hash = Sha256::new();
    hash.update((search.len() as u64).to_le_bytes());
    hash.update(search);
    hash.update(signal.get().to_le_bytes());
    hash.update(place.commit.to_le_bytes());
    if let Some(shard) = place.shard {
        hash.update(shard.to_le_bytes());
    }
    let bytes: [u8; 32] = hash.finalize().into();
    format!("mtch_{}", URL_SAFE_NO_PAD.encode(&bytes[..ID_BYTES]))
}

/// A match of a search, of a signal that is written as JSON.
///
/// ```
/// use signaldex::SignalId;
/// use signaldex_server::corpus::{ChangePlace, rendered_match};
///
/// let place = ChangePlace { shard: Some(2), commit: 7 };
/// let found = rendered_match("srch_a", (SignalId::MIN, br#"{"id":"1"}"#), place, true);
/// assert!(found.json.ends_with(br#","isNew":true,"signal":{"id":"1"}}"#));
/// ```
pub fn rendered_match(
    search: &str,
    (signal, written): (SignalId, &[u8]),
    place: ChangePlace,
    is_new: bool,
) -> RenderedMatch {
    let id = match_id(search, signal, place);
    let start = format!("{{\"id\":\"{id}\",\"isNew\":{is_new},\"signal\":");
    RenderedMatch {
        json: [start.as_bytes(), written, b"}"].concat(),
        id,
        signal,
    }
}

/// As [`Corpus::matches`](super::Corpus::matches), of a local index.
///
/// # Errors
/// A file that the matches are found by is damaged; inside, why there are no changes after the position.
///
/// Cost: that of a bounded page of [changes](Snapshot::changes).
pub fn find(
    snapshot: &Snapshot,
    request: &MatchesRequest,
    today: Date,
) -> Result<Result<RenderedMatches, PositionError>> {
    let FeedPosition::Index(since) = &request.since else {
        return Ok(Err(PositionError::OtherIndex));
    };
    let mut changes = match snapshot.changes(&request.filter, today, since) {
        Ok(changes) if request.removals => changes.bounded(),
        Ok(changes) => changes.bounded().only(ChangeKind::Upsert),
        Err(error) => return Ok(Err(error)),
    };
    let mut page = RenderedMatches {
        matches: Vec::new(),
        removed: Vec::new(),
        next: request.since.clone(),
        more: true,
    };
    let mut bytes = 0;
    // Invariant: `page` has everything up to `changes.position()`.
    while !is_full(&page, request) {
        let before = changes.position();
        let Some(change) = changes.next() else {
            break;
        };
        let item = match change? {
            Change::Upsert { item, .. } if request.only_new && !changes.is_unseen() => {
                drop(item);
                continue;
            }
            Change::Upsert { item, .. } => item,
            Change::Remove { id } => {
                page.removed.push(id);
                continue;
            }
            // There are no other kinds.
            _ => continue,
        };
        let found = rendered(request, &item, changes.commit(), changes.is_unseen());
        bytes += found.json.len();
        if bytes > request.bytes_max && !page.matches.is_empty() {
            page.next = FeedPosition::Index(before);
            return Ok(Ok(page));
        }
        page.matches.push(found);
    }
    page.more = changes.has_more()?;
    page.next = FeedPosition::Index(changes.position());
    Ok(Ok(page))
}

fn is_full(page: &RenderedMatches, request: &MatchesRequest) -> bool {
    let matches = page.matches.len();
    matches + page.removed.len() >= request.limit || matches >= request.matches_max
}

fn rendered(request: &MatchesRequest, item: &Item<'_>, commit: u64, is_new: bool) -> RenderedMatch {
    let written = search_item(&item.signal, &item.company_name, request.rendering);
    let place = ChangePlace {
        shard: None,
        commit,
    };
    rendered_match(&request.search, (item.signal.id, &written), place, is_new)
}
