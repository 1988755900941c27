//! White-box tests of `admin/session.rs`.

use super::*;

fn sessions(lifetime: Duration) -> (Sessions, TokenHash) {
    (Sessions::new(lifetime), TokenHash::of("token"))
}

#[test]
fn a_session_ends_with_its_time_or_its_cookie() {
    let (current, token) = sessions(Duration::from_secs(60));
    let cookie = current.begin(token).expect("a session");
    let found = current.find(&cookie).expect("a session");
    assert_eq!(found.token, token);
    assert!(current.find("another").is_none());
    current.end(&cookie);
    assert!(current.find(&cookie).is_none());

    let (expired, token) = sessions(Duration::ZERO);
    let cookie = expired.begin(token).expect("a session");
    assert!(expired.find(&cookie).is_none());
}

#[test]
fn sessions_are_bounded_and_the_oldest_gives_way() {
    let (sessions, token) = sessions(Duration::from_secs(60));
    let cookies: Vec<String> = (0..=SESSIONS_MAX)
        .map(|_| sessions.begin(token).expect("a session"))
        .collect();
    assert!(sessions.find(&cookies[0]).is_none());
    assert!(sessions.find(&cookies[1]).is_some());
    assert_eq!(sessions.lock().len(), SESSIONS_MAX);
}

#[test]
fn a_form_token_is_the_sessions_own() {
    let (sessions, token) = sessions(Duration::from_secs(60));
    let [one, other] = [(); 2].map(|()| {
        let cookie = sessions.begin(token).expect("a session");
        sessions.find(&cookie).expect("a session")
    });
    assert!(one.has_form_token(&one.form_token));
    assert!(!one.has_form_token(&other.form_token));
    assert!(!one.has_form_token(""));
}
