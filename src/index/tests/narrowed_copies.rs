//! The law of the feed for keys with a filter: copies of what keys see follow an index over random histories, and are what
//! a scan of the visible signals finds. Between, filters are edited, also back to earlier ones.
//!
//! `SIGNALDEX_HISTORIES` sets the number of histories; `SIGNALDEX_SEED` is the first seed.

use super::copies::{Copies, Followed};
use super::model::TODAY;
use super::narrowed::{WHOLE, random_key, visible};
use super::random_index::{RandomIndex, setting};
use crate::fixtures::Random;
use crate::query::KeyFilter;

/// Histories in the ordinary run.
const HISTORIES: u64 = 150;
/// Keys of a history.
const KEYS: usize = 2;
/// The most steps of a history.
const STEPS_MAX: u64 = 24;
/// Percentage of steps after which a key's filter is edited.
const EDITS: u64 = 20;

/// A key, with the filters that it has had and the copies that were made under each.
struct EditedKey {
    views: Vec<(KeyFilter, Copies)>,
    /// The filter that it has.
    current: usize,
}

impl EditedKey {
    fn new(random: &mut Random) -> EditedKey {
        EditedKey {
            views: vec![(random_key(random), Copies::default())],
            current: 0,
        }
    }

    /// Gives the key another filter, or one that it had before.
    fn edit(&mut self, random: &mut Random) {
        if random.chance(50) {
            self.views.push((random_key(random), Copies::default()));
        }
        self.current = random.below(self.views.len() as u64) as usize;
    }

    fn filter(&self) -> &KeyFilter {
        &self.views[self.current].0
    }

    /// Lets copies under the present filter follow. Those that were made under others are refused meanwhile.
    fn follow(&mut self, changing: &RandomIndex, commits: &[u64], random: &mut Random, seed: u64) {
        let snapshot = changing.index.snapshot();
        let filter = self.filter().clone();
        let narrowed = snapshot.narrowed(&filter, TODAY).expect(WHOLE);
        let seen = visible(&changing.model, &filter);
        let context = format!("seed {seed}, {filter}");
        let followed = Followed {
            snapshot: &narrowed,
            committed: &seen,
            commits,
        };
        for (of, copies) in &mut self.views {
            copies.know(changing.written.iter());
            if of.fingerprint() == filter.fingerprint() {
                copies.follow(&followed, false, random, &context);
            } else {
                assert!(copies.are_refused_by(&narrowed), "{context}, those of {of}");
            }
        }
    }
}

#[test]
fn copies_of_what_keys_see_follow_the_feed_while_filters_are_edited() {
    let first = setting("SIGNALDEX_SEED", 1);
    for seed in first..first + setting("SIGNALDEX_HISTORIES", HISTORIES) {
        let mut random = Random::new(seed);
        let mut changing = RandomIndex::new(&mut random);
        changing
            .index
            .keep_narrowed_bytes(*random.pick(&[0, 24_000, u64::MAX]));
        let mut keys: [EditedKey; KEYS] = std::array::from_fn(|_| EditedKey::new(&mut random));
        let mut commits = Vec::new();
        for step in 0..1 + random.below(STEPS_MAX) {
            commits.push(step);
            for key in &mut keys {
                if random.chance(EDITS) {
                    key.edit(&mut random);
                }
                key.follow(&changing, &commits, &mut random, seed);
            }
            changing.disturb(&mut random);
        }
    }
}
