//! Every byte of a file counts, in memory as on disk.

use std::cell::Cell;
use std::fs;

use super::*;
use crate::ErrorKind;
use crate::fixtures::Random;
use crate::segment::SegmentBuilder;
use crate::signal::{Company, Signal, SignalId};

fn segment() -> Vec<u8> {
    let mut builder = SegmentBuilder::new(Vec::new()).expect("memory");
    builder
        .add_company(&Company::new("acme", "Acme"))
        .expect("added");
    for number in 1..=20 {
        let id = SignalId::new(number).expect("an id");
        let signal = Signal::new(id, "acme", format!("Acme does thing {number}"));
        builder.add_signal(&signal).expect("added");
    }
    builder.finish().expect("a segment")
}

fn check_on_disk(bytes: &[u8]) -> Result<Digest> {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("segment");
    fs::write(&path, bytes).expect("written");
    check_file(&File::open(path).expect("a file"))
}

#[test]
fn the_digest_is_that_of_the_table_and_a_file_is_checked_as_its_bytes_are() {
    let whole = segment();
    let digest = format::read_table(&whole).expect("a table").1;
    assert_eq!(check_file(&whole[..]).expect("whole"), digest);
    assert_eq!(check_on_disk(&whole).expect("whole"), digest);
}

#[test]
fn a_changed_byte_and_another_length_are_found() {
    let whole = segment();
    let mut random = Random::new(45);
    let refused = |bytes: &[u8]| {
        let (memory, disk) = (check_file(bytes), check_on_disk(bytes));
        let (memory, disk) = (memory.expect_err("damage"), disk.expect_err("damage"));
        assert_eq!(memory.to_string(), disk.to_string());
    };
    for _ in 0..300 {
        let mut bytes = whole.clone();
        let n = random.below(bytes.len());
        bytes[n] ^= 1 << random.below(8_u32);
        refused(&bytes);
        refused(&whole[..n]);
    }
    refused(&[&whole[..], &[0]].concat());
}

/// A file that is truncated after some reads.
struct Shrinking {
    bytes: Vec<u8>,
    reads: Cell<usize>,
}

impl FileContent for Shrinking {
    fn length(&self) -> io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let Some(left) = self.reads.get().checked_sub(1) else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        self.reads.set(left);
        self.bytes[..].read_at(offset, buffer)
    }
}

#[test]
fn a_file_that_becomes_shorter_while_it_is_read_is_refused() {
    let mut n = 0;
    loop {
        let file = Shrinking {
            bytes: segment(),
            reads: Cell::new(n),
        };
        match check_file(&file) {
            Ok(_) => break,
            Err(error) => {
                assert!(error.kind() == ErrorKind::Corrupt && error.to_string().contains("shorter"))
            }
        }
        n += 1;
    }
    assert!(n > 10, "{n} reads");
}
