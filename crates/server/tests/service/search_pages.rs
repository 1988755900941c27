//! The dashboard's pages of saved searches: what forms save, what they refuse, and what is shown once.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use signaldex_server::webhooks::{SearchStatus, WebhookRules};
use signaldex_server::{Limits, NewKey, SearchRecord};

use crate::client::Response;
use crate::dashboard::{Dashboard, Session, text};

/// A dashboard with a key, whose id comes with it, and a session.
fn fixture() -> (Dashboard, String, Session) {
    let dashboard = Dashboard::start();
    let (key, _) = dashboard
        .state()
        .create_key(&NewKey::named("<i>shop"))
        .expect("a key");
    let session = dashboard.sign_in();
    (dashboard, key.id, session)
}

fn submit(dashboard: &Dashboard, session: &Session, target: &str, fields: &str) -> Response {
    let form = format!("form_token={}&{fields}", session.form_token);
    dashboard.post(target, &form, &[("cookie", session.cookie.as_str())])
}

fn only(dashboard: &Dashboard) -> SearchRecord {
    let mut searches = dashboard.state().searches(None).expect("searches");
    assert_eq!(searches.len(), 1);
    searches.remove(0)
}

/// The secret that a page shows.
fn secret(page: &str) -> Option<&str> {
    page.split("aria-label=\"The new secret\">")
        .nth(1)?
        .split('<')
        .next()
}

/// Follows the redirect of a form.
fn follow(dashboard: &Dashboard, session: &Session, answer: &Response) -> String {
    assert_eq!(answer.status, 303, "{}", text(answer));
    let target = answer.header("location").expect("a target");
    let target = target.split('#').next().expect("a target");
    text(&dashboard.visit(session, target))
}

#[test]
fn a_search_is_saved_edited_and_deleted_with_an_audit_of_the_person() {
    let (dashboard, key, session) = fixture();
    let submit = |target: &str, fields: &str| submit(&dashboard, &session, target, fields);
    let fields = format!(
        "key={key}&name=%3Cb%3E%22%27%26&query=q%3Drobotics%26country%3DGermany&webhook=&since=now&removals=yes"
    );
    let page = follow(&dashboard, &session, &submit("/searches", &fields));
    assert!(
        page.contains("<h1>&#60;b&#62;&#34;&#39;&#38;</h1>") && !page.contains("<b>"),
        "{page}"
    );
    assert!(page.contains("none: the key pulls") && secret(&page).is_none());
    let search = only(&dashboard);
    assert!(search.settings.removals && !search.settings.only_new);
    assert!(search.first_position.is_some(), "it has begun");
    // The table names key, query and status; nothing of it is markup.
    for target in [
        "/searches".to_owned(),
        format!("/searches?key={key}&status=active&find=ROBOTICS"),
    ] {
        let page = text(&dashboard.visit(&session, &target));
        assert!(
            page.contains(&search.id) && page.contains("&#60;i&#62;shop"),
            "{target}"
        );
        assert!(
            page.contains("pulled by the key") && !page.contains("<b>"),
            "{target}"
        );
    }
    let page = text(&dashboard.visit(&session, "/searches?find=nobody"));
    assert!(page.contains("No such search") && !page.contains(&search.id));

    let id = search.id.as_str();
    let edit =
        format!("id={id}&name=robots&query=&webhook=https%3A%2F%2Fhooks.example%2Fin&only_new=yes");
    let page = follow(&dashboard, &session, &submit("/searches/edit", &edit));
    let shown = secret(&page).expect("a secret").to_owned();
    assert!(shown.starts_with("whsec_"));
    let again = text(&dashboard.visit(&session, &format!("/searches/edit?id={id}")));
    assert!(secret(&again).is_none(), "shown once");
    let search = only(&dashboard);
    assert!(search.settings.only_new && !search.settings.removals && search.webhook.is_some());
    // Taken away again: the key pulls on.
    let page = follow(
        &dashboard,
        &session,
        &submit(
            "/searches/edit",
            &edit.replace("webhook=https%3A%2F%2Fhooks.example%2Fin", "webhook="),
        ),
    );
    assert!(page.contains("none: the key pulls") && page.contains("Saved."));

    let answer = submit("/searches/delete", &format!("id={id}"));
    let target = format!("/searches?key={key}");
    assert_eq!(answer.header("location"), Some(target.as_str()));
    assert!(
        dashboard
            .state()
            .searches(None)
            .expect("searches")
            .is_empty()
    );
    for target in [
        "/searches/edit",
        "/searches/delete",
        "/searches/pause",
        "/searches/rotate",
        "/searches/test",
    ] {
        assert_eq!(
            submit(target, &format!("id={id}&overlap=0")).status,
            404,
            "{target}"
        );
    }
    let entries = dashboard
        .state()
        .audit(None, Some(id), 0)
        .expect("the audit");
    let actions: Vec<&str> = entries.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(
        actions,
        [
            "searches.create",
            "searches.edit",
            "searches.edit",
            "searches.delete"
        ]
    );
    assert!(entries.iter().all(|entry| entry.actor == "person:admin"));
    assert_eq!(entries[1].after["webhook"], "https://hooks.example/in");
}

