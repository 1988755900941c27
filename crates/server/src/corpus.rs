//! The interface between the service and what it searches: one index, or the nodes of a cluster.
//!
//! The service uses a corpus only through this trait. [`LocalCorpus`] searches an index of this
//! process; a cluster sends the query to its nodes.

mod cluster;
mod export;
mod local;
mod matches;
mod of_key;
mod position;
mod rendered;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use time::Date;

use signaldex::json::Rendering;
use signaldex::query::{CompanyQuery, Facet, InvalidQuery, KeyFilter, SortKey};
use signaldex::{
    AggregateQuery, Aggregates, Cost, Digest, Error, FacetQuery, Facets, Filter, Index,
    PositionError, Query, Result, SignalId, Snapshot,
};

pub use cluster::{ClusterStatus, NodeStatus, PlanStatus, ShardStatus};
pub use export::{
    ExportFormat, ExportRequest, ExportSlice, SLICE_BYTES, SLICE_SIGNALS_MAX,
    header as export_header, slice as export_slice,
};
pub use local::{LocalCorpus, companies, company_answer, or_too_many_groups, page, signal_answer};
pub use matches::{ChangePlace, find as find_matches, match_id, rendered_match};
pub(crate) use of_key::WholeCorpus;
pub use position::{ClusterPosition, FeedPosition, FeedStage};
pub use rendered::{
    ChangesRequest, ConcernedSearches, MatchesRequest, RenderedChanges, RenderedCompanies,
    RenderedMatch, RenderedMatches, RenderedPage,
};

/// The kind of a query to a corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryKind {
    /// The ids of a page.
    Page,
    /// The number of matches.
    Count,
    /// The counts of facets.
    Facets,
    /// Figures in groups.
    Aggregates,
    /// Companies by their signals: a page, a number, or facets.
    Companies,
    /// What has changed.
    Changes,
}

impl QueryKind {
    /// The name that the dashboard shows.
    pub const fn as_str(self) -> &'static str {
        match self {
            QueryKind::Page => "page",
            QueryKind::Count => "count",
            QueryKind::Facets => "filter options",
            QueryKind::Aggregates => "aggregates",
            QueryKind::Companies => "companies",
            QueryKind::Changes => "changes",
        }
    }
}

/// Why a corpus without key filters refuses such a key.
const NO_KEY_FILTERS: &str = "The key has a filter, which this service cannot apply.";

/// Why a corpus without saved searches refuses them.
const NO_SAVED_SEARCHES: &str = "The corpus of this service has no saved searches.";

/// An answer, possibly from another machine. It owns what it needs, so that it can be awaited anywhere.
pub type CorpusFuture<T> = Pin<Box<dyn Future<Output = Result<T, Unanswered>> + Send>>;

/// The queries that a corpus answers. All parts of one answer come from one view.
pub trait Corpus: Send + Sync {
    /// The current view.
    fn view(&self) -> Arc<CorpusView>;

    /// The current view, for a query.
    ///
    /// # Errors
    /// A file of the index was overwritten, so that nothing may be answered: not even that nothing has changed.
    fn trusted_view(&self) -> Result<Arc<CorpusView>, Unanswered> {
        Ok(self.view())
    }

    /// A view as a key with a filter has it on a day: it answers every question as if nothing else existed, and has an entity
    /// tag seed of its own.
    ///
    /// # Errors
    /// The filter cannot be applied. Without an implementation, none can: a key with a filter is refused, never answered
    /// from everything.
    fn narrowed(
        &self,
        _at: &Arc<CorpusView>,
        _filter: &Arc<KeyFilter>,
        _today: Date,
    ) -> Result<Arc<CorpusView>, Unanswered> {
        Err(Unanswered::Unavailable(NO_KEY_FILTERS.to_owned()))
    }

    /// An upper bound for the cost of [`narrowed`](Self::narrowed) at the present view, on this machine.
    fn narrowing_cost(&self, _filter: &KeyFilter, _today: Date) -> Cost {
        0
    }

    /// A page of signals, rendered as JSON. It ends early, with its cursor, before it has more than
    /// [`PAGE_BYTES_MAX`](signaldex::query::limits::PAGE_BYTES_MAX) bytes.
    fn page(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<Query>,
        today: Date,
        rendering: Rendering,
    ) -> CorpusFuture<RenderedPage>;

    /// The exact number of matches.
    fn count(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        filter: Filter,
        today: Date,
    ) -> CorpusFuture<u64>;

    /// The [hints](Snapshot::hints) for the result of a query. Without dictionaries, those at what was typed.
    fn hints(
        self: Arc<Self>,
        _at: Arc<CorpusView>,
        query: Arc<Query>,
        is_empty: bool,
    ) -> CorpusFuture<Vec<String>> {
        Box::pin(async move { Ok(query.typed_hints(is_empty)) })
    }

