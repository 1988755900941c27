"""The package beside a slow oracle, over generated records and queries."""

from __future__ import annotations

import os
import random
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import oracle
import pyarrow
import pytest
from oracle import Row

import signaldex
from signaldex import Company, Filter, Funding, Hiring, Index, IndexBuilder, Query, Signal

TODAY = date(2026, 6, 30)
QUERIES = int(os.environ.get("SIGNALDEX_QUERIES", "1500"))
SEED = int(os.environ.get("SIGNALDEX_SEED", "29"))
PAIRS = int(os.environ.get("SIGNALDEX_PAIRS", "50000"))

# What the rules of the analysis are about, which tests in Rust put together, too.
PIECES = (Path(__file__).parents[3] / "data/searches/pieces.txt").read_text(encoding="utf-8").splitlines()

WORDS = "acme raises series a b Café ZÜRICH Straße hires head of sales robotics opens plant ai".split()
COUNTRIES = ["Germany", "GERMANY", "france", "Côte d'Ivoire", None]
INDUSTRIES = ["Robotics", "robotics", "Food", None]
CATEGORIES = ["funding", "hiring", "Hiring", "launch", None]
STAGES = ["Seed", "seed", "Series A", None]
CURRENCIES = ["EUR", "USD", "GBP", "SEK", None]
KINDS = {
    "hiring_type": ["new-role", "replacement", None],
    "job_function": ["engineering", "sales", None],
    "seniority": ["senior", "junior", None],
    "employment_type": ["full-time", None],
    "work_arrangement": ["remote", "on-site", None],
}


def some_company(random: random.Random, number: int) -> Company:
    return Company(
        f"c-{number}",
        " ".join(random.choices(WORDS, k=random.randint(1, 3))),
        country=random.choice(COUNTRIES),
        industry=random.choice(INDUSTRIES),
        employees=random.choice([None, 0, 1, 49, 50, 100, 101, 500, 501]),
    )


def some_signal(random: random.Random, id: int) -> Signal:
    funding = Funding(random.choice(STAGES), random.choice([None, 0.0, 1e6, 2.5e6]), random.choice(CURRENCIES))
    hiring = Hiring(**{name: random.choice(values) for name, values in KINDS.items()})
    return Signal(
        id,
        f"c-{random.randrange(30)}",
        " ".join(random.choices(WORDS, k=random.randint(1, 8))),
        category=random.choice(CATEGORIES),
        date=random.choice([None, *[TODAY - timedelta(days=age) for age in (0, 6, 7, 29, 30, 89, 90, 400)]]),
        funding=funding if random.random() < 0.5 else None,
        hiring=hiring if random.random() < 0.5 else None,
    )


def corpus(random: random.Random) -> tuple[Index, dict[int, Row]]:
    """An index of several segments with deletions, and what it holds."""
    companies = {company.slug: company for company in (some_company(random, n) for n in range(30))}
    builder = IndexBuilder.in_memory()
    builder.add_companies(companies.values())
    signals = {id: some_signal(random, id) for id in random.sample(range(1, 10**18), 300)}
    builder.add_signals(signals.values())
    index = builder.finish()
    with index.writer() as writer:
        for _ in range(4):
            for id in random.sample(sorted(signals), 20):
                writer.delete_signal(id)
                del signals[id]
            for id in [*random.sample(sorted(signals), 10), *random.sample(range(1, 10**18), 20)]:
                signals[id] = some_signal(random, id)
                writer.upsert_signal(signals[id])
            changed = some_company(random, random.randrange(30))
            companies[changed.slug] = changed
            writer.upsert_company(changed)
            writer.commit()
    return index, {id: Row(signal, companies[signal.company_slug]) for id, signal in signals.items()}


def some_text(random: random.Random, minus: bool) -> str:
    def piece() -> str:
        chosen = random.choices(WORDS, k=random.randint(1, 2))
        text = f'"{" ".join(chosen)}"' if len(chosen) > 1 else chosen[0]
        if len(text) > 4 and text.isalpha() and random.random() < 0.3:
            text = text[: random.randint(3, 5)] + "*"
        return "-" + text if minus and random.random() < 0.3 else text

    return " ".join(piece() for _ in range(random.randint(1, 3)))


