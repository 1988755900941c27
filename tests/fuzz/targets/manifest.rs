//! The manifest and a file of deletions, damaged in ways that their checksums do not tell; the
//! index is opened, asked everything and, where the input says so, changed.
#![no_main]

use std::cell::RefCell;
use std::fs;

use fuzz_support::allocation::{Counting, bounded};
use fuzz_support::examination::{examine, is_typed};
use fuzz_support::manifest_file::{IS_WRITTEN, Input, SegmentFigures};
use fuzz_support::scratch::Scratch;
use fuzz_support::{name_of_deleted, name_of_segment, two_segments};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use signaldex::{Company, Index, Result, Signal, SignalId};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Numbers of the files that the index really has.
const SEGMENTS: [u64; 2] = [1, 2];

/// Files of deletions that are written for an input; it may name more, which are missing then.
const DELETED_FILES_MAX: usize = 4;

/// The whole index, and the folder of the input's.
struct Folders {
    whole: Scratch,
    damaged: Scratch,
}

thread_local! {
    static FOLDERS: RefCell<Folders> = RefCell::new(Folders::new());
}

impl Folders {
    fn new() -> Folders {
        let whole = Scratch::new("manifest-whole");
        two_segments(&whole);
        Folders {
            whole,
            damaged: Scratch::new("manifest"),
        }
    }

    fn figures_of_segment(&self, file: u64) -> Option<SegmentFigures> {
        let manifest = fs::read(self.whole.path("manifest")).ok()?;
        Input::figures_of(&manifest, file)
    }
}

fuzz_target!(|data: &[u8]| {
    let Some(mut input) = Input::of(data) else {
        return;
    };
    FOLDERS.with_borrow(|folders| {
        folders.damaged.clear();
        for file in SEGMENTS.map(name_of_segment) {
            folders.damaged.link(&file, &folders.whole.path(&file));
        }
        let deleted = input.repair(|file| folders.figures_of_segment(file));
        for file in deleted.into_iter().take(DELETED_FILES_MAX) {
            let name = name_of_deleted(file);
            folders.damaged.write(&name, &input.deleted);
        }
        folders.damaged.write("manifest", &input.manifest());
        let outcome = bounded(data.len(), || read(&folders.damaged, &input));
        if let Err(error) = outcome {
            assert!(is_typed(&error), "{error}");
        }
    });
});

fn read(scratch: &Scratch, input: &Input) -> Result<()> {
    let index = Index::open(scratch.path(""))?;
    examine(&index, input.body.len() + input.deleted.len())?;
    match input.flags & IS_WRITTEN {
        0 => Ok(()),
        _ => write(&index),
    }
}

/// Commits a change, merges everything, and finds the change in what is read again.
fn write(index: &Index) -> Result<()> {
    let before = index.snapshot().generation();
    let mut writer = index.writer()?;
    let id = SignalId::MIN;
    writer.upsert_company(&Company::new("acme", "Acme"))?;
    writer.upsert_signal(&Signal::new(id, "acme", "Acme hires"))?;
    let committed = writer.commit()?.generation;
    assert!(committed > before);
    writer.compact()?;
    let read_again = index.snapshot();
    assert!(read_again.generation() >= committed);
    assert!(read_again.contains(id)?);
    read_again.verify()
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut blind = |text: &mut [u8], size, most| fuzzer_mutate(text, size, most);
    let mutated = match Input::of(&data[..size]) {
        Some(mut input) => {
            input.mutate(max_size, seed, &mut blind);
            input.bytes()
        }
        None => vec![0; 3],
    };
    let length = mutated.len().min(max_size);
    data[..length].copy_from_slice(&mutated[..length]);
    length
});
