"""Tables for PyPI's ``datafusion``: what SQL finds, a plain loop over the records finds."""

from __future__ import annotations

import collections
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
import signaldex
from signaldex import DataFusionMismatch, IndexBuilder, sample


def with_tables() -> bool:
    try:
        return sample.index().snapshot().companies_table().name == "companies"
    except DataFusionMismatch:
        return False


needs_tables = pytest.mark.skipif(not with_tables(), reason="built without the feature datafusion")


@pytest.mark.skipif(with_tables(), reason="built with the feature datafusion")
def test_a_wheel_without_tables_says_how_to_build_one() -> None:
    snapshot = sample.index().snapshot()
    for ask in (snapshot.signals_table, snapshot.companies_table):
        with pytest.raises(DataFusionMismatch, match="--features signaldex-python/datafusion"):
            ask()
        with pytest.raises(ImportError):
            ask()


def session() -> Any:
    datafusion = pytest.importorskip("datafusion")
    snapshot = sample.index().snapshot()
    context = datafusion.SessionContext()
    context.register_table("signals", snapshot.signals_table(sample.AS_OF))
    context.register_table("companies", snapshot.companies_table())
    return context


def rows(statement: str) -> list[tuple[Any, ...]]:
    # The session has to outlive its frames: tables of another library ask it while a statement is planned.
    context = session()
    batches = context.sql(statement).collect()
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


@needs_tables
def test_rows_are_those_of_the_records() -> None:
    items = list(sample.index().snapshot().matches("", sample.AS_OF))
    expected = {item.signal.id: (item.signal.title, item.company_name, item.signal.date) for item in items}
    found = rows("SELECT id, title, company_name, date FROM signals")
    assert {row[0]: row[1:] for row in found} == expected
    assert rows("SELECT count(*) FROM signals") == [(len(sample.SIGNALS.splitlines()),)]
    assert rows("SELECT count(*) FROM companies") == [(len(sample.COMPANIES.splitlines()),)]
    slugs = {row[0] for row in rows("SELECT slug FROM companies WHERE signal_count > 0")}
    assert slugs == {item.signal.company_slug for item in items}


@needs_tables
def test_a_search_is_a_condition() -> None:
    snapshot = sample.index().snapshot()
    found = rows("SELECT id, query FROM signals WHERE query = 'q=raises&days=90'")
    assert {row[0] for row in found} == {item.signal.id for item in snapshot.matches("q=raises&days=90", sample.AS_OF)}
    assert {row[1] for row in found} == {"q=raises&days=90"}


@needs_tables
def test_groups_joins_and_functions() -> None:
    items = list(sample.index().snapshot().matches("q=raises", sample.AS_OF))
    categories = collections.Counter(item.signal.category for item in items)
    found = rows("SELECT category, count(*) FROM signals WHERE query = 'q=raises' GROUP BY category")
    assert dict(found) == dict(categories)
    long = sum(len(item.signal.title) > 60 for item in items)
    assert rows("SELECT count(*) FROM signals WHERE query = 'q=raises' AND length(title) > 60") == [(long,)]
    digits = sum(re.search("[0-9]", item.signal.title) is not None for item in items)
    statement = "SELECT count(*) FROM signals WHERE query = 'q=raises' AND regexp_like(title, '[0-9]')"
    assert rows(statement) == [(digits,)]
    joined = rows("SELECT count(*) FROM signals s JOIN companies c ON c.slug = s.company_slug WHERE s.query = 'q=raises'")
    assert joined == [(len(items),)]
    newest = rows("SELECT id FROM signals ORDER BY id DESC LIMIT 3")
    assert [row[0] for row in newest] == sample.index().search("", sample.AS_OF).ids[:3]


@needs_tables
def test_conditions_are_exact() -> None:
    items = list(sample.index().snapshot().matches("country=germany", sample.AS_OF))
    assert rows("SELECT count(*) FROM signals WHERE country = 'germany'") == [(0,)]
    assert rows("SELECT count(*) FROM signals WHERE country = 'Germany'") == [(len(items),)]
    assert rows("SELECT count(*) FROM signals WHERE query = 'country=germany'") == [(len(items),)]


@needs_tables
def test_the_index_takes_conditions_columns_and_limit() -> None:
    statement = "EXPLAIN SELECT title FROM signals WHERE query = 'q=robots' AND country = 'Germany' LIMIT 5"
    plan = str(rows(statement))
    assert "TableScan: signals projection=[title], full_filters=[" in plan
    assert "fetch=5" in plan and "SignalsScan" in plan
    assert "FilterExec" not in plan


@needs_tables
def test_an_invalid_search_is_an_error_of_the_statement() -> None:
    with pytest.raises(Exception, match="query = 'contry=de'"):
        rows("SELECT id FROM signals WHERE query = 'contry=de'")


@needs_tables
def test_the_documents_example_runs() -> None:
    here = Path(__file__).resolve().parent
    text = (here.parent / "examples" / "sql.py").read_text()
    code = text.split('"""', 2)[2].lstrip("\n")
    assert code in (here.parents[2] / "docs" / "sql.md").read_text(), "docs/sql.md shows another sql.py"
    runpy.run_path(str(here.parent / "examples" / "sql.py"), run_name="__main__")


@needs_tables
def test_a_table_stays_as_its_snapshot_was() -> None:
    datafusion = pytest.importorskip("datafusion")
    builder = IndexBuilder.in_memory()
    builder.add_company(signaldex.Company("acme", "Acme"))
    builder.add_signal(signaldex.Signal(1, "acme", "Acme raises"))
    index = builder.finish()
    context = datafusion.SessionContext()
    context.register_table("before", index.snapshot().signals_table())
    with index.writer() as writer:
        writer.upsert_signal(signaldex.Signal(2, "acme", "Acme hires"))
        writer.commit()
    context.register_table("after", index.snapshot().signals_table())
    del index
    for table, expected in (("before", [1]), ("after", [1, 2])):
        batches = context.sql(f"SELECT id FROM {table} ORDER BY id").collect()
        assert [row["id"] for batch in batches for row in batch.to_pylist()] == expected


@needs_tables
@pytest.mark.parametrize("installed", ["54.1.0", "56.0.0", "5.5.0"])
def test_another_version_is_refused_by_both_names(installed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    datafusion = pytest.importorskip("datafusion")
    context = datafusion.SessionContext()
    monkeypatch.setattr(datafusion, "__version__", installed)
    for table in (sample.index().snapshot().signals_table(), sample.index().snapshot().companies_table()):
        with pytest.raises(DataFusionMismatch, match=f"datafusion {installed} .*datafusion 55"):
            table.__datafusion_table_provider__(context)
        # Former versions pass nothing.
        with pytest.raises(DataFusionMismatch, match=f"datafusion {installed} "):
            table.__datafusion_table_provider__()


@needs_tables
def test_what_is_no_session_is_refused() -> None:
    pytest.importorskip("datafusion")
    table = sample.index().snapshot().companies_table()
    assert repr(table) == "<SqlTable companies>"
    with pytest.raises(DataFusionMismatch, match="register_table"):
        table.__datafusion_table_provider__()
    with pytest.raises(TypeError):
        table.__datafusion_table_provider__("a session")
