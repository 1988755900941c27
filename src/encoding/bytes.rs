//! The bytes of a segment: a mapped file, or owned memory. The one use of `unsafe`.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::sync::Arc;

use memmap2::Mmap;

/// Bytes that start at an address which is a multiple of eight, so that sections can be viewed as
/// integers without copying them.
pub(crate) enum Bytes {
    /// A file, mapped: pages are read when they are first touched and shared between processes.
    Mapped(Mmap),
    /// Memory of this process, shared with the file in memory that it is the content of.
    Owned(Arc<AlignedBytes>),
}

/// Bytes in memory, held in whole words for the alignment.
#[derive(Clone, Default)]
pub(crate) struct AlignedBytes {
    words: Vec<u64>,
    /// The bytes used of them.
    length: usize,
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
    #[cfg(test)]
    pub(crate) fn copy(bytes: &[u8]) -> Bytes {
        let mut aligned = AlignedBytes::default();
        aligned.append(bytes);
        Bytes::Owned(Arc::new(aligned))
    }
}

impl AlignedBytes {
    /// Appends bytes.
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        self.words.resize(end.div_ceil(8), 0);
        bytemuck::cast_slice_mut(&mut self.words)[self.length..end].copy_from_slice(bytes);
        self.length = end;
    }

    /// Gives memory back that is allocated and holds nothing.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.words.shrink_to_fit();
    }
}

impl Deref for AlignedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.length]
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map,
            Bytes::Owned(aligned) => aligned,
        }
    }
}

/// The number of bytes, not the bytes: there may be gigabytes of them.
impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bytes::Mapped(map) => write!(f, "Mapped({} bytes)", map.len()),
            Bytes::Owned(aligned) => fmt::Debug::fmt(aligned, f),
        }
    }
}

impl fmt::Debug for AlignedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Owned({} bytes)", self.length)
    }
}

#[cfg(test)]
mod tests;
