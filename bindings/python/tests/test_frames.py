"""Matches and pages as tables and frames, in notebooks, and frames as records."""

from __future__ import annotations

import sys
from datetime import date, datetime, timezone

import numpy
import pandas
import polars
import pyarrow
import pytest
from test_library import ACME, FULL, TODAY, index_of

import signaldex
from signaldex import Company, IndexBuilder, Signal, sample

COMPANY = ["about", "tagline", "logo_url", "country", "city", "employees", "industry", "founded_year", "linkedin_url"]
HIRING = ["hiring_type", "job_function", "seniority", "employment_type", "work_arrangement"]
EVERY = ["id", "title", "date", "published_at", "company_name", *HIRING, *(f"company_{name}" for name in COMPANY)]


def everything() -> signaldex.Matches:
    return sample.index().snapshot().matches("", sample.AS_OF)


def expected(found: signaldex.Found | None, names: list[str]) -> dict[str, object]:
    """A row of the columns, read from the records."""
    assert found is not None
    row: dict[str, object] = {}
    for name in names:
        if name in HIRING:
            row[name] = getattr(found.signal.hiring, name) if found.signal.hiring else None
        elif name != "company_slug" and name.startswith("company_"):
            row[name] = getattr(found.company, name.removeprefix("company_"))
        else:
            row[name] = getattr(found.signal, name)
    return row


def test_columns_of_companies_and_of_hiring_are_those_of_the_records() -> None:
    snapshot = sample.index().snapshot()
    wanted = [expected(snapshot.signal(id), EVERY) for id in everything().ids()]
    assert everything().to_arrow(EVERY).to_pylist() == wanted
    page = snapshot.search("limit=50", sample.AS_OF)
    assert page.to_arrow(columns=EVERY).to_pylist() == wanted[:50]
    assert any(row["company_country"] for row in wanted) and any(row["seniority"] for row in wanted)


def test_every_frame_has_the_same_columns() -> None:
    snapshot = sample.index().snapshot()
    for source in (snapshot.matches("", sample.AS_OF), snapshot.search("", sample.AS_OF)):
        table = source.to_arrow()
        assert table == pyarrow.table(source)
        assert table.to_pylist() == list(source.rows())
        assert source.to_polars().equals(polars.DataFrame(table))
        frame = source.to_pandas()
        assert list(frame.columns) == table.schema.names and len(frame) == len(source)
        assert frame["id"].tolist() == table["id"].to_pylist()
        assert source.to_arrow(["id"]).to_pylist() == [{"id": id} for id in table["id"].to_pylist()]


def test_pandas_has_days_instants_and_whole_numbers() -> None:
    frame = everything().to_pandas(["date", "published_at", "company_employees", "title"])
    assert [str(frame[name].dtype)[:10] for name in ("date", "published_at")] == ["datetime64", "datetime64"]
    assert str(frame["company_employees"].dtype) == "Int64"
    assert frame["date"].dt.year.max() == 2026


def test_constructors_that_know_no_streams_are_refused_with_the_way_out() -> None:
    for source in (everything(), sample.index().search("", sample.AS_OF)):
        with pytest.raises(TypeError, match="to_pandas"):
            pandas.DataFrame(source)
        with pytest.raises(TypeError, match="to_pandas"):
            numpy.asarray(source)
        assert pandas.DataFrame.from_arrow(source).shape == source.to_arrow().shape


@pytest.mark.parametrize(("method", "package"), [("to_pandas", "pandas"), ("to_polars", "polars"), ("to_arrow", "pyarrow")])
def test_a_missing_package_is_named_with_its_command(method: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=f"pip install {package}"):
        getattr(everything(), method)()


def test_unknown_columns_are_refused_with_the_nearest() -> None:
    with pytest.raises(ValueError, match="did you mean company_country"):
        everything().to_arrow(["company_contry"])
    with pytest.raises(ValueError, match="given twice"):
        everything().to_arrow(["id", "id"])


def test_matches_have_a_length() -> None:
    matches = everything()
    assert len(matches) == len(list(matches)) == len(sample.index().snapshot()) == 2000
    tenth = list(matches.ids())[9]
    assert len(matches.after(tenth)) == 1990
    assert not sample.index().matches("q=xyzzy")


def test_representations_are_pythons() -> None:
    index = index_of(FULL, Signal(1, "acme", "Acme hires"))
    matches = index.matches("country=Germany", TODAY)
    assert repr(matches) == "<Matches('country=germany', '2026-06-30', 'newest')>"
    assert repr(matches.after(7)) == "<Matches('country=germany', '2026-06-30', 'newest').after('7')>"
    page = index.search("limit=1", TODAY)
    assert repr(page) == f"<Page: 1 signal, next_cursor='{page.next_cursor}'>"
    assert repr(index.search("", TODAY)) == "<Page: 2 signals>"


