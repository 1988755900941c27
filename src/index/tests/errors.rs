//! Errors: of the disk, each operation of a commit failing, once and for ever; and of records.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::disk::{Disk, Fault, FaultKind, Operation};
use super::merges::{large_and_small, upsert_new};
use super::model::{Model, empty_index, open, random_company, random_signal};
use crate::fixtures::Random;
use crate::index::{Index, IndexBuilder, Writer, merge};
use crate::{ErrorKind, Signal, SignalId};

fn prepared() -> (Disk, Index, Writer) {
    let disk = Disk::default();
    let index = empty_index(&disk);
    let mut writer = index.writer().expect("nobody else writes");
    let mut random = Random::new(5);
    for _ in 0..2 {
        change(&mut writer, &mut random);
        writer.commit().expect("the disk is whole");
        // A merge in the background would take operations of its own, and tests count those of a commit.
        writer.wait_for_merges();
    }
    change(&mut writer, &mut random);
    (disk, index, writer)
}

fn change(writer: &mut Writer, random: &mut Random) {
    let company = random_company(random);
    writer.upsert_company(&company).expect("a valid company");
    for _ in 0..5 {
        writer
            .upsert_signal(&random_signal(random, &company.slug))
            .expect("a known company");
    }
}

fn held(index: &Index) -> Model {
    Model::of(&index.snapshot()).expect("a whole index")
}

/// The state after the commit, and the number of operations that it takes.
fn undisturbed() -> (Model, u64) {
    let (disk, index, mut writer) = prepared();
    disk.fail(None);
    writer.commit().expect("the disk is whole");
    (held(&index), disk.operations())
}

#[test]
fn a_commit_that_fails_leaves_the_old_state_or_the_new_one() {
    let (new, operations) = undisturbed();
    let kinds = [
        FaultKind::Error(io::ErrorKind::Other),
        FaultKind::Error(io::ErrorKind::StorageFull),
        FaultKind::Error(io::ErrorKind::PermissionDenied),
    ];
    for kind in kinds {
        for operation in 0..operations {
            for lasts in [false, true] {
                let context = format!("operation {operation} fails with {kind:?}, lasts: {lasts}");
                let (disk, index, mut writer) = prepared();
                let old = held(&index);
                disk.fail(Some(Fault {
                    operation,
                    kind,
                    lasts,
                }));
                let committed = writer.commit();
                let expected = if committed.is_ok() { &new } else { &old };
                assert_eq!(held(&index), *expected, "searches go on; {context}");
                if let Err(error) = committed {
                    assert!(
                        error.kind() == ErrorKind::Io || error.kind() == ErrorKind::Poisoned,
                        "{error}; {context}"
                    );
                }
                drop(writer);
                disk.fail(None);
                let reopened = held(&open(&disk).expect("the disk is whole again"));
                assert!(reopened == old || reopened == new, "{context}");
            }
        }
    }
}

#[test]
fn interruptions_and_short_writes_do_no_harm() {
    let (new, operations) = undisturbed();
    for kind in [
        FaultKind::ShortWrite,
        FaultKind::Error(io::ErrorKind::Interrupted),
    ] {
        for operation in 0..operations {
            let (disk, index, mut writer) = prepared();
            let old = held(&index);
            disk.fail(Some(Fault {
                operation,
                kind,
                lasts: false,
            }));
            let committed = writer.commit();
            let expected = if committed.is_ok() { &new } else { &old };
            assert_eq!(held(&index), *expected, "operation {operation}, {kind:?}");
            assert!(
                committed.is_ok() || kind != FaultKind::ShortWrite,
                "operation {operation}"
            );
        }
    }
}

#[test]
fn a_writer_that_failed_to_sync_refuses_until_it_is_opened_again() {
    let (disk, index, mut writer) = prepared();
    // Then nothing happens in the background, and nothing is left to compact.
    writer.wait_for_merges();
    writer.compact().expect("the disk is whole");
    // The third operation of a commit is the sync of the new segment.
    disk.fail(Some(Fault {
        operation: 2,
        kind: FaultKind::Error(io::ErrorKind::Other),
        lasts: false,
    }));
    let error = writer.commit().expect_err("the sync fails");
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    let error = writer.commit().expect_err("the writer has failed");
    assert_eq!(error.kind(), ErrorKind::Poisoned, "{error}");
    let error = writer.compact().expect_err("the writer has failed");
    assert_eq!(error.kind(), ErrorKind::Poisoned, "{error}");
    drop(writer);
    let mut writer = index.writer().expect("the lock is free again");
    writer
        .upsert_company(&random_company(&mut Random::new(1)))
        .expect("a valid company");
    writer.commit().expect("a new writer works");
}

#[test]
fn a_merge_that_panics_has_failed_and_holds_up_nobody() {
    let disk = Disk::default();
    let index = empty_index(&disk);
    let mut writer = large_and_small(&index, 400, 40);
    let slug = random_company(&mut Random::new(5)).slug;
    upsert_new(&mut writer, 40, &slug, &mut Random::new(6));
    disk.fail(Some(Fault {
        operation: 0,
        kind: FaultKind::MergePanic,
        lasts: true,
    }));
    writer.commit().expect("only the merge after it panics");
    let expected = held(&index);
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        writer.wait_for_merges();
        sender.send(writer)
    });
    let waited = receiver.recv_timeout(Duration::from_secs(20));
    let mut writer = waited.expect("nothing is merged any more");
    assert!(disk.failed().is_some(), "a merge began");
    disk.fail(None);
    assert!(held(&index) == expected);
    assert!(index.snapshot().segments.len() > 1);
    change(&mut writer, &mut Random::new(8));
    writer.commit().expect("the writer goes on");
    writer.wait_for_merges();
    // The last one is left to the next commit.
    assert_eq!(index.snapshot().segments.len(), 2);
}

