//! Changes with their entries: each has one, no entry has a secret, and none outlives its time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::json;
use signaldex::query::KeyFilter;

use super::*;
use crate::keys::NewKey;
use crate::people::Role;
use crate::saved_searches::{NewSearch, SearchSettings};

const NOW: i64 = 1_795_000_000;
const DAY: i64 = 24 * 60 * 60;

struct Fixture {
    state: State,
    seconds: Arc<AtomicI64>,
    directory: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Fixture {
        let directory = tempfile::tempdir().expect("a directory");
        let seconds = Arc::new(AtomicI64::new(NOW));
        let shared = Arc::clone(&seconds);
        let state = State::open(directory.path().join("state.db")).expect("a state");
        let state = state.with_clock(move || {
            let now = UtcDateTime::from_unix_timestamp(shared.load(Ordering::Relaxed));
            now.expect("an instant")
        });
        Fixture {
            state,
            seconds,
            directory,
        }
    }

    fn entries(&self) -> Vec<AuditEntry> {
        self.state.audit(None, None, 0).expect("the audit")
    }

    fn actions(&self) -> Vec<String> {
        let entries = self.entries().into_iter();
        entries.map(|entry| entry.action).collect()
    }
}

#[test]
fn every_change_of_a_key_has_its_entry_with_what_has_changed() {
    let fixture = Fixture::new();
    let state = &fixture.state;
    let by = Actor::of_person("Ada", Some("192.0.2.1".to_owned()));
    let new = NewKey::named("shop");
    let (key, secret) = state.create_key_by(&by, &new).expect("a key");
    let edit = |settings: &mut NewKey| settings.quotas.signals = Some(5);
    state.edit_key_by(&by, &key.id, edit).expect("edited");
    state.edit_key(&key.id, edit).expect("nothing new");
    let rotated = state
        .rotate_key(&key.id, Duration::ZERO)
        .expect("rotated")
        .expect("a key");
    assert!(state.revoke_key(&key.id).expect("revoked"));
    assert!(!state.revoke_key(&key.id).expect("revoked before"));
    assert!(state.edit_key(&key.id, edit).expect("no key").is_none());

    let entries = fixture.entries();
    let actions: Vec<&str> = entries.iter().map(|entry| entry.action.as_str()).collect();
    let expected = ["keys.create", "keys.edit", "keys.rotate", "keys.revoke"];
    assert_eq!(actions, expected);
    assert!(entries.iter().all(|entry| entry.target == key.id));
    assert_eq!(entries[0].actor, "person:Ada");
    assert_eq!(entries[0].from.as_deref(), Some("192.0.2.1"));
    assert!(entries[2].actor.starts_with("cli:"));
    assert_eq!(entries[0].before, Value::Null);
    assert_eq!(entries[0].after["name"], "shop");
    assert_eq!(entries[0].after["rate"], 50);
    assert_eq!(entries[0].after.get("quotaSignals"), None);
    assert_eq!(entries[1].before, json!({"quotaSignals": null}));
    assert_eq!(entries[1].after, json!({"quotaSignals": 5}));
    assert_eq!(entries[2].before, json!({"hint": secret.hint()}));
    assert_eq!(entries[2].after, json!({"hint": rotated.hint()}));
    let revoked = json!({"revokedAt": "2026-11-18T11:06:40Z"});
    assert_eq!(entries[3].after, revoked);
}

