//! The pages of people and of the audit: what a viewer may do, and what an admin's forms change.

use signaldex_server::webhooks::{WebhookRules, WebhookUrl};
use signaldex_server::{NewKey, NewSearch, Role, SearchSettings};

use crate::dashboard::{Dashboard, Session, text};

const PAGES: [&str; 10] = [
    "/",
    "/search?limit=10",
    "/companies?limit=10",
    "/keys",
    "/searches",
    "/usage",
    "/requests",
    "/storage",
    "/people",
    "/audit",
];

/// Submits a form of a session.
fn submit(dashboard: &Dashboard, session: &Session, target: &str, fields: &str) -> u16 {
    let form = format!("form_token={}&{fields}", session.form_token);
    let cookie = [("cookie", session.cookie.as_str())];
    dashboard.post(target, &form, &cookie).status
}

#[test]
fn a_viewer_sees_all_pages_and_changes_nothing() {
    let dashboard = Dashboard::start();
    let state = dashboard.state();
    let (key, _) = state.create_key(&NewKey::named("shop")).expect("a key");
    let token = state.add_person("viewer", Role::Viewer).expect("a token");
    let session = dashboard.sign_in_with(token.as_str());
    for target in PAGES {
        let answer = dashboard.visit(&session, target);
        assert_eq!(answer.status, 200, "{target}");
        let page = text(&answer);
        let forms = page.matches("method=\"post\"").count();
        assert_eq!(forms, 1, "{target} offers more than to sign out");
    }
    let id = key.id.as_str();
    let page = text(&dashboard.visit(&session, &format!("/keys/edit?id={id}")));
    assert!(page.contains("cannot change them") && !page.contains("Save settings"));
    let settings = SearchSettings::new("robots", signaldex::Filter::default());
    let url = WebhookUrl::parse("https://hooks.example/in", &WebhookRules::default());
    let new = NewSearch::with_webhook(settings, url.expect("a URL")).expect("a secret");
    let search = state.create_search(id, &new).expect("a search").id;
    let page = text(&dashboard.visit(&session, &format!("/searches/edit?id={search}")));
    assert!(page.contains("cannot change them") && !page.contains("<button class=\"danger\""));
    let page = text(&dashboard.visit(&session, &format!("/searches?key={id}&query=q%3Da")));
    assert_eq!(page.matches("method=\"post\"").count(), 1);
    let before = state.audit(None, None, 0).expect("the audit");
    let person = text(&dashboard.visit(&session, "/people/edit?name=admin"));
    assert!(!person.contains("Revoke admin"), "{person}");
    for (target, fields) in [
        (
            "/keys",
            "name=mine&scope=signals%3Aread&rate=5&burst=5".to_owned(),
        ),
        (
            "/keys/edit",
            format!("id={id}&name=x&scope=signals%3Aread&rate=5&burst=5"),
        ),
        ("/keys/rotate", format!("id={id}&overlap=0")),
        ("/keys/revoke", format!("id={id}")),
        ("/searches", format!("key={id}&name=x&query=&since=now")),
        ("/searches/edit", format!("id={search}&name=x&query=")),
        ("/searches/pause", format!("id={search}")),
        ("/searches/resume", format!("id={search}")),
        ("/searches/resume", format!("id={search}&from=now")),
        ("/searches/rotate", format!("id={search}&overlap=0")),
        ("/searches/test", format!("id={search}")),
        ("/searches/delete", format!("id={search}")),
        ("/people", "name=eve&role=admin".to_owned()),
        ("/people/edit", "name=viewer&role=admin".to_owned()),
        ("/people/revoke", "name=admin".to_owned()),
    ] {
        assert_eq!(
            submit(&dashboard, &session, target, &fields),
            403,
            "{target}"
        );
    }
    assert_eq!(state.audit(None, None, 0).expect("the audit"), before);
    // A role applies from the next request on.
    assert!(state.set_role("viewer", Role::Admin).expect("changed"));
    assert_eq!(
        submit(&dashboard, &session, "/keys/revoke", &format!("id={id}")),
        303
    );
    assert!(state.set_role("viewer", Role::Viewer).expect("changed"));
    assert_eq!(
        submit(
            &dashboard,
            &session,
            "/keys/rotate",
            &format!("id={id}&overlap=0")
        ),
        403
    );
    assert_eq!(submit(&dashboard, &session, "/sign-out", ""), 303);
}

