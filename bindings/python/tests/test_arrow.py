"""Matches as Arrow, and tables as records."""

from __future__ import annotations

from datetime import date, datetime, timezone
from pathlib import Path

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
from test_library import ACME, FULL, TODAY, index_of

import signaldex
from signaldex import Company, Index, IndexBuilder, Signal, sample


def everything(index: Index) -> signaldex.Matches:
    return index.matches("", sample.AS_OF, "oldest")


def test_rows_and_columns_say_the_same() -> None:
    matches = everything(sample.index())
    table = pyarrow.table(matches)
    assert table.to_pylist() == list(matches.rows())
    assert table.schema.names == list(next(matches.rows()))
    assert table["id"].to_pylist() == list(matches.ids())
    required = {field.name for field in table.schema if not field.nullable}
    assert required == {"id"}
    table.validate(full=True)


def test_every_field_survives() -> None:
    (row,) = pyarrow.table(everything(index_of(FULL))).to_pylist()
    assert row["published_at"] == FULL.published_at and row["updated_at"] == FULL.updated_at
    assert (row["id"], row["date"], row["company_name"]) == (FULL.id, FULL.date, "Acme GmbH")
    assert (row["funding_stage"], row["funding_amount"], row["funding_currency"]) == ("Series A", 12e6, "EUR")


def test_frames_of_every_kind_take_matches() -> None:
    matches = everything(sample.index())
    ids = list(matches.ids())
    assert polars.DataFrame(matches)["id"].to_list() == ids
    assert pandas.DataFrame.from_arrow(matches)["id"].tolist() == ids
    stream = matches.arrow(["id", "country"][:1])
    assert polars.DataFrame(stream)["id"].to_list() == polars.DataFrame(stream)["id"].to_list() == ids
    signals = pyarrow.table(matches)
    assert len(signals) == len(ids)
    assert duckdb.sql("select count(*), min(id) from signals").fetchall() == [(len(ids), min(ids))]
    reader = pyarrow.RecordBatchReader.from_stream(matches.arrow(batch_rows=100))
    lengths = [len(batch) for batch in reader]
    assert lengths[:2] == [100, 100] and sum(lengths) == len(ids)


def test_a_stream_without_matches_has_columns() -> None:
    table = pyarrow.table(sample.index().matches("q=xyzzy", TODAY))
    assert table.num_rows == 0 and table.num_columns == 17


def test_unknown_columns_are_named() -> None:
    matches = everything(sample.index())
    with pytest.raises(ValueError, match="they are id, slug"):
        matches.arrow(["mood"])
    with pytest.raises(ValueError, match="at least one"):
        matches.arrow([])
    with pytest.raises(ValueError, match="at least one row"):
        matches.arrow(batch_rows=0)


def test_a_stream_outlives_its_index() -> None:
    stream = everything(index_of(FULL)).arrow(["title"])
    assert pyarrow.table(stream)["title"].to_pylist() == [FULL.title]
    capsule = stream.__arrow_c_stream__()
    del stream, capsule  # A stream that nobody reads is released.


@pytest.mark.parametrize("through", ["pyarrow", "polars", "pandas", "parquet"])
def test_tables_come_back_as_records(through: str, tmp_path: Path) -> None:
    index = sample.index()
    table = pyarrow.table(everything(index))
    frames = {
        "pyarrow": lambda: table.cast(table.schema.set(1, pyarrow.field("slug", pyarrow.large_string()))),
        "polars": lambda: polars.DataFrame(table).with_columns(polars.col("category").cast(polars.Categorical)),
        "pandas": lambda: pandas.DataFrame.from_arrow(table),
    }
    if through == "parquet":
        pyarrow.parquet.write_table(table, tmp_path / "signals.parquet")
        source = pyarrow.parquet.read_table(tmp_path / "signals.parquet")
    else:
        source = frames[through]()
    builder = IndexBuilder.in_memory()
    companies = list(index.snapshot().scan_companies())
    names = list(Company.__dataclass_fields__)
    rows = [{name: getattr(company, name) for name in names} for company in companies]
    assert builder.add_companies(pyarrow.Table.from_pylist(rows)) == len(companies)
    assert builder.add_signals(source) == table.num_rows
    copy = builder.finish()
    assert pyarrow.table(everything(copy)) == table
    assert sorted(copy.snapshot().scan_companies(), key=lambda one: one.slug) == sorted(
        companies, key=lambda one: one.slug
    )


