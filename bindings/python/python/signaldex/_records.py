"""Records and reports: plain dataclasses, with the names of the library's fields."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date as _date
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from ._native import Filter, Query

Order: TypeAlias = Literal["newest", "oldest", "-date", "date", "-amount", "amount"]
Facet: TypeAlias = Literal[
    "category",
    "country",
    "industry",
    "size",
    "funding_stage",
    "funding_currency",
    "hiring_type",
    "job_function",
    "seniority",
    "employment_type",
    "work_arrangement",
]

GroupBy: TypeAlias = Literal[
    "day",
    "week",
    "month",
    "quarter",
    "year",
    "company",
    "categories",
    "countries",
    "industries",
    "sizes",
    "funding_stages",
    "funding_currencies",
    "hiring_types",
    "job_functions",
    "seniorities",
    "employment_types",
    "work_arrangements",
]
Measure: TypeAlias = Literal["count", "companies", "sum", "min", "max", "median", "p25", "p75"]
GroupOrder: TypeAlias = Literal["key", "-key", "-count", "-sum"]


@dataclass(slots=True)
class Funding:
    """Details of a funding round, each of them as far as the evidence goes."""

    stage: str | None = None
    """The stage in words, such as ``Series A``."""
    amount: float | None = None
    """The amount in units of ``currency``: finite and not negative."""
    currency: str | None = None
    """Three upper-case letters."""


@dataclass(slots=True)
class Hiring:
    """Attributes of a hiring activity, each an ID or absent."""

    hiring_type: str | None = None
    job_function: str | None = None
    seniority: str | None = None
    employment_type: str | None = None
    work_arrangement: str | None = None


@dataclass(slots=True)
class Signal:
    """An activity of a company, as it is loaded, stored and returned."""

    id: int
    """1 to 9,999,999,999,999,999,999; results are ordered by it."""
    company_slug: str
    """The slug of the company that the activity belongs to."""
    title: str
    """What text filters search in."""
    slug: str = ""
    """A readable name for links, not unique; the id if none is given."""
    evidence: str | None = None
    category: str | None = None
    date: _date | None = None
    """The day of the activity. A signal without one matches no date filter."""
    published_at: datetime | None = None
    updated_at: datetime | None = None
    activity_url: str | None = None
    author_name: str | None = None
    author_title: str | None = None
    author_url: str | None = None
    funding: Funding | None = None
    hiring: Hiring | None = None
    """Searched, never shown by the service."""

    def __post_init__(self) -> None:
        if not self.slug:
            self.slug = str(self.id)


@dataclass(slots=True)
class Company:
    """A company, as it is loaded and stored."""

    slug: str
    name: str
    about: str | None = None
    tagline: str | None = None
    logo_url: str | None = None
    country: str | None = None
    city: str | None = None
    employees: int | None = None
    industry: str | None = None
    founded_year: int | None = None
    linkedin_url: str | None = None
    updated_at: datetime | None = None


@dataclass(slots=True)
class Item:
    """A signal as a page shows it."""

    signal: Signal
    company_name: str


@dataclass(slots=True)
class Found:
    """A signal and its company."""

    signal: Signal
    company: Company


@dataclass(slots=True)
class CompanyProfile:
    """A company with what the live signals say about it."""

    company: Company
    signal_count: int
    latest_signal_date: _date | None


@dataclass(slots=True)
class Condition:
    """How many signals of a kind a company has."""

    filter: Filter | Query | str
    """Which signals count: a filter, a query string, or words."""
    min: int = 1
    max: int | None = None


@dataclass(slots=True)
class ConditionMatches:
    """The signals of a company that a condition counts."""

    count: int
    latest_date: _date | None


@dataclass(slots=True)
class MatchedCompany:
    """A company that fulfils a query, with what its conditions count."""

    company: Company
    signal_count: int
    latest_signal_date: _date | None
    matches: list[ConditionMatches]
    """Of each condition of ``has``, in their order."""


@dataclass(slots=True)
class CompanyKey:
    """The company of a group."""

    slug: str
    name: str


@dataclass(slots=True)
class AmountFigures:
    """Figures of the amounts in one currency; those that were not measured are ``None``."""

    currency: str | None
    """``None`` for amounts without one."""
    count: int
    """The number of amounts."""
    sum: float | None
    """The exact decimal sum, rounded once."""
    min: float | None
    max: float | None
    median: float | None
    p25: float | None
    """The lower quartile, interpolated as spreadsheets do."""
    p75: float | None


@dataclass(slots=True)
class AggregateGroup:
    """The signals with one key, at least one, in figures."""

    key: dict[str, str | _date | CompanyKey | None]
    """The value of each name in ``by``; ``None`` for signals without one. Days and weeks (their Mondays) are dates."""
    count: int
    """The number of signals."""
    companies: int | None
    """The number of different companies, if measured."""
    amounts: list[AmountFigures] | None
    """By currency, if measured; amounts without one come last."""


@dataclass(slots=True)
class AggregateTotals:
    """Figures over all matches."""

    groups: int
    """The number of all groups; 0 if nothing is grouped by."""
    count: int
    companies: int | None
    amounts: list[AmountFigures] | None


@dataclass(slots=True)
class Upsert:
    """A signal changed and matches."""

    item: Item
    is_new: bool
    """Whether it first appeared since the position."""


@dataclass(slots=True)
class Remove:
    """A signal was deleted, or it changed and does not match. A copy may never have held it."""

    id: int


Change: TypeAlias = Upsert | Remove


@dataclass(slots=True)
class MatchedSignal:
    """A signal that changed, and the saved searches that it matches."""

    item: Item
    is_new: bool
    searches: list[str]
    """The names of the searches, in the order in which they were saved; at least one."""


@dataclass(frozen=True, slots=True)
class FacetCount:
    """A value of a facet, and how many signals have it."""

    label: str
    count: int


@dataclass(frozen=True, slots=True)
class ParameterError:
    """One thing that is wrong with a query."""

    parameter: str
    """The parameter, as it was given; empty if the error concerns the query string as a whole."""
    code: str
    """The kind of error, such as ``invalid_value``."""
    message: str
    """What was wrong, and what is allowed."""


@dataclass(frozen=True, slots=True)
class CommitReport:
    """A summary of a commit."""

    generation: int
    signals_written: int
    signals_deleted: int
    companies_written: int
    companies_deleted: int


@dataclass(frozen=True, slots=True)
class Rejected:
    """A fault of a record that was not loaded."""

    path: str
    line: int
    field: str | None
    value: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class UnknownField:
    """A field of input records that no record has; its values were not loaded."""

    record: Literal["company", "signal"]
    name: str
    count: int
    nearest: str | None


@dataclass(frozen=True, slots=True)
class LoadReport:
    """The result of loading files of records."""

    companies: int
    signals: int
    companies_replaced: int
    signals_replaced: int
    rejected: int
    companies_rejected: int
    signals_without_company: int
    nulled: int
    rejections: list[Rejected]
    """The faults of the first hundred rejected records."""
    unknown_fields: list[UnknownField]


@dataclass(frozen=True, slots=True)
class IndexStatistics:
    """Figures about segments, rows and bytes."""

    identity: str
    generation: int
    signals: int
    deleted_rows: int
    companies: int
    segments: int
    bytes: int
    sections: list[tuple[str, int]]
    """Bytes by section, over all segments, largest first."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated number of rows that a step leaves."""

    min: int
    expected: int
    max: int


