//! What is found as it is asked for: iterators of the library that own the snapshot they read.
//!
//! The engine works in steps of some hundred records, without the interpreter's lock; what a step has found is
//! handed out one by one.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use self_cell::self_cell;
use signaldex::query::{Order, SortKey};
use signaldex::{
    Change, Changes, Company, Filter, Found, Item, MatchedSignal, MatchedSignals, Matches, Page,
    Pages, Position, PositionError, Query, Result, SavedSearches, SignalId, Snapshot,
};
use time::Date;

use crate::page::PyPage;
use crate::{errors, records};

/// How many records a step finds, while nobody knows whether more will be wanted, and at most.
const FIRST_STEP: usize = 16;
const STEP_MAX: usize = 512;

/// What iterators borrow from.
pub(crate) struct Owner {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) filter: Filter,
    pub(crate) searches: Option<Arc<SavedSearches>>,
    pub(crate) before: Option<Arc<Snapshot>>,
}

impl Owner {
    pub(crate) fn new(snapshot: &Arc<Snapshot>, filter: Filter) -> Owner {
        Owner {
            snapshot: Arc::clone(snapshot),
            filter,
            searches: None,
            before: None,
        }
    }
}

type Boxed<'a, T> = Box<dyn Iterator<Item = T> + Send + 'a>;

/// An iterator of the library.
pub(crate) enum RecordSource<'a> {
    Items(Matches<'a>),
    /// Items again, given as flat dicts.
    Rows(Matches<'a>),
    Ids(Boxed<'a, Result<SignalId>>),
    Pages(Pages<'a>, Arc<Snapshot>),
    Changes(Changes<'a>),
    Matched(MatchedSignals<'a>),
    Signals(Boxed<'a, Result<Found<'a>>>),
    Companies(Boxed<'a, Result<Company<'a>>>),
}

/// One thing that an iterator has found.
enum Yielded<'a> {
    Item(Item<'a>),
    Row(Item<'a>),
    Id(SignalId),
    Page(Page, Arc<Snapshot>),
    Change(Change<'a>, Position),
    Matched(MatchedSignal<'a>, Position),
    Found(Found<'a>),
    Company(Company<'a>),
}

impl<'a> RecordSource<'a> {
    fn next(&mut self) -> Option<Result<Yielded<'a>>> {
        match self {
            RecordSource::Items(items) => Some(items.next()?.map(Yielded::Item)),
            RecordSource::Rows(items) => Some(items.next()?.map(Yielded::Row)),
            RecordSource::Ids(ids) => Some(ids.next()?.map(Yielded::Id)),
            RecordSource::Pages(pages, snapshot) => {
                let page = pages.next()?;
                Some(page.map(|page| Yielded::Page(page, Arc::clone(snapshot))))
            }
            RecordSource::Changes(changes) => {
                let change = changes.next()?;
                let position = Changes::position(changes);
                Some(change.map(|change| Yielded::Change(change, position)))
            }
            RecordSource::Matched(signals) => {
                let signal = signals.next()?;
                let position = MatchedSignals::position(signals);
                Some(signal.map(|signal| Yielded::Matched(signal, position)))
            }
            RecordSource::Signals(signals) => Some(signals.next()?.map(Yielded::Found)),
            RecordSource::Companies(companies) => Some(companies.next()?.map(Yielded::Company)),
        }
    }

    /// Where the source stands, where it is one that has a position.
    fn position(&self) -> Option<Position> {
        match self {
            RecordSource::Changes(changes) => Some(changes.position()),
            RecordSource::Matched(signals) => Some(signals.position()),
            _ => None,
        }
    }
}

impl Yielded<'_> {
    fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        match self {
            Yielded::Item(item) => records::item(py, &item),
            Yielded::Row(item) => records::row(py, &item),
            Yielded::Id(id) => Ok(id.get().into_pyobject(py)?.into_any()),
            Yielded::Page(page, snapshot) => {
                Ok(Bound::new(py, PyPage { page, snapshot })?.into_any())
            }
            Yielded::Change(change, _) => records::change(py, &change),
            Yielded::Matched(signal, _) => records::matched(py, &signal),
            Yielded::Found(found) => records::found(py, &found),
            Yielded::Company(company) => records::company(py, &company),
        }
    }

    fn position(&self) -> Option<Position> {
        match self {
            Yielded::Change(_, position) | Yielded::Matched(_, position) => Some(*position),
            _ => None,
        }
    }
}

/// A source and what it has found ahead.
pub(crate) struct Buffered<'a> {
    source: RecordSource<'a>,
    found: VecDeque<Result<Yielded<'a>>>,
    /// How many the next step finds.
    step: usize,
    /// After what was handed out.
    position: Option<Position>,
}

impl<'a> Buffered<'a> {
    fn new(source: RecordSource<'a>) -> Buffered<'a> {
        Buffered {
            position: source.position(),
            source,
            found: VecDeque::new(),
            step: FIRST_STEP,
        }
    }

    fn fill(&mut self) {
        let source = std::iter::from_fn(|| self.source.next());
        self.found.extend(source.take(self.step));
        self.step = (self.step * 2).min(STEP_MAX);
    }

    fn next<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.found.is_empty() {
            py.detach(|| self.fill());
        }
        match self.found.pop_front() {
            Some(Ok(found)) => {
                // A position after what could not be handed out would lose it.
                let position = found.position();
                let object = found.into_python(py)?;
                self.position = position.or(self.position);
                Ok(Some(object))
            }
            Some(Err(error)) => Err(errors::of_library(py, &error)),
            None => {
                self.position = self.source.position();
                Ok(None)
            }
        }
    }
}

self_cell!(
    struct Cell {
        owner: Owner,
        #[not_covariant]
        dependent: Buffered,
    }
);

/// An iterator that Python may share between threads.
pub(crate) struct Stream(Mutex<Cell>);

impl Stream {
    fn new(owner: Owner, source: impl for<'a> FnOnce(&'a Owner) -> RecordSource<'a>) -> Stream {
        let cell = Cell::new(owner, |owner| Buffered::new(source(owner)));
        Stream(Mutex::new(cell))
    }

    fn try_new(
        owner: Owner,
        source: impl for<'a> FnOnce(&'a Owner) -> Result<RecordSource<'a>, PositionError>,
    ) -> Result<Stream, PositionError> {
        let cell = Cell::try_new(owner, |owner| source(owner).map(Buffered::new))?;
        Ok(Stream(Mutex::new(cell)))
    }

    pub(crate) fn next<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.with(py, |buffered| buffered.next(py))?
    }

    /// The position after what was handed out; of changes and matched signals.
    pub(crate) fn position(&self, py: Python<'_>) -> PyResult<Option<Position>> {
        self.with(py, |buffered| buffered.position)
    }

    /// Whether another call gives something.
    pub(crate) fn has_more(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |buffered| {
            if buffered.found.is_empty() {
                py.detach(|| buffered.fill());
            }
            !buffered.found.is_empty()
        })
    }

    fn with<T>(&self, py: Python<'_>, run: impl FnOnce(&mut Buffered<'_>) -> T) -> PyResult<T> {
        let cell = self.0.lock_py_attached(py);
        let mut cell = cell.map_err(|_| errors::panicked_before())?;
        Ok(cell.with_dependent_mut(|_, buffered| run(buffered)))
    }

    pub(crate) fn pages(snapshot: &Arc<Snapshot>, query: &Query, today: Date) -> Stream {
        Stream::new(Owner::new(snapshot, Filter::default()), |owner| {
            RecordSource::Pages(
                owner.snapshot.pages(query, today),
                Arc::clone(&owner.snapshot),
            )
        })
    }

    pub(crate) fn changes(
        owner: Owner,
        today: Date,
        since: &Position,
    ) -> Result<Stream, PositionError> {
        Stream::try_new(owner, |owner| {
            let changes = owner.snapshot.changes(&owner.filter, today, since)?;
            Ok(RecordSource::Changes(changes))
        })
    }

    /// The signals that saved searches match: since a position, or those that did not match before.
    pub(crate) fn matched(
        owner: Owner,
        today: Date,
        since: &Position,
    ) -> Result<Stream, PositionError> {
        Stream::try_new(owner, |owner| {
            let searches = owner.searches.as_deref().expect("the owner has searches");
            let signals = match &owner.before {
                Some(before) => searches.newly_matching(before, &owner.snapshot, today)?,
                None => searches.matching(&owner.snapshot, since, today)?,
            };
            Ok(RecordSource::Matched(signals))
        })
    }

    pub(crate) fn signals(snapshot: &Arc<Snapshot>) -> Stream {
        Stream::new(Owner::new(snapshot, Filter::default()), |owner| {
            RecordSource::Signals(Box::new(owner.snapshot.scan()))
        })
    }

    pub(crate) fn companies(snapshot: &Arc<Snapshot>) -> Stream {
        Stream::new(Owner::new(snapshot, Filter::default()), |owner| {
            RecordSource::Companies(Box::new(owner.snapshot.scan_companies()))
        })
    }
}

/// Which matches are wanted, and in which order.
#[derive(Clone)]
pub(crate) struct MatchOptions {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) filter: Filter,
    pub(crate) today: Date,
    pub(crate) order: Order,
    pub(crate) after: Option<SortKey>,
}

