//! Random updates of shards, compared with those of one index; updates that end early, and are repeated.

use std::path::Path;

use proptest::prelude::*;
use signaldex::json::Sink;
use signaldex::{Company, CompanyDeletion, Index, Result, Signal, SignalId, Writer};

use super::ShardUpdate;
use crate::shard_folder::ShardFolder;
use crate::split::Splitter;

const SHARDS: u32 = 5;

/// So few that most updates meet records of earlier ones.
const COMPANIES: u8 = 8;
const SIGNALS: u64 = 24;

/// What an update does first to last, as the command does: records, then deletions.
#[derive(Clone, Debug)]
struct Changes {
    companies: Vec<u8>,
    /// The number of each signal, its company, and its text.
    signals: Vec<(u64, u8, u16)>,
    deleted_signals: Vec<u64>,
    deleted_companies: Vec<u8>,
}

fn changes() -> impl Strategy<Value = Changes> {
    let signals = (1..=SIGNALS, 0..COMPANIES, any::<u16>());
    let companies = prop::collection::vec(0..COMPANIES, 0..4);
    let deleted_signals = prop::collection::vec(1..=SIGNALS, 0..3);
    let deleted_companies = prop::collection::vec(0..COMPANIES, 0..2);
    let signals = prop::collection::vec(signals, 0..12);
    (companies, signals, deleted_signals, deleted_companies).prop_map(
        |(companies, signals, deleted_signals, deleted_companies)| Changes {
            companies,
            signals,
            deleted_signals,
            deleted_companies,
        },
    )
}

fn slug(company: u8) -> String {
    format!("company-{company}")
}

/// What both kinds of writers have in common.
trait Updated: Sink {
    fn delete_signal(&mut self, id: SignalId) -> Result<bool>;
    fn delete_company(&mut self, slug: &str) -> Result<bool>;
}

impl Updated for Writer {
    fn delete_signal(&mut self, id: SignalId) -> Result<bool> {
        Writer::delete_signal(self, id)
    }

    fn delete_company(&mut self, slug: &str) -> Result<bool> {
        Writer::delete_company(self, slug, CompanyDeletion::Cascade)
    }
}

impl Updated for ShardUpdate {
    fn delete_signal(&mut self, id: SignalId) -> Result<bool> {
        ShardUpdate::delete_signal(self, id)
    }

    fn delete_company(&mut self, slug: &str) -> Result<bool> {
        ShardUpdate::delete_company(self, slug, CompanyDeletion::Cascade)
    }
}

impl Changes {
    /// Hands everything over, without signals of companies that do not exist. Returns what each step said.
    fn apply(&self, to: &mut impl Updated) -> Vec<String> {
        let mut said = Vec::new();
        for &company in &self.companies {
            let company = Company::new(slug(company), format!("Company {company}"));
            said.push(format!("{:?}", to.add_company(&company)));
        }
        for &(number, company, text) in &self.signals {
            let id = SignalId::new(number).expect("an id");
            let signal = Signal::new(id, slug(company), format!("text {text}"));
            said.push(match to.add_signal(&signal) {
                Ok(added) => format!("{added:?}"),
                Err(error) => {
                    // Shards take it for an earlier run of this update that has deleted the company.
                    if self.deleted_companies.contains(&company) {
                        to.delete_signal(id).expect("a look-up");
                    }
                    error.to_string()
                }
            });
        }
        for &number in &self.deleted_signals {
            let id = SignalId::new(number).expect("an id");
            said.push(format!("{:?}", to.delete_signal(id).expect("a look-up")));
        }
        for &company in &self.deleted_companies {
            let existed = to.delete_company(&slug(company)).expect("a look-up");
            said.push(format!("{existed:?}"));
        }
        said
    }

    /// Begins the update of shards, as the command does.
    fn begin(&self, folder: &ShardFolder) -> ShardUpdate {
        let mut update = ShardUpdate::begin(folder).expect("an update");
        let slugs: Vec<String> = self
            .deleted_companies
            .iter()
            .map(|&company| slug(company))
            .collect();
        update.will_delete(slugs.iter().map(String::as_str));
        update
    }
}

fn new_folder(path: &Path) -> ShardFolder {
    Splitter::new(path, SHARDS)
        .expect("a folder")
        .finish()
        .expect("shards");
    ShardFolder::open(path).expect("the folder")
}

/// All records, in order.
fn content(snapshots: &[std::sync::Arc<signaldex::Snapshot>]) -> (Vec<String>, Vec<String>) {
    let (mut companies, mut signals) = (Vec::new(), Vec::new());
    for snapshot in snapshots {
        for company in snapshot.scan_companies() {
            companies.push(format!("{:?}", company.expect("a company")));
        }
        for found in snapshot.scan() {
            signals.push(format!("{:?}", found.expect("a signal").signal));
        }
    }
    companies.sort();
    signals.sort();
    (companies, signals)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// After each update the shards hold what one index holds, also if the update ended after some of its commits
    /// and was repeated.
    #[test]
    fn shards_hold_what_one_index_holds(
        updates in prop::collection::vec((changes(), prop::option::of(0..6_usize)), 1..6),
    ) {
        let directory = tempfile::tempdir().expect("a directory");
        let folder = new_folder(directory.path());
        let whole = Index::in_memory().expect("an index");
        let mut writer = whole.writer().expect("a writer");
        for (changes, ends_after) in updates {
            if let Some(commits) = ends_after {
                let mut update = changes.begin(&folder);
                changes.apply(&mut update);
                let mut prepared = update.prepare().expect("writers");
                for _ in 0..commits {
                    prepared.commit_next().expect("a commit");
                }
            }
            let mut update = changes.begin(&folder);
            let said = changes.apply(&mut update);
            update.commit().expect("commits");
            let of_whole = changes.apply(&mut writer);
            writer.commit().expect("a commit");
            if ends_after.is_none() && changes.deleted_companies.is_empty() {
                prop_assert_eq!(said, of_whole);
            }
            folder.verify().expect("every rule holds");
            let snapshots = folder.snapshots().expect("snapshots");
            prop_assert_eq!(content(&snapshots), content(&[whole.snapshot()]));
        }
    }
}