def test_hiring_attributes_are_columns_of_their_own() -> None:
    row = {"id": 7, "company_slug": "acme", "title": "Acme hires", "job_function": "engineering"}
    index = index_of()
    with index.writer() as writer:
        assert writer.upsert_companies(pyarrow.Table.from_pylist([{"slug": "b", "name": "B"}])) == 1
        assert writer.upsert_signals(pyarrow.Table.from_pylist([row])) == 1
        writer.commit()
    assert index.search("jobFunction=engineering", TODAY).ids == [7]
    found = index.signal(7)
    assert found is not None and found.signal.slug == "7" and found.signal.funding is None


@pytest.mark.parametrize(
    ("column", "value", "error", "reason"),
    [
        ("id", 0, signaldex.InvalidRecord, "id: is out of range .row 1"),
        ("id", -1, signaldex.InvalidRecord, "id: is out of range"),
        ("id", None, signaldex.InvalidRecord, "id: is missing, null or empty .row 1"),
        ("title", None, signaldex.InvalidRecord, "title: is missing, null or empty"),
        ("company_slug", "nobody", signaldex.UnknownCompany, "nobody"),
        ("funding_amount", -1.0, signaldex.InvalidRecord, "funding.amount"),
        ("funding_currency", "euro", signaldex.InvalidRecord, "funding.currency"),
        ("titel", "x", ValueError, "did you mean title"),
        ("published_at", "yesterday", signaldex.InvalidRecord, "published_at: is not an instant of RFC 3339.*row 1"),
        ("evidence", [1], ValueError, "the column evidence has the type"),
    ],
)
def test_rows_that_break_a_rule_are_named(column: str, value: object, error: type[Exception], reason: str) -> None:
    required = {"id": 1, "company_slug": "acme", "title": "Acme hires"}
    good, bad = {column: None, **required}, {**required, column: value}
    builder = IndexBuilder.in_memory()
    builder.add_company(ACME)
    with pytest.raises(error, match=reason):
        builder.add_signals(pyarrow.Table.from_pylist([good, bad]))


def test_texts_mean_what_they_mean_in_json() -> None:
    signals = pandas.DataFrame(
        {
            "id": ["7"],
            "company_slug": [" b"],
            "title": [" 'Acme raises"],
            "date": ["2026-06-12"],
            "published_at": ["2026-06-12T12:00:00+02:00"],
            "funding_amount": ["€1.2M"],
        }
    )
    builder = IndexBuilder.in_memory()
    companies = pandas.DataFrame({"slug": [" b"], "name": ["B"], "employees": ["45"], "founded_year": ["1999"]})
    assert builder.add_companies(companies) == 1
    with pytest.raises(signaldex.InvalidRecord, match="funding_amount: is not a finite number"):
        builder.add_signals(signals)
    assert builder.add_signals(signals.assign(funding_amount="€1200000")) == 1
    with pytest.raises(signaldex.InvalidRecord, match="funding_currency: USD is another currency.*EUR"):
        builder.add_signals(signals.assign(funding_amount="€1200000", funding_currency="USD"))
    with pytest.raises(signaldex.InvalidRecord, match="employees: is not a whole number from 0"):
        builder.add_companies(companies.assign(employees="-1"))
    found = builder.finish().signal(7)
    assert found is not None and found.company is not None
    assert (found.company.employees, found.company.founded_year) == (45, 1999)
    assert (found.signal.title, found.signal.date) == (" 'Acme raises", date(2026, 6, 12))
    assert found.signal.published_at == datetime(2026, 6, 12, 10, tzinfo=timezone.utc)
    assert found.signal.funding is not None
    assert (found.signal.funding.amount, found.signal.funding.currency) == (1.2e6, "EUR")


def test_computed_columns_are_passed_over() -> None:
    builder = IndexBuilder.in_memory()
    companies = pandas.DataFrame({"slug": ["b"], "name": ["B"], "Signal Count": [3], "latestSignalDate": [None]})
    assert builder.add_companies(companies) == 1
    signals = pandas.DataFrame({"id": [1], "company_slug": ["b"], "title": ["x"], "company_name": ["B"]})
    assert builder.add_signals(signals) == 1
    with pytest.raises(ValueError, match="did you mean title"):
        builder.add_signals(signals.rename(columns={"title": "Headline"}))


def test_what_is_no_table_is_refused() -> None:
    builder = IndexBuilder.in_memory()
    for wrong in (7, [7], pyarrow.chunked_array([[1, 2]])):
        with pytest.raises((TypeError, ValueError)):
            builder.add_signals(wrong)  # type: ignore[arg-type]


def test_instants_beyond_nanoseconds_are_kept() -> None:
    far = datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone.utc)
    index = index_of(Signal(1, "acme", "x", published_at=far))
    assert pyarrow.table(everything(index))["published_at"].to_pylist() == [far]