impl MatchOptions {
    pub(crate) fn matches<'a>(&self, snapshot: &'a Snapshot) -> Matches<'a> {
        let matches = snapshot.matches(&self.filter, self.today, self.order);
        match self.after {
            Some(key) => matches.after(key),
            None => matches,
        }
    }

    /// The number of matches.
    pub(crate) fn count(&self) -> Result<u64> {
        if self.after.is_none() {
            return self.snapshot.count(&self.filter, self.today);
        }
        let mut ids = self.matches(&self.snapshot).ids();
        ids.try_fold(0, |count, id| id.map(|_| count + 1))
    }

    fn owner(&self) -> Owner {
        // The filter is in the matches already.
        Owner::new(&self.snapshot, Filter::default())
    }

    pub(crate) fn items(&self) -> Stream {
        Stream::new(self.owner(), |owner| {
            RecordSource::Items(self.matches(&owner.snapshot))
        })
    }

    pub(crate) fn rows(&self) -> Stream {
        Stream::new(self.owner(), |owner| {
            RecordSource::Rows(self.matches(&owner.snapshot))
        })
    }

    pub(crate) fn ids(&self) -> Stream {
        Stream::new(self.owner(), |owner| {
            RecordSource::Ids(Box::new(self.matches(&owner.snapshot).ids()))
        })
    }
}

/// An iterator over records. It may be shared by threads.
#[pyclass(name = "RecordIterator", module = "signaldex", frozen)]
pub(crate) struct PyIterator(pub(crate) Stream);

#[pymethods]
impl PyIterator {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.next(py)
    }
}