fn signal(number: u64, company: &str) -> Signal<'static> {
    let id = SignalId::new(number).expect("an id");
    Signal::new(id, company.to_owned(), "Acme hires")
}

/// Two companies of different shards.
fn two_companies() -> [String; 2] {
    let home = |slug: &String| crate::shard_of(slug, SHARDS);
    let first = slug(0);
    let second = (1..).map(slug).find(|other| home(other) != home(&first));
    [first, second.expect("a company of another shard")]
}

/// A folder whose first signal is of the first of two companies.
fn with_signal(path: &Path) -> (ShardFolder, [String; 2]) {
    let (folder, slugs) = (new_folder(path), two_companies());
    let mut update = ShardUpdate::begin(&folder).expect("an update");
    for slug in &slugs {
        update
            .add_company(&Company::new(slug.clone(), "Acme"))
            .expect("a company");
    }
    update.add_signal(&signal(1, &slugs[0])).expect("a signal");
    update.commit().expect("commits");
    (folder, slugs)
}

/// The shards that have the first signal, while it moves: it is never in none.
#[test]
fn a_moving_signal_is_always_in_a_shard() {
    let directory = tempfile::tempdir().expect("a directory");
    let (folder, slugs) = with_signal(directory.path());
    let mut update = ShardUpdate::begin(&folder).expect("an update");
    update.add_signal(&signal(1, &slugs[1])).expect("a signal");
    // Another one moves the other way, so that no order of whole shards would do.
    update.add_signal(&signal(2, &slugs[0])).expect("a signal");
    let mut prepared = update.prepare().expect("writers");
    let mut held = Vec::new();
    loop {
        let snapshots = folder.snapshots().expect("snapshots");
        let has = |snapshot: &&std::sync::Arc<signaldex::Snapshot>| {
            snapshot.contains(SignalId::MIN).expect("a look-up")
        };
        held.push(snapshots.iter().filter(has).count());
        if !prepared.commit_next().expect("a commit") {
            break;
        }
    }
    assert!(held.contains(&2) && !held.contains(&0), "{held:?}");
    assert_eq!(held.last(), Some(&1));
}

#[test]
fn a_second_writer_is_refused_and_changes_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let (folder, slugs) = with_signal(directory.path());
    let before = content(&folder.snapshots().expect("snapshots"));
    let update = ShardUpdate::begin(&folder).expect("an update");
    let refused = ShardUpdate::begin(&folder).expect_err("a second one");
    assert!(
        refused
            .to_string()
            .contains("updates, compacts or publishes these shards"),
        "{refused}"
    );
    drop(update);
    // A writer of one shard alone is found before any shard commits.
    let home = crate::shard_of(&slugs[0], SHARDS);
    let index = Index::open(folder.directory(home)).expect("a shard");
    let writer = index.writer().expect("a writer");
    let mut update = ShardUpdate::begin(&folder).expect("an update");
    for (number, slug) in (2..).zip(&slugs) {
        update.add_signal(&signal(number, slug)).expect("a signal");
    }
    let refused = update.commit().expect_err("the shard is locked");
    assert!(
        refused.to_string().contains(&format!("shard {home}")),
        "{refused}"
    );
    drop(writer);
    assert_eq!(content(&folder.snapshots().expect("snapshots")), before);
}

#[test]
fn a_company_with_signals_is_kept_unless_they_move_away() {
    let directory = tempfile::tempdir().expect("a directory");
    let (folder, slugs) = with_signal(directory.path());
    let mut update = ShardUpdate::begin(&folder).expect("an update");
    let refused = update.delete_company(&slugs[0], CompanyDeletion::Restrict);
    let refused = refused.expect_err("it has a signal").to_string();
    assert!(refused.contains("has 1 signals"), "{refused}");
    update.add_signal(&signal(1, &slugs[1])).expect("a signal");
    let deleted = update.delete_company(&slugs[0], CompanyDeletion::Restrict);
    assert!(deleted.expect("the signal has moved"));
    let report = update.commit().expect("commits");
    assert_eq!(
        (
            report.signals_moved,
            report.companies_deleted,
            report.signals_deleted
        ),
        (1, 1, 0)
    );
    folder.verify().expect("every rule holds");
}

#[test]
fn an_unknown_company_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let folder = new_folder(directory.path());
    let mut update = ShardUpdate::begin(&folder).expect("an update");
    let refused = update
        .add_signal(&signal(1, "nobody"))
        .expect_err("no company");
    assert_eq!(refused.kind(), signaldex::ErrorKind::UnknownCompany);
}
