//! What operators change of webhooks, and what the log of attempts keeps.

use std::time::Duration;

use signaldex::{Filter, sample};

use super::{LOG_MAX, feed_position, log_attempt};
use crate::corpus::FeedPosition;
use crate::instants::{milliseconds, of_milliseconds};
use crate::webhooks::{DeliveryAttempt, SearchStatus, WebhookRules, WebhookSecret, WebhookUrl};
use crate::{NewKey, NewSearch, SearchRecord, SearchSettings, State};

fn url(text: &str) -> WebhookUrl {
    WebhookUrl::parse(text, &WebhookRules::default()).expect("a URL")
}

fn fixture() -> (tempfile::TempDir, State, SearchRecord) {
    let directory = tempfile::tempdir().expect("a directory");
    let state = State::open(directory.path().join("state.db")).expect("a state");
    let (key, _) = state.create_key(&NewKey::named("Acme")).expect("a key");
    let settings = SearchSettings::new("hooks", Filter::default());
    let new = NewSearch::with_webhook(settings, url("https://hooks.example/in"));
    let search = state.create_search(&key.id, &new.expect("a secret"));
    (directory, state, search.expect("a search"))
}

fn found(state: &State, id: &str) -> SearchRecord {
    state.search(id).expect("the state").expect("a search")
}

#[test]
fn a_webhook_is_paused_resumed_moved_and_rotated() {
    let (_directory, state, search) = fixture();
    let id = search.id.as_str();
    let webhook = search.webhook.expect("a webhook");
    assert_eq!(webhook.url.as_str(), "https://hooks.example/in");
    assert_eq!((webhook.pending, webhook.position), (0, None));
    assert_eq!(search.status, SearchStatus::Active);
    assert!(state.pause_search(id).expect("the state"));
    assert_eq!(found(&state, id).status, SearchStatus::Paused);
    assert!(state.resume_search(id).expect("the state"));
    assert_eq!(found(&state, id).status, SearchStatus::Active);
    let rotated = state.rotate_webhook_secret(id, Duration::from_secs(60));
    assert!(rotated.expect("the state").is_some());
    let moved = state.edit_search(id, |settings| {
        settings.webhook = Some(url("https://other.example/"));
    });
    let (moved, secret) = moved.expect("the state").expect("a search");
    assert!(secret.is_none());
    let moved = moved.webhook;
    assert_eq!(
        moved.expect("a webhook").url.as_str(),
        "https://other.example/"
    );
    let entries = state.audit(None, Some(id), 0).expect("the audit");
    let actions: Vec<&str> = entries.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(
        actions,
        [
            "searches.create",
            "searches.pause",
            "searches.resume",
            "searches.rotate",
            "searches.edit"
        ]
    );
    let all = serde_json::to_string(&entries).expect("JSON");
    assert!(!all.contains("secret"), "{all}");
    assert_eq!(entries[1].after["status"], "paused");
    assert!(state.delete_search(id).expect("the state"));
    assert!(!state.pause_search(id).expect("the state"));
}

#[test]
fn a_search_without_a_webhook_has_nothing_to_change() {
    let (_directory, state, search) = fixture();
    let settings = SearchSettings::new("pulled", Filter::default());
    let pulled = state.create_search(&search.key_id, &NewSearch::of(settings));
    let pulled = pulled.expect("a search");
    assert!(pulled.webhook.is_none());
    assert!(!state.pause_search(&pulled.id).expect("the state"));
    let mut without = NewSearch::of(SearchSettings::new("no hook", Filter::default()));
    without.secret = Some(WebhookSecret::generate().expect("a secret"));
    let refused = state.create_search(&search.key_id, &without);
    assert!(
        refused
            .expect_err("refused")
            .to_string()
            .contains("neither")
    );
}

