"""The native half of the package: what it offers, and what each call costs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from os import PathLike
from types import TracebackType
from typing import Any, Final, Literal, NoReturn, Protocol, TypeAlias, TypedDict, final

import pandas  # type: ignore[import-untyped, unused-ignore]
import polars
import pyarrow  # type: ignore[import-untyped, unused-ignore]
from typing_extensions import Self, Unpack

from ._records import (
    AggregateGroup,
    AggregateTotals,
    Change,
    CommitReport,
    Company,
    CompanyProfile,
    Condition,
    Explanation,
    Facet,
    FacetCount,
    Found,
    GroupBy,
    GroupOrder,
    IndexStatistics,
    Item,
    LoadReport,
    MatchedCompany,
    MatchedSignal,
    Measure,
    Order,
    Parameter,
    Signal,
)

class _Table(Protocol):
    """Any object with an Arrow C stream, such as tables of pyarrow, polars, pandas and DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class _BinaryFile(Protocol):
    """A binary file open for writing, such as ``open(path, "xb")`` and ``gzip.open(path, "xb")``."""

    def write(self, data: bytes, /) -> int | None: ...
    def flush(self) -> object: ...

_Path: TypeAlias = str | PathLike[str]
_Day: TypeAlias = date | str
"""A date, its ISO text, or an instant at midnight, as pandas has days."""
_Today: TypeAlias = date | str
"""A date, its ISO text, or an instant, of which it is the UTC date."""
_Days: TypeAlias = Literal[7, 30, 90, "7", "30", "90"]
_DateRange: TypeAlias = Literal[7, 30, 90, "7", "30", "90", "older"]
_Size: TypeAlias = Literal["1-49", "50-100", "101-500", "501+"]

class _FilterParameters(TypedDict, total=False):
    q: str | None
    keywords: str | None
    all: str | None
    exact: str | None
    any: str | None
    exclude: str | None
    company: str | None
    company_slug: str | None
    companies: Iterable[str] | None
    country: str | None
    industry: str | None
    size: _Size | None
    days: _Days | None
    date_ranges: Iterable[_DateRange] | None
    date_from: _Day | None
    date_to: _Day | None
    categories: Iterable[str] | None
    hiring_types: Iterable[str] | None
    job_functions: Iterable[str] | None
    seniorities: Iterable[str] | None
    employment_types: Iterable[str] | None
    work_arrangements: Iterable[str] | None
    funding_stage: str | None
    funding_currency: str | None
    funding_min: float | None
    funding_max: float | None
    ids: Iterable[int] | None
    activity_ids: Iterable[int] | None
    facets: Mapping[Facet, Iterable[str]]

class _QueryParameters(_FilterParameters, total=False):
    order: Order
    limit: int | None
    page: int | None
    cursor: str | Cursor | None
    count_only: bool

class _LoadOptions(TypedDict, total=False):
    on_invalid: Literal["stop", "skip"]
    rename: Mapping[str, str | None]
    map: str | list[str]
    set: str | list[str]
    encoding: str | list[str]
    delimiter: str | list[str]
    skip_rows: int | str | list[str]
    sheet: str | list[str]
    make_keys: bool
    strict: bool
    skip_invalid: bool
    invalid_as_null: bool
    null: str | list[str]
    decimal: str | list[str]
    employee_ranges: str | list[str]
    currency: str | list[str]
    amount_suffixes: bool
    date_format: str | list[str]
    excel_dates: int | str | list[str]
    utc_offset: str | list[str]

_Query: TypeAlias = Query | str
_Filter: TypeAlias = Filter | Query | str
_Condition: TypeAlias = Condition | _Filter
_Conditions: TypeAlias = _Condition | Sequence[_Condition]

