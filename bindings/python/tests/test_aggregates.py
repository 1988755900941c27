"""Aggregates are those of a loop over all records in Python, as records and as frames."""

from __future__ import annotations

from collections import defaultdict
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pandas
import polars
import pyarrow
import pytest

import signaldex
from signaldex import AmountFigures, CompanyKey, InvalidQuery, sample

TODAY = sample.AS_OF


def found(query: str) -> list[signaldex.Found]:
    snapshot = sample.index().snapshot()
    return [record for id in snapshot.matches(query, TODAY).ids() if (record := snapshot.signal(id))]


def monday(day: date | None) -> date | None:
    return day - timedelta(days=day.weekday()) if day else None


KEYS: dict[str, Any] = {
    "day": lambda record: record.signal.date,
    "week": lambda record: monday(record.signal.date),
    "month": lambda record: record.signal.date and f"{record.signal.date:%Y-%m}",
    "quarter": lambda record: record.signal.date
    and f"{record.signal.date.year}-Q{(record.signal.date.month + 2) // 3}",
    "year": lambda record: record.signal.date and f"{record.signal.date:%Y}",
    "company": lambda record: (record.company.slug, record.company.name),
    "countries": lambda record: record.company.country,
    "categories": lambda record: record.signal.category,
    "funding_stages": lambda record: record.signal.funding and record.signal.funding.stage,
}


def shown(value: object) -> object:
    return (value.slug, value.name) if isinstance(value, CompanyKey) else value


@pytest.mark.parametrize("by", [["day"], ["week"], ["month", "countries"], ["quarter"], ["year"], ["company"]])
@pytest.mark.parametrize("query", ["", "q=raises", "fundingCurrency=EUR", "country=Nowhere"])
def test_groups_are_those_of_a_loop(by: list[str], query: str) -> None:
    expected: dict[tuple[object, ...], list[signaldex.Found]] = defaultdict(list)
    for record in found(query):
        expected[tuple(KEYS[name](record) for name in by)].append(record)
    measured = sample.index().snapshot().aggregate(query, by=by, measures=["companies", "sum", "max"], today=TODAY)  # type: ignore[arg-type]
    assert measured.totals.groups == len(measured) == len(expected)
    for group in measured:
        records = expected[tuple(shown(value) for value in group.key.values())]
        assert list(group.key) == by and group.count == len(records)
        assert group.companies == len({record.company.slug for record in records})
        amounts: dict[str | None, list[float]] = defaultdict(list)
        for record in records:
            if record.signal.funding and record.signal.funding.amount is not None:
                amounts[record.signal.funding.currency].append(record.signal.funding.amount)
        assert group.amounts is not None
        for figures in group.amounts:
            values = amounts.pop(figures.currency)
            total = float(sum((Decimal(repr(value)) for value in values), Decimal(0)))
            assert figures == AmountFigures(figures.currency, len(values), total, None, max(values), None, None, None)
        assert not amounts


def test_frames_have_a_row_for_each_group() -> None:
    snapshot = sample.index().snapshot()
    groups = snapshot.aggregate("", by=["month", "countries"], measures=["sum", "companies"], today=TODAY)
    table = groups.to_arrow()
    assert table == pyarrow.table(groups) and table.num_rows == len(groups)
    assert table.schema.names[:4] == ["month", "countries", "count", "companies"]
    for row, group in zip(table.to_pylist(), groups):
        assert {name: row[name] for name in group.key} == group.key
        assert (row["count"], row["companies"]) == (group.count, group.companies)
        for figures in group.amounts or []:
            name = figures.currency or "none"
            assert (row[f"{name}_count"], row[f"{name}_sum"]) == (figures.count, figures.sum)
    assert groups.to_polars().equals(polars.DataFrame(table))
    frame = groups.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame.columns) == table.schema.names
    days = snapshot.aggregate("days=7", by="day", today=TODAY).to_arrow()
    assert days.schema.field("day").type == pyarrow.date32()
    companies = snapshot.aggregate("", by="company", limit=5, today=TODAY).to_arrow()
    assert companies.schema.names == ["company_slug", "company_name", "count"] and companies.num_rows == 5
    with pytest.raises(TypeError, match="to_pandas"):
        groups.__array__()


def test_totals_order_and_limit() -> None:
    snapshot = sample.index().snapshot()
    totals = snapshot.aggregate("q=raises", measures="median", today=TODAY)
    assert len(totals) == 0 and not totals.truncated and totals.totals.groups == 0
    assert totals.totals.count == snapshot.count("q=raises", TODAY)
    assert totals.totals.companies is None and totals.totals.amounts
    largest = snapshot.aggregate(
        "fundingCurrency=EUR", by="countries", measures="sum", order="-sum", limit=3, today=TODAY
    )
    sums = [group.amounts[0].sum for group in largest if group.amounts]
    assert len(sums) == 3 and largest.truncated and sums == sorted(sums, key=lambda value: -(value or 0))
    assert sample.index().aggregate("", by="sizes", today=TODAY).groups == (
        snapshot.aggregate(signaldex.Filter(), by=["sizes"], today=TODAY).groups
    )
    # The API's spelling of a name is the same.
    one, other = ("fundingStages", "funding_stages")
    assert snapshot.aggregate("", by=one, today=TODAY).groups == snapshot.aggregate("", by=other, today=TODAY).groups  # type: ignore[arg-type]
    assert "191 signals" in repr(snapshot.aggregate("fundingCurrency=EUR", by="year", today=TODAY))


def test_every_fault_is_named() -> None:
    snapshot = sample.index().snapshot()
    for arguments, faults in [
        ({"by": "country"}, ["by"]),
        ({"by": ["month", "month"]}, ["by"]),
        ({"by": ["month", "day"]}, ["by"]),
        ({"by": ["company", "day"]}, ["by"]),
        ({"by": ["sizes", "day", "countries"]}, ["by"]),
        ({"measures": ["mean"], "order": "count"}, ["measures", "order"]),
        ({"order": "-sum"}, ["order"]),
        ({"limit": 0}, ["limit"]),
        ({"limit": -1}, ["limit"]),
    ]:
        with pytest.raises(InvalidQuery) as caught:
            snapshot.aggregate("", today=TODAY, **arguments)  # type: ignore[arg-type]
        assert [error.parameter for error in caught.value.errors] == faults, arguments
