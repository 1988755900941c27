//! White-box tests of `index/chain.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::super::memory::Memory;
use super::*;
use crate::ErrorKind;

fn digest(number: u64) -> CommitDigest {
    CommitDigest::from_bytes(u128::from(number).to_le_bytes())
}

fn memory() -> Arc<dyn Storage> {
    Arc::new(Memory::default())
}

/// A chain of commits 1 to `last`; its files are in the storage.
fn chain(storage: &Arc<dyn Storage>, last: u64, remembered: u64) -> Chain {
    let mut chain = Chain::of_digests(digest(1), Vec::new());
    let mut next_file = 1;
    for number in 2..=last {
        chain = next(&chain, number, remembered, storage, &mut next_file);
    }
    chain
}

fn next(
    chain: &Chain,
    number: u64,
    remembered: u64,
    storage: &Arc<dyn Storage>,
    next_file: &mut u64,
) -> Chain {
    let mut new_files = NewFiles::new(storage);
    let next = chain.with(digest(number), remembered, (next_file, &mut new_files));
    // The files are not removed, as if a manifest named them.
    std::mem::forget(new_files);
    next.expect("memory can be written to")
}

proptest! {
    #[test]
    fn the_digest_of_every_kept_commit_is_found(last in 1..600_u64, remembered in 0..700_u64) {
        let storage = memory();
        let chain = chain(&storage, last, remembered);
        let opened = Chain::open(&*storage, &chain.line(), None).expect("a whole chain");
        for chain in [&chain, &opened] {
            chain.verify().expect("whole files");
            let oldest = remembered.max(KEPT_MIN).min(last - 1);
            for later in 0..=oldest {
                let found = chain.digest(later).expect("whole files");
                prop_assert_eq!(found, Some(digest(last - later)));
            }
            for later in oldest..last {
                let found = chain.digest(later).expect("whole files");
                prop_assert!(found.is_none_or(|found| found == digest(last - later)));
            }
            for later in [last, last + 1, u64::MAX] {
                prop_assert_eq!(chain.digest(later).expect("whole files"), None);
            }
        }
    }

    #[test]
    fn files_are_few_and_forgotten_digests_leave(last in 1..3_000_u64, remembered in 0..500_u64) {
        let chain = chain(&memory(), last, remembered);
        let digests: usize = chain.files.iter().map(|file| file.digests().len()).sum();
        let kept = remembered.max(KEPT_MIN) as usize;
        prop_assert!(digests <= kept + kept / GROWTH + 2 * SMALL_FILE, "{digests} of {kept}");
        prop_assert!(chain.files.len() <= 4, "{:?}", chain.files);
        prop_assert!(chain.recent.len() < RECENT_MAX);
    }
}

#[test]
fn a_digest_depends_on_all_commits_before_and_on_deleted_companies() {
    let first = CommitDigest::before_first(IndexId::NONE);
    let of =
        |digest: CommitDigest, slugs: &[&'static str]| digest.next(None, slugs.iter().copied());
    let mut seen = BTreeMap::new();
    for before in [first, digest(1)] {
        for slugs in [&[][..], &["a"], &["b"], &["a", "b"], &["ab"]] {
            let twice = of(of(before, slugs), &[]);
            for next in [of(before, slugs), twice] {
                let other = seen.insert(next.to_string(), (before, slugs));
                // Twice nothing is what nothing after nothing is.
                assert!(other.is_none() || slugs.is_empty(), "{slugs:?} {other:?}");
            }
            assert_eq!(of(before, slugs), of(before, slugs));
        }
    }
}

#[test]
fn a_damaged_file_is_an_error_where_it_is_needed_and_commits_go_on() {
    let storage = memory();
    let mut chain = chain(&storage, 2 * RECENT_MAX as u64, 1_000);
    let line = chain.line();
    let name = FileKind::Chain.name(line.files[0].file);
    let mut bytes = storage.read(&name, u64::MAX).expect("the file");
    bytes[3] ^= 1;
    storage.remove(&name).expect("the file");
    directory::write_file(&*storage, &name, &bytes).expect("a writable storage");
    chain = Chain::open(&*storage, &line, None).expect("a file of the right length");
    assert_eq!(
        chain.check().expect_err("damage").kind(),
        ErrorKind::Corrupt
    );
    let newest = chain.digest(0).expect("in the manifest");
    let old = chain.recent.len() as u64 + 1;
    let damage = chain.digest(old).expect_err("damage");
    assert!(
        damage.path().is_some_and(|path| path.ends_with(&name)),
        "{damage}"
    );
    let mut next_file = 100;
    for number in 0..100 {
        chain = next(&chain, 1_000 + number, 1_000, &storage, &mut next_file);
    }
    assert_eq!(chain.digest(100).expect("a whole file"), newest);
    assert_eq!(
        chain.verify().expect_err("damage").kind(),
        ErrorKind::Corrupt
    );

    bytes.pop();
    storage.remove(&name).expect("the file");
    directory::write_file(&*storage, &name, &bytes).expect("a writable storage");
    let error = Chain::open(&*storage, &line, None).expect_err("a file that was cut off");
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}
