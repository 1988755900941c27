"""What each call does, and what it raises."""

from __future__ import annotations

import errno
import gzip
import io
import itertools
import pickle
import shutil
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import pytest

import signaldex
from signaldex import (
    Company,
    Cursor,
    Filter,
    Funding,
    Hiring,
    Index,
    IndexBuilder,
    Position,
    Query,
    Remove,
    SavedSearches,
    Signal,
    Upsert,
    json,
    sample,
)

TODAY = date(2026, 6, 30)
ACME = Company("acme", "Acme GmbH", country="Germany", employees=120)
FULL = Signal(
    9_999_999_999_999_999_999,
    "acme",
    "Acme raises €12M Series A",
    slug="acme-raises",
    evidence="It says so.",
    category="funding",
    date=date(2026, 6, 12),
    published_at=datetime(2026, 6, 12, 8, 30, 1, 250, tzinfo=timezone.utc),
    updated_at=datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=timezone.utc),
    activity_url="https://acme.example/a",
    author_name="Ann",
    author_title="CFO",
    author_url="https://acme.example/ann",
    funding=Funding("Series A", 12e6, "EUR"),
    hiring=Hiring("new-role", "engineering", "senior", "full-time", "remote"),
)


def index_of(*signals: Signal) -> Index:
    builder = IndexBuilder.in_memory()
    builder.add_company(ACME)
    for signal in signals:
        builder.add_signal(signal)
    return builder.finish()


def test_records_come_back_as_they_went_in() -> None:
    bare = Signal(1, "acme", "Acme hires")
    snapshot = index_of(FULL, bare).snapshot()
    found = snapshot.signal(FULL.id)
    assert found is not None and (found.signal, found.company) == (FULL, ACME)
    assert [item.signal for item in snapshot.search("", TODAY).records()] == [FULL, bare]
    assert [item.company_name for item in snapshot.matches("", TODAY)] == ["Acme GmbH"] * 2
    assert sorted((one.signal.id, one.company) for one in snapshot.scan()) == [(1, ACME), (FULL.id, ACME)]
    assert list(snapshot.scan_companies()) == [ACME]
    profile = snapshot.company("acme")
    assert profile is not None
    assert (profile.company, profile.signal_count, profile.latest_signal_date) == (ACME, 2, FULL.date)
    assert snapshot.signal(2) is None and snapshot.company("nobody") is None
    assert snapshot.contains(1) and not snapshot.contains(2)
    assert snapshot.has_company("acme") and not snapshot.has_company("nobody")
    assert json.parse_signal(json.write_signal(FULL)) == FULL
    assert json.parse_company(json.write_company(ACME).decode()) == ACME


def test_a_page_has_ids_rows_and_a_cursor() -> None:
    snapshot = index_of(*(Signal(id, "acme", "Acme hires") for id in range(1, 8))).snapshot()
    page = snapshot.search("q=hires&limit=3", TODAY)
    assert page.ids == [7, 6, 5] == list(page) and len(page) == 3
    assert [row["id"] for row in page.rows()] == page.ids
    assert list(page.rows()[0])[:3] == ["id", "slug", "title"]
    assert snapshot.records(page) == page.records()
    cursor = Cursor.parse(page.next_cursor or "")
    assert (cursor.last_id, cursor.day, cursor.order) == (5, TODAY, "newest")
    for given in (cursor, str(cursor)):
        following = Query(keywords="hires", limit=3, cursor=given)
        assert snapshot.search(following, TODAY).ids == [4, 3, 2]
    assert following.cursor == cursor and following.page is None
    assert [len(page) for page in snapshot.pages("q=hires&limit=3", TODAY)] == [3, 3, 1]
    assert not snapshot.search("q=fires", TODAY)
    assert snapshot.search("q=hires&limit=3&page=2", TODAY).ids == [4, 3, 2]


def test_instants_of_any_zone_are_stored_as_utc() -> None:
    zone = timezone(timedelta(hours=5, minutes=30))
    signal = replace(FULL, published_at=datetime(2026, 6, 12, 14, 0, tzinfo=zone))
    stored = index_of(signal).snapshot().signal(signal.id)
    assert stored is not None and stored.signal.published_at == signal.published_at
    assert stored.signal.published_at is not None and stored.signal.published_at.tzinfo == timezone.utc
    with pytest.raises(signaldex.InvalidRecord, match="time zone"):
        index_of(replace(FULL, published_at=datetime(2026, 6, 12)))