def test_html_shows_texts_and_never_runs_them() -> None:
    evil = "<script>alert('1')</script> & \"co\""
    builder = IndexBuilder.in_memory()
    builder.add_company(Company("acme", evil))
    for id in range(1, 71):
        builder.add_signal(Signal(id, "acme", evil, date=TODAY))
    index = builder.finish()
    for source, caption in ((index.matches(""), "50 of 70 signals"), (index.search(""), "50 signals, and there are more")):
        html = source._repr_html_()
        assert "<script" not in html and html.count("<tr>") == 51 and caption in html
        assert "&lt;script&gt;alert(&#x27;1&#x27;)&lt;/script&gt; &amp; &quot;co&quot;" in html
        assert "<td>2026-06-30</td>" in html
    assert "<p>0 signals</p>" in index.matches("q=xyzzy")._repr_html_()


def test_what_comes_out_goes_in_again() -> None:
    index = sample.index()
    columns = [*everything().to_arrow().schema.names, *HIRING]
    for frame in (everything().to_pandas(columns), everything().to_polars(columns), everything().to_arrow(columns)):
        builder = IndexBuilder.in_memory()
        builder.add_companies(index.snapshot().scan_companies())
        assert builder.add_signals(frame) == len(frame)
        assert builder.finish().matches("", sample.AS_OF).to_arrow(EVERY) == everything().to_arrow(EVERY)


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("Funding Amount", "funding_amount"),
        ("fundingAmount", "funding_amount"),
        ("funding.amount", "funding_amount"),
        ("signal funding-amount", "funding_amount"),
        ("Published At", "published_at"),
        ("jobFunction", "job_function"),
        ("hiring.jobFunction", "job_function"),
        ("Hiring Hiring Type", "hiring_type"),
        ("SIGNAL TITLE", "title"),
    ],
)
def test_columns_are_named_as_headers_are(name: str, field: str) -> None:
    values: dict[str, object] = {
        "funding_amount": 7.0,
        "published_at": datetime(2026, 6, 12, tzinfo=timezone.utc),
        "job_function": "engineering",
        "hiring_type": "new-role",
        "title": "Acme hires",
    }
    row: dict[str, object] = {"Signal ID": 1, "Company Slug": "acme", name: values[field]}
    if field != "title":
        row["Title"] = "Acme hires"
    index = index_of()
    with index.writer() as writer:
        assert writer.upsert_companies(polars.DataFrame({"Company Name": ["B"], "company-slug": ["b"]})) == 1
        assert writer.upsert_signals(pandas.DataFrame([row])) == 1
        writer.commit()
    assert index.matches("").to_arrow([field]).to_pylist() == [{field: values[field]}]


def test_a_renamed_column_is_another_field_and_one_for_none_is_left_out() -> None:
    frame = pandas.DataFrame({"nr": [3], "firm": ["acme"], "headline": ["Acme hires"], "mood": ["good"]})
    builder = IndexBuilder.in_memory()
    builder.add_company(ACME)
    rename: dict[str, str | None] = {"nr": "id", "firm": "companySlug", "headline": "Title"}
    with pytest.raises(ValueError, match=r"\"mood\" is not a column of these records.*rename={\"mood\": None} leaves it out"):
        builder.add_signals(frame, rename=rename)
    assert builder.add_signals(frame, rename={**rename, "mood": None}) == 1
    (found,) = builder.finish().matches("")
    assert (found.signal.id, found.signal.title) == (3, "Acme hires")


def test_columns_that_cannot_be_told_apart_are_refused() -> None:
    builder = IndexBuilder.in_memory()
    frame = polars.DataFrame({"slug": ["a"], "Slug": ["b"], "name": ["A"]})
    with pytest.raises(ValueError, match='"slug" and "Slug" are both for the field slug'):
        builder.add_companies(frame)
    assert builder.add_companies(frame, rename={"Slug": None}) == 1
    with pytest.raises(ValueError, match='rename: "nam" is not a column; did you mean name'):
        builder.add_companies(frame, rename={"nam": "name"})
    with pytest.raises(ValueError, match='rename: "nick" is not a field'):
        builder.add_companies(frame, rename={"Slug": None, "name": "nick"})
    with pytest.raises(TypeError, match="rename"):
        builder.add_companies([ACME], rename={"name": "name"})


def test_a_filtered_frame_of_pandas_brings_no_index() -> None:
    frame = pandas.DataFrame({"slug": ["a", "b"], "name": ["A", "B"], "employees": [1, 2]})
    builder = IndexBuilder.in_memory()
    assert builder.add_companies(frame[frame["employees"] > 1]) == 1