#[test]
fn every_fault_of_a_form_is_told_at_its_field() {
    let (dashboard, key, session) = fixture();
    let submit = |target: &str, fields: &str| submit(&dashboard, &session, target, fields);
    let faulty = format!(
        "key={key}&name=&query=contry%3DJapan%26limit%3D5%26days%3D8&webhook=http%3A%2F%2F127.1%2F&since=yesterday"
    );
    let answer = submit("/searches", &faulty);
    assert_eq!(answer.status, 400);
    let page = text(&answer);
    for field in ["name", "query", "webhook", "since"] {
        assert!(
            page.contains(&format!("id=\"{field}-error\"")),
            "{field}: {page}"
        );
    }
    for fault in ["contry", "limit", "days is", "https://", "The position"] {
        assert!(page.contains(fault), "{fault}: {page}");
    }
    let private = faulty.replace("http%3A%2F%2F127.1%2F", "https%3A%2F%2F0x7f.1%2F");
    assert!(text(&submit("/searches", &private)).contains("127.0.0.1 is not public"));
    let good = format!("key={key}&name=robots&query=&webhook=&since=start");
    assert_eq!(submit("/searches", &good).status, 303);
    // What the state refuses: a name that is taken, a key that is not there.
    let taken = submit("/searches", &good);
    assert_eq!(taken.status, 400);
    assert!(text(&taken).contains("has a search of that name, srch_"));
    let lost = submit("/searches", &good.replace(&key, "key_none"));
    assert_eq!(lost.status, 400);
    assert!(text(&lost).contains("there is no key"), "{}", text(&lost));
    let id = only(&dashboard).id;
    let edited = submit(
        "/searches/edit",
        &format!("id={id}&name=a&query=days%3D8&webhook="),
    );
    assert_eq!(edited.status, 400);
    assert!(text(&edited).contains("Nothing was saved") && text(&edited).contains("days is"));
    assert_eq!(only(&dashboard).settings.name, "robots");
    // The search page leads to the form, with its query.
    let page = text(&dashboard.visit(&session, &format!("/search?q=robotics&limit=10&key={key}")));
    assert!(
        page.contains(&format!("/searches?key={key}&#38;query=all%3Drobotics#new")),
        "{page}"
    );
    let page = text(&dashboard.visit(&session, &format!("/searches?key={key}&query=q%3Drobotics")));
    assert!(page.contains("q=robotics</textarea>"), "{page}");
}

