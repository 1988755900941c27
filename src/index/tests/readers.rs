//! Readers beside a writer: walks, refreshes and snapshots while commits land.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::disk::Disk;
use super::model::{Model, TODAY, empty_index, open, random_company, random_signal};
use crate::fixtures::Random;
use crate::index::{Index, Snapshot, Writer};
use crate::query::{Order, Query};
use crate::signal::{Company, Signal, SignalId};

fn company(writer: &mut Writer) {
    writer
        .upsert_company(&Company::new("c1", "Acme"))
        .expect("a valid company");
}

fn signal(id: u64, title: &str) -> Signal<'static> {
    let id = SignalId::new(id).expect("an id");
    Signal::new(id, "c1", title.to_owned())
}

#[test]
fn a_walk_sees_what_matches_throughout_exactly_once() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let index = empty_index(&Disk::default());
        let mut writer = index.writer().expect("nobody else writes");
        company(&mut writer);
        for id in 1..=60 {
            writer
                .upsert_signal(&signal(id, "series a"))
                .expect("a known company");
        }
        writer.commit().expect("the disk is whole");
        let mut throughout: BTreeSet<SignalId> = (1..=60)
            .map(|id| SignalId::new(id).expect("an id"))
            .collect();
        let order = *random.pick(&[Order::NewestFirst, Order::OldestFirst]);
        let mut seen: Vec<SignalId> = Vec::new();
        let mut cursor = None;
        loop {
            let query = Query::builder().all("series").order(order).limit(7);
            let query = match &cursor {
                Some(cursor) => query.after(cursor).build(),
                None => query.build(),
            };
            let page = index
                .snapshot()
                .search(&query.expect("valid"), TODAY)
                .expect("a whole index");
            seen.extend(page.ids());
            cursor = page.next_cursor().cloned();
            if cursor.is_none() {
                break;
            }
            disturb(&mut writer, &mut random, &mut throughout);
        }
        let distinct: BTreeSet<SignalId> = seen.iter().copied().collect();
        assert_eq!(
            distinct.len(),
            seen.len(),
            "none is seen twice, seed {seed}"
        );
        assert!(
            throughout.is_subset(&distinct),
            "all of {throughout:?} are seen, seed {seed}"
        );
    }
}

/// Commits changes; what they touch no longer matched throughout.
fn disturb(writer: &mut Writer, random: &mut Random, throughout: &mut BTreeSet<SignalId>) {
    for _ in 0..4 {
        let id = 1 + random.below(90);
        let touched = SignalId::new(id).expect("an id");
        match random.below(3) {
            0 => {
                writer.delete_signal(touched).expect("a whole index");
                throughout.remove(&touched);
            }
            1 => {
                writer
                    .upsert_signal(&signal(id, "other"))
                    .expect("a known company");
                throughout.remove(&touched);
            }
            // Written anew, it goes on matching.
            _ => writer
                .upsert_signal(&signal(id, "series b"))
                .expect("a known company"),
        }
    }
    if random.below(4) == 0 {
        company(writer);
    }
    writer.commit().expect("the disk is whole");
}

#[test]
fn refreshing_beside_a_writer_loses_nothing() {
    let disk = Disk::default();
    let index = empty_index(&disk);
    let mut writer = index.writer().expect("nobody else writes");
    company(&mut writer);
    let is_done = Arc::new(AtomicBool::new(false));
    let refresher = {
        let (index, is_done) = (index.clone(), Arc::clone(&is_done));
        std::thread::spawn(move || {
            while !is_done.load(Ordering::Relaxed) {
                index.refresh().expect("the disk is whole");
            }
        })
    };
    for id in 1..=400 {
        writer
            .upsert_signal(&signal(id, "series a"))
            .expect("a known company");
        writer.commit().expect("the disk is whole");
        assert_eq!(
            index.snapshot().signal_count(),
            id,
            "a commit is visible when it returns"
        );
    }
    is_done.store(true, Ordering::Relaxed);
    refresher.join().expect("refreshing does not panic");
    drop(writer);
    assert_eq!(
        open(&disk)
            .expect("a whole index")
            .snapshot()
            .signal_count(),
        400
    );
}