def some_parameters(random: random.Random, rows: dict[int, Row]) -> dict[str, Any]:
    def some(values: list[Any], most: int = 2) -> list[Any]:
        values = [value for value in values if value is not None]
        return random.choices(values, k=random.randint(1, most))

    ids = sorted(rows)
    possible: dict[str, Any] = {
        "keywords": lambda: some_text(random, True),
        "all": lambda: some_text(random, False),
        "any": lambda: some_text(random, False),
        "exclude": lambda: some_text(random, False),
        "exact": lambda: " ".join(random.choices(WORDS, k=2)),
        "company": lambda: random.choice(WORDS),
        "company_slug": lambda: f"c-{random.randrange(32)}",
        "companies": lambda: some(["c-1", "c-2", rows[ids[0]].company.name.upper(), "nobody"], 3),
        "country": lambda: random.choice(["germany", "FRANCE", "cote d’ivoire", "Spain"]),
        "industry": lambda: random.choice(["ROBOTICS", "food"]),
        "size": lambda: random.choice(["1-49", "50-100", "101-500", "501+"]),
        "categories": lambda: some(CATEGORIES),
        "funding_stage": lambda: random.choice(["SEED", "series a"]),
        "funding_currency": lambda: random.choice(["EUR", "USD", "GBP"]),
        "funding_min": lambda: random.choice([0.0, 1e6, 3e6]),
        "funding_max": lambda: random.choice([0.0, 1e6, 3e6]),
        "days": lambda: random.choice([7, 30, 90]),
        "date_ranges": lambda: some([7, 30, 90, "older"]),
        "date_from": lambda: TODAY - timedelta(days=random.choice([0, 30, 500])),
        "date_to": lambda: TODAY - timedelta(days=random.choice([0, 30, 500])),
        "ids": lambda: [*some(ids, 20), 5],
        "activity_ids": lambda: some(ids, 40),
    }
    for name, values in KINDS.items():
        plural = "seniorities" if name == "seniority" else f"{name}s"
        possible[plural] = lambda values=values: some(values)
    names = random.sample(sorted(possible), random.choice([0, 1, 1, 2, 2, 3]))
    return {name: possible[name]() for name in names}


def build(parameters: dict[str, Any], **paging: Any) -> Query | None:
    """The query, unless its parameters exclude each other."""
    try:
        return Query(**parameters, **paging)
    except signaldex.InvalidQuery as error:
        assert {one.code for one in error.errors} <= {"conflicting_parameters", "invalid_value"}, error
        return None