@pytest.mark.parametrize(
    ("field", "signal"),
    [
        ("id", replace(FULL, id=0)),
        ("id", replace(FULL, id=-1)),
        ("id", replace(FULL, id=1 << 70)),
        ("funding.amount", replace(FULL, funding=Funding(amount=float("nan")))),
        ("funding.amount", replace(FULL, funding=Funding(amount=-1.0))),
        ("funding.currency", replace(FULL, funding=Funding(currency="euro"))),
    ],
)
def test_invalid_records_are_refused_by_field(field: str, signal: Signal) -> None:
    with pytest.raises(signaldex.InvalidRecord) as refused:
        index_of(signal)
    assert refused.value.field == field and isinstance(refused.value, ValueError)


def test_values_of_a_wrong_type_are_type_errors() -> None:
    index = index_of()
    for wrong in (replace(FULL, title=7), replace(FULL, funding={}), replace(FULL, date=20260612)):
        with pytest.raises(TypeError):
            index_of(wrong)
    with index.writer() as writer, pytest.raises(TypeError, match="a Signal is wanted, not Company"):
        writer.upsert_signal(ACME)  # type: ignore[arg-type]
    for call in (lambda: index.search(7, TODAY), lambda: index.count("", 20260612)):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(TypeError, match="did you mean keywords"):
        Query(keyword="a")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="not a text"):
        Query(categories="funding")


def test_an_invalid_query_names_all_its_errors() -> None:
    with pytest.raises(signaldex.InvalidQuery) as refused:
        Query.parse("days=8&contry=France&limit=0")
    errors = {error.parameter: error for error in refused.value.errors}
    assert set(errors) == {"days", "contry", "limit"}
    assert errors["contry"].code == "unknown_parameter" and "country" in errors["contry"].message
    with pytest.raises(signaldex.InvalidQuery) as refused:
        Query(days=8, size="huge", limit=-1, page=0, ids=[0, 1 << 64], funding_currency="euro")  # type: ignore[typeddict-item]
    names = sorted({error.parameter for error in refused.value.errors})
    assert names == ["days", "fundingCurrency", "ids", "limit", "page", "size"]
    copy = pickle.loads(pickle.dumps(refused.value))
    assert copy.errors == refused.value.errors and str(copy) == str(refused.value)
    with pytest.raises(signaldex.InvalidQuery):
        index_of().count("limit=3", TODAY)


def test_queries_are_values() -> None:
    query = Query(keywords='"series a" -crypto', country="GERMANY", size="501+", order="oldest", limit=7)
    assert (query.order, query.limit, query.count_only) == ("oldest", 7, False)
    assert query.filter == Filter.parse("q=-crypto \"series a\"&country=germany&size=501%2B")
    assert hash(query.filter) == hash(Filter(country="Germany", keywords='"series a" -crypto', size="501+"))
    for value in (query, query.filter, Cursor.parse(str(index_cursor())), Position.START):
        assert pickle.loads(pickle.dumps(value)) == value
    changed = query.replace(country=None, limit=9)
    assert changed.filter == query.filter.without("country") and changed.limit == 9
    assert Filter().is_empty and not query.filter.is_empty
    assert query.filter.title_words() == ["series", "a"]
    assert query.filter.matched_words("Zürich: Series A") == [(8, 14), (15, 16)]
    assert Query(facets={"country": ["Germany"]}).filter == Filter(country="germany")
    assert Query(country=None, categories=[]).filter.is_empty


def index_cursor() -> str:
    return index_of(FULL, Signal(1, "acme", "a")).search("limit=1", TODAY).next_cursor or ""