#[test]
fn no_read_sees_two_states() {
    const ROWS: u64 = 40;
    let index = empty_index(&Disk::default());
    let mut writer = index.writer().expect("nobody else writes");
    company(&mut writer);
    let rewrite = |writer: &mut Writer, epoch: u64| {
        for id in 1..=ROWS {
            writer
                .upsert_signal(&signal(id, &format!("epoch{epoch}")))
                .expect("a known company");
        }
        writer.commit().expect("the disk is whole");
    };
    rewrite(&mut writer, 0);
    let is_done = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (index, is_done) = (index.clone(), Arc::clone(&is_done));
            std::thread::spawn(move || read_epochs(&index, &is_done, ROWS))
        })
        .collect();
    for epoch in 1..=200 {
        rewrite(&mut writer, epoch);
    }
    is_done.store(true, Ordering::Relaxed);
    for reader in readers {
        assert!(reader.join().expect("no read sees two epochs") > 0);
    }
}

fn read_epochs(index: &Index, is_done: &AtomicBool, rows: u64) -> u64 {
    let query = Query::builder().limit(50).build().expect("a valid query");
    let mut reads = 0;
    while !is_done.load(Ordering::Relaxed) {
        let snapshot = index.snapshot();
        let page = snapshot.search(&query, TODAY).expect("a whole index");
        let found = snapshot.records(&page).expect("a whole index");
        assert_eq!(found.len() as u64, rows);
        assert!(
            found
                .iter()
                .all(|other| other.signal.title == found[0].signal.title)
        );
        reads += 1;
    }
    reads
}

#[test]
fn a_page_is_read_from_a_later_snapshot() {
    let disk = Disk::default();
    let index = empty_index(&disk);
    let mut writer = index.writer().expect("nobody else writes");
    let mut random = Random::new(11);
    let company = random_company(&mut random);
    writer.upsert_company(&company).expect("a valid company");
    for id in (1..=30).rev() {
        let mut signal = random_signal(&mut random, &company.slug);
        signal.id = SignalId::new(id).expect("a small number");
        writer.upsert_signal(&signal).expect("known");
        writer.commit().expect("the disk is whole");
    }
    let query = Query::builder().limit(50).build().expect("a valid query");
    let before = index.snapshot();
    let page = before.search(&query, TODAY).expect("a whole index");
    let shown: Vec<SignalId> = page.ids().collect();
    let (gone, kept) = shown.split_at(1);
    writer.delete_signal(gone[0]).expect("a whole index");
    writer.commit().expect("the disk is whole");
    writer.compact().expect("the disk is whole");
    let after = index.snapshot();
    let ids = |snapshot: &Snapshot| -> Vec<SignalId> {
        let items = snapshot.records(&page).expect("whole records");
        items.iter().map(|item| item.signal.id).collect()
    };
    assert_eq!(ids(&before), shown);
    assert_eq!(ids(&after), kept);
}

#[test]
fn a_snapshot_outlives_the_files_it_came_from() {
    let disk = Disk::default();
    let index = empty_index(&disk);
    let mut writer = index.writer().expect("nobody else writes");
    let mut random = Random::new(3);
    for _ in 0..3 {
        let company = random_company(&mut random);
        writer.upsert_company(&company).expect("a valid company");
        writer
            .upsert_signal(&random_signal(&mut random, &company.slug))
            .expect("known");
        writer.commit().expect("the disk is whole");
    }
    let old = index.snapshot();
    let held = Model::of(&old).expect("a whole index");
    writer
        .delete_company("c0", crate::CompanyDeletion::Cascade)
        .expect("deleting does not fail");
    for number in 1..6 {
        writer
            .delete_company(&format!("c{number}"), crate::CompanyDeletion::Cascade)
            .expect("deleting does not fail");
    }
    writer.commit().expect("the disk is whole");
    writer.compact().expect("the disk is whole");
    assert_eq!(index.snapshot().signal_count(), 0);
    assert_eq!(Model::of(&old).expect("the old snapshot stays whole"), held);
}
