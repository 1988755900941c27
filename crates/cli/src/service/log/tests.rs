//! White-box tests of `bin/signaldex/log.rs`.

use super::*;

#[test]
fn a_message_of_any_text_is_one_line_of_json() {
    for (severity, level, message) in [
        (
            Severity::Note,
            "INFO",
            "signaldex: listening on http://127.0.0.1:8080",
        ),
        (
            Severity::Failure,
            "ERROR",
            "thread \"main\":\npanicked at \u{0}\u{7f}\u{2028}é",
        ),
        (Severity::Failure, "ERROR", ""),
    ] {
        let line = json_line(severity, message);
        assert_eq!(line.lines().count(), 1, "{line}");
        let line: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(
            (&line["level"], &line["message"]),
            (&level.into(), &message.into())
        );
        let timestamp = line["timestamp"].as_str().expect("a timestamp");
        assert!(
            UtcDateTime::parse(timestamp, &Rfc3339).is_ok(),
            "{timestamp}"
        );
    }
}
