//! A segment file: damaged in ways that its checksums do not tell, opened, and asked everything.
#![no_main]

use std::cell::RefCell;

use fuzz_support::allocation::{Counting, bounded};
use fuzz_support::examination::{compare, examine, is_typed};
use fuzz_support::manifest_file::of_segment;
use fuzz_support::name_of_segment;
use fuzz_support::scratch::Scratch;
use fuzz_support::segment_file::repair;
use fuzz_support::segment_mutation::mutate;
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use signaldex::{Index, Result};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The seed with ordinary records, compressed.
const WHOLE: &[u8] = include_bytes!("../corpus/segment/compressed");

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::new("segment"));
}

fuzz_target!(|data: &[u8]| {
    let mut file = data.to_vec();
    repair(&mut file);
    SCRATCH.with_borrow(|scratch| {
        scratch.write(&name_of_segment(1), &file);
        scratch.write("manifest", &of_segment(&file));
        let turn = crc32c::crc32c(&file) as usize;
        let outcome = bounded(file.len(), || read(scratch, turn));
        if let Err(error) = outcome {
            assert!(is_typed(&error), "{error}");
        }
    });
});

/// A file that verifies has to answer as its records say.
fn read(scratch: &Scratch, turn: usize) -> Result<()> {
    let index = Index::open(scratch.path(""))?;
    examine(&index, turn)?;
    compare(&index, turn);
    Ok(())
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mutated = mutate(
        &data[..size],
        WHOLE,
        max_size,
        seed,
        &mut |text, size, most| fuzzer_mutate(text, size, most),
    );
    let length = mutated.len().min(max_size);
    data[..length].copy_from_slice(&mutated[..length]);
    length
});
