//! Assigns numbers to strings in the order of first occurrence: the dictionaries of the builder.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::Result;
use crate::encoding::dictionary::{StringSections, Strings};

/// Maps strings to numbers, counted from 0. The strings are in one buffer; the hash table has only numbers.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
    sections: StringSections,
}

impl Interner {
    /// The number of a string, assigned if it is new.
    pub(crate) fn intern(&mut self, text: &str) -> Result<u32> {
        let hash = self.hasher.hash_one(text);
        let strings = Strings::new(&self.sections.ends, &self.sections.bytes);
        let is_same = |&number: &u32| strings.bytes(number as usize) == text.as_bytes();
        if let Some(&number) = self.table.find(hash, is_same) {
            return Ok(number);
        }
        let number = self.len() as u32;
        self.sections.push(text.as_bytes())?;
        let strings = Strings::new(&self.sections.ends, &self.sections.bytes);
        let hash_of = |&number: &u32| self.hasher.hash_one(strings.get(number as usize));
        self.table.insert_unique(hash, number, hash_of);
        Ok(number)
    }

    /// The number of a string, if known.
    pub(crate) fn find(&self, text: &str) -> Option<u32> {
        let strings = self.strings();
        let is_same = |&number: &u32| strings.bytes(number as usize) == text.as_bytes();
        self.table
            .find(self.hasher.hash_one(text), is_same)
            .copied()
    }

    /// The strings by number.
    pub(crate) fn strings(&self) -> Strings<'_> {
        Strings::new(&self.sections.ends, &self.sections.bytes)
    }

    /// The number of strings.
    pub(crate) fn len(&self) -> usize {
        self.sections.ends.len()
    }
}