def test_words_without_a_name_are_a_query() -> None:
    snapshot = sample.index().snapshot()
    for words in ('"series a"', "raises -crypto", "R&D", "robot*", "100% a=b c"):
        query = signaldex.Query(q=words)
        assert signaldex.Query.parse(words) == query == signaldex.Query(keywords=words), words
        assert signaldex.Filter.parse(words) == query.filter
        assert snapshot.search(words, sample.AS_OF).ids == snapshot.search(query, sample.AS_OF).ids
        assert snapshot.count(words, sample.AS_OF) == len(snapshot.matches(query, sample.AS_OF))
    assert snapshot.count("") == len(snapshot)
    with pytest.raises(signaldex.InvalidQuery):
        snapshot.count("robotics&country=Germany")
    with pytest.raises(signaldex.InvalidQuery, match="contry"):
        snapshot.count("contry=Germany")
    with pytest.raises(TypeError, match="q and keywords"):
        signaldex.Query(q="a", keywords="b")


def test_days_are_dates_texts_and_instants() -> None:
    snapshot = sample.index().snapshot()
    day = date(2026, 6, 12)
    instants = [pandas.Timestamp("2026-06-12"), datetime(2026, 6, 12), datetime(2026, 6, 12, tzinfo=timezone.utc)]
    for given in (day, "2026-06-12", *instants):
        assert signaldex.Query(date_from=given, date_to=given) == signaldex.Query(date_from=day, date_to=day)
        assert snapshot.count("days=7", given) == snapshot.count("days=7", day)
        assert index_of(Signal(1, "acme", "x", date=given)).search("dateFrom=2026-06-12&dateTo=2026-06-12").ids == [1]  # type: ignore[arg-type]
    evening = pandas.Timestamp("2026-06-12 23:30", tz="America/New_York")
    assert snapshot.count("days=7", evening) == snapshot.count("days=7", date(2026, 6, 13))
    with pytest.raises(ValueError, match="date_from: .* has a time of day"):
        signaldex.Query(date_from=evening)
    for wrong in ("12.06.2026", "2026-02-30", "2026-6-1", "２０２６-06-12"):
        with pytest.raises(ValueError, match="date_to: .* is not a day"):
            signaldex.Query(date_to=wrong)
        with pytest.raises(ValueError, match="is not a day"):
            snapshot.count("", wrong)
    instant = Signal(1, "acme", "x", published_at="2026-06-12T10:00:00Z")  # type: ignore[arg-type]
    stored = index_of(instant).signal(1)
    assert stored is not None and stored.signal.published_at == datetime(2026, 6, 12, 10, tzinfo=timezone.utc)


def test_today_is_the_utc_date_unless_given() -> None:
    before = datetime.now(timezone.utc).date()
    index = index_of(Signal(1, "acme", "x", date=before))
    assert index.count("days=7") == len(index.matches("days=7")) == len(index.search("days=7")) == 1
    cursor = index_of(Signal(1, "acme", "a"), Signal(2, "acme", "b")).search("limit=1").next_cursor
    assert before <= signaldex.Cursor.parse(cursor or "").day <= datetime.now(timezone.utc).date()
    assert index.facets("")["country"][0].label == "Germany"
    assert signaldex.Filter(days=7).matches(Signal(1, "acme", "x", date=before), ACME)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("q", 7),
        ("country", ["Germany"]),
        ("limit", "ten"),
        ("categories", "funding"),
        ("ids", ["1"]),
        ("date_from", 7),
        ("date_to", pandas.NaT),
        ("funding_min", "much"),
        ("count_only", "yes"),
        ("facets", "country"),
        ("date_ranges", 7),
        ("cursor", 7),
        ("order", 7),
    ],
)
def test_errors_of_types_name_the_argument(name: str, value: object) -> None:
    with pytest.raises(TypeError, match=f"^{name}: "):
        signaldex.Query(**{name: value})  # type: ignore[arg-type]


def test_errors_of_arguments_name_them() -> None:
    index = index_of(FULL)
    for wrong in (7, None, [1]):
        with pytest.raises(TypeError, match="query: .*not"):
            index.search(wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="filter: .*not"):
            index.count(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="^today: a date or a text .* not int"):
        index.count("", 7)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="^today: .*not NaTType"):
        index.count("", pandas.NaT)
    with pytest.raises(TypeError, match="since: .* not int"):
        index.changes("", 7)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="id: a whole number is wanted, not str"):
        index.signal("7")  # type: ignore[arg-type]
    for columns in (7, "id", [7]):
        with pytest.raises(TypeError, match="^columns: "):
            index.matches("").to_arrow(columns)  # type: ignore[arg-type]