#[test]
fn a_webhook_is_paused_resumed_and_rotated() {
    let (dashboard, key, session) = fixture();
    let submit = |target: &str, fields: &str| submit(&dashboard, &session, target, fields);
    let fields =
        format!("key={key}&name=robots&query=&webhook=https%3A%2F%2Fhooks.example%2F&since=now");
    let page = follow(&dashboard, &session, &submit("/searches", &fields));
    let first = secret(&page).expect("a secret").to_owned();
    let id = only(&dashboard).id;
    let own = format!("id={id}");
    let page = follow(&dashboard, &session, &submit("/searches/pause", &own));
    assert!(page.contains(">paused</span>") && page.contains("until the search is resumed"));
    let page = follow(&dashboard, &session, &submit("/searches/resume", &own));
    assert!(page.contains(">active</span>"));
    // Without a deliverer there is no position to go on from.
    let refused = submit("/searches/resume", &format!("{own}&from=now"));
    assert_eq!(refused.status, 400);
    assert!(text(&refused).contains("no service has delivered from this state yet"));
    for overlap in ["", "&overlap=7"] {
        let refused = submit("/searches/rotate", &format!("{own}{overlap}"));
        assert_eq!(refused.status, 400, "{overlap}");
        assert!(text(&refused).contains("no choice of hours: 0, 1, 24, 168."));
    }
    let rotated = submit("/searches/rotate", &format!("{own}&overlap=24"));
    // Another page neither shows nor forgets it.
    assert!(secret(&text(&dashboard.visit(&session, "/searches"))).is_none());
    let page = follow(&dashboard, &session, &rotated);
    assert!(secret(&page).is_some_and(|second| second != first));
    assert!(
        secret(&follow(&dashboard, &session, &rotated)).is_none(),
        "shown once"
    );
    let entries = dashboard
        .state()
        .audit(None, Some(&id), 0)
        .expect("the audit");
    let actions: Vec<&str> = entries.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(
        actions,
        [
            "searches.create",
            "searches.pause",
            "searches.resume",
            "searches.rotate"
        ]
    );
    assert!(entries.iter().all(|entry| entry.actor == "person:admin"));
}

/// A receiver of webhooks on this machine, and the fields that save a search whose matches go to it.
fn receiver(dashboard: &Dashboard, key: &str) -> (TcpListener, String) {
    let mut rules = WebhookRules::default();
    rules.http = true;
    rules.allowed.push("127.0.0.0/8".parse().expect("a range"));
    dashboard.service.set_webhook_rules(rules);
    let receiver = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = receiver.local_addr().expect("an address");
    let fields =
        format!("key={key}&name=robots&query=&webhook=http%3A%2F%2F{address}%2F&since=now");
    (receiver, fields)
}

#[test]
fn a_test_shows_what_the_receiver_answers_and_changes_nothing() {
    let (dashboard, key, session) = fixture();
    let (receiver, fields) = receiver(&dashboard, &key);
    let received = thread::spawn(move || {
        let (mut socket, _) = receiver.accept().expect("a connection");
        let mut bytes = vec![0; 4096];
        let read = socket.read(&mut bytes).expect("an event");
        let answer = "HTTP/1.1 500 Oh\r\ncontent-length: 8\r\nconnection: close\r\n\r\n<b>no</b>";
        socket.write_all(answer.as_bytes()).expect("an answer");
        String::from_utf8_lossy(&bytes[..read]).into_owned()
    });
    let created = submit(&dashboard, &session, "/searches", &fields);
    assert_eq!(created.status, 303, "{}", text(&created));
    let search = only(&dashboard);
    let own = format!("id={}", search.id);
    let answer = submit(&dashboard, &session, "/searches/test", &own);
    let page = text(&answer);
    assert_eq!(answer.status, 200);
    assert!(
        page.contains(">500</span>") && page.contains("&#60;b&#62;no") && !page.contains("<b>"),
        "{page}"
    );
    assert!(
        received
            .join()
            .expect("an event")
            .contains("webhook-signature: v1,")
    );
    // Nothing listens any more: the reason stands in place of the status.
    let page = text(&submit(&dashboard, &session, "/searches/test", &own));
    assert!(
        page.contains("badge-bad") && page.contains("only 2xx accepts"),
        "{page}"
    );
    assert_eq!(only(&dashboard), search);
    assert!(
        dashboard
            .state()
            .deliveries(&search.id)
            .expect("the log")
            .is_empty()
    );
}

#[test]
fn a_third_test_is_told_to_wait_while_two_receivers_do_not_answer() {
    let (dashboard, key, session) = fixture();
    let (receiver, fields) = receiver(&dashboard, &key);
    submit(&dashboard, &session, "/searches", &fields);
    let own = format!("id={}", only(&dashboard).id);
    let test = || submit(&dashboard, &session, "/searches/test", &own);
    thread::scope(|scope| {
        let hanging = [scope.spawn(test), scope.spawn(test)];
        // Both are under way once they are connected.
        let sockets = [(); 2].map(|()| receiver.accept().expect("a connection"));
        let refused = test();
        assert_eq!(refused.status, 429);
        assert!(text(&refused).contains("No event was sent: two tests are under way."));
        drop(sockets);
        for hanging in hanging {
            assert_eq!(hanging.join().expect("an answer").status, 200);
        }
    });
    drop(receiver);
    assert_eq!(test().status, 200, "the others have ended");
}

