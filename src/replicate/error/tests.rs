//! White-box tests of `replicate/error.rs`.

use super::*;

#[test]
fn an_error_of_a_store_shows_its_source_to_operators_alone() {
    let error = ReplicaError::store("cannot list", "connection refused by 10.0.0.7");
    assert_eq!(error.kind(), ReplicaErrorKind::Store);
    assert_eq!(error.public_reason(), "cannot list");
    assert_eq!(error.to_string(), "cannot list");
    let whole = "cannot list: connection refused by 10.0.0.7";
    assert_eq!(format!("{error:#}"), whole);
}

#[test]
fn an_error_of_an_index_keeps_its_kind_and_its_words() {
    let path = Path::new("copy/manifest");
    let error = ReplicaError::from(Error::corrupt("it is cut off").at(path)).about("shard 3");
    assert_eq!(error.kind(), ReplicaErrorKind::Index(ErrorKind::Corrupt));
    assert_eq!(error.path(), Some(path));
    assert_eq!(error.to_string(), "copy/manifest: shard 3: it is cut off");
}
