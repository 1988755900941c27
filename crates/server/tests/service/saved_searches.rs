//! Saved searches over HTTP: what a pull returns is what the filter says of the changes, each match has one id for ever, and
//! a repeated pull is free.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use signaldex::query::KeyFilter;
use signaldex::{Company, Filter, Index, Position, SavedSearches, Signal, SignalId, sample};
use signaldex_server::{NewKey, NewSearch, Quotas, SearchSettings};

use crate::changes::{commit, service};
use crate::client::Response;
use crate::fixture::Fixture;

/// A search of the fixture's key.
struct Saved<'f> {
    fixture: &'f Fixture,
    id: String,
}

impl<'f> Saved<'f> {
    fn new(fixture: &'f Fixture, query: &str, set: impl FnOnce(&mut NewSearch)) -> Saved<'f> {
        let state = fixture.state();
        let key = state.keys().expect("keys").remove(0);
        let filter = Filter::from_query_string(query).expect("a filter");
        let name = format!("search {}", state.searches(None).expect("searches").len());
        let mut new = NewSearch::of(SearchSettings::new(name, filter));
        set(&mut new);
        let id = state.create_search(&key.id, &new).expect("a search").id;
        Saved { fixture, id }
    }

    fn target(&self, query: &str) -> String {
        format!("/api/v1/saved-searches/{}/matches{query}", self.id)
    }

    fn pull(&self, since: Option<&str>, limit: usize) -> Pulled {
        let since = since.map_or(String::new(), |since| format!("&since={since}"));
        let response = self
            .fixture
            .get(&self.target(&format!("?limit={limit}{since}")));
        assert_eq!(response.status, 200, "{response:?}");
        let pulled = Pulled::of(&response);
        assert_eq!(response.charged(), pulled.matches.len() as u64);
        assert!(pulled.matches.len() + pulled.removed.len() <= limit);
        pulled
    }

    /// Pulls to the end.
    fn follow(&self, since: Option<&str>, limit: usize) -> Pulled {
        let mut all = self.pull(since, limit);
        while all.more {
            let next = self.pull(Some(&all.next), limit);
            all.matches.extend(next.matches);
            all.removed.extend(next.removed);
            (all.next, all.more) = (next.next, next.more);
        }
        all
    }
}

/// A match: its id, whether it is new, and the signal.
type Match = (String, bool, Value);

struct Pulled {
    matches: Vec<Match>,
    removed: Vec<String>,
    next: String,
    more: bool,
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

impl Pulled {
    fn of(response: &Response) -> Pulled {
        let data = &response.json()["data"];
        let list = |name: &str| data[name].as_array().expect("a list").clone();
        let found = |found: &Value| {
            let is_new = found["isNew"].as_bool().expect("a flag");
            (text(&found["id"]), is_new, found["signal"].clone())
        };
        Pulled {
            matches: list("matches").iter().map(found).collect(),
            removed: list("removed").iter().map(text).collect(),
            next: text(&data["next"]),
            more: data["more"].as_bool().expect("a flag"),
        }
    }