#[test]
fn a_search_that_goes_on_from_now_says_what_it_skips() {
    let (_directory, state, search) = fixture();
    let from_now = || state.resume_search_from_now(&search.id);
    assert!(
        from_now()
            .expect_err("no deliverer")
            .to_string()
            .contains("start one")
    );
    let now = sample::index().expect("the sample").snapshot().position();
    state
        .with(|connection| {
            let position = now.to_string();
            connection.execute("INSERT INTO webhook_feed VALUES (?1)", [position])?;
            connection.execute("UPDATE webhooks SET position = 'start'", [])?;
            Ok(())
        })
        .expect("the state");
    assert_eq!(from_now().expect("the state"), Some(Some(now.step().0)));
    let webhook = found(&state, &search.id).webhook.expect("a webhook");
    assert_eq!(webhook.position, Some(FeedPosition::Index(now)));
    assert!(state.pause_search(&search.id).expect("the state"));
    let webhook = found(&state, &search.id).webhook.expect("a webhook");
    assert_eq!(webhook.position, Some(FeedPosition::Index(now)));
    assert_eq!(from_now().expect("the state"), Some(Some(0)));
    let kept = state.with(|connection| Ok(feed_position(connection)?));
    assert_eq!(kept.expect("the state"), Some(now.to_string()));
}

#[test]
fn the_status_follows_the_key() {
    let (_directory, state, search) = fixture();
    assert!(state.revoke_key(&search.key_id).expect("the state"));
    assert_eq!(found(&state, &search.id).status, SearchStatus::KeyEnded);
}

#[test]
fn the_log_keeps_the_last_attempts_of_seven_days() {
    let (_directory, state, search) = fixture();
    let start = milliseconds(state.now());
    let attempt = |number: u32| DeliveryAttempt {
        at: of_milliseconds(start + i64::from(number)),
        id: "msg_a".into(),
        attempt: number,
        status: Some(500),
        reason: None,
        milliseconds: 7,
        matches: 3,
    };
    let log = |attempt: &DeliveryAttempt| {
        let logged = state.with(|connection| Ok(log_attempt(connection, 1, attempt)?));
        logged.expect("the state");
    };
    log(&DeliveryAttempt {
        at: of_milliseconds(start - 8 * 24 * 3_600 * 1_000),
        ..attempt(0)
    });
    assert!(state.deliveries(&search.id).expect("the log").is_empty());
    (1..=LOG_MAX + 5).for_each(|number| log(&attempt(number)));
    let kept = state.deliveries(&search.id).expect("the log");
    assert_eq!(
        (kept.len(), kept[0].clone()),
        (LOG_MAX as usize, attempt(LOG_MAX + 5))
    );
    let stored = state.with(|connection| {
        let sql = "SELECT count(*) FROM webhook_attempts";
        Ok(connection.query_row(sql, [], |row| row.get::<_, u32>(0))?)
    });
    assert_eq!(stored.expect("the state"), LOG_MAX);
}

#[test]
fn a_webhook_is_taken_away_and_given_again() {
    let (_directory, state, search) = fixture();
    let id = search.id.as_str();
    let position = FeedPosition::Index(sample::index().expect("an index").snapshot().position());
    state
        .begin_searches(|| Some(position.clone()))
        .expect("begun");
    // Delivered up to where the feed is: the key pulls on from there.
    let delivered = state.with(|connection| {
        let feed = "INSERT INTO webhook_feed VALUES (?1)";
        connection.execute(feed, [position.to_string()])?;
        let sql = "UPDATE saved_searches SET first_position = 'start'";
        connection.execute_batch(&format!("{sql}; UPDATE webhooks SET is_current = 1"))?;
        Ok(())
    });
    delivered.expect("delivered");
    let edited = state.edit_search(id, |settings| settings.webhook = None);
    let (edited, secret) = edited.expect("the state").expect("a search");
    assert!(edited.webhook.is_none() && secret.is_none());
    assert_eq!(edited.first_position, Some(position));
    assert!(state.webhook_secrets(id).expect("the state").is_empty());
    // A new webhook begins anew, with a secret of its own.
    let target = url("https://hooks.example/again");
    let edited = state.edit_search(id, |settings| settings.webhook = Some(target.clone()));
    let (edited, secret) = edited.expect("the state").expect("a search");
    let webhook = edited.webhook.expect("a webhook");
    assert_eq!((webhook.url, webhook.position), (target, None));
    assert_eq!(edited.first_position, None);
    let secrets = state.webhook_secrets(id).expect("the state");
    assert_eq!(secrets, [secret.expect("a secret")]);
}