def test_a_writer_commits_and_closes() -> None:
    index = index_of(FULL)
    before = index.snapshot()
    with index.writer() as writer:
        with pytest.raises(signaldex.IndexLocked):
            index.writer()
        with pytest.raises(signaldex.UnknownCompany):
            writer.upsert_signal(Signal(2, "nobody", "x"))
        writer.upsert_signals([Signal(id, "acme", "Acme opens a plant") for id in range(2, 2502)])
        assert writer.delete_signal(FULL.id) and not writer.delete_signal(7_000)
        assert writer.has_signal(2) and not writer.has_signal(FULL.id) and writer.has_company("acme")
        report = writer.commit()
        assert (report.signals_written, report.signals_deleted) == (2500, 1)
        with pytest.raises(signaldex.InvalidRecord, match="2500 signals"):
            writer.delete_company("acme")
        writer.delete_company("acme", cascade=True)
    with pytest.raises(signaldex.Closed):
        writer.commit()
    assert index.snapshot().signal_count == 2500, "what was not committed is lost"
    assert before.signal_count == 1
    with index.writer() as writer:
        assert writer.delete_company("acme", cascade=True)
        writer.commit()
        writer.compact()
        writer.wait_for_merges()
    assert index.snapshot().statistics().signals == index.snapshot().company_count() == 0


def test_a_directory_holds_an_index(tmp_path: Path) -> None:
    with pytest.raises(signaldex.IndexMissing) as missing:
        Index.open(tmp_path / "none")
    assert isinstance(missing.value, FileNotFoundError) and missing.value.path
    companies, signals = tmp_path / "companies.jsonl", tmp_path / "signals.jsonl"
    companies.write_bytes(json.write_company(ACME))
    signals.write_bytes(json.write_signal(FULL) + b'{"id": "x", "colour": 1}\n')
    with pytest.raises(signaldex.InvalidRecord, match="signals.jsonl"):
        Index.build(tmp_path / "a", companies, signals)
    builder = IndexBuilder.in_directory(tmp_path / "index", compress_records=False, remember_deletions=1)
    report = builder.load(companies, signals, on_invalid="skip")
    assert (report.companies, report.signals, report.rejected) == (1, 1, 1)
    assert (report.rejections[0].line, report.rejections[0].field) == (2, "id")
    index = builder.finish()
    with pytest.raises(signaldex.Closed):
        builder.finish()
    other = Index.open(str(tmp_path / "index"))
    assert other.refresh() == "unchanged"
    position = index.position
    with index.writer() as writer:
        for _ in range(4):
            writer.delete_signal(FULL.id)
            writer.commit()
            writer.upsert_signal(FULL)
            writer.commit()
    assert other.refresh() == "changed" and other.changed_at is not None
    other.snapshot().verify()
    statistics = other.snapshot().statistics()
    assert statistics.signals == 1 and dict(statistics.sections)
    assert statistics.identity == index.snapshot().identity
    with pytest.raises(signaldex.PositionExpired):
        index.changes("", position, TODAY)


def test_a_position_that_a_restored_backup_lost_is_refused(tmp_path: Path) -> None:
    directory, backup = tmp_path / "index", tmp_path / "backup"
    builder = IndexBuilder.in_directory(directory)
    builder.add_company(ACME)
    index = builder.finish()
    before = index.snapshot().position
    shutil.copytree(directory, backup)

    def commit(title: str) -> None:
        with index.writer() as writer:
            writer.upsert_signal(replace(FULL, title=title))
            writer.commit()

    commit("Lost")
    lost = index.snapshot().position
    shutil.rmtree(directory)
    shutil.copytree(backup, directory)
    index.refresh()
    with pytest.raises(signaldex.PositionAhead):
        index.changes("", lost, TODAY)
    commit("Kept")
    with pytest.raises(signaldex.PositionDiverged):
        index.changes("", lost, TODAY)
    assert len(list(index.changes("", before, TODAY))) == 1


def test_a_dump_is_built_again_without_loss(tmp_path: Path) -> None:
    snapshot = sample.index().snapshot()

    def dump(of: signaldex.Snapshot, name: str) -> list[Path]:
        files = [tmp_path / f"{name}-companies.jsonl.gz", tmp_path / f"{name}-signals.jsonl.gz"]
        with gzip.open(files[0], "xb") as companies, gzip.open(files[1], "xb") as signals:
            counts = of.dump(companies, signals)
        assert counts == (of.company_count(), of.signal_count)
        return files

    first = dump(snapshot, "first")
    builder = IndexBuilder.in_memory()
    report = builder.load(*first)
    assert (report.companies, report.signals) == (snapshot.company_count(), snapshot.signal_count)
    second = dump(builder.finish().snapshot(), "second")
    for one, other in zip(first, second):
        assert gzip.decompress(one.read_bytes()) == gzip.decompress(other.read_bytes())


