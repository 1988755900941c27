"""Companies by their signals are those of a loop over all records in Python, as records and as frames."""

from __future__ import annotations

from collections import defaultdict

import pandas
import polars
import pyarrow
import pytest

import signaldex
from signaldex import Condition, ConditionMatches, Filter, InvalidQuery, MatchedCompany, sample

TODAY = sample.AS_OF


def expected(has: list[Condition], has_not: list[Condition], country: str | None) -> list[MatchedCompany]:
    snapshot = sample.index().snapshot()
    signals: dict[str, list[signaldex.Signal]] = defaultdict(list)
    for found in snapshot.scan():
        signals[found.signal.company_slug].append(found.signal)

    def matches(condition: Condition, company: signaldex.Company) -> ConditionMatches:
        assert isinstance(condition.filter, Filter)
        found = [one for one in signals[company.slug] if condition.filter.matches(one, company, TODAY)]
        return ConditionMatches(len(found), max((one.date for one in found if one.date), default=None))

    def holds(condition: Condition, company: signaldex.Company) -> bool:
        count = matches(condition, company).count
        return condition.min <= count and (condition.max is None or count <= condition.max)

    companies = []
    for company in snapshot.scan_companies():
        is_wanted = country is None or (company.country or "").lower() == country.lower()
        if not is_wanted or not all(holds(one, company) for one in has) or any(holds(one, company) for one in has_not):
            continue
        of_all = matches(Condition(Filter()), company)
        counted = [matches(one, company) for one in has]
        companies.append(MatchedCompany(company, of_all.count, of_all.latest_date, counted))
    return sorted(companies, key=lambda found: found.company.slug.encode())


CONDITIONS = [
    Condition(Filter(categories=["hiring"]), min=2),
    Condition(Filter(categories=["funding"])),
    Condition(Filter(q="raises"), min=0, max=1),
    Condition(Filter(days=90), max=3),
]


@pytest.mark.parametrize("has", [[], CONDITIONS[:1], CONDITIONS[:2], CONDITIONS])
@pytest.mark.parametrize("has_not", [[], [Condition(Filter(q="series a"))], [Condition(Filter())]])
@pytest.mark.parametrize("country", [None, "Germany"])
def test_companies_are_those_of_a_loop(has: list[Condition], has_not: list[Condition], country: str | None) -> None:
    snapshot = sample.index().snapshot()
    law = expected(has, has_not, country)
    query = f"country={country}" if country else ""
    walked: list[MatchedCompany] = []
    cursor = None
    while True:
        page = snapshot.companies(query, has=has, has_not=has_not, limit=7, cursor=cursor, today=TODAY)
        walked += page
        cursor = page.next_cursor
        if cursor is None:
            break
    assert walked == law
    assert snapshot.count_companies(query, has=has, has_not=has_not, today=TODAY) == len(law)
    most = snapshot.companies(query, has=has, has_not=has_not, order="-matches", limit=1_000, today=TODAY)
    counts = [item.matches[0].count if has else item.signal_count for item in most]
    assert counts == sorted(counts, reverse=True) and len(most) == len(law)
    facets = snapshot.company_facets(query, has=has, has_not=has_not, facets=["industry"], today=TODAY)
    industries = {found.company.industry for found in law} - {None}
    assert list(facets) == ["industry"] and {value.label for value in facets["industry"]} == industries


def test_conditions_have_several_forms() -> None:
    snapshot = sample.index().snapshot()
    typed = snapshot.companies("has=(categories=funding),(q=raises;min=1)&order=-latest", today=TODAY).items
    assert typed and typed == snapshot.companies(
        has=["categories=funding", "raises"], order="-latest", today=TODAY
    ).items
    one = snapshot.companies(has="categories=funding", today=TODAY).items
    assert one == snapshot.companies(has=Condition("categories=funding"), today=TODAY).items
    named = snapshot.companies("C++ Foundry").items
    assert [item.company.slug for item in named] == ["cpp-foundry"]


def test_frames_have_a_row_for_each_company() -> None:
    snapshot = sample.index().snapshot()
    page = snapshot.companies(has=CONDITIONS[:2], order="-latest", limit=5, today=TODAY)
    table = page.to_arrow()
    assert table == pyarrow.table(page) and table.num_rows == len(page) == 5
    for row, item in zip(table.to_pylist(), page):
        company = item.company
        assert (row["slug"], row["city"], row["employees"]) == (company.slug, company.city, company.employees)
        assert (row["signal_count"], row["latest_signal_date"]) == (item.signal_count, item.latest_signal_date)
        for number, matches in enumerate(item.matches, 1):
            assert row[f"has{number}_count"] == matches.count
            assert row[f"has{number}_latest_date"] == matches.latest_date
    assert page.to_polars().equals(polars.DataFrame(table))
    frame = page.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame.columns) == table.schema.names
    assert snapshot.companies("country=Nowhere").to_arrow().num_rows == 0
    assert repr(page).startswith("<CompanyPage: 5 companies, next_cursor=")
    with pytest.raises(TypeError, match="to_pandas"):
        page.__array__()


def test_every_fault_is_named() -> None:
    snapshot = sample.index().snapshot()
    for query, arguments, faults in [
        ("country=Germany&q=raises", {}, ["q"]),
        ("has=(days=8)", {"order": "newest"}, ["has", "order"]),
        ("", {"limit": 0}, ["limit"]),
        ("", {"cursor": "nonsense"}, ["cursor"]),
        ("", {"has": Condition("", min=3, max=2)}, ["has"]),
    ]:
        with pytest.raises(InvalidQuery) as caught:
            snapshot.companies(query, today=TODAY, **arguments)  # type: ignore[arg-type]
        assert [error.parameter for error in caught.value.errors] == faults, query
    with pytest.raises(ValueError, match="min: -1 is not allowed"):
        snapshot.companies(has=Condition("", min=-1))
    with pytest.raises(ValueError, match="is of signals"):
        snapshot.company_facets(facets=["category"])  # type: ignore[list-item]
