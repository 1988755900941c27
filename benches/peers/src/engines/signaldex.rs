//! signaldex, as a host uses it.

use std::cell::OnceCell;
use std::path::Path;
use std::sync::Arc;

use signaldex::query::Order;
use signaldex::{Index, Query, Snapshot, sample};
use time::Date;

use crate::Result;
use crate::engine::{Engine, FacetAnswer, PageAnswer, Prepared};
use crate::question::{Question, Start};
use crate::record::COUNTED;

/// How a query is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Making {
    /// By the builder, from texts, labels and numbers.
    Builder,
    /// By parsing a query string.
    Parser,
}

/// A snapshot to ask.
pub struct Signaldex {
    snapshot: Arc<Snapshot>,
    making: Making,
}

impl Signaldex {
    /// Opens an index.
    pub fn open(folder: &Path, making: Making) -> Result<Signaldex> {
        let snapshot = Index::open(folder)?.snapshot();
        Ok(Signaldex { snapshot, making })
    }

    fn query(&self, question: &Question) -> Result<Query> {
        if self.making == Making::Parser {
            return Ok(question.query_string.parse()?);
        }
        let builder = question.wanted.builder_of(&question.texts);
        Ok(match &question.cursor {
            Some(cursor) => builder.cursor(cursor.as_str()).build()?,
            None => builder.build()?,
        })
    }
}

impl Engine for Signaldex {
    fn prepare<'e>(&'e self, question: &'e Question) -> Result<Box<dyn Prepared + 'e>> {
        Ok(Box::new(Asked {
            engine: self,
            question,
            first: OnceCell::new(),
            today: sample::AS_OF,
        }))
    }
}

struct Asked<'e> {
    engine: &'e Signaldex,
    question: &'e Question,
    first: OnceCell<Query>,
    today: Date,
}

impl Asked<'_> {
    fn first(&self) -> Result<&Query> {
        if self.first.get().is_none() {
            let _ = self.first.set(self.engine.query(self.question)?);
        }
        Ok(self.first.get().ok_or("the query was set just now")?)
    }
}

impl Prepared for Asked<'_> {
    fn page(&mut self, start: Start) -> Result<PageAnswer> {
        let query = match start {
            Start::First => self.first()?,
            Start::Middle => &self.question.middle,
        };
        let page = self.engine.snapshot.search(query, self.today)?;
        Ok(PageAnswer::Page(page))
    }

    fn page_by_value(&mut self, order: Order) -> Result<Option<PageAnswer>> {
        let builder = self.question.wanted.builder_of(&self.question.texts);
        let query = builder.order(order).build()?;
        let page = self.engine.snapshot.search(&query, self.today)?;
        Ok(Some(PageAnswer::Page(page)))
    }

    fn count(&mut self) -> Result<u64> {
        let filter = self.first()?.filter();
        Ok(self.engine.snapshot.count(filter, self.today)?)
    }

    fn facets(&mut self) -> Result<FacetAnswer> {
        let filter = self.first()?.filter();
        let facets = self
            .engine
            .snapshot
            .facets_of(filter, self.today, &COUNTED)?;
        Ok(FacetAnswer::Labelled(facets))
    }

    fn records(&mut self) -> Result<Option<usize>> {
        let page = self.engine.snapshot.search(self.first()?, self.today)?;
        Ok(Some(self.engine.snapshot.records(&page)?.len()))
    }
}