def test_what_a_file_raises_ends_a_dump() -> None:
    class Full(io.BytesIO):
        def write(self, data: object, /) -> int:
            raise OSError(errno.ENOSPC, "no space")

    with pytest.raises(OSError, match="no space") as raised:
        sample.index().snapshot().dump(io.BytesIO(), Full())
    assert raised.value.errno == errno.ENOSPC


def test_a_damaged_index_is_corrupt(tmp_path: Path) -> None:
    builder = IndexBuilder.in_directory(tmp_path / "index")
    builder.add_company(ACME)
    builder.add_signal(FULL)
    builder.finish()
    segment = max((tmp_path / "index").iterdir(), key=lambda path: path.stat().st_size)
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    with pytest.raises(signaldex.CorruptIndex) as corrupt:
        Index.open(tmp_path / "index").snapshot().verify()
    assert corrupt.value.path == str(segment)


def test_questions_answer_right_or_raise_on_damage(tmp_path: Path) -> None:
    builder = IndexBuilder.in_directory(tmp_path / "index")
    builder.add_company(ACME)
    builder.add_signal(FULL)
    builder.finish()
    segment = max((tmp_path / "index").iterdir(), key=lambda path: path.stat().st_size)
    whole = segment.read_bytes()
    word = FULL.title.split()[0]
    raised = 0
    for offset in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[offset] ^= 0xFF
        segment.write_bytes(damaged)
        try:
            snapshot = Index.open(tmp_path / "index").snapshot()
            assert snapshot.count(f"q={word}", TODAY) == 1
            assert snapshot.search(f"q={word}", TODAY).ids == [FULL.id]
            assert len(list(snapshot.pages(f"q={word}", TODAY))) == 1
            assert snapshot.contains(FULL.id)
            snapshot.facets("", TODAY)
        except (signaldex.CorruptIndex, signaldex.ForeignFile, signaldex.NewerFormat) as error:
            assert str(segment) in str(error)
            raised += 1
    assert raised


def test_changes_tell_what_is_new_and_gone() -> None:
    index = index_of(Signal(1, "acme", "Acme hires"), Signal(2, "acme", "Acme hires"))
    position = index.position
    with index.writer() as writer:
        writer.delete_signal(1)
        writer.upsert_signal(Signal(3, "acme", "Acme hires again"))
        writer.upsert_signal(Signal(2, "acme", "Acme fires"))
        writer.commit()
    changes = index.changes("q=hires", position, TODAY)
    assert changes.has_more()
    told = list(changes)
    assert [change for change in told if isinstance(change, Remove)] == [Remove(1), Remove(2)]
    (new,) = (change for change in told if isinstance(change, Upsert))
    assert new.is_new and new.item.signal.title == "Acme hires again"
    assert changes.position == index.position and not changes.has_more()
    assert list(index.changes("q=hires", str(index.position), TODAY)) == []
    with pytest.raises(signaldex.PositionOfOtherIndex):
        index_of().changes("", position, TODAY)
    with pytest.raises(signaldex.InvalidPosition):
        index.changes("", "nonsense", TODAY)
    with pytest.raises(signaldex.InvalidCursor):
        Cursor.parse("nonsense")


def test_the_position_on_the_way_is_that_of_what_was_given() -> None:
    index = index_of(*(Signal(id, "acme", "Acme hires") for id in range(1, 101)))
    changes = index.changes("", Position.START, TODAY)
    seen = [next(changes) for _ in range(33)]
    rest = list(index.changes("", changes.position, TODAY))
    ids = [change.item.signal.id for change in [*seen, *rest] if isinstance(change, Upsert)]
    assert ids == list(range(1, 101))


