//! The bytes of a segment: a mapped file, or owned memory. The one use of `unsafe`.

use std::fs::File;
use std::io;
use std::ops::Deref;

use memmap2::Mmap;

/// Bytes that start at an address which is a multiple of eight, so that sections can be viewed as
/// integers without copying them.
#[derive(Debug)]
pub(crate) enum Bytes {
    /// A file, mapped: pages are read when they are first touched and shared between processes.
    Mapped(Mmap),
    /// Memory: a segment that was built and is used in one process.
    Owned {
        /// Whole words, for the alignment.
        words: Vec<u64>,
        /// The bytes used of them.
        length: usize,
    },
}

impl Bytes {
    /// Maps a file.
    #[allow(unsafe_code)]
    pub(crate) fn map(file: &File) -> io::Result<Bytes> {
        // SAFETY: A mapping is sound as long as nobody alters the file underneath it. Segment
        // files are written once, under a name that was never used before, and only ever removed,
        // which leaves a mapping whole. A foreign process that truncates one in place would raise
        // SIGBUS here; the guide for operators says that an index directory is the engine's own.
        unsafe { Mmap::map(file) }.map(Bytes::Mapped)
    }

    /// Copies bytes into aligned memory.
    pub(crate) fn copy(bytes: &[u8]) -> Bytes {
        let mut words = vec![0_u64; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Bytes::Owned {
            words,
            length: bytes.len(),
        }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map,
            Bytes::Owned { words, length } => &bytemuck::cast_slice(words)[..*length],
        }
    }
}
