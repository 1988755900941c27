//! The classes of queries that are measured, drawn with a fixed seed from a corpus's own statistics.
//!
//! Every value comes from a sampled signal or from the frequencies of terms, so that queries look
//! like what somebody who knows the corpus would ask: most of them find something. The same corpus
//! gives the same queries on every machine. Both `benches/queries.rs` and the comparison with
//! other engines in `benches/peers` draw from here.

mod draw;
mod middle;
pub(crate) mod random;
pub(crate) mod statistics;
pub(crate) mod wanted;

use std::collections::HashSet;

use signaldex::{Result, Snapshot};
use time::Date;

use self::draw::Draw;
pub(crate) use self::statistics::Statistics;
pub(crate) use self::wanted::Wanted;

/// Queries of a class, unless the class has only one.
const QUERIES: usize = 25;

/// Queries drawn at most to find different ones that fit; a small corpus has too few of some.
const ATTEMPTS: usize = 20_000;

/// A class of queries.
pub(crate) struct Class {
    /// As tables and plots show it.
    pub name: &'static str,
    /// Whether counts and facets are measured: not where a class differs by its start alone.
    pub is_counted: bool,
    /// The queries, all different.
    pub queries: Vec<Wanted>,
}

/// Draws all classes, in the order in which they are shown.
///
/// # Errors
/// A record of the corpus is corrupt.
pub(crate) fn draw(
    snapshot: &Snapshot,
    statistics: &Statistics,
    today: Date,
) -> Result<Vec<Class>> {
    draw_each(snapshot, statistics, today, QUERIES)
}

/// As [`draw`], with up to `queries` queries of each class.
///
/// # Errors
/// A record of the corpus is corrupt.
pub(crate) fn draw_each(
    snapshot: &Snapshot,
    statistics: &Statistics,
    today: Date,
    queries: usize,
) -> Result<Vec<Class>> {
    let table = draw::CLASSES.iter();
    table
        .map(|&(name, draw)| {
            let mut source = Draw::new(name, snapshot, statistics, today);
            Ok(Class {
                name,
                is_counted: name != draw::DEEP_START,
                queries: different(&mut source, draw, queries)?,
            })
        })
        .collect()
}

/// Draws until there are enough different queries.
fn different(
    source: &mut Draw<'_>,
    draw: draw::DrawOne,
    wanted_queries: usize,
) -> Result<Vec<Wanted>> {
    let mut seen = HashSet::new();
    let mut queries = Vec::new();
    for _ in 0..ATTEMPTS {
        let Some(wanted) = draw(source)? else {
            continue;
        };
        if seen.insert(format!("{wanted:?}")) {
            queries.push(wanted);
        }
        let is_only_one = queries.last() == Some(&Wanted::default());
        if queries.len() == wanted_queries || is_only_one {
            break;
        }
    }
    Ok(queries)
}