/// Writes searches with webhooks in every status, without a commit for each.
fn fill(dashboard: &Dashboard, count: u32, query_bytes: u32) {
    let state = rusqlite::Connection::open(dashboard.state_path()).expect("the state");
    let statuses = SearchStatus::ALL
        .map(|status| format!("('{status}')"))
        .join(",");
    state
        .execute_batch(&format!(
            "BEGIN; CREATE TEMP TABLE statuses (status); INSERT INTO statuses VALUES {statuses};
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
             INSERT INTO saved_searches (id, key, name, query, only_new, removals, created_at)
             SELECT printf('srch_%012d', i), number, printf('<u>search %06d', i), 'q=' || printf('%.*c', {query_bytes}, 'a'), 0, 0, 1700000000
             FROM n, (SELECT number FROM keys LIMIT 1);
             INSERT INTO webhooks (search, url, host, secret, status, is_current, position, attempts, due_at, answers)
             SELECT number, 'https://hooks.example/' || number, 'hooks.example', x'00',
                 (SELECT status FROM statuses WHERE statuses.rowid = number % 7 + 1), 0, 'start', 0, NULL, 0 FROM saved_searches;
             COMMIT; ANALYZE;"
        ))
        .expect("searches");
}

#[test]
fn many_searches_come_in_small_pages() {
    let dashboard = Dashboard::prepared(Duration::from_secs(60), Limits::default(), |state| {
        state.create_key(&NewKey::named("shop")).expect("a key");
    });
    fill(&dashboard, 250, 7_000);
    let session = dashboard.sign_in();
    let (mut target, mut sizes) = (Some("/searches".to_owned()), Vec::new());
    while let Some(wanted) = target {
        let page = text(&dashboard.visit(&session, &wanted));
        assert!(
            page.len() < 200_000 && !page.contains("<u>"),
            "{} bytes",
            page.len()
        );
        sizes.push(page.matches("<th scope=\"row\">").count());
        let older = page
            .split("<a class=\"button\" href=\"")
            .find(|rest| rest.contains(">Older<"));
        target = older.map(|rest| {
            rest.split('"')
                .next()
                .expect("a link")
                .replace("&#38;", "&")
        });
    }
    assert_eq!(sizes, [100, 100, 50]);
    let page = text(&dashboard.visit(&session, "/searches?status=disabled"));
    assert_eq!(
        page.matches(">disabled</span>").count(),
        page.matches("<th scope=\"row\">").count()
    );
    let overview = text(&dashboard.visit(&session, "/"));
    assert!(
        overview.contains("<a href=\"/searches?status=disabled\">36 webhooks are disabled</a>"),
        "{overview}"
    );
}

#[test]
#[ignore = "fills a state with 100,000 searches"]
fn pages_over_100_000_searches_are_small_and_quick() {
    // As most queries are, and nearly as long as they may be.
    for query_bytes in [100, 7_000] {
        pages_over_100_000_searches(query_bytes);
    }
}

fn pages_over_100_000_searches(query_bytes: u32) {
    println!("queries of {query_bytes} bytes");
    let dashboard = Dashboard::prepared(Duration::from_secs(600), Limits::default(), |state| {
        state.create_key(&NewKey::named("shop")).expect("a key");
    });
    fill(&dashboard, 100_000, query_bytes);
    let session = dashboard.sign_in();
    for target in [
        "/",
        "/searches",
        "/searches?before=srch_000000050000",
        "/searches?status=disabled",
        "/searches?find=search+000077",
        "/searches?find=nobody",
        "/searches/edit?id=srch_000000000777",
    ] {
        let (_, bytes) = dashboard.time_page(&session, target);
        assert!(bytes <= 200_000, "{target}: {bytes} bytes");
    }
}