def test_saved_searches_match_what_changes() -> None:
    index = index_of()
    searches = SavedSearches()
    assert searches.insert("jobs", "q=hires -intern") is None
    searches.insert("germany", Filter(country="Germany"))
    assert searches.insert("jobs", Query(keywords="hires")) == Filter(keywords="hires -intern")
    assert len(searches) == 2 and "jobs" in searches and "none" not in searches
    assert list(searches) == ["germany", "jobs"] == [name for name, _ in searches.items()]
    before, position = index.snapshot(), index.position
    with index.writer() as writer:
        writer.upsert_signal(Signal(1, "acme", "Acme hires"))
        writer.commit()
    matched = searches.matching(index.snapshot(), position, TODAY)
    (one,) = matched
    assert one.searches == ["germany", "jobs"] and one.is_new and one.item.signal.id == 1
    assert matched.position == index.position
    assert list(searches.newly_matching(before, index.snapshot(), TODAY)) == [one]
    assert searches.matches(FULL, ACME, TODAY) == ["germany"]
    assert searches.remove("germany") == Filter(country="Germany") and searches.get("germany") is None
    sampled = SavedSearches.for_index(index.snapshot(), TODAY)
    sampled.insert("jobs", "q=hires")
    assert [one.searches for one in sampled.matching(index.snapshot(), "start", TODAY)] == [["jobs"]]


def test_hints_are_those_of_the_library() -> None:
    snapshot = sample.index().snapshot()
    golden = (Path(__file__).parents[3] / "data/golden/hints.txt").read_text(encoding="utf-8").splitlines()
    queries = [line for line in golden if not line.startswith("  ")]
    assert len(queries) > 30
    for query in queries:
        start = golden.index(query) + 1
        hints = [line[2:] for line in itertools.takewhile(lambda line: line.startswith("  "), golden[start:])]
        found = snapshot.count(query, sample.AS_OF) > 0
        assert snapshot.hints(query, found=found) == hints, query


def test_plans_facets_and_hints() -> None:
    snapshot = sample.index().snapshot()
    explained = snapshot.explain('q="series a"&country=Germny', sample.AS_OF)
    assert explained.hints == ['no signal has country "germny"; did you mean Germany?']
    assert snapshot.hints("country=Germny") == explained.hints
    assert snapshot.hints("q=series OR a", found=True)[0].startswith("OR in q")
    named = snapshot.explain("companies=Pomelora,nobody", sample.AS_OF).companies
    assert named == {"Pomelora": ["pomelora"], "nobody": []}
    explained = snapshot.explain('q="series a"', sample.AS_OF)
    assert explained.matches == snapshot.count('q="series a"', sample.AS_OF) > 0
    assert explained.segments[0].count.steps and "matches" in str(explained)
    assert explained.page_time > 0 and explained.segments[0].rows == snapshot.signal_count
    facets = snapshot.facets("", sample.AS_OF)
    assert list(facets)[:2] == ["category", "country"] and len(facets) == 11
    assert sum(value.count for value in facets["category"]) <= snapshot.signal_count
    assert list(snapshot.facets("", sample.AS_OF, ["size"])) == ["size"]
    with pytest.raises(ValueError, match="they are category"):
        snapshot.facets("", sample.AS_OF, ["sizes"])  # type: ignore[list-item]
    assert {"q", "country"} <= {parameter.name for parameter in signaldex.parameters()}
    assert signaldex.text.terms("Café Zürich's C++") == ["cafe", "zurich", "c++"]
    assert signaldex.text.words("McDonald’s") == [["mcdonald", "mcdonalds"]]
    assert signaldex.text.fold_value(" UNITED  states") == "united states"


def test_a_generated_corpus_is_the_same_for_its_seed() -> None:
    corpus = signaldex.Corpus(500, seed=3)
    assert corpus.signal(7) == signaldex.Corpus(500, seed=3).signal(7)
    builder = IndexBuilder.in_memory()
    builder.add_corpus(corpus)
    snapshot = builder.finish().snapshot()
    assert (snapshot.signal_count, snapshot.company_count()) == (corpus.signal_count, corpus.company_count)
    found = snapshot.signal(corpus.signal(7).id)
    assert found is not None and found.signal == corpus.signal(7)
    with pytest.raises(IndexError):
        corpus.company(corpus.company_count)
    with pytest.raises(signaldex.InvalidRecord):
        signaldex.Corpus(1 << 40)