#[test]
fn filters_have_entries_by_the_names_of_the_commands() {
    let fixture = Fixture::new();
    let mut new = NewKey::named("shop");
    let filter = |filters: &[&str], exceptions: &[&str]| {
        KeyFilter::edited(None, Some(filters), Some(exceptions)).expect("a filter")
    };
    new.filter = filter(&["country=Japan", "country=Korea"], &[]).map(Arc::new);
    let (key, _) = fixture.state.create_key(&new).expect("a key");
    let edited = filter(&["country=Japan"], &["q=layoffs"]).map(Arc::new);
    let edit = |settings: &mut NewKey| settings.filter = edited;
    fixture.state.edit_key(&key.id, edit).expect("edited");
    let entries = fixture.entries();
    let both = json!(["country=japan", "country=korea"]);
    assert_eq!(entries[0].after["filters"], both);
    assert_eq!(entries[0].after.get("exceptions"), None);
    let before = json!({"filters": both, "exceptions": null});
    assert_eq!(entries[1].before, before);
    let after = json!({"filters": ["country=japan"], "exceptions": ["all=layoffs"]});
    assert_eq!(entries[1].after, after);
}

#[test]
fn an_entry_is_a_line_of_json_with_its_members_in_order() {
    let fixture = Fixture::new();
    let by = Actor::of_person("Ada", None);
    let token = fixture.state.add_person_by(&by, "Bo\"b", Role::Viewer);
    let hint = token.expect("a token").hint();
    let line = serde_json::to_string(&fixture.entries()[0]).expect("a line");
    let expected = format!(
        "{{\"at\":\"2026-11-18T11:06:40Z\",\"actor\":\"person:Ada\",\"from\":null,\"action\":\"people.add\",\
         \"target\":\"person:Bo\\\"b\",\"before\":null,\"after\":{{\"createdAt\":\"2026-11-18T11:06:40Z\",\
         \"hint\":\"{hint}\",\"name\":\"Bo\\\"b\",\"role\":\"viewer\"}}}}"
    );
    assert_eq!(line, expected);
}

#[test]
fn copied_keys_have_an_entry_each_the_first_time() {
    let (from, to) = (Fixture::new(), Fixture::new());
    for name in ["one", "two"] {
        from.state.create_key(&NewKey::named(name)).expect("a key");
    }
    for _ in 0..2 {
        to.state.copy_keys(&from.state).expect("copied");
    }
    assert_eq!(to.actions(), ["keys.copy", "keys.copy"]);
}

#[test]
fn a_change_that_fails_leaves_neither_itself_nor_an_entry() {
    let fixture = Fixture::new();
    let (key, _) = fixture
        .state
        .create_key(&NewKey::named("shop"))
        .expect("a key");
    fixture
        .state
        .with(|connection| {
            connection.execute_batch(
                "CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'full'); END",
            )?;
            Ok(())
        })
        .expect("a trigger");
    let edit = |settings: &mut NewKey| settings.rate = 7;
    assert!(fixture.state.edit_key(&key.id, edit).is_err());
    assert!(fixture.state.revoke_key(&key.id).is_err());
    assert!(fixture.state.add_person("ada", Role::Admin).is_err());
    let keys = fixture.state.keys().expect("keys");
    assert_eq!((keys[0].settings.rate, keys[0].revoked_at), (50, None));
    assert!(fixture.state.people().expect("people").is_empty());
    assert_eq!(fixture.actions(), ["keys.create"]);
}

#[test]
fn entries_are_kept_for_400_days() {
    let fixture = Fixture::new();
    let create = || {
        fixture
            .state
            .create_key(&NewKey::named("shop"))
            .expect("a key")
    };
    create();
    fixture.seconds.store(NOW + 400 * DAY, Ordering::Relaxed);
    create();
    assert_eq!(fixture.entries().len(), 2);
    fixture
        .seconds
        .store(NOW + 400 * DAY + 1, Ordering::Relaxed);
    assert_eq!(fixture.entries().len(), 1, "none that is too old is shown");
    create();
    let rows: i64 = fixture
        .state
        .with(|connection| {
            Ok(connection.query_row("SELECT count(*) FROM audit", [], |row| row.get(0))?)
        })
        .expect("a count");
    assert_eq!(rows, 2, "nor kept");
}

