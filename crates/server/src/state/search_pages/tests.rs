//! Which searches pages have.

use signaldex::Filter;
use time::Duration;

use super::SearchesWanted;
use crate::webhooks::{SearchStatus, WebhookRules, WebhookUrl};
use crate::{NewKey, NewSearch, SearchSettings, State};

const ALL: SearchesWanted<'_> = SearchesWanted {
    key: "",
    status: None,
    find: "",
    before: "",
    rows: 100,
};

fn save(state: &State, key: &str, name: &str, has_webhook: bool) -> String {
    let settings = SearchSettings::new(name, Filter::default());
    let url = WebhookUrl::parse("https://hooks.example/in", &WebhookRules::default());
    let new = match url.ok().filter(|_| has_webhook) {
        Some(url) => NewSearch::with_webhook(settings, url).expect("a secret"),
        None => NewSearch::of(settings),
    };
    state.create_search(key, &new).expect("a search").id
}

fn names(state: &State, wanted: &SearchesWanted<'_>) -> Vec<String> {
    let found = state.search_page(wanted).expect("the state");
    let found = found.searches.into_iter();
    found.map(|search| search.settings.name).collect()
}

#[test]
fn pages_are_newest_first_and_go_on_after_the_last() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = State::open(directory.path().join("state.db")).expect("a state");
    let key = |name: &str| state.create_key(&NewKey::named(name)).expect("a key").0.id;
    let (acme, globex) = (key("Acme"), key("Globex"));
    save(&state, &acme, "Robots", false);
    let middle = save(&state, &globex, "Ünder", true);
    save(&state, &acme, "Rest", true);
    assert_eq!(names(&state, &ALL), ["Rest", "Ünder", "Robots"]);
    assert_eq!(names(&state, &SearchesWanted { rows: 1, ..ALL }), ["Rest"]);
    let before = middle.as_str();
    assert_eq!(names(&state, &SearchesWanted { before, ..ALL }), ["Robots"]);
    let of_key = SearchesWanted { key: &acme, ..ALL };
    assert_eq!(names(&state, &of_key), ["Rest", "Robots"]);
    assert!(names(&state, &SearchesWanted { key: "none", ..ALL }).is_empty());
    for (find, found) in [("üN", 1), ("HOOKS.example", 2), (&middle[..], 1), ("%", 0)] {
        assert_eq!(
            names(&state, &SearchesWanted { find, ..ALL }).len(),
            found,
            "{find}"
        );
    }
    assert_eq!(state.search_count("").ok(), Some(3));
    assert_eq!(state.search_count(&acme).ok(), Some(2));
    assert_eq!(state.search_count("none").ok(), Some(0));
}

#[test]
fn a_page_looks_through_a_bounded_number_of_bytes_and_the_next_goes_on() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = State::open(directory.path().join("state.db")).expect("a state");
    let key = state
        .create_key(&NewKey::named("Acme"))
        .expect("a key")
        .0
        .id;
    let ids: Vec<String> = (0..10)
        .map(|number| save(&state, &key, &format!("search {number}"), true))
        .collect();
    let page = |before: &str, find: &str| {
        let wanted = SearchesWanted {
            before,
            find,
            ..ALL
        };
        state.search_page_within(&wanted, 200).expect("the state")
    };
    let (mut before, mut found, mut pages) = (String::new(), Vec::new(), 0);
    // Each page begins after the last search that the one before has looked at.
    loop {
        let page = page(&before, "SEARCH 3");
        found.extend(page.searches.into_iter().map(|search| search.id));
        (before, pages) = (page.last, pages + 1);
        if !page.are_more {
            break;
        }
    }
    assert_eq!(found, [ids[3].clone()]);
    assert!(pages > 2, "{pages}");
    let unbounded = page("", "");
    assert!(unbounded.searches.len() == 10 && !unbounded.are_more);
}

#[test]
fn each_status_finds_what_a_search_is_shown_with() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = State::open(directory.path().join("state.db")).expect("a state");
    let now = state.now();
    let mut keys = Vec::new();
    for end in [
        None,
        Some(now - Duration::days(1)),
        Some(now + Duration::days(1)),
    ] {
        let new = NewKey {
            expires_at: end,
            ..NewKey::named("a key")
        };
        keys.push(state.create_key(&new).expect("a key").0.id);
    }
    for key in &keys {
        save(&state, key, "pulled", false);
        for status in SearchStatus::ALL {
            let id = save(&state, key, status.as_str(), true);
            let set = state.with(|connection| {
                let sql = "UPDATE webhooks SET status = ?1 WHERE search = (SELECT number FROM saved_searches WHERE id = ?2)";
                Ok(connection.execute(sql, [status.as_str(), &id])?)
            });
            assert_eq!(set.ok(), Some(1));
        }
    }
    state.revoke_key(&keys[2]).expect("revoked");
    let all = state.search_page(&ALL).expect("the state").searches;
    assert_eq!(all.len(), 24);
    for status in SearchStatus::ALL {
        let wanted = SearchesWanted {
            status: Some(status),
            ..ALL
        };
        let mut expected = all.clone();
        expected.retain(|search| search.status == status);
        assert_eq!(
            state.search_page(&wanted).expect("the state").searches,
            expected,
            "{status}"
        );
    }
    let stopped = state.stopped_webhooks().expect("the state");
    assert_eq!(
        stopped,
        [(SearchStatus::Disabled, 3), (SearchStatus::Expired, 3)]
    );
}