    fn signals(&self) -> Vec<String> {
        let signals = self.matches.iter();
        signals.map(|(_, _, signal)| text(&signal["id"])).collect()
    }
}

/// What a signal is now, the commit of its last change, and that in which it appeared.
type Known = (&'static str, u64, u64);

/// The meaning of a pull, from a history that is kept whole.
#[derive(Default)]
struct Model {
    signals: BTreeMap<u64, Known>,
    commits: u64,
}

const TITLES: [&str; 3] = ["Acme hires", "Acme moves", "Acme hires an intern"];

impl Model {
    fn change(&mut self, index: &Index, upserts: &[(u64, &'static str)], deletions: &[u64]) {
        commit(index, upserts.iter().copied(), deletions);
        self.commits += 1;
        for &(id, title) in upserts {
            let first = self.signals.get(&id).map_or(self.commits, |known| known.2);
            self.signals.insert(id, (title, self.commits, first));
        }
        for id in deletions {
            self.signals.remove(id);
        }
    }

    /// The signals that match and changed after a commit, in the order of commits and then of ids, and whether each is new.
    fn matches(&self, filter: &Filter, after: u64) -> Vec<(String, bool)> {
        let acme = Company::new("acme", "Acme");
        let mut found: Vec<(u64, u64, bool)> = Vec::new();
        for (&id, &(title, changed, first)) in &self.signals {
            let signal = Signal::new(SignalId::new(id).expect("an id"), "acme", title);
            if changed > after && filter.matches(&signal, &acme, sample::AS_OF) {
                found.push((changed, id, first > after));
            }
        }
        found.sort_unstable();
        let found = found.into_iter();
        found
            .map(|(_, id, is_new)| (id.to_string(), is_new))
            .collect()
    }
}

/// Steps of a history, from a number that chooses them.
fn step(model: &mut Model, index: &Index, seed: &mut u64) {
    let mut roll = |sides: u64| {
        *seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) % sides
    };
    let upserts: BTreeMap<u64, &'static str> = (0..1 + roll(6))
        .map(|_| (1 + roll(40), TITLES[roll(3) as usize]))
        .collect();
    let upserts: Vec<(u64, &'static str)> = upserts.into_iter().collect();
    let is_kept = |id: &u64| upserts.iter().all(|(kept, _)| kept != id);
    let known: Vec<u64> = model.signals.keys().copied().filter(is_kept).collect();
    let deleted = match known.len() as u64 {
        0 => Vec::new(),
        len if roll(3) == 0 => vec![known[roll(len) as usize]],
        _ => Vec::new(),
    };
    model.change(index, &upserts, &deleted);
}

#[test]
fn a_pull_returns_what_the_filter_says_of_the_changes() {
    let (fixture, index) = service(NewKey {
        rate: 100_000,
        burst: 100_000,
        ..NewKey::named("law")
    });
    let queries = ["q=hires", "exclude=intern", "q=moves", ""];
    let mut model = Model::default();
    let mut seed = 4711;
    step(&mut model, &index, &mut seed);
    let searches = queries.map(|query| {
        let saved = Saved::new(&fixture, query, |new| {
            new.settings.removals = query == "q=hires"
        });
        let only_new = Saved::new(&fixture, query, |new| new.settings.only_new = true);
        (query, saved, only_new)
    });
    // Each begins with the first snapshot that the service sees.
    let mut since = searches.each_ref().map(|(_, saved, only_new)| {
        let begin = saved.pull(None, 50);
        assert!(begin.matches.is_empty() && !begin.more);
        assert_eq!(only_new.pull(None, 50).next, begin.next);
        begin.next
    });
    let (mut ids, mut copy) = (BTreeSet::new(), BTreeSet::new());
    for round in 0..12 {
        let after = model.commits;
        for _ in 0..=round % 3 {
            step(&mut model, &index, &mut seed);
        }
        let limit = [1, 3, 50][round % 3];
        for ((query, saved, only_new), since) in searches.iter().zip(&mut since) {
            let filter = Filter::from_query_string(query).expect("a filter");
            let expected = model.matches(&filter, after);
            let pulled = saved.follow(Some(since), limit);
            let found: Vec<(String, bool)> = pulled
                .matches
                .iter()
                .map(|(_, is_new, signal)| (text(&signal["id"]), *is_new))
                .collect();
            assert_eq!(found, expected, "{query} in round {round}");
            let mut library = SavedSearches::new();
            library.insert("it", filter);
            let position: Position = since.parse().expect("a position");
            let snapshot = index.snapshot();
            let matching = library.matching(&snapshot, &position, sample::AS_OF);
            let matching = matching.expect("a position").map(|matched| {
                let matched = matched.expect("a whole index");
                (matched.item.signal.id.to_string(), matched.is_new)
            });
            assert_eq!(matching.collect::<Vec<_>>(), expected);
            let new = only_new.follow(Some(since), limit).signals();
            let expected_new = expected.iter().filter(|(_, is_new)| *is_new);
            assert!(new.iter().eq(expected_new.map(|(id, _)| id)), "{query}");
            for (id, _, _) in &pulled.matches {
                assert!(id.starts_with("mtch_") && ids.insert(id.clone()), "{id}");
            }
            if *query == "q=hires" {
                copy.extend(pulled.signals());
                copy.retain(|id| !pulled.removed.contains(id));
            }
            *since = pulled.next;
        }
    }
    let matching = model.matches(&Filter::from_query_string("q=hires").expect("a filter"), 0);
    let matching: BTreeSet<String> = matching.into_iter().map(|(id, _)| id).collect();
    // What was there before the search began is not delivered; what was delivered and left is removed.
    assert!(copy.is_subset(&matching), "{copy:?} {matching:?}");
}

#[test]
fn a_repeated_pull_is_the_same_and_free() {
    let (fixture, index) = service(NewKey::named("repeated"));
    let saved = Saved::new(&fixture, "q=hires", |_| {});
    let since = saved.pull(None, 50).next;
    commit(&index, (1..5).map(|id| (id, "Acme hires")), &[]);
    let target = saved.target(&format!("?since={since}"));
    let first = fixture.get(&target);
    assert_eq!((first.status, first.charged()), (200, 4));
    commit(&index, (4..9).map(|id| (id, "Acme hires")), &[]);
    for again in [target.clone(), format!("{target}&limit=50")] {
        let again = fixture.get(&again);
        assert_eq!((again.status, again.charged()), (200, 0));
        assert_eq!(again.header("idempotency-replayed"), Some("true"));
        assert_eq!(again.body, first.body);
    }
    let tag = first.header("etag").expect("a tag").to_owned();
    let unchanged = fixture.send("GET", &target, &[("if-none-match", &tag)]);
    assert_eq!((unchanged.status, unchanged.charged()), (304, 0));
    let other = fixture.get(&format!("{target}&limit=2"));
    assert_eq!((other.status, other.charged()), (200, 2));
    let head = fixture.send("HEAD", &target, &[]);
    assert_eq!((head.status, head.charged()), (200, 0));
    // An edited search is another one.
    let edited = fixture
        .state()
        .edit_search(&saved.id, |settings| settings.only_new = true);
    assert!(edited.expect("the state").is_some());
    let edited = fixture.get(&target);
    assert_eq!((edited.status, edited.charged()), (200, 8));
}

#[test]
fn a_signal_that_changes_again_has_another_match_and_one_that_does_not_keeps_it() {
    let (fixture, index) = service(NewKey::named("ids"));
    let saved = Saved::new(&fixture, "q=hires", |new| {
        new.since = Some("start".parse().expect("a position"));
    });
    commit(&index, (1..3).map(|id| (id, "Acme hires")), &[]);
    let first = saved.pull(None, 50);
    commit(&index, [(2, "Acme hires")].into_iter(), &[]);
    let again = saved.pull(None, 49);
    assert_eq!(first.matches[0].0, again.matches[0].0);
    assert_ne!(first.matches[1].0, again.matches[1].0);
}

#[test]
fn a_new_signal_that_changes_while_a_search_lags_is_not_lost() {
    let (fixture, index) = service(NewKey::named("lagging"));
    let saved = Saved::new(&fixture, "", |new| new.settings.only_new = true);
    let since = saved.pull(None, 50).next;
    commit(&index, (1..9).map(|id| (id, "Acme hires")), &[]);
    commit(&index, (9..12).map(|id| (id, "Acme hires")), &[]);
    // Passed by the next pull, because its last change is later.
    commit(&index, [(2, "Acme moves")].into_iter(), &[]);
    let pulled = saved.pull(Some(&since), 5);
    assert_eq!(pulled.signals(), ["1", "3", "4", "5", "6"]);
    let rest = saved.follow(Some(&pulled.next), 5);
    assert_eq!(rest.signals(), ["7", "8", "9", "10", "11", "2"]);
    commit(&index, [(3, "Acme moves")].into_iter(), &[]);
    assert!(saved.pull(Some(&rest.next), 5).matches.is_empty());
}

#[test]
fn a_key_pulls_its_own_searches_only() {
    let (fixture, index) = service(NewKey::named("own"));
    let saved = Saved::new(&fixture, "q=hires", |_| {});
    let list = fixture.get("/api/v1/saved-searches");
    assert_eq!((list.status, list.charged()), (200, 0));
    let listed = &list.json()["data"]["searches"];
    assert_eq!(listed.as_array().expect("a list").len(), 1);
    assert_eq!(listed[0]["id"].as_str(), Some(saved.id.as_str()));
    assert_eq!(listed[0]["query"], "all=hires");
    assert_eq!(listed[0]["status"], "active");
    let other = fixture.other_key(&NewKey::named("other"));
    let bearer = format!("Bearer {}", other.as_str());
    let headers = [("authorization", bearer.as_str())];
    let list = fixture.send_as_is("GET", "/api/v1/saved-searches", &headers);
    assert_eq!(list.json()["data"]["searches"], Value::Array(Vec::new()));
    let hidden = fixture.send_as_is("GET", &saved.target(""), &headers);
    let absent = fixture.send_as_is("GET", "/api/v1/saved-searches/srch_none/matches", &headers);
    assert_eq!((hidden.status, absent.status), (404, 404));
    let detail = |response: &Response| response.json()["detail"].clone();
    assert_eq!(detail(&hidden), detail(&absent));
    for (query, status) in [("?since=yesterday", 400), ("?limit=51", 400), ("?q=a", 400)] {
        assert_eq!(fixture.get(&saved.target(query)).status, status, "{query}");
    }
    assert_eq!(fixture.get("/api/v1/saved-searches?limit=1").status, 400);
    let foreign = sample::index().expect("the sample").snapshot().position();
    let foreign = fixture.get(&saved.target(&format!("?since={foreign}")));
    assert_eq!(foreign.status, 410);
    commit(&index, [(1, "Acme hires")].into_iter(), &[]);
    assert!(fixture.state().delete_search(&saved.id).expect("deleted"));
    assert_eq!(fixture.get(&saved.target("")).status, 404);
}

#[test]
fn a_quota_cuts_a_pull_and_nothing_is_lost() {
    let quotas = Quotas {
        signals: Some(3),
        ..Quotas::default()
    };
    let (fixture, index) = service(NewKey {
        quotas,
        ..NewKey::named("poor")
    });
    let saved = Saved::new(&fixture, "q=hires", |_| {});
    let since = saved.pull(None, 50).next;
    commit(&index, (1..6).map(|id| (id, "Acme hires")), &[]);
    let pulled = saved.pull(Some(&since), 50);
    assert_eq!((pulled.signals().len(), pulled.more), (3, true));
    let exhausted = fixture.get(&saved.target(&format!("?since={}", pulled.next)));
    assert_eq!(exhausted.status, 402);
    let repeated = fixture.get(&saved.target(&format!("?limit=50&since={since}")));
    assert_eq!((repeated.status, repeated.charged()), (200, 0));
}

/// The key's filter is applied as it is at the pull; a search goes on with its own first position.
#[test]
fn a_filter_of_the_key_hides_matches_and_its_edit_begins_anew() {
    let filter = KeyFilter::parse(["q=hires"], []).expect("a filter");
    let (fixture, index) = service(NewKey {
        filter: Some(filter.into()),
        ..NewKey::named("narrowed")
    });
    let saved = Saved::new(&fixture, "", |_| {});
    let since = saved.pull(None, 50).next;
    commit(
        &index,
        [(1, "Acme hires"), (2, "Acme moves")].into_iter(),
        &[],
    );
    let pulled = saved.pull(Some(&since), 50);
    assert_eq!(pulled.signals(), ["1"]);
    assert_eq!(saved.pull(None, 49).signals(), ["1"]);
    let key = fixture.state().keys().expect("keys").remove(0);
    let filter = KeyFilter::parse(["q=moves"], []).expect("a filter");
    let edit = |settings: &mut NewKey| settings.filter = Some(filter.into());
    assert!(
        fixture
            .state()
            .edit_key(&key.id, edit)
            .expect("edited")
            .is_some()
    );
    // The service follows within a quarter of a second.
    std::thread::sleep(std::time::Duration::from_millis(600));
    let target = saved.target(&format!("?limit=48&since={}", pulled.next));
    assert_eq!(fixture.get(&target).status, 410);
    assert_eq!(saved.pull(None, 48).signals(), ["2"]);
}
