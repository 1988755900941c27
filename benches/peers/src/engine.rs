//! What every engine is asked to do.

use std::path::Path;
use std::time::Duration;

use signaldex::query::Order;
use signaldex::{Facets, Page};

use crate::Result;
use crate::measure::Task;
use crate::question::{Question, Start};
use crate::record::{COUNTED, Dictionary, FACETS, Record};

/// Signals of a page.
pub const PAGE: usize = 50;

/// An engine being built.
pub trait Build {
    /// Adds the next record, by ascending rank.
    fn add(&mut self, record: Record) -> Result<()>;

    /// Makes everything durable.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// An engine that is open.
pub trait Engine {
    /// A question in the engine's own form. Queries and statements are made when a task first needs
    /// them and kept: a prepared question is asked once before it is measured, one that is not
    /// prepared is measured with its making.
    fn prepare<'e>(&'e self, question: &'e Question) -> Result<Box<dyn Prepared + 'e>>;

    /// How long a task takes for each of some prepared questions, in their order; none where the
    /// engine leaves the clock to the harness.
    fn pass(&self, _task: Task, _questions: &[&Question]) -> Option<Result<Vec<Duration>>> {
        None
    }

    /// Its resident memory; none where it runs in this process.
    fn resident_bytes(&self) -> Option<Result<u64>> {
        None
    }
}

/// A question that is ready to be asked.
pub trait Prepared {
    /// The ids of the first matches from a start on, newest first.
    fn page(&mut self, start: Start) -> Result<PageAnswer>;

    /// The number of matches, wherever the page starts.
    fn count(&mut self) -> Result<u64>;

    /// The number of matches for each value of each counted facet, a facet's own condition lifted.
    fn facets(&mut self) -> Result<FacetAnswer>;

    /// The ids of the first page by date or by amount; none where the engine is not asked for it.
    fn page_by_value(&mut self, _order: Order) -> Result<Option<PageAnswer>> {
        Ok(None)
    }

    /// The records of the first page beside its ids; none where the engine holds no records.
    fn records(&mut self) -> Result<Option<usize>> {
        Ok(None)
    }
}

/// The ids of a page as the engine gives them; they are made alike outside of what is measured.
pub enum PageAnswer {
    /// Numbers in order.
    Numbers(Vec<u64>),
    /// A page of signaldex.
    Page(Page),
}

/// Facet counts as the engine gives them; they are made alike outside of what is measured.
pub enum FacetAnswer {
    /// By label, in order: all that an answer needs.
    Labelled(Facets),
    /// By the number of the value.
    Numbered(Tally),
    /// The engine does not count facets.
    Unsupported,
}

/// The number of matches by facet and number of the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally(pub [Vec<u64>; FACETS]);

impl Tally {
    /// A zero for each value of each facet.
    pub fn new(value_bounds: &[usize; FACETS]) -> Tally {
        Tally(value_bounds.map(|bound| vec![0; bound]))
    }
}

impl PageAnswer {
    /// The ids as numbers.
    pub fn ids(&self) -> Vec<u64> {
        match self {
            PageAnswer::Numbers(ids) => ids.clone(),
            PageAnswer::Page(page) => page.ids().map(|id| id.get()).collect(),
        }
    }
}

impl FacetAnswer {
    /// The counts by number, without those of signals that have no value.
    pub fn tally(&self, dictionary: &Dictionary) -> Option<Tally> {
        let mut tally = match self {
            FacetAnswer::Labelled(facets) => numbered(facets, dictionary),
            FacetAnswer::Numbered(tally) => tally.clone(),
            FacetAnswer::Unsupported => return None,
        };
        tally.0.iter_mut().for_each(|counts| counts[0] = 0);
        Some(tally)
    }
}

fn numbered(facets: &Facets, dictionary: &Dictionary) -> Tally {
    let mut tally = Tally::new(&dictionary.value_bounds());
    for facet in COUNTED {
        for value in facets.values(facet) {
            if let Some(number) = dictionary.value(facet, value.label()) {
                tally.0[facet as usize][number as usize] = value.count();
            }
        }
    }
    tally
}

/// The bytes of all files in a folder.
pub fn bytes_on_disk(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        bytes += if entry.file_type()?.is_dir() {
            bytes_on_disk(&entry.path())?
        } else {
            entry.metadata()?.len()
        };
    }
    Ok(bytes)
}