    /// The counts of the requested facets.
    fn facets(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<FacetQuery>,
        today: Date,
    ) -> CorpusFuture<Facets>;

    /// The figures of an aggregate query, or why they are not computed.
    fn aggregate(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<AggregateQuery>,
        today: Date,
    ) -> CorpusFuture<Result<Aggregates, InvalidQuery>>;

    /// A page of companies, rendered as JSON. It ends early as a page of signals does.
    fn companies(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<CompanyQuery>,
        today: Date,
    ) -> CorpusFuture<RenderedCompanies>;

    /// The exact number of companies that fulfil the query's filter.
    fn count_companies(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<CompanyQuery>,
        today: Date,
    ) -> CorpusFuture<u64>;

    /// The counts of companies by the query's facets.
    fn company_facets(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<CompanyQuery>,
        today: Date,
    ) -> CorpusFuture<Facets>;

    /// The changes after a position. They end early as a page does.
    fn changes(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        request: ChangesRequest,
        today: Date,
    ) -> CorpusFuture<Result<RenderedChanges, PositionError>>;

    /// The matches of a saved search after a position of the view.
    ///
    /// # Errors
    /// Without an implementation, there are no saved searches.
    fn matches(
        self: Arc<Self>,
        _at: Arc<CorpusView>,
        _request: MatchesRequest,
        _today: Date,
    ) -> CorpusFuture<Result<RenderedMatches, PositionError>> {
        Box::pin(async { Err(Unanswered::Unavailable(NO_SAVED_SEARCHES.to_owned())) })
    }

    /// Whether there are saved searches: without an implementation of [`matches`](Self::matches), none.
    fn has_saved_searches(&self) -> bool {
        false
    }

    /// The position after all changes of a view. `None` without saved searches, or while nothing is loaded.
    fn position(&self, _at: &CorpusView) -> Option<FeedPosition> {
        None
    }

    /// A position of the whole corpus as a view under the filter of a key has it. Any other position stays what it is.
    fn position_at(&self, _at: &CorpusView, position: &FeedPosition) -> FeedPosition {
        position.clone()
    }

    /// A position under the filter of any key, as it is of the whole corpus.
    fn whole_position(&self, position: FeedPosition) -> FeedPosition {
        position
    }

    /// Which saved searches something after a position of the view concerns, maybe with others. Asked where no
    /// [`index`](Self::index) is in this process.
    ///
    /// # Errors
    /// As [`matches`](Self::matches).
    fn concerned(
        self: Arc<Self>,
        _at: Arc<CorpusView>,
        _since: FeedPosition,
        _searches: Vec<Filter>,
        _today: Date,
    ) -> CorpusFuture<Result<ConcernedSearches, PositionError>> {
        Box::pin(async { Err(Unanswered::Unavailable(NO_SAVED_SEARCHES.to_owned())) })
    }

    /// Keeps a view for an export until what is returned is dropped, for an hour at most.
    ///
    /// # Errors
    /// Other exports read from too many other views.
    fn keep(&self, _at: &CorpusView) -> Result<Box<dyn Send + Sync>, Unanswered> {
        Ok(Box::new(()))
    }

    /// The next slice of an export.
    fn export(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        request: ExportRequest,
        today: Date,
    ) -> CorpusFuture<ExportSlice>;

    /// The sort keys of the next signals of an export, at most `max`.
    fn export_keys(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        request: ExportRequest,
        max: usize,
        today: Date,
    ) -> CorpusFuture<Vec<SortKey>>;

    /// An upper bound for the cost of listing changes, on this machine.
    fn changes_cost(&self, _at: &CorpusView, _request: &ChangesRequest) -> Cost {
        0
    }

    /// An upper bound for the cost of counting some facets, or of visiting all matches if there are none,
    /// estimated without running the query. Any number up to `cheap` means that it is cheap. Work on
    /// other machines is not included.
    fn cost(
        &self,
        _at: &CorpusView,
        _filter: &Filter,
        _facets: &[Facet],
        _today: Date,
        _cheap: Cost,
    ) -> Cost {
        0
    }

    /// An upper bound for the cost of a page, as [`cost`](Self::cost) has one for all matches.
    fn page_cost(&self, _at: &CorpusView, _query: &Query, _today: Date, _cheap: Cost) -> Cost {
        0
    }

    /// An upper bound for the cost of [`aggregate`](Self::aggregate), as that of [`cost`](Self::cost).
    fn aggregate_cost(
        &self,
        _at: &CorpusView,
        _query: &AggregateQuery,
        _today: Date,
        _cheap: Cost,
    ) -> Cost {
        0
    }

    /// An upper bound for the cost of a page of [`companies`](Self::companies), or of counting them and their facets, as
    /// that of [`cost`](Self::cost).
    fn companies_cost(
        &self,
        _at: &CorpusView,
        _query: &CompanyQuery,
        _today: Date,
        _cheap: Cost,
    ) -> Cost {
        0
    }

