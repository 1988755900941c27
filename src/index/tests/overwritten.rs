//! Files that other programs overwrite, touch or replace while an index has them mapped: random steps beside a model.

use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use time::macros::date;

use crate::ErrorKind;
use crate::fixtures::Random;
use crate::index::{Index, IndexBuilder, Refreshed};
use crate::query::Query;
use crate::signal::{Company, Item, Signal, SignalId};

/// Longer than a tick of the clock that stamps files.
const TICK: Duration = Duration::from_millis(20);

const SEGMENT: &str = "segment-00000000000000000001";

/// An index of one signal. Its files are as long as those with another title of this length.
fn build(directory: &Path, title: &str) -> Vec<u8> {
    let mut builder = IndexBuilder::in_directory(directory).expect("an empty directory");
    let company = Company::new("acme", "Acme");
    builder.add_company(&company).expect("added");
    let signal = Signal::new(SignalId::MIN, "acme", title.to_owned());
    builder.add_signal(&signal).expect("added");
    builder.finish().expect("an index");
    fs::read(directory.join(SEGMENT)).expect("the segment")
}

/// The content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Named,
    /// That of another index, as long.
    Foreign,
    /// One byte of a record differs.
    Damaged,
    Short,
    Long,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Writes into the file without truncating it first.
    Overwrite(Content),
    /// The same, and sets the time of the last change to what it was.
    OverwriteWithoutTrace(Content),
    HardLink,
    /// Renames another file into the place.
    Rename(Content),
    Remove,
}

struct Model {
    folder: tempfile::TempDir,
    named: Vec<u8>,
    foreign: Vec<u8>,
    index: Index,
    /// The content that is mapped.
    mapped: Content,
    /// Whether anything of the mapped file has changed since it was opened.
    is_touched: bool,
    /// The file at the path: `None` if there is none, `Some(None)` if it is the mapped one.
    at_path: Option<Option<Content>>,
    links: usize,
}

