//! White-box tests of `index/storage.rs`.

use super::*;
use crate::ErrorKind;

#[test]
fn a_file_is_read_up_to_what_it_may_have() {
    let folder = tempfile::tempdir().expect("a directory");
    fs::write(folder.path().join("file"), "four").expect("a writable directory");
    let directory = Directory::new(folder.path());
    // A manifest may claim any length of a file of deletions.
    for bytes_max in [4, u64::MAX] {
        assert_eq!(
            directory.read("file", bytes_max).expect("short enough"),
            b"four"
        );
    }
    let error = of_file("read", directory.read("file", 3).expect_err("too long"));
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}

/// A second handle of the same open file is what a forked process has.
#[test]
fn a_lock_ends_with_its_holder_though_the_file_is_open_elsewhere() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join(LOCK);
    let lock = DirectoryLock::take(path.clone()).expect("nobody has it");
    let inherited = lock.0.try_clone().expect("a second handle");
    let error = DirectoryLock::take(path.clone()).expect_err("it is held");
    assert_eq!(error.kind(), ErrorKind::Locked, "{error}");
    drop(lock);
    DirectoryLock::take(path).expect("nobody has it any more");
    drop(inherited);
}