#[test]
fn an_admin_adds_a_person_whose_token_is_shown_once() {
    let dashboard = Dashboard::start();
    let session = dashboard.sign_in();
    for fields in [
        "name=&role=viewer",
        "name=ada&role=owner",
        "name=admin&role=admin",
    ] {
        assert_eq!(
            submit(&dashboard, &session, "/people", fields),
            400,
            "{fields}"
        );
    }
    let hostile = "name=%3Cb%3E%22&role=viewer";
    assert_eq!(submit(&dashboard, &session, "/people", hostile), 303);
    // Another page neither shows nor forgets it.
    assert!(!text(&dashboard.visit(&session, "/keys")).contains("new-key-curl"));
    let page = text(&dashboard.visit(&session, "/people"));
    let token = page
        .split("aria-label=\"The new token\">")
        .nth(1)
        .expect("a token");
    let token = token.split('<').next().expect("a token").to_owned();
    assert!(page.contains("Token for &#60;b&#62;&#34;"), "{page}");
    assert!(!page.contains("<b>"));
    assert!(!text(&dashboard.visit(&session, "/people")).contains(&token));
    let viewer = dashboard.sign_in_with(&token);
    assert_eq!(dashboard.visit(&viewer, "/").status, 200);
    let people = dashboard.state().people().expect("people");
    assert!(people.iter().all(|person| person.signed_in_at.is_some()));
    // Revoked at once.
    let fields = "name=%3Cb%3E%22";
    assert_eq!(submit(&dashboard, &session, "/people/revoke", fields), 303);
    assert_eq!(dashboard.visit(&viewer, "/").status, 303);
    assert_eq!(
        dashboard
            .visit(&session, "/people/edit?name=%3Cb%3E%22")
            .status,
        404
    );
}

#[test]
fn the_audit_names_the_person_the_address_and_what_has_changed() {
    let dashboard = Dashboard::start();
    let session = dashboard.sign_in();
    let fields = "name=%3Ci%3E&scope=signals%3Aread&rate=5&burst=5";
    assert_eq!(submit(&dashboard, &session, "/keys", fields), 303);
    let id = dashboard.state().keys().expect("keys")[0].id.clone();
    let fields = format!("id={id}&name=shop&scope=signals%3Aread&rate=6&burst=5");
    assert_eq!(submit(&dashboard, &session, "/keys/edit", &fields), 303);
    let entries = dashboard
        .state()
        .audit(None, Some(&id), 0)
        .expect("the audit");
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[1].actor, "person:admin");
    assert_eq!(entries[1].from.as_deref(), Some("127.0.0.1"));
    assert_eq!(entries[1].before["rate"], 5);
    assert_eq!(entries[1].after["name"], "shop");
    let page = text(&dashboard.visit(&session, &format!("/audit?find={id}")));
    assert!(
        page.contains("<del>&#60;i&#62;</del> <ins>shop</ins>"),
        "{page}"
    );
    assert!(page.contains("from 127.0.0.1"));
    let page = text(&dashboard.visit(&session, "/audit?find=people"));
    assert!(page.contains("cli:") && !page.contains(&id), "{page}");
    for target in [
        "/audit?find=%3Cscript%3E",
        "/audit?before=x",
        "/audit?before=-1",
    ] {
        let answer = dashboard.visit(&session, target);
        assert_eq!(answer.status, 200, "{target}");
        assert!(!text(&answer).contains("<script>"), "{target}");
    }
}

#[test]
fn many_changes_come_in_pages() {
    let dashboard = Dashboard::prepared(
        std::time::Duration::from_secs(60),
        signaldex_server::Limits::default(),
        |state| {
            for number in 0..150 {
                let name = format!("customer {number}");
                state.create_key(&NewKey::named(name)).expect("a key");
            }
        },
    );
    let session = dashboard.sign_in();
    let first = text(&dashboard.visit(&session, "/audit?find=keys.create"));
    assert_eq!(first.matches("<code>keys.create</code>").count(), 100);
    let older = first
        .split("<a class=\"button\" href=\"")
        .nth(1)
        .expect("a link");
    let older = older
        .split('"')
        .next()
        .expect("a link")
        .replace("&#38;", "&");
    let second = text(&dashboard.visit(&session, &older));
    assert_eq!(second.matches("<code>keys.create</code>").count(), 50);
    assert!(!second.contains(">Older<") && second.contains(">Newest<"));
}
