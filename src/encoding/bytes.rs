//! The bytes of a segment: a mapped file, or owned memory. The only file with `unsafe`.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::sync::Arc;

use memmap2::Mmap;

/// Bytes aligned to eight, so that sections can be viewed as integers without copying.
pub(crate) enum Bytes {
    /// A mapped file: pages are read on first access and shared between processes.
    Mapped(Mmap),
    /// Memory of this process, shared with the in-memory file.
    Owned(Arc<AlignedBytes>),
}

/// Bytes in memory, stored as whole words for alignment.
#[derive(Clone, Default)]
pub(crate) struct AlignedBytes {
    words: Vec<u64>,
    /// The number of used bytes.
    length: usize,
}

impl Bytes {
    /// Maps a file.
    #[allow(unsafe_code)]
    pub(crate) fn map(file: &File) -> io::Result<Bytes> {
        // SAFETY: A mapping is sound if the file is not modified while mapped. Segment files are written
        // once, under a new name, and then only removed, which does not affect mappings. The operators'
        // guide forbids other programs to write into them. One that does is noticed soon, and nothing is
        // served from the file any more; truncation may cause SIGBUS before.
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
        // The last word is padded with zeros, which the next bytes overwrite.
        self.words.resize(end.div_ceil(8), 0);
        bytemuck::cast_slice_mut(&mut self.words)[self.length..end].copy_from_slice(bytes);
        self.length = end;
    }

    /// Releases unused memory.
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

/// Shows only the number of bytes: there may be gigabytes.
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
