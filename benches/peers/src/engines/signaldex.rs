//! signaldex, as a host uses it.

use std::path::Path;
use std::sync::Arc;

use signaldex::{Index, Snapshot, sample};
use time::Date;

use crate::Result;
use crate::engine::{Engine, FacetAnswer, PageAnswer, Prepared};
use crate::question::{Question, Start};

/// A snapshot to ask.
pub struct Signaldex(Arc<Snapshot>);

impl Signaldex {
    /// Opens an index.
    pub fn open(folder: &Path) -> Result<Signaldex> {
        Ok(Signaldex(Index::open(folder)?.snapshot()))
    }
}

impl Engine for Signaldex {
    fn prepare<'e>(&'e self, question: &'e Question) -> Result<Box<dyn Prepared + 'e>> {
        Ok(Box::new(Asked {
            snapshot: &self.0,
            question,
            today: sample::AS_OF,
        }))
    }
}

struct Asked<'e> {
    snapshot: &'e Snapshot,
    question: &'e Question,
    today: Date,
}

impl Prepared for Asked<'_> {
    fn page(&mut self, start: Start) -> Result<PageAnswer> {
        let query = match start {
            Start::First => &self.question.first,
            Start::Middle => &self.question.middle,
        };
        Ok(PageAnswer::Page(self.snapshot.search(query, self.today)))
    }

    fn count(&mut self) -> Result<u64> {
        Ok(self
            .snapshot
            .count(self.question.first.filter(), self.today))
    }

    fn facets(&mut self) -> Result<FacetAnswer> {
        let filter = self.question.first.filter();
        let facets = self.snapshot.facets(filter, self.today);
        Ok(FacetAnswer::Labelled(facets))
    }

    fn records(&mut self) -> Result<Option<usize>> {
        let page = self.snapshot.search(&self.question.first, self.today);
        Ok(Some(self.snapshot.records(&page)?.len()))
    }
}