    /// A signal with its company as JSON; `None` if there is no such signal.
    fn signal(self: Arc<Self>, at: Arc<CorpusView>, id: SignalId) -> CorpusFuture<Option<Vec<u8>>>;

    /// A company as JSON; `None` if there is no such company.
    fn company(self: Arc<Self>, at: Arc<CorpusView>, slug: String)
    -> CorpusFuture<Option<Vec<u8>>>;

    /// The index, if the whole corpus is in this process.
    fn index(&self) -> Option<&Index> {
        None
    }

    /// The nodes and shards of a cluster.
    fn cluster(&self) -> Option<ClusterStatus> {
        None
    }

    /// Why the corpus cannot answer every query now. Safe to show to untrusted clients.
    fn error(&self) -> Option<String> {
        None
    }

    /// Whether what [`view`](Self::view) shows is damaged, as far as known.
    fn is_damaged(&self) -> bool {
        false
    }
}

/// The corpus at one generation, with the part of entity tags that identifies its content.
pub struct CorpusView {
    /// The number of its last commit, or of the generation that a cluster serves.
    pub generation: u64,
    /// A checksum of its identity and its entire content, from which entity tags are made.
    pub tag_seed: [u8; 32],
    snapshot: Option<Arc<Snapshot>>,
    /// The filter that it is narrowed by, and the day that this counts from.
    key: Option<(Arc<KeyFilter>, Date)>,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Unanswered {
    /// The corpus is damaged.
    Failed(Error),
    /// The corpus or a part of it is unavailable; the text says why.
    Unavailable(String),
}

impl CorpusView {
    /// A view of one generation. `revision` is a checksum of the identity and the entire content, so
    /// different contents never share an entity tag.
    pub fn of(generation: u64, revision: [u8; 32]) -> CorpusView {
        CorpusView {
            generation,
            tag_seed: revision,
            snapshot: None,
            key: None,
        }
    }

    fn of_snapshot(snapshot: Arc<Snapshot>) -> CorpusView {
        CorpusView {
            snapshot: Some(Arc::clone(&snapshot)),
            ..CorpusView::of(snapshot.generation(), snapshot.revision())
        }
    }

    /// What a key with a filter sees of an index of this process.
    fn narrowed(snapshot: Arc<Snapshot>, filter: &Arc<KeyFilter>, today: Date) -> CorpusView {
        CorpusView {
            key: Some((Arc::clone(filter), today)),
            ..CorpusView::of_snapshot(snapshot)
        }
    }

    /// The view as a key with a filter has it, for a corpus that narrows each answer itself: with an entity tag seed of its
    /// own.
    ///
    /// ```
    /// use signaldex::query::KeyFilter;
    /// use signaldex_server::corpus::CorpusView;
    /// use time::macros::date;
    ///
    /// let whole = CorpusView::of(1, [0; 32]);
    /// let filter = KeyFilter::parse(["country=Japan"], [])?;
    /// let narrowed = whole.under(&filter.into(), date!(2026 - 06 - 30));
    /// assert!(narrowed.key_filter().is_some() && narrowed.tag_seed != whole.tag_seed);
    /// # Ok::<(), signaldex::query::InvalidKeyFilter>(())
    /// ```
    pub fn under(&self, filter: &Arc<KeyFilter>, today: Date) -> CorpusView {
        let day = if filter.depends_on_today() {
            today.to_julian_day()
        } else {
            i32::MIN
        };
        let fingerprint = filter.fingerprint();
        let seed = [
            &self.tag_seed[..],
            fingerprint.as_bytes(),
            &day.to_le_bytes(),
        ]
        .concat();
        CorpusView {
            key: Some((Arc::clone(filter), today)),
            ..CorpusView::of(self.generation, *Digest::of(&seed).bytes())
        }
    }

    /// The filter that the view is narrowed by, and the day that its days count from.
    ///
    /// ```
    /// use signaldex_server::corpus::CorpusView;
    ///
    /// assert!(CorpusView::of(1, [0; 32]).key_filter().is_none());
    /// ```
    pub fn key_filter(&self) -> Option<(&Arc<KeyFilter>, Date)> {
        let (filter, today) = self.key.as_ref()?;
        Some((filter, *today))
    }

    /// The snapshot of an index of this process, if the view is of all of it.
    pub(crate) fn whole_snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_deref().filter(|_| self.key.is_none())
    }

    /// The snapshot of an index of this process, for a query.
    fn snapshot(&self) -> Result<&Snapshot> {
        let snapshot = self.snapshot.as_deref();
        let snapshot = snapshot.ok_or_else(|| Error::missing("the view is of another corpus"))?;
        snapshot.ensure_trusted()?;
        Ok(snapshot)
    }
}

#[cfg(test)]
mod tests;
