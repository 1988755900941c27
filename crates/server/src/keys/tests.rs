//! White-box tests of `keys.rs`.

use super::*;

#[test]
fn a_new_key_is_presented_with_the_hash_that_is_stored() {
    let key = ApiKey::generate().expect("random bytes");
    assert_eq!(key.as_str().len(), PREFIX.len() + SECRET_CHARACTERS);
    assert!(KeyHash::of_presented(key.as_str()) == Some(key.hash()));
    assert_eq!(format!("{key:?}"), "ApiKey(hidden)");
    let hint = key.hint();
    let (first, last) = hint.split_once('…').expect("two ends");
    assert_eq!((first.len(), last.len()), (8, 4));
    assert!(key.as_str().starts_with(first) && key.as_str().ends_with(last));
}

#[test]
fn what_does_not_read_as_a_key_has_no_hash() {
    let secret = "A".repeat(SECRET_CHARACTERS);
    assert!(KeyHash::of_presented(&format!("sdx_{secret}")).is_some());
    for text in [
        "",
        "sdx_",
        &secret,
        &format!("sdx_{secret}A"),
        &format!("sdx_{}", &secret[1..]),
    ] {
        assert!(KeyHash::of_presented(text).is_none(), "{text}");
    }
    assert!(KeyHash::of_presented(&format!("sdx_{}+", &secret[1..])).is_none());
}

#[test]
fn scopes_read_as_they_are_written() {
    assert_eq!(
        Scopes::parse("signals:read,companies:read"),
        Some(Scopes::all())
    );
    assert_eq!(
        Scopes::parse(&Scopes::all().to_string()),
        Some(Scopes::all())
    );
    assert_eq!(Scopes::parse(""), None);
    assert_eq!(Scopes::parse("signals:write"), None);
    let one = Scopes::parse("companies:read").expect("a scope");
    assert!(one.contains(Scope::CompaniesRead) && !one.contains(Scope::SignalsRead));
}

#[test]
fn names_of_keys_have_1_to_180_visible_characters() {
    for name in ["a", "Acme GmbH", "日本", "C++ & Söhne", "👩🏽", "e\u{301}"] {
        assert_eq!(check_name(name), Ok(()), "{name}");
    }
    assert_eq!(check_name(&"é".repeat(180)), Ok(()));
    assert_eq!(check_name(&"é".repeat(181)), Err(NameError::TooLong));
    for name in ["", " ", "\u{2003}"] {
        assert_eq!(check_name(name), Err(NameError::Empty), "{name:?}");
    }
    for letter in (0..=0x1f).chain(0x7f..=0x9f).filter_map(char::from_u32) {
        let name = format!("a{letter}b");
        assert_eq!(check_name(&name), Err(NameError::Invisible(letter)));
    }
    for letter in [
        '\u{ad}',
        '\u{61c}',
        '\u{200e}',
        '\u{2028}',
        '\u{2066}',
        '\u{e007f}',
    ] {
        let name = format!("a{letter}b");
        assert_eq!(check_name(&name), Err(NameError::Invisible(letter)));
    }
}
