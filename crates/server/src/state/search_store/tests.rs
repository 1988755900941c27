//! What the state refuses, and when searches begin.

use signaldex::{Filter, sample};

use super::{ALL_MAX, KEY_MAX};
use crate::corpus::FeedPosition;
use crate::{NewKey, NewSearch, SearchSettings, State};

fn search(name: &str) -> NewSearch {
    NewSearch::of(SearchSettings::new(name, Filter::default()))
}

fn fixture() -> (tempfile::TempDir, State, String) {
    let directory = tempfile::tempdir().expect("a directory");
    let state = State::open(directory.path().join("state.db")).expect("a state");
    let (key, _) = state.create_key(&NewKey::named("Acme")).expect("a key");
    (directory, state, key.id)
}

/// Saves searches without a commit for each.
fn fill(state: &State, key: &str, count: i64) {
    let filled = state.with(|connection| {
        connection.execute(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2) \
             INSERT INTO saved_searches (id, key, name, query, only_new, removals, created_at) \
             SELECT keys.id || i, number, 'filled ' || i, '', 0, 0, 0 FROM n, keys WHERE keys.id = ?1",
            rusqlite::params![key, count],
        )?;
        Ok(())
    });
    filled.expect("searches");
}

#[test]
fn what_is_refused_says_why() {
    let (_directory, state, key) = fixture();
    let refused = |key: &str, new: &NewSearch| {
        let refused = state.create_search(key, new).expect_err("a refusal");
        refused.to_string()
    };
    let first = state.create_search(&key, &search("a")).expect("a search");
    assert!(refused(&key, &search("a")).contains(&first.id));
    assert!(refused("key_none", &search("a")).contains("there is no key \"key_none\""));
    assert!(refused(&key, &search(" ")).contains("the name of the search is empty"));
    assert!(refused(&key, &search("a\nb")).contains("U+000A"));
    let ids: Vec<String> = (1..500_u64)
        .map(|id| (u64::MAX / 2 - id).to_string())
        .collect();
    let long = Filter::from_query_string(&format!("ids={}", ids.join(",")));
    if let Ok(filter) = long {
        let long = NewSearch::of(SearchSettings::new("long", filter));
        assert!(refused(&key, &long).contains("use at most 8000"));
    }
    let other = state.create_search(&key, &search("b")).expect("a search");
    let renamed = state.edit_search(&other.id, |settings| settings.name = "a".into());
    assert!(
        renamed
            .expect_err("a refusal")
            .to_string()
            .contains(&first.id)
    );
    let renamed = state.edit_search(&other.id, |settings| settings.name = "b".into());
    assert!(renamed.expect("its own name").is_some());
    state.revoke_key(&key).expect("revoked");
    assert!(refused(&key, &search("c")).contains("or it is revoked"));
}

#[test]
fn a_key_and_the_state_have_a_bounded_number() {
    let (_directory, state, key) = fixture();
    fill(&state, &key, KEY_MAX - 1);
    state.create_search(&key, &search("last")).expect("room");
    let full = state.create_search(&key, &search("one more"));
    assert!(full.expect_err("a refusal").to_string().contains("1000"));
    let (other, _) = state.create_key(&NewKey::named("other")).expect("a key");
    fill(&state, &other.id, 1);
    let all = state.with(|connection| {
        connection.execute(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) \
             INSERT INTO saved_searches (id, key, name, query, only_new, removals, created_at) \
             SELECT 'all' || i, (SELECT min(number) FROM keys), 'all ' || i, '', 0, 0, 0 FROM n",
            [ALL_MAX - KEY_MAX - 1],
        )?;
        Ok(())
    });
    all.expect("searches");
    let full = state.create_search(&other.id, &search("one more"));
    assert!(full.expect_err("a refusal").to_string().contains("100000"));
}

#[test]
fn a_search_begins_once() {
    let (_directory, state, key) = fixture();
    let created = state.create_search(&key, &search("now")).expect("a search");
    let mut start = search("start");
    start.since = Some("start".parse().expect("a position"));
    let begun = state.create_search(&key, &start).expect("a search");
    assert_eq!(begun.first_position, start.since);
    let position = FeedPosition::Index(sample::index().expect("the sample").snapshot().position());
    let first = |id: &str| {
        let found = state.search(id).expect("the state").expect("a search");
        found.first_position
    };
    state
        .begin_searches(|| Some(position.clone()))
        .expect("begun");
    assert_eq!(first(&created.id), Some(position.clone()));
    assert_eq!(first(&begun.id), start.since);
    let not_asked = || panic!("all have begun");
    state.begin_searches(not_asked).expect("nothing to do");
    let edited = state.edit_search(&created.id, |settings| settings.only_new = true);
    let (edited, _) = edited.expect("the state").expect("a search");
    assert_eq!(
        (edited.first_position, edited.settings.only_new),
        (Some(position), true)
    );
    assert!(state.delete_search(&created.id).expect("deleted"));
    assert!(!state.delete_search(&created.id).expect("the state"));
    assert_eq!(state.searches(Some(&key)).expect("the state").len(), 1);
}
