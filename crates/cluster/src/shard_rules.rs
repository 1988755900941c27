//! The rules between shards: each company is in the shard of its slug, and each signal in one shard.

use std::sync::Arc;

use signaldex::query::Order;
use signaldex::{Change, Error, Filter, Position, Result, SignalId, Snapshot};
use time::Date;

use super::placement::shard_of;

/// Checks all companies and signals.
///
/// # Errors
/// [`Invalid`](signaldex::ErrorKind::Invalid) with the company or signal, the shard where it is and the one where it belongs.
///
/// Cost: reads every company; memory for 8 bytes a signal.
pub(super) fn check_all(shards: &[Arc<Snapshot>]) -> Result<()> {
    let mut ids = Vec::new();
    for (shard, snapshot) in (0..).zip(shards) {
        check_companies(snapshot, shard, shards.len() as u32)?;
        let (everything, day) = (Filter::default(), Date::MIN);
        let matches = snapshot.matches(&everything, day, Order::OldestFirst);
        for id in matches.ids() {
            ids.push((id?, shard));
        }
    }
    ids.sort_unstable();
    match ids.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        None => Ok(()),
        Some(pair) => Err(in_two_shards(shards, pair[0].0, [pair[0].1, pair[1].1])),
    }
}

/// Checks what has changed in some shards since positions in their feeds of changes: their companies, and that no
/// changed signal is in another shard. Where there is no position, or it does not belong to its shard any more, everything
/// is checked: that reads no record of a signal.
///
/// # Errors
/// As [`check_all`].
///
/// Cost: reads the companies of changed shards; a look-up in each shard for each changed signal.
pub(super) fn check_changed(
    shards: &[Arc<Snapshot>],
    changed: &[(u32, Option<Position>)],
) -> Result<()> {
    let count = shards.len() as u32;
    let everything = Filter::default();
    for (shard, since) in changed {
        let snapshot = &shards[*shard as usize];
        let changes = since.map(|since| snapshot.changes(&everything, Date::MIN, &since));
        let Some(Ok(changes)) = changes else {
            return check_all(shards);
        };
        check_companies(snapshot, *shard, count)?;
        for change in changes {
            if let Change::Upsert { item, .. } = change? {
                check_signal(shards, item.signal.id, *shard)?;
            }
        }
    }
    Ok(())
}

fn check_companies(snapshot: &Snapshot, shard: u32, count: u32) -> Result<()> {
    for company in snapshot.scan_companies() {
        let company = company?;
        let home = shard_of(&company.slug, count);
        if home != shard {
            return Err(Error::invalid(format!(
                "the company {:?} is in shard {shard} and belongs in shard {home}; delete it from shard {shard} with \
                 its signals, and add it with `signaldex update --shards`",
                company.slug
            )));
        }
    }
    Ok(())
}

fn check_signal(shards: &[Arc<Snapshot>], id: SignalId, own: u32) -> Result<()> {
    for (shard, snapshot) in (0..).zip(shards) {
        if shard != own && snapshot.contains(id)? {
            return Err(in_two_shards(shards, id, [own, shard]));
        }
    }
    Ok(())
}

/// The error of a signal that is in two shards. Each of the two companies is in its own shard, so the signal belongs
/// where the newer of its two records is, which only its publisher knows.
fn in_two_shards(shards: &[Arc<Snapshot>], id: SignalId, found: [u32; 2]) -> Error {
    let company = |shard: u32| match shards[shard as usize].signal(id) {
        Ok(Some(found)) => format!(
            "shard {shard}, under the company {:?}",
            found.signal.company_slug
        ),
        _ => format!("shard {shard}"),
    };
    Error::invalid(format!(
        "the signal {id} is in two shards: in {}, and in {}; it belongs to one company: add it again with \
         `signaldex update --shards`, which removes the other",
        company(found[0]),
        company(found[1])
    ))
}
