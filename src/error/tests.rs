//! White-box tests of `error.rs`.

use super::*;

#[test]
fn an_error_and_its_source_say_different_things() {
    use std::error::Error as _;

    let full = io::Error::new(io::ErrorKind::StorageFull, "no space left");
    let error = Error::io("write the file", full).at(Path::new("index/manifest"));
    assert_eq!(error.to_string(), "index/manifest: cannot write the file");
    let source = error.source().expect("the system's error");
    assert_eq!(source.to_string(), "no space left");
    let whole = "index/manifest: cannot write the file: no space left";
    assert_eq!(format!("{error:#}"), whole);
    let kind = error.io_error().map(io::Error::kind);
    assert_eq!(kind, Some(io::ErrorKind::StorageFull));
}

/// Some crates print their source as part of themselves, at each level.
#[derive(Debug)]
struct Repeating(&'static str, Option<Box<Repeating>>);

impl fmt::Display for Repeating {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)?;
        let source = self.1.as_ref();
        source.map_or(Ok(()), |source| write!(f, ": {source}"))
    }
}

impl std::error::Error for Repeating {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let source = self.1.as_deref()?;
        Some(source)
    }
}

#[test]
fn a_source_that_an_error_repeats_is_shown_once() {
    let refused = Repeating("connection refused", None);
    let request = Repeating("GET failed", Some(Box::new(refused)));
    let store = Repeating("S3 failed", Some(Box::new(request)));
    let error = Error::io("list", io::Error::other(store));
    let whole = "cannot list: S3 failed: GET failed: connection refused";
    assert_eq!(format!("{error:#}"), whole);
}

#[test]
fn untrusted_clients_read_no_path() {
    let full = io::Error::new(io::ErrorKind::StorageFull, "no space left");
    let error = Error::io("write the file", full).at(Path::new("index/manifest"));
    assert_eq!(
        error.public_reason(),
        "cannot write the file: no space left"
    );
    assert_eq!(
        Error::full("too many rows").public_reason(),
        "too many rows"
    );
}