#[test]
fn entries_are_found_by_instant_target_and_text() {
    let fixture = Fixture::new();
    let (first, _) = fixture
        .state
        .create_key(&NewKey::named("one"))
        .expect("a key");
    fixture.seconds.store(NOW + 60, Ordering::Relaxed);
    fixture
        .state
        .create_key(&NewKey::named("two"))
        .expect("a key");
    fixture
        .state
        .add_person("Ada", Role::Admin)
        .expect("a token");
    let since = UtcDateTime::from_unix_timestamp(NOW + 60).expect("an instant");
    let audit = |since, target| {
        fixture
            .state
            .audit(since, target, 0)
            .expect("the audit")
            .len()
    };
    assert_eq!((audit(None, None), audit(Some(since), None)), (3, 2));
    assert_eq!(audit(None, Some(&first.id)), 1);
    assert_eq!(audit(None, Some("person:Ada")), 1);
    assert_eq!(audit(Some(since), Some(&first.id)), 0);
    let last = fixture.entries()[1].number;
    assert_eq!(
        fixture
            .state
            .audit(None, None, last)
            .expect("the audit")
            .len(),
        1
    );
    let page = |find, before| {
        let wanted = AuditWanted {
            before,
            find,
            rows: 2,
        };
        let page = fixture.state.audit_page(&wanted).expect("a page");
        page.iter()
            .map(|entry| entry.action.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(page("", None), ["people.add", "keys.create"]);
    assert_eq!(page("", Some(last)), ["keys.create"]);
    assert_eq!(page("PERSON:ada", None), ["people.add"]);
    assert_eq!(page("keys.", None), ["keys.create", "keys.create"]);
    assert!(page("%", None).is_empty());
}

#[test]
fn no_secret_is_in_the_file() {
    let fixture = Fixture::new();
    let (key, secret) = fixture
        .state
        .create_key(&NewKey::named("shop"))
        .expect("a key");
    let rotated = fixture
        .state
        .rotate_key(&key.id, Duration::ZERO)
        .expect("rotated")
        .expect("a key");
    let token = fixture
        .state
        .add_person("ada", Role::Admin)
        .expect("a token");
    let entries = serde_json::to_string(&fixture.entries()).expect("text");
    for secret in [secret.as_str(), rotated.as_str(), token.as_str()] {
        assert!(!entries.contains(secret));
        for entry in std::fs::read_dir(fixture.directory.path()).expect("a directory") {
            let bytes = std::fs::read(entry.expect("an entry").path()).expect("a file");
            let is_secret = |window: &[u8]| window == secret.as_bytes();
            assert!(!bytes.windows(secret.len()).any(is_secret));
        }
    }
    assert!(!entries.contains("hash"), "no hash either: {entries}");
}

#[test]
fn every_change_of_a_saved_search_has_its_entry() {
    let fixture = Fixture::new();
    let state = &fixture.state;
    let (key, _) = state.create_key(&NewKey::named("shop")).expect("a key");
    let filter = signaldex::Filter::from_query_string("q=robotics").expect("a filter");
    let new = NewSearch::of(SearchSettings::new("robots", filter));
    let search = state.create_search(&key.id, &new).expect("a search");
    let edit = |settings: &mut SearchSettings| settings.only_new = true;
    state.edit_search(&search.id, edit).expect("edited");
    state.edit_search(&search.id, edit).expect("nothing new");
    assert!(state.delete_search(&search.id).expect("deleted"));
    let entries = state.audit(None, Some(&search.id), 0).expect("the audit");
    let actions: Vec<&str> = entries.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(
        actions,
        ["searches.create", "searches.edit", "searches.delete"]
    );
    let created = json!({"key": key.id, "name": "robots", "query": "all=robotics", "onlyNew": 0, "removals": 0});
    assert_eq!(entries[0].after, created);
    let changed = (&entries[1].before, &entries[1].after);
    assert_eq!(changed, (&json!({"onlyNew": 0}), &json!({"onlyNew": 1})));
    assert_eq!(entries[2].after, Value::Null);
}
