//! White-box tests of `index/manifest.rs`.

use super::*;
use crate::ErrorKind;

#[test]
fn numbers_that_cannot_be_counted_on_from_are_refused() {
    let decode = |generation, next_file, last_commit| {
        let manifest = Manifest {
            identity: IndexId::random().unwrap(),
            generation,
            next_file,
            compresses_records: true,
            history: History {
                last_commit,
                remembered_commits: u64::MAX,
            },
            segments: Vec::new(),
            chain: ChainLine::of_first(CommitDigest::from_bytes([7; DIGEST_BYTES])),
        };
        Manifest::decode(&manifest.encode().unwrap())
    };
    assert!(decode(NUMBER_MAX, NUMBER_MAX, NUMBER_MAX).is_ok());
    for [generation, next_file, last_commit] in [
        [u64::MAX, 1, 1],
        [1, u64::MAX, 1],
        [1, 1, u64::MAX],
        [NUMBER_MAX + 1, 1, 1],
    ] {
        assert!(
            decode(generation, next_file, last_commit)
                .unwrap_err()
                .kind()
                == ErrorKind::Corrupt
        );
    }
}