impl Model {
    fn new() -> Model {
        let folder = tempfile::tempdir().expect("a directory");
        let named = build(&folder.path().join("alpha"), "alpha");
        let foreign = build(&folder.path().join("omega"), "omega");
        assert_eq!(named.len(), foreign.len());
        let index = Index::open(folder.path().join("alpha")).expect("an index");
        Model {
            folder,
            named,
            foreign,
            index,
            mapped: Content::Named,
            is_touched: false,
            at_path: Some(None),
            links: 0,
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("alpha").join(SEGMENT)
    }

    fn bytes(&self, content: Content) -> Vec<u8> {
        let mut bytes = self.named.clone();
        match content {
            Content::Named => {}
            Content::Foreign => bytes.clone_from(&self.foreign),
            Content::Damaged => {
                let title = bytes.windows(5).position(|window| window == b"alpha");
                bytes[title.expect("the title")] ^= 1;
            }
            Content::Short => bytes.truncate(bytes.len() / 2),
            Content::Long => bytes.push(0),
        }
        bytes
    }

    fn apply(&mut self, step: Step) {
        // A file written within one tick of the file system's clock as it was opened has the same times.
        thread::sleep(TICK);
        // Each step changes the file at the path, or the number of its names.
        self.is_touched |= self.at_path == Some(None);
        match step {
            Step::Overwrite(content) => self.overwrite(content),
            Step::OverwriteWithoutTrace(content) => {
                let before = fs::metadata(self.path()).and_then(|before| before.modified());
                self.overwrite(content);
                if let Ok(before) = before {
                    let file = OpenOptions::new().write(true).open(self.path());
                    let times = FileTimes::new().set_modified(before);
                    file.and_then(|file: File| file.set_times(times))
                        .expect("set");
                }
            }
            Step::HardLink => {
                self.links += 1;
                let to = self.folder.path().join(self.links.to_string());
                // There may be no file.
                let _ = fs::hard_link(self.path(), to);
            }
            Step::Rename(content) => {
                let beside = self.folder.path().join("beside");
                fs::write(&beside, self.bytes(content)).expect("written");
                fs::rename(beside, self.path()).expect("renamed");
                self.at_path = Some(Some(content));
            }
            Step::Remove => {
                // There may be no file.
                let _ = fs::remove_file(self.path());
                self.at_path = None;
            }
        }
    }

    fn overwrite(&mut self, content: Content) {
        let bytes = self.bytes(content);
        match &mut self.at_path {
            None => return,
            Some(None) => self.mapped = content,
            Some(Some(other)) => *other = content,
        }
        let file = OpenOptions::new().write(true).open(self.path());
        let mut file = file.expect("the file");
        file.write_all(&bytes).expect("written");
        file.set_len(bytes.len() as u64).expect("cut off");
    }

    /// Refreshes, and compares the index with the model.
    fn check(&mut self, steps: &[Step]) {
        let refreshed = self.index.refresh();
        // A whole copy at the path is opened. Damage of records is found when they are read.
        let is_opened = |content: &Content| matches!(content, Content::Named | Content::Damaged);
        if let Some(Some(content)) = self.at_path.filter(|at| at.as_ref().is_some_and(is_opened)) {
            self.mapped = content;
            self.at_path = Some(None);
            self.is_touched = false;
            let reloaded = refreshed.as_ref().ok();
            assert_eq!(reloaded, Some(&Refreshed::Reloaded), "{steps:?}");
        } else if (self.mapped == Content::Named || !self.is_touched)
            && !matches!(self.at_path, Some(Some(_)))
        {
            assert!(refreshed.is_ok(), "{refreshed:?} {steps:?}");
        } else {
            let error = refreshed.expect_err("another file");
            assert_eq!(error.path(), Some(&*self.path()), "{error} {steps:?}");
        }
        let snapshot = self.index.snapshot();
        let query = Query::from_query_string("q=alpha").expect("a query");
        let page = snapshot.search(&query, date!(2026 - 06 - 30));
        let items = page.and_then(|page| snapshot.records(&page));
        let title = |item: &Item<'_>| item.signal.title.to_string();
        let titles = items.map(|items| items.iter().map(title).collect::<Vec<_>>());
        match self.mapped {
            Content::Named => assert_eq!(titles.expect("whole"), ["alpha"], "{steps:?}"),
            _ => {
                let error = titles.expect_err("not to be served");
                assert_eq!(error.path(), Some(&*self.path()), "{error} {steps:?}");
            }
        }
        assert_eq!(
            snapshot.is_damaged(),
            self.mapped != Content::Named,
            "{steps:?}"
        );
    }
}

fn step(random: &mut Random) -> Step {
    let contents = [
        Content::Named,
        Content::Named,
        Content::Foreign,
        Content::Damaged,
        Content::Short,
        Content::Long,
    ];
    let content = *random.pick(&contents);
    match random.below(10_u32) {
        0..4 => Step::Overwrite(content),
        4 => Step::OverwriteWithoutTrace(content),
        5 => Step::HardLink,
        6..9 => Step::Rename(content),
        _ => Step::Remove,
    }
}

#[test]
fn an_index_answers_from_whole_files_only_whatever_other_programs_do() {
    let mut random = Random::new(45);
    for _ in 0..40 {
        let mut model = Model::new();
        let mut steps = Vec::new();
        for _ in 0..8 {
            let step = step(&mut random);
            steps.push(step);
            model.apply(step);
            if random.chance(70) {
                model.check(&steps);
            }
        }
        model.check(&steps);
    }
}

#[test]
fn a_facet_is_not_looked_up_in_an_overwritten_file() {
    let mut model = Model::new();
    model.apply(Step::Overwrite(Content::Short));
    model.index.refresh().expect_err("a short file");
    let snapshot = model.index.snapshot();
    for query in [
        "country=germany",
        "q=acme",
        "company=acme",
        "days=30",
        "sort=oldest",
    ] {
        let Ok(query) = Query::from_query_string(query) else {
            continue;
        };
        let found = snapshot.search(&query, date!(2026 - 06 - 30));
        assert!(
            found.is_err_and(|error| error.kind() == ErrorKind::Corrupt),
            "{query:?}"
        );
    }
    let found = snapshot.contains(SignalId::MIN);
    assert!(found.is_err(), "by id");
    assert!(snapshot.company("acme").is_err());
    model.check(&[]);
}

#[test]
fn a_file_that_was_read_again_is_not_read_again() {
    let mut model = Model::new();
    model.apply(Step::Overwrite(Content::Named));
    assert_eq!(model.index.refresh().expect("whole"), Refreshed::Reloaded);
    assert_eq!(model.index.refresh().expect("whole"), Refreshed::Unchanged);
    model.apply(Step::HardLink);
    assert_eq!(model.index.refresh().expect("whole"), Refreshed::Unchanged);
}
