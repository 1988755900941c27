//! Vectors that the Python library `standardwebhooks` 1.0 signs alike.

use super::{WebhookSecret, signatures};

const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const BODY: &[u8] = br#"{"test": 2432232314}"#;
const SIGNED: &str = "v1,q6KMVIJHk4Gs770FfR5f591Ftx7uVJSGl5wHV1ri978=";

fn secret() -> WebhookSecret {
    WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLjSw").expect("a secret")
}

#[test]
fn an_event_is_signed_as_the_standard_says() {
    assert_eq!(signatures(&[secret()], ID, 1_614_265_330, BODY), SIGNED);
    for (id, timestamp, body) in [
        ("msg_2", 1_614_265_330, BODY),
        (ID, 1_614_265_331, BODY),
        (ID, 1_614_265_330, b"{}".as_slice()),
    ] {
        assert_ne!(signatures(&[secret()], id, timestamp, body), SIGNED);
    }
}

#[test]
fn while_a_secret_is_rotated_both_sign() {
    let new = WebhookSecret::generate().expect("random bytes");
    assert_eq!(WebhookSecret::parse(&new.text()), Some(new.clone()));
    let both = signatures(&[new.clone(), secret()], ID, 1_614_265_330, BODY);
    let signed: Vec<&str> = both.split(' ').collect();
    assert_eq!(signed.len(), 2);
    assert_eq!(signed[0], signatures(&[new], ID, 1_614_265_330, BODY));
    assert_eq!(signed[1], SIGNED);
}

#[test]
fn a_secret_is_never_shown_by_accident() {
    assert_eq!(format!("{:?}", secret()), "WebhookSecret");
    for text in [
        "",
        "whsec_",
        "whsec_a",
        "MfKQ9r8G",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLjS\u{e9}",
    ] {
        assert!(WebhookSecret::parse(text).is_none(), "{text}");
    }
}