@final
class Index:
    """An index: in a directory, or in memory.

    The methods that search ask the newest snapshot. Take a ``snapshot`` where several calls have to see one
    state.
    """

    @staticmethod
    def open(directory: _Path) -> Index:
        """Opens the index of a directory. It maps the files: some hundredths of a second for a million signals."""
    @staticmethod
    def in_memory() -> Index:
        """An empty index that ends with the process."""
    @staticmethod
    def build(
        directory: _Path | None, companies: _Path, signals: _Path, **options: Unpack[_LoadOptions]
    ) -> Index:
        """Builds an index from two files of JSON lines or CSV: in a directory, or in memory for ``None``."""
    def snapshot(self) -> Snapshot:
        """The current state. Cost: one atomic load."""
    def writer(self) -> Writer:
        """Opens the writer. Raises ``IndexLocked`` while a writer is open in this or another process."""
    def refresh(self) -> Literal["unchanged", "changed", "replaced", "reloaded"]:
        """Loads what other processes have committed. Raises ``CorruptIndex`` while a file of the index does not match the manifest. Cost: a small read if nothing has changed."""
    @property
    def changed_at(self) -> datetime | None:
        """When the index last changed, if known."""
    @property
    def position(self) -> Position:
        """As ``Snapshot.position``, of the newest snapshot."""
    def search(self, query: _Query, today: _Today | None = None) -> Page:
        """As ``Snapshot.search``, of the newest snapshot."""
    def matches(self, filter: _Filter, today: _Today | None = None, order: Order = "newest") -> Matches:
        """As ``Snapshot.matches``, of the newest snapshot."""
    def count(self, filter: _Filter, today: _Today | None = None) -> int:
        """As ``Snapshot.count``, of the newest snapshot."""
    def facets(
        self, filter: _Filter, today: _Today | None = None, facets: Sequence[Facet] | None = None
    ) -> dict[Facet, list[FacetCount]]:
        """As ``Snapshot.facets``, of the newest snapshot."""
    def aggregate(
        self,
        query: _Filter,
        by: GroupBy | Sequence[GroupBy] | None = None,
        measures: Measure | Sequence[Measure] | None = None,
        order: GroupOrder | None = None,
        limit: int | None = None,
        today: _Today | None = None,
    ) -> Aggregates:
        """As ``Snapshot.aggregate``, of the newest snapshot."""
    def explain(self, query: _Query, today: _Today | None = None) -> Explanation:
        """As ``Snapshot.explain``, of the newest snapshot."""
    def changes(self, filter: _Filter, since: Position | str, today: _Today | None = None) -> Changes:
        """As ``Snapshot.changes``, of the newest snapshot."""
    def signal(self, id: int) -> Found | None:
        """As ``Snapshot.signal``, of the newest snapshot."""
    def company(self, slug: str) -> CompanyProfile | None:
        """As ``Snapshot.company``, of the newest snapshot."""

@final
class IndexBuilder:
    """Builds an index of one segment."""

    @staticmethod
    def in_memory(*, compress_records: bool = True, remember_deletions: int | None = None) -> IndexBuilder:
        """Builds in memory. The index can be changed later, and ends with the process."""
    @staticmethod
    def in_directory(
        directory: _Path, *, compress_records: bool = True, remember_deletions: int | None = None
    ) -> IndexBuilder:
        """Builds in a directory, which is created if it does not exist and must not contain an index."""
    def add_company(self, company: Company) -> Literal["new", "replaced"]:
        """Adds a company; a later one with the same slug replaces it."""
    def add_signal(self, signal: Signal) -> Literal["new", "replaced"]:
        """Adds a signal of a company that was added; a later one with the same id replaces it."""
    def add_companies(
        self, companies: _Table | Iterable[Company], *, rename: Mapping[str, str | None] | None = None
    ) -> int:
        """Adds the companies of a table or an iterable; returns how many. Those before an error stay added.

        The columns of a table have the names of the fields of ``Company``, in any spelling as headers of files;
        ``rename={"theirs": "ours"}`` names a column otherwise, and ``None`` leaves one out.
        """
    def add_signals(
        self, signals: _Table | Iterable[Signal], *, rename: Mapping[str, str | None] | None = None
    ) -> int:
        """Adds the signals of a table or an iterable; returns how many. Those before an error stay added.

        The columns of a table are ``id``, ``company_slug``, ``title`` and the other fields of ``Signal``, with
        ``funding_stage``, ``funding_amount``, ``funding_currency``, ``hiring_type``, ``job_function``,
        ``seniority``, ``employment_type`` and ``work_arrangement`` for those of its inner records; ``rename`` as
        for companies.
        """
    def add_corpus(self, corpus: Corpus) -> None:
        """Adds all companies and signals of a generated corpus."""
    def load(
        self, companies: _Path | None = None, signals: _Path | None = None, **options: Unpack[_LoadOptions]
    ) -> LoadReport:
        """Loads files of JSON lines or CSV, plain or compressed with gzip or zstd.

        The options of the command line are keyword arguments: ``decimal=","``, ``date_format=["%d.%m.%Y"]``,
        ``strict=True``. ``on_invalid="skip"`` is ``skip_invalid=True``; ``rename={"theirs": "ours"}`` renames fields.
        """
    def finish(self) -> Index:
        """Completes the index. The builder is closed."""