def test_answers_agree_with_the_oracle() -> None:
    chance = random.Random(SEED)
    asked = found = 0
    for round in range(max(1, QUERIES // 250)):
        index, rows = corpus(chance)
        snapshot = index.snapshot()
        assert snapshot.signal_count == len(rows)
        for _ in range(250):
            parameters = some_parameters(chance, rows)
            query = build(parameters, limit=chance.choice([1, 7, 50]))
            if query is None:
                continue
            wanted = [id for id in sorted(rows) if oracle.matches(parameters, rows[id], TODAY)]
            check(snapshot, query, parameters, wanted, rows, chance)
            asked += 1
            found += len(wanted)
    print(f"{asked} queries, {found} matches")
    assert asked > QUERIES // 2 and found > asked


def check(
    snapshot: signaldex.Snapshot,
    query: Query,
    parameters: dict[str, Any],
    wanted: list[int],
    rows: dict[int, Row],
    chance: random.Random,
) -> None:
    newest = wanted[::-1]
    assert snapshot.count(query, TODAY) == len(wanted), parameters
    assert list(snapshot.matches(query, TODAY).ids()) == newest, parameters
    oldest = snapshot.matches(query, TODAY, "oldest")
    assert [item.signal for item in oldest] == [rows[id].signal for id in wanted], parameters
    if wanted:
        start = chance.choice(wanted)
        assert list(oldest.after(start).ids()) == [id for id in wanted if id > start]
    pages = list(snapshot.pages(query, TODAY))
    assert [id for page in pages for id in page] == newest, parameters
    walked, step = [], query
    while True:
        page = snapshot.search(step, TODAY)
        walked += page.ids
        if page.next_cursor is None:
            break
        step = query.replace(cursor=page.next_cursor)
    assert walked == newest, parameters
    table = pyarrow.table(snapshot.matches(query, TODAY).arrow(["id", "title"], batch_rows=7))
    assert table["id"].to_pylist() == newest
    assert table["title"].to_pylist() == [rows[id].signal.title for id in newest]
    facets = chance.sample(sorted(oracle.FACET_OF.values()), 2)
    for name, counts in snapshot.facets(query, TODAY, facets).items():
        expected = oracle.facet_counts(parameters, name, list(rows.values()), TODAY)
        assert [(one.label, one.count) for one in counts] == expected, (parameters, name)
    for row in chance.sample(list(rows.values()), 5):
        assert query.filter.matches(row.signal, row.company, TODAY) == (row.signal.id in wanted)
    assert Filter.from_str(str(query.filter)) == query.filter


@pytest.mark.parametrize("seed", range(3))
def test_copies_that_follow_changes_hold_what_matches(seed: int) -> None:
    chance = random.Random(seed)
    index, rows = corpus(chance)
    filter = Filter(any="acme raises sales")
    position = signaldex.Position.START
    copy: set[int] = set()
    with index.writer() as writer:
        for _ in range(20):
            changes = index.changes(filter, position, TODAY)
            # Some are taken now, the rest from the position in the next round.
            for _ in range(chance.randrange(200)):
                change = next(changes, None)
                if isinstance(change, signaldex.Upsert):
                    copy.add(change.item.signal.id)
                elif isinstance(change, signaldex.Remove):
                    copy.discard(change.id)
            position = signaldex.Position.parse(str(changes.position))
            for id in chance.sample(sorted(rows), 5):
                writer.delete_signal(id)
                del rows[id]
            writer.upsert_signal(some_signal(chance, chance.randrange(1, 10**18)))
            writer.commit()
    for change in index.changes(filter, position, TODAY):
        if isinstance(change, signaldex.Upsert):
            copy.add(change.item.signal.id)
        else:
            copy.discard(change.id)
    assert copy == set(index.matches(filter, TODAY).ids())


def awkward_text(random: random.Random) -> str:
    text = random.choice(PIECES)
    for _ in range(random.randrange(6)):
        text += random.choice([" ", " ", " ", " ", "", "-", "\u3000", "/"]) + random.choice(PIECES)
    return text


def awkward_parameters(random: random.Random) -> dict[str, Any]:
    def keywords() -> str:
        def word() -> str:
            if random.random() < 0.25:
                left, right = random.choice(['""', "“”", "„“", "«»"])
                return left + awkward_text(random) + right
            if random.random() < 0.3:
                return random.choice(PIECES)[: random.randint(3, 5)] + random.choice("**＊")
            return random.choice(PIECES)

        return " ".join(random.choice(["", "", "", "", "-", "–"]) + word() for _ in range(random.randint(1, 3)))

    name = random.choice(["keywords", "keywords", "all", "any", "exclude", "exact", "company", "companies"])
    if name == "companies":
        return {name: [awkward_text(random)]}
    return {name: awkward_text(random) if name in ("exact", "company") else keywords()}


def test_awkward_texts_are_found_as_the_filter_says() -> None:
    chance = random.Random(SEED)
    records = 500
    asked = found = 0
    index, signals = awkward_corpus(chance, records)
    while asked < PAIRS:
        try:
            filter = Filter(**awkward_parameters(chance))
        except signaldex.InvalidQuery:
            continue
        wanted = [signal.id for signal, company in signals if filter.matches(signal, company, TODAY)]
        assert list(index.matches(filter, TODAY, "oldest").ids()) == wanted, filter
        assert index.count(filter, TODAY) == len(wanted), filter
        assert Filter.from_str(str(filter)) == filter
        saved = signaldex.SavedSearches()
        saved.insert("search", filter)
        matching = [signal.id for signal, company in signals if saved.matches(signal, company, TODAY)]
        assert matching == wanted, filter
        asked += records
        found += len(wanted)
    print(f"{asked} pairs, {found} match")
    assert found * 50 > asked


def awkward_corpus(random: random.Random, records: int) -> tuple[Index, list[tuple[Signal, Company]]]:
    """An index of two segments, and its signals with their companies."""
    companies = [Company(f"slug-{id}", awkward_text(random)) for id in range(1, records + 1)]
    signals = [Signal(id, f"slug-{id}", awkward_text(random)) for id in range(1, records + 1)]
    half = records // 2
    builder = IndexBuilder.in_memory()
    builder.add_companies(companies[:half])
    builder.add_signals(signals[:half])
    index = builder.finish()
    with index.writer() as writer:
        for signal, company in zip(signals[half:], companies[half:], strict=True):
            writer.upsert_company(company)
            writer.upsert_signal(signal)
        writer.commit()
    return index, list(zip(signals, companies, strict=True))
