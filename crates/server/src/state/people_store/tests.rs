//! People: unique names, tokens that end, and a bound.

use super::*;

fn state() -> (State, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    let state = State::open(directory.path().join("state.db")).expect("a state");
    (state, directory)
}

fn person_of(state: &State, token: &AdminToken) -> Option<(String, Role)> {
    let person = state.person_of(token.hash()).expect("the state");
    person.map(|person| (person.name, person.role))
}

#[test]
fn the_first_token_is_that_of_the_person_admin() {
    let (state, _directory) = state();
    let first = state
        .first_admin_token()
        .expect("a state")
        .expect("the first");
    assert_eq!(
        person_of(&state, &first),
        Some(("admin".to_owned(), Role::Admin))
    );
    assert!(state.first_admin_token().expect("a state").is_none());
    assert!(state.set_role("admin", Role::Viewer).expect("changed"));
    let second = state.new_admin_token().expect("a token");
    assert_eq!(person_of(&state, &first), None);
    assert_eq!(
        person_of(&state, &second),
        Some(("admin".to_owned(), Role::Admin))
    );
    assert!(state.revoke_person("admin").expect("revoked"));
    state.add_person("ada", Role::Viewer).expect("a token");
    assert!(state.first_admin_token().expect("a state").is_none());
}

#[test]
fn a_person_has_a_name_a_role_and_a_token_until_revoked() {
    let (state, _directory) = state();
    let token = state.add_person("Ada <b>", Role::Viewer).expect("a token");
    assert!(
        state.add_person("Ada <b>", Role::Admin).is_err(),
        "one of a name"
    );
    let person = state.people().expect("people").remove(0);
    assert_eq!((person.role, person.signed_in_at), (Role::Viewer, None));
    assert_eq!(person.hint, token.hint());
    state.note_sign_in(token.hash()).expect("noted");
    let person = state
        .person("Ada <b>")
        .expect("the state")
        .expect("a person");
    assert!(person.signed_in_at.is_some());
    assert!(state.set_role("Ada <b>", Role::Admin).expect("changed"));
    assert_eq!(
        person_of(&state, &token).map(|(_, role)| role),
        Some(Role::Admin)
    );
    assert!(!state.set_role("ada", Role::Admin).expect("nobody"));
    assert!(state.revoke_person("Ada <b>").expect("revoked"));
    assert!(!state.revoke_person("Ada <b>").expect("nobody"));
    assert_eq!(person_of(&state, &token), None);
    let other = state.add_person("Ada <b>", Role::Viewer).expect("a token");
    assert_ne!(other.as_str(), token.as_str());
}

#[test]
fn names_and_numbers_of_people_are_bounded() {
    let (state, _directory) = state();
    let long = "a".repeat(181);
    for name in ["", " ", "a\nb", "a\u{202e}b", &long] {
        let error = state.add_person(name, Role::Viewer).expect_err(name);
        assert!(error.to_string().contains("1 to 180 characters"), "{error}");
    }
    for number in 0..PEOPLE_MAX {
        state
            .add_person(&format!("person {number}"), Role::Viewer)
            .expect("a token");
    }
    let error = state
        .add_person("one more", Role::Viewer)
        .expect_err("full");
    assert!(error.to_string().contains("revoke one first"), "{error}");
    assert!(state.revoke_person("person 7").expect("revoked"));
    state.add_person("one more", Role::Viewer).expect("a token");
}