#[test]
fn there_is_one_writer_at_a_time() {
    let (disk, index, writer) = prepared();
    let error = index.writer().expect_err("one is open");
    assert_eq!(error.kind(), ErrorKind::Locked, "{error}");
    let other = open(&disk).expect("readers are welcome");
    assert_eq!(
        other.writer().expect_err("one is open").kind(),
        ErrorKind::Locked
    );
    drop(writer);
    other.writer().expect("the lock is free");
}

#[test]
fn what_no_segment_can_hold_is_refused_before_the_commit() {
    let (_disk, index, mut writer) = prepared();
    let mut random = Random::new(6);
    let mut company = random_company(&mut random);
    writer.upsert_company(&company).expect("a valid company");
    let mut signal = random_signal(&mut random, &company.slug);
    signal.evidence = Some("long ".repeat(4 << 20).into());
    let refused = writer.upsert_signal(&signal).unwrap_err();
    assert!(
        refused.kind() == ErrorKind::Invalid && refused.to_string().contains("are allowed"),
        "{refused}"
    );
    company.about = Some("long ".repeat(4 << 20).into());
    assert!(writer.upsert_company(&company).unwrap_err().kind() == ErrorKind::Invalid);
    // What was accepted before is committed as if nothing had been refused.
    writer.commit().expect("the disk is whole");
    assert!(
        index
            .snapshot()
            .has_company(&company.slug)
            .expect("a whole index")
    );
}

/// Faults of a disk that fills up at an operation, for that operation alone or from it on.
fn full_disks() -> impl Iterator<Item = Fault> {
    (0..100).flat_map(|operation| {
        [false, true].map(|lasts| Fault {
            operation,
            kind: FaultKind::Full,
            lasts,
        })
    })
}

#[test]
fn a_commit_on_a_full_disk_leaves_no_new_file() {
    let mut failed = 0;
    for fault in full_disks() {
        let (disk, _index, mut writer) = prepared();
        writer.wait_for_merges();
        let before = disk.names();
        disk.fail(Some(fault));
        if writer.commit().is_err() {
            failed += 1;
            assert_eq!(disk.names(), before, "{fault:?}");
        }
    }
    assert!(failed > 10, "{failed} commits failed");
}

#[test]
fn a_merge_on_a_full_disk_leaves_no_new_file() {
    let mut failed = 0;
    for fault in full_disks() {
        let (disk, index, mut writer) = prepared();
        writer.commit().expect("the disk is whole");
        writer.wait_for_merges();
        let (before, snapshot) = (disk.names(), index.snapshot());
        disk.fail(Some(fault));
        if merge::merge(&writer.core, &snapshot.segments, &|| false).is_err() {
            failed += 1;
            assert_eq!(disk.names(), before, "{fault:?}");
        }
    }
    assert!(failed > 5, "{failed} merges failed");
}

#[test]
fn a_failed_rename_of_the_manifest_removes_nothing_that_it_may_name() {
    let (_, operations) = undisturbed();
    let mut renames = 0;
    for operation in 0..operations {
        let (disk, _index, mut writer) = prepared();
        disk.fail(Some(Fault {
            operation,
            kind: FaultKind::Error(io::ErrorKind::Other),
            lasts: true,
        }));
        let failed = writer.commit().is_err();
        if failed && disk.failed() == Some(Operation::Rename) {
            renames += 1;
            let names = disk.names();
            assert!(
                names.iter().any(|name| name == "manifest.next"),
                "{names:?}"
            );
        }
    }
    assert!(renames > 0, "no rename failed");
}

#[test]
fn a_build_that_fails_or_is_dropped_leaves_no_new_file() {
    let build = |disk: &Disk| -> crate::Result<IndexBuilder> {
        let mut random = Random::new(7);
        let mut builder = IndexBuilder::in_storage(Arc::new(disk.clone()))?;
        let company = random_company(&mut random);
        builder.add_company(&company)?;
        builder.add_signal(&random_signal(&mut random, &company.slug))?;
        Ok(builder)
    };
    let disk = Disk::default();
    drop(build(&disk).expect("the disk is whole"));
    assert_eq!(disk.names(), [""; 0]);
    let mut failed = 0;
    for fault in full_disks() {
        let disk = Disk::default();
        disk.fail(Some(fault));
        if build(&disk).and_then(IndexBuilder::finish).is_err() {
            failed += 1;
            assert_eq!(disk.names(), [""; 0], "{fault:?}");
            disk.fail(None);
            build(&disk)
                .and_then(IndexBuilder::finish)
                .expect("the disk has room again");
        }
    }
    assert!(failed > 5, "{failed} builds failed");
}

#[test]
fn a_signal_of_an_unknown_company_is_refused_alike_by_builder_and_writer() {
    let orphan = Signal::new(SignalId::MIN, "nobody", "Whose?");
    let mut builder = IndexBuilder::in_memory();
    let of_builder = builder.add_signal(&orphan).expect_err("no such company");
    let directory = tempfile::tempdir().expect("a directory");
    let builder = IndexBuilder::in_directory(directory.path()).expect("an empty directory");
    let index = builder.finish().expect("an index");
    let mut writer = index.writer().expect("a free lock");
    let of_writer = writer.upsert_signal(&orphan).expect_err("no such company");
    for error in [of_builder, of_writer] {
        assert_eq!(error.kind(), ErrorKind::UnknownCompany, "{error}");
        assert!(error.to_string().contains("\"nobody\""), "{error}");
    }
}