@final
class Writer:
    """Changes an index. What is not committed when the writer is closed is lost.

    It closes at the end of a ``with`` block, which commits nothing by itself.
    """

    def upsert_company(self, company: Company) -> None:
        """Adds a company, in place of the one with its slug."""
    def upsert_signal(self, signal: Signal) -> None:
        """Adds a signal, in place of the one with its id. Raises ``UnknownCompany``."""
    def upsert_companies(
        self, companies: _Table | Iterable[Company], *, rename: Mapping[str, str | None] | None = None
    ) -> int:
        """As ``IndexBuilder.add_companies``."""
    def upsert_signals(
        self, signals: _Table | Iterable[Signal], *, rename: Mapping[str, str | None] | None = None
    ) -> int:
        """As ``IndexBuilder.add_signals``."""
    def load(
        self, companies: _Path | None = None, signals: _Path | None = None, **options: Unpack[_LoadOptions]
    ) -> LoadReport:
        """As ``IndexBuilder.load``."""
    def delete_signal(self, id: int) -> bool:
        """Deletes a signal. Returns whether it existed."""
    def delete_company(self, slug: str, *, cascade: bool = False) -> bool:
        """Deletes a company. Returns whether it existed.

        Raises ``InvalidRecord`` if it has signals, unless ``cascade`` deletes them with it.
        """
    def has_signal(self, id: int) -> bool:
        """Whether a signal with that id exists, pending changes included."""
    def has_company(self, slug: str) -> bool:
        """Whether a company exists, pending changes included."""
    def commit(self) -> CommitReport:
        """Makes all changes since the last commit durable and visible, as one.

        Cost: a new segment and a few fsyncs.
        """
    def compact(self) -> None:
        """Merges all segments into one without deleted rows. Cost: that of building the index anew."""
    def wait_for_merges(self) -> None:
        """Waits until the background has no segments left to merge."""
    def close(self) -> None:
        """Lets another writer open the index."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: type[BaseException] | BaseException | TracebackType | None) -> None: ...

@final
class Snapshot:
    """The state of an index between two commits. It never changes."""

    def search(self, query: _Query, today: _Today | None = None) -> Page:
        """The page of signals that a query asks for.

        ``today`` is the UTC date unless given; if the query has a cursor, the day of the first page is used instead.
        Cost: a few microseconds if matches are common.
        """
    def records(self, page: Page) -> list[Item]:
        """The records of a page's signals, in its order. ``Page.records`` needs no snapshot."""
    def pages(self, query: _Query, today: _Today | None = None) -> Iterator[Page]:
        """The pages of a query, from the one that it asks for to the last."""
    def matches(self, filter: _Filter, today: _Today | None = None, order: Order = "newest") -> Matches:
        """All matches of a filter, found lazily."""
    def count(self, filter: _Filter, today: _Today | None = None) -> int:
        """The exact number of matches. Cost: some hundred nanoseconds for each block of 65,536 signals."""
    def facets(
        self, filter: _Filter, today: _Today | None = None, facets: Sequence[Facet] | None = None
    ) -> dict[Facet, list[FacetCount]]:
        """The values of facets with their counts, each facet without its own filter; ``None`` means all facets."""
    def aggregate(
        self,
        query: _Filter,
        by: GroupBy | Sequence[GroupBy] | None = None,
        measures: Measure | Sequence[Measure] | None = None,
        order: GroupOrder | None = None,
        limit: int | None = None,
        today: _Today | None = None,
    ) -> Aggregates:
        """Figures over all matches of a filter, in groups.

        ``by`` is none, one or two of: a unit of time (``day``, ``week``, ``month``, ``quarter``, ``year``), and lists of
        values (``categories``, ``countries``, ``industries``, ``sizes``, ``funding_stages``, ``funding_currencies``,
        ``hiring_types``, ``job_functions``, ``seniorities``, ``employment_types``, ``work_arrangements``); or
        ``company``. ``measures`` are any of ``companies`` and, of amounts by currency, ``sum``, ``min``, ``max``,
        ``median``, ``p25``, ``p75``; the number of signals is always there. ``order`` is ``key``, ``-key``, ``-count``
        or ``-sum``. Sums are exact decimals, rounded once. Raises ``InvalidQuery``.
        """
    def companies(
        self,
        query: str = "",
        *,
        has: _Conditions | None = None,
        has_not: _Conditions | None = None,
        order: Literal["slug", "-matches", "-latest"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        today: _Today | None = None,
    ) -> CompanyPage:
        """The companies that fulfil a query, by themselves and by their signals.

        ``query`` is a query string of ``GET /api/v1/companies``, or words of a name. ``has`` and ``has_not`` are
        conditions, in place of those in the query string: ``Condition(filter, min, max)``, or a filter alone for
        companies with at least one match. ``order`` is ``slug``, ``-matches`` or ``-latest``. ``limit`` is 50 unless
        given. Raises ``InvalidQuery``.
        """
    def count_companies(
        self,
        query: str = "",
        *,
        has: _Conditions | None = None,
        has_not: _Conditions | None = None,
        today: _Today | None = None,
    ) -> int:
        """The exact number of companies that fulfil a query; arguments as for ``companies``."""
    def company_facets(
        self,
        query: str = "",
        *,
        has: _Conditions | None = None,
        has_not: _Conditions | None = None,
        facets: Sequence[Literal["country", "industry", "size"]] | None = None,
        today: _Today | None = None,
    ) -> dict[Facet, list[FacetCount]]:
        """The values of ``country``, ``industry`` and ``size`` with the number of companies that have each, under everything
        but the value's own filter; arguments as for ``companies``."""
    def explain(self, query: _Query, today: _Today | None = None) -> Explanation:
        """How a query is answered. Cost: several times that of ``count``."""
    def hints(self, query: _Query, found: bool = False) -> list[str]:
        """Hints for people: what a query that has found nothing (or something, with ``found=True``) probably means."""
    def changes(self, filter: _Filter, since: Position | str, today: _Today | None = None) -> Changes:
        """What has changed since a position, in the order of changes: by commit, then by id.

        Raises ``PositionError`` if the index cannot tell: the position is of another index, ahead, of commits
        that are not in the history of this one, or so old that deletions since are forgotten.
        """
    @property
    def position(self) -> Position:
        """The snapshot's position in the index's changes: after all changes that it contains."""
    def signal(self, id: int) -> Found | None:
        """The signal with an id, with its company."""
    def company(self, slug: str) -> CompanyProfile | None:
        """The company with a slug, with a summary of its live signals."""
    def contains(self, id: int) -> bool:
        """Whether a signal with that id is live."""
    def has_company(self, slug: str) -> bool:
        """Whether a company with that slug is live."""
    def scan(self) -> Iterator[Found]:
        """Every live signal, in no particular order. Cost: reads every record."""
    def scan_companies(self) -> Iterator[Company]:
        """Every live company, once, in no particular order. Cost: reads every record."""
    @property
    def signal_count(self) -> int:
        """The number of live signals."""
    def company_count(self) -> int:
        """The number of live companies. Cost: a look-up per company if there is more than one segment."""
    @property
    def generation(self) -> int:
        """The number of the commit that made the snapshot; later ones have greater numbers."""
    @property
    def identity(self) -> str:
        """The identity of the index, which commits, merges and replicas keep."""
    def statistics(self) -> IndexStatistics:
        """Figures about segments, rows and bytes."""
    def dump(self, companies: _BinaryFile, signals: _BinaryFile) -> tuple[int, int]:
        """Writes all companies, by slug, and all signals, by id, as lines that ``build`` and ``load`` read without loss.

        Both are binary files open for writing; they are flushed, and stay open. Returns the numbers of companies and
        signals.
        """
    def __len__(self) -> int: ...
    def signals_table(self, today: _Today | None = None) -> SqlTable:
        """The signals as a table of DataFusion, which ``SessionContext.register_table`` of PyPI's ``datafusion`` takes.

        ``docs/sql.md`` lists its columns; searches on its column ``query`` count days from ``today``. Raises
        ``DataFusionMismatch`` where the wheel was built without the feature ``datafusion``.
        """
    def companies_table(self) -> SqlTable:
        """The companies as a table of DataFusion, as ``signals_table``."""
    def verify(self) -> None:
        """Checks every byte and every record. Raises ``CorruptIndex``. Cost: reads everything."""

@final
class SqlTable:
    """A table of a snapshot, for sessions of PyPI's ``datafusion`` of the same major version."""

    @property
    def name(self) -> str:
        """What ``docs/sql.md`` calls the table: ``signals`` or ``companies``."""
    def __datafusion_table_provider__(self, session: object | None = None) -> object:
        """The table as a session takes it; ``register_table`` calls this.

        Raises ``DataFusionMismatch``, which names both versions, where another major version of ``datafusion`` asks.
        """

@final
class Page:
    """The signals that a query asked for, by id, and where to go on. It keeps the snapshot it was found in."""

    @property
    def ids(self) -> list[int]:
        """The ids, in the order of the page."""
    def records(self) -> list[Item]:
        """The records as dataclasses. Cost: about two microseconds a signal."""
    def rows(self) -> list[dict[str, Any]]:
        """The records as flat dicts, with the names of the Arrow columns."""
    def arrow(self, columns: Sequence[str] | None = None, batch_rows: int = 65536) -> ArrowStream:
        """Some columns of the records as Arrow, or those of items."""
    def to_arrow(self, columns: Sequence[str] | None = None) -> pyarrow.Table:
        """The records as a ``pyarrow.Table``, with the columns of items, or those wanted.

        ``company_country`` and the other fields of the company are columns, too, and so are ``hiring_type``,
        ``job_function``, ``seniority``, ``employment_type`` and ``work_arrangement``.
        """
    def to_polars(self, columns: Sequence[str] | None = None) -> polars.DataFrame:
        """The records as a ``polars.DataFrame``; columns as for ``to_arrow``."""
    def to_pandas(self, columns: Sequence[str] | None = None) -> pandas.DataFrame:
        """The records as a ``pandas.DataFrame``; columns as for ``to_arrow``. Needs pyarrow, too.

        ``date`` is an instant at midnight, as pandas has days; ``company_employees`` and ``company_founded_year`` are
        whole numbers that may be missing.
        """
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The columns of items through Arrow's C data interface."""
    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        """Raises ``TypeError``: frames are made by ``to_pandas`` and ``to_polars``."""
    def _repr_html_(self) -> str: ...
    @property
    def next_cursor(self) -> str | None:
        """What ``Query(cursor=...)`` takes for the next page; ``None`` on the last."""
    @property
    def rows_checked(self) -> int:
        """Rows that were checked individually."""
    @property
    def blocks_visited(self) -> int:
        """Blocks whose candidates were formed."""
    @property
    def blocks_skipped(self) -> int:
        """Blocks that were skipped."""
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[int]: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Matches:
    """Every match of a filter in an order. Each iteration starts anew, in the same snapshot.

    ``len`` is exact. Cost: that of ``Snapshot.count``; after an id, that of finding all of them.
    """

    def after(self, last: int | str) -> Matches:
        """The matches that come after a signal in the order: its id, or by value the text ``"VALUE,ID"``, as
        ``Cursor.last`` has it. The signal need not match, nor exist."""
    def ids(self) -> Iterator[int]:
        """The ids of the matches; no record is read."""
    def rows(self) -> Iterator[dict[str, Any]]:
        """The matches as flat dicts, with the names of the Arrow columns."""
    def arrow(self, columns: Sequence[str] | None = None, batch_rows: int = 65536) -> ArrowStream:
        """Some columns of the matches as Arrow, or those of items. With ``["id"]`` alone no record is read."""
    def to_arrow(self, columns: Sequence[str] | None = None) -> pyarrow.Table:
        """The matches as a ``pyarrow.Table``, with the columns of items, or those wanted.

        ``company_country`` and the other fields of the company are columns, too, and so are ``hiring_type``,
        ``job_function``, ``seniority``, ``employment_type`` and ``work_arrangement``.
        """
    def to_polars(self, columns: Sequence[str] | None = None) -> polars.DataFrame:
        """The matches as a ``polars.DataFrame``; columns as for ``to_arrow``."""
    def to_pandas(self, columns: Sequence[str] | None = None) -> pandas.DataFrame:
        """The matches as a ``pandas.DataFrame``; columns as for ``to_arrow``. Needs pyarrow, too.

        ``date`` is an instant at midnight, as pandas has days; ``company_employees`` and ``company_founded_year`` are
        whole numbers that may be missing.
        """
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The columns of items through Arrow's C data interface."""
    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        """Raises ``TypeError``: frames are made by ``to_pandas`` and ``to_polars``."""
    def __len__(self) -> int: ...
    def _repr_html_(self) -> str: ...
    def __iter__(self) -> Iterator[Item]: ...

@final
class Aggregates:
    """Figures over all matches of a filter, in groups. It is a sequence of its groups."""

    @property
    def groups(self) -> list[AggregateGroup]:
        """The groups, in their order: ``AggregateGroup`` of each."""
    @property
    def truncated(self) -> bool:
        """Whether there are more groups."""
    @property
    def totals(self) -> AggregateTotals:
        """The figures over all matches, and the number of all groups."""
    def arrow(self) -> ArrowStream:
        """The groups as Arrow, one row each."""
    def to_arrow(self) -> pyarrow.Table:
        """The groups as a ``pyarrow.Table``, one row each.

        The columns are what is grouped by (``company_slug`` and ``company_name`` for companies), ``count``,
        ``companies`` if measured, and for each currency ``EUR_count``, ``EUR_sum`` and so on; ``none_count`` and so on
        for amounts without one.
        """
    def to_polars(self) -> polars.DataFrame:
        """The groups as a ``polars.DataFrame``; columns as for ``to_arrow``."""
    def to_pandas(self) -> pandas.DataFrame:
        """The groups as a ``pandas.DataFrame``; columns as for ``to_arrow``. Needs pyarrow, too."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The groups through Arrow's C data interface."""
    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        """Raises ``TypeError``: frames are made by ``to_pandas`` and ``to_polars``."""
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[AggregateGroup]: ...

@final
class CompanyPage:
    """Companies that fulfil a query, with what each of its conditions counts. It is a sequence of them."""

    @property
    def items(self) -> list[MatchedCompany]:
        """The companies, in the query's order."""
    @property
    def next_cursor(self) -> str | None:
        """What ``companies(cursor=...)`` takes for the next page; ``None`` on the last."""
    def arrow(self) -> ArrowStream:
        """The companies as Arrow, one row each."""
    def to_arrow(self) -> pyarrow.Table:
        """The companies as a ``pyarrow.Table``, one row each.

        The columns are the texts and numbers of ``Company``, ``signal_count`` and ``latest_signal_date``, and of each
        condition of ``has`` ``has1_count`` and ``has1_latest_date``, and so on.
        """
    def to_polars(self) -> polars.DataFrame:
        """The companies as a ``polars.DataFrame``; columns as for ``to_arrow``."""
    def to_pandas(self) -> pandas.DataFrame:
        """The companies as a ``pandas.DataFrame``; columns as for ``to_arrow``. Needs pyarrow, too."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The companies through Arrow's C data interface."""
    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        """Raises ``TypeError``: frames are made by ``to_pandas`` and ``to_polars``."""
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[MatchedCompany]: ...

@final
class ArrowStream:
    """Matches or groups as an Arrow stream: ``polars.DataFrame(stream)``, ``pyarrow.table(stream)``."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A stream of record batches through Arrow's C data interface, from the first match on."""

@final
class RecordIterator:
    """An iterator over records. It may be shared by threads."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> Any: ...

@final
class Changes:
    """The changes since a position, found lazily. It ends after an error."""

    @property
    def position(self) -> Position:
        """The position after the changes that were given so far, for the next call."""
    def has_more(self) -> bool:
        """Whether there is a further change."""
    def __iter__(self) -> Self: ...
    def __next__(self) -> Change: ...

@final
class MatchedSignals:
    """The changed signals that saved searches match."""

    @property
    def position(self) -> Position:
        """The position after the signals that were given so far, for the next call."""
    def __iter__(self) -> Self: ...
    def __next__(self) -> MatchedSignal: ...

@final
class Query:
    """What is wanted: a filter, an order, and which page.

    Keyword arguments are combined with AND; ``None`` and an empty list are no filter. ``Query.parse`` takes what
    users type. Either raises ``InvalidQuery``, which has all errors.
    """

    def __new__(cls, **parameters: Unpack[_QueryParameters]) -> Query: ...
    @staticmethod
    def parse(query_string: str) -> Query:
        """Reads a query string, or words without any ``name=``, within the limits of the HTTP API."""
    @staticmethod
    def from_str(text: str) -> Query:
        """Reads what ``str()`` of a query has written, which ``parse`` may find too long."""
    def replace(self, **parameters: Unpack[_QueryParameters]) -> Query:
        """The same query with some parameters replaced."""
    @property
    def filter(self) -> Filter:
        """The filter of the query."""
    @property
    def order(self) -> Order:
        """The order of the result."""
    @property
    def limit(self) -> int:
        """The maximum number of signals per page."""
    @property
    def page(self) -> int | None:
        """The page number, if the query asks for a page by number."""
    @property
    def cursor(self) -> Cursor | None:
        """The cursor at which the page starts, if it continues another page."""
    @property
    def count_only(self) -> bool:
        """Whether only the number of matches is wanted."""
    @property
    def fingerprint(self) -> str:
        """Equal for queries that ask for the same."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Filter:
    """A condition that signals must satisfy."""

    def __new__(cls, **parameters: Unpack[_FilterParameters]) -> Filter: ...
    @staticmethod
    def parse(query_string: str) -> Filter:
        """Reads the filters of a query string, or words."""
    @staticmethod
    def from_str(text: str) -> Filter:
        """Reads what ``str()`` of a filter has written, which ``parse`` may find too long."""
    def matches(self, signal: Signal, company: Company, today: _Today | None = None) -> bool:
        """Whether a signal of a company is found: the meaning of a filter, in plain slow code."""
    @property
    def fingerprint(self) -> str:
        """Equal for equal filters."""
    @property
    def is_empty(self) -> bool:
        """Whether every signal is found."""
    def matched_words(self, title: str) -> list[tuple[int, int]]:
        """The words of a title that the filter looks for, as ranges of characters."""
    def title_words(self) -> list[str]:
        """The words of titles that the filter looks for, analysed; prefix words with their star."""
    def without(self, facet: Facet) -> Filter:
        """The same filter without the part that is about a facet."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Cursor:
    """Where the page after another begins. ``str()`` of it is what clients send back."""

    @staticmethod
    def parse(text: str) -> Cursor:
        """Reads a cursor. Raises ``InvalidCursor``."""
    @property
    def day(self) -> date:
        """What counts as today on all pages of the walk."""
    @property
    def last_id(self) -> int:
        """The last signal before the page."""
    @property
    def last(self) -> str:
        """The last signal before the page, with its value if the order is by value: what ``Matches.after`` takes."""
    @property
    def order(self) -> Order:
        """The order of the walk."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Position:
    """A place in the order of an index's changes. ``str()`` of it can be stored."""

    START: Final[Position]
    """Before all changes of any index."""

    @staticmethod
    def parse(text: str) -> Position:
        """Reads a position. Raises ``InvalidPosition``."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class SavedSearches:
    """Named filters with an index over them, which finds those that match a signal without testing each."""

    def __new__(cls) -> SavedSearches: ...
    @staticmethod
    def for_index(snapshot: Snapshot, today: _Today | None = None) -> SavedSearches:
        """No searches yet. How frequent values are is sampled from an index, which makes matching faster."""
    def insert(self, name: str, filter: _Filter) -> Filter | None:
        """Saves a search under a name, and returns the filter that it had before."""
    def remove(self, name: str) -> Filter | None:
        """Removes a search, and returns its filter."""
    def get(self, name: str) -> Filter | None:
        """The filter of a search."""
    def items(self) -> list[tuple[str, Filter]]:
        """The searches with their filters, in the order in which they were saved."""
    def matches(self, signal: Signal, company: Company, today: _Today | None = None) -> list[str]:
        """The names of the searches that a signal matches, in the order in which they were saved."""
    def matching(self, snapshot: Snapshot, since: Position | str, today: _Today | None = None) -> MatchedSignals:
        """Which searches match what has changed since a position."""
    def newly_matching(self, before: Snapshot, after: Snapshot, today: _Today | None = None) -> MatchedSignals:
        """As ``matching``, without the searches that a signal matched in the earlier snapshot."""
    def __len__(self) -> int: ...
    def __contains__(self, name: object, /) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...

@final
class Corpus:
    """Synthetic companies and signals in any number, the same for the same seed."""

    def __new__(cls, signals: int, seed: int = 1) -> Corpus: ...
    @property
    def as_of(self) -> date:
        """What counts as today: no signal is dated later."""
    @property
    def signal_count(self) -> int:
        """The number of signals."""
    @property
    def company_count(self) -> int:
        """The number of companies."""
    def signal(self, index: int) -> Signal:
        """The signal of that number, from 0. Raises ``IndexError``."""
    def company(self, index: int) -> Company:
        """The company of that number, from 0. Raises ``IndexError``."""

__version__: Final[str]
SAMPLE_AS_OF: Final[date]
SAMPLE_COMPANIES: Final[str]
SAMPLE_SIGNALS: Final[str]
ANALYSIS_VERSION: Final[int]

def sample_index() -> Index:
    """The index of the sample corpus, in memory. Cost: some milliseconds."""

def parameters() -> list[Parameter]:
    """The parameters of query strings."""

def terms(text: str) -> list[str]:
    """The terms of a text, the primary forms of its words, in order: as titles and filters are analysed."""

def words(text: str) -> list[list[str]]:
    """The words of a text, in order: of each the primary form, then its alternates."""

def fold_value(text: str) -> str:
    """The key by which countries, industries, funding stages and whole company names compare equal."""

def tidy(text: str) -> str:
    """A text trimmed, with single spaces for all white space within it."""

def parse_signal(line: str | bytes) -> Signal:
    """Reads a signal from a line of JSON. Raises ``InvalidRecord``, which names the field."""

def parse_company(line: str | bytes) -> Company:
    """Reads a company from a line of JSON. Raises ``InvalidRecord``, which names the field."""

def write_signal(signal: Signal) -> bytes:
    """The line of JSON that is read as this signal, its end included."""

def write_company(company: Company) -> bytes:
    """The line of JSON that is read as this company, its end included."""