@dataclass(frozen=True, slots=True)
class StepExplanation:
    """One step of a plan."""

    clause: str
    strategy: str
    reason: str
    estimate: Estimate
    actual: int | None
    time: float
    """In seconds, over all blocks."""


@dataclass(frozen=True, slots=True)
class ExecutionExplanation:
    """How a plan was executed."""

    strategy: str
    no_match: str | None
    steps: list[StepExplanation]
    rows_checked: int
    blocks_visited: int
    blocks_skipped: int
    bytes_read: int
    """Of sets, codes and titles; a row that is looked up by itself reads 64."""

    def has_visits(self) -> bool:
        """Whether rows or blocks were visited."""
        return self.rows_checked + self.blocks_visited + self.blocks_skipped > 0


@dataclass(frozen=True, slots=True)
class SegmentExplanation:
    """How one segment was searched."""

    rows: int
    matches: int
    page: ExecutionExplanation | None
    """``None`` where the page was full before."""
    count: ExecutionExplanation


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a query was answered. ``str()`` of it is meant for terminals."""

    query: str
    companies: dict[str, list[str]]
    """The slugs of the companies that each item of ``companies`` is."""
    hints: list[str]
    """What was probably meant, for people."""
    segments: list[SegmentExplanation]
    matches: int
    page_length: int
    page_time: float
    """The time that the page took, ids and cursor, in seconds."""
    count_time: float
    """The time that the count of all matches took, in seconds."""
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of queries."""

    name: str
    """As query strings have it."""
    description: str
    example: str
    is_filter: bool
    """Whether it filters signals, rather than selecting a page of them."""
