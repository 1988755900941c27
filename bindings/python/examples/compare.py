"""This package beside tantivy-py: the same signals, the same queries, every answer checked.

usage: compare.py [--signals 1000000] [--queries 16] [--seed 1]

A page is the newest 50 ids, a count is exact. Queries are made before the timed part, and once more inside it, as
a program does that answers requests. tantivy has its titles analysed beforehand, values as single terms, its
documents sorted by id, one segment, and of two ways to the newest signals the faster one for each class: by the
column of ids, or by a constant score, where the order of documents decides. Times are medians over the queries of
a class, each the best of some runs; all queries of a class take turns.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cached_property, partial
from importlib.metadata import version
from typing import Any

import tantivy
from tantivy import FieldType, Occur

from signaldex import Company, Corpus, Found, IndexBuilder, Query, Signal, Snapshot, text

PAGE = 50
RUNS = 9
EPOCH = date(1970, 1, 1)
FACETS = ["country", "industry", "size", "category", "stage", "currency", "hiring_type", "job_function", "seniority"]


@dataclass
class Wanted:
    """One query, for both engines."""

    all: list[str] = field(default_factory=list)
    any: list[str] = field(default_factory=list)
    none: list[str] = field(default_factory=list)
    phrase: list[str] = field(default_factory=list)
    facets: dict[str, list[str]] = field(default_factory=dict)
    companies: list[str] = field(default_factory=list)
    days: tuple[date, date] | None = None
    amounts: tuple[float, float] | None = None

    @cached_property
    def parameters(self) -> dict[str, Any]:
        names = {"category": "categories", "stage": "funding_stage", "currency": "funding_currency"}
        names |= {"hiring_type": "hiring_types", "job_function": "job_functions", "seniority": "seniorities"}
        several = ("categories", "hiring_types", "job_functions", "seniorities")
        given: dict[str, Any] = {
            "all": " ".join(self.all) or None,
            "any": " ".join(self.any) or None,
            "exclude": " ".join(self.none) or None,
            "exact": " ".join(self.phrase) or None,
            "companies": self.companies,
        }
        for facet, values in self.facets.items():
            name = names.get(facet, facet)
            given[name] = values if name in several else values[0]
        if self.days:
            given |= {"date_from": self.days[0], "date_to": self.days[1]}
        if self.amounts:
            given |= {"funding_min": self.amounts[0], "funding_max": self.amounts[1]}
        return {name: value for name, value in given.items() if value}


class Tantivy:
    """A tantivy index of the same signals."""

    def __init__(self, snapshot: Snapshot) -> None:
        builder = tantivy.SchemaBuilder()
        builder.add_unsigned_field("id", fast=True)
        builder.add_text_field("title", tokenizer_name="whitespace")
        for name in [*FACETS, "company"]:
            builder.add_text_field(name, tokenizer_name="raw", index_option="basic", fast=True)
        builder.add_integer_field("day", indexed=True, fast=True)
        builder.add_float_field("amount", indexed=True, fast=True)
        self.schema = builder.build()
        self.index = tantivy.Index(
            self.schema, tempfile.mkdtemp(), sort_by_field="id", sort_order=tantivy.Order.Desc
        )
        analyzer = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
        self.index.register_tokenizer("whitespace", analyzer)
        writer = self.index.writer(1 << 30, 1)
        companies = {company.slug: company for company in snapshot.scan_companies()}
        for item in snapshot.matches("", EPOCH):
            found = Found(item.signal, companies[item.signal.company_slug])
            writer.add_document(tantivy.Document.from_dict(document(found), self.schema))
        writer.commit()
        writer.wait_merging_threads()
        self.index.reload()
        self.searcher = self.index.searcher()

    def term(self, name: str, value: str) -> tantivy.Query:
        return tantivy.Query.term_query(self.schema, name, value, "basic")

    def query(self, wanted: Wanted) -> tantivy.Query:
        clauses = [(Occur.Must, self.term("title", word)) for word in wanted.all]
        if wanted.phrase:
            words: list[str | tuple[int, str]] = list(wanted.phrase)
            clauses.append((Occur.Must, tantivy.Query.phrase_query(self.schema, "title", words)))
        unions = [("title", wanted.any), *wanted.facets.items(), ("company", wanted.companies)]
        clauses += [(Occur.Must, self.union(name, values)) for name, values in unions if values]
        if wanted.days:
            first, last = ((day - EPOCH).days for day in wanted.days)
            clauses.append((Occur.Must, self.range("day", FieldType.Integer, first, last)))
        if wanted.amounts:
            clauses.append((Occur.Must, self.range("amount", FieldType.Float, *wanted.amounts)))
        clauses += [(Occur.MustNot, self.term("title", word)) for word in wanted.none]
        if not clauses:
            return tantivy.Query.all_query()
        return clauses[0][1] if len(clauses) == 1 else tantivy.Query.boolean_query(clauses)

    def union(self, name: str, values: list[str]) -> tantivy.Query:
        terms = [self.term(name, value if name == "title" else key(name, value)) for value in values]
        if len(terms) == 1:
            return terms[0]
        return tantivy.Query.boolean_query([(Occur.Should, term) for term in terms])

    def range(self, name: str, kind: FieldType, first: float, last: float) -> tantivy.Query:
        return tantivy.Query.range_query(self.schema, name, kind, first, last)

    def by_column(self, query: tantivy.Query) -> list[int]:
        found = self.searcher.search(query, PAGE, count=False, order_by_field="id")
        return [id for id, _ in found.hits]

    def by_constant_score(self, query: tantivy.Query) -> list[int]:
        query = tantivy.Query.const_score_query(query, 1.0)
        hits = self.searcher.search(query, PAGE, count=False).hits
        return self.searcher.fast_field_values("id", [address for _, address in hits])  # type: ignore[return-value]

    def count(self, query: tantivy.Query) -> int:
        return int(self.searcher.search(query, 1, count=True).count)  # type: ignore[attr-defined]


def key(name: str, value: str) -> str:
    """A value as it is compared."""
    return value if name == "company" else text.fold_value(value)


def values_of(signal: Signal, company: Company) -> dict[str, str | None]:
    funding, hiring = signal.funding, signal.hiring
    sizes = [(49, "1-49"), (100, "50-100"), (500, "101-500"), (1 << 62, "501+")]
    employees = company.employees or 0
    return {
        "country": company.country,
        "industry": company.industry,
        "size": next(name for most, name in sizes if employees <= most) if employees > 0 else None,
        "category": signal.category,
        "stage": funding.stage if funding else None,
        "currency": funding.currency if funding else None,
        "hiring_type": hiring.hiring_type if hiring else None,
        "job_function": hiring.job_function if hiring else None,
        "seniority": hiring.seniority if hiring else None,
    }


def document(found: Found) -> dict[str, Any]:
    signal = found.signal
    fields: dict[str, Any] = {
        "id": signal.id,
        "title": " ".join(text.terms(signal.title)),
        "company": signal.company_slug,
    }
    values = values_of(signal, found.company)
    fields |= {name: key(name, value) for name, value in values.items() if value}
    if signal.date:
        fields["day"] = (signal.date - EPOCH).days
    if signal.funding and signal.funding.amount is not None:
        fields["amount"] = signal.funding.amount
    return fields


class Draw:
    """Draws queries from signals that there are."""

    def __init__(self, snapshot: Snapshot, corpus: Corpus, seed: int) -> None:
        self.random, self.snapshot, self.today = random.Random(seed), snapshot, corpus.as_of
        numbers = self.random.sample(range(corpus.signal_count), min(20_000, corpus.signal_count))
        ids = [corpus.signal(number).id for number in numbers]
        self.found = [found for found in map(snapshot.signal, ids) if found]
        self.frequencies: dict[str, int] = {}

    def frequency(self, word: str) -> float:
        if word not in self.frequencies:
            self.frequencies[word] = self.snapshot.count(Query(all=word), self.today)
        return self.frequencies[word] / self.snapshot.signal_count

    def sample(self) -> Found:
        return self.random.choice(self.found)

    def word(self, least: float, most: float = 1.0, of: Found | None = None) -> str:
        while True:
            word = self.random.choice(text.terms((of or self.sample()).signal.title))
            if least <= self.frequency(word) <= most:
                return word
            of = None if self.random.random() < 0.1 else of

    def words(self, number: int) -> list[str]:
        words: set[str] = set()
        while len(words) < number:
            words.add(self.word(0.002))
        return sorted(words)

    def of_one_title(self, number: int) -> list[str]:
        while True:
            words = sorted(set(text.terms(self.sample().signal.title)))
            common = [word for word in words if self.frequency(word) >= 0.002]
            if len(common) >= number:
                return self.random.sample(common, number)

    def phrase(self, length: int) -> list[str]:
        while True:
            words = text.terms(self.sample().signal.title)
            start = self.random.randrange(max(1, len(words) - length))
            phrase = words[start : start + length]
            if len(phrase) == length and all(self.frequency(word) >= 0.002 for word in phrase):
                return phrase

    def facets(self, *names: str) -> tuple[Found, dict[str, list[str]]]:
        while True:
            found = self.sample()
            values = values_of(found.signal, found.company)
            chosen = {name: [value] for name in names if (value := values[name])}
            if len(chosen) == len(names):
                return found, chosen

    def last_days(self) -> tuple[date, date]:
        return self.today - timedelta(days=self.random.choice([7, 30, 90]) - 1), self.today

    def funding(self) -> Wanted:
        while True:
            found, facets = self.facets("stage", "currency")
            amount = found.signal.funding.amount if found.signal.funding else None
            if amount and facets["currency"][0] in ("USD", "EUR", "GBP"):
                return Wanted(all=[self.word(0.002, of=found)], facets=facets, amounts=(amount // 2, amount * 2))

    def categories(self) -> Wanted:
        chosen: set[str] = set()
        while len(chosen) < 5:
            chosen |= {self.sample().signal.category or "funding"}
        day = next(found.signal.date for found in iter(self.sample, None) if found.signal.date)
        days = (day, min(self.today, day + timedelta(days=self.random.randint(14, 365))))
        return Wanted(facets={"category": sorted(chosen)}, days=days)

    def no_hit(self) -> Wanted:
        while True:
            wanted = Wanted(all=self.words(2), facets=self.facets("country", "industry")[1])
            if self.snapshot.count(Query(**wanted.parameters), self.today) == 0:
                return wanted

    def companies(self, number: int) -> Wanted:
        slugs: set[str] = set()
        while len(slugs) < number:
            slugs.add(self.sample().company.slug)
        return Wanted(companies=sorted(slugs))

    def classes(self) -> dict[str, Callable[[], Wanted]]:
        return {
            "no filter": Wanted,
            "frequent term": lambda: Wanted(all=[self.word(0.01)]),
            "rare term": lambda: Wanted(all=[self.word(0, 50 / self.snapshot.signal_count)]),
            "two or three terms": lambda: Wanted(all=self.of_one_title(self.random.choice([2, 3]))),
            "any of 3 to 6 terms": lambda: Wanted(any=self.words(self.random.randint(3, 6))),
            "phrase of 2 or 3 words": lambda: Wanted(phrase=self.phrase(self.random.choice([2, 3]))),
            "term without two others": lambda: Wanted(all=(three := self.words(3))[:1], none=three[1:]),
            "term + country": lambda: self.with_word("country"),
            "term + country + industry + size": lambda: self.with_word("country", "industry", "size"),
            "country + size": lambda: Wanted(facets=self.facets("country", "size")[1]),
            "country + size + last days": lambda: Wanted(
                facets=self.facets("country", "size")[1], days=self.last_days()
            ),
            "two hiring attributes + country": lambda: Wanted(
                facets=self.facets("job_function", "seniority", "country")[1]
            ),
            "five categories + dates": self.categories,
            "one company": lambda: self.companies(1),
            "20 companies": lambda: self.companies(20),
            "stage + currency + amounts + term": self.funding,
            "conjunction without a hit": self.no_hit,
        }

    def with_word(self, *names: str) -> Wanted:
        found, facets = self.facets(*names)
        return Wanted(all=[self.word(0.002, of=found)], facets=facets)


def median_time(calls: list[Callable[[], object]]) -> float:
    """The median of the best time of each call, in microseconds; the calls of a round take turns."""
    best = [float("inf")] * len(calls)
    for _ in range(RUNS):
        for number, call in enumerate(calls):
            started = time.perf_counter()
            call()
            best[number] = min(best[number], time.perf_counter() - started)
    return statistics.median(best) * 1e6


def median_of(call: Callable[[Any], object], arguments: list[Any]) -> float:
    return median_time([partial(call, argument) for argument in arguments])


def compare(snapshot: Snapshot, other: Tantivy, draw: Draw, queries: int) -> Iterator[tuple[str, list[float]]]:
    """The times of each class, ours before theirs: page, page with its query made inside, count."""
    today = draw.today

    def page(query: Query) -> list[int]:
        return snapshot.search(query, today).ids

    def count(query: Query) -> int:
        return snapshot.count(query, today)

    for name, drawn in draw.classes().items():
        chosen = [drawn() for _ in range(queries)]
        ours = [Query(**wanted.parameters) for wanted in chosen]
        theirs = [other.query(wanted) for wanted in chosen]
        for wanted, mine, query in zip(chosen, ours, theirs):
            answers = page(mine), other.by_column(query), other.by_constant_score(query)
            assert answers[0] == answers[1] == answers[2], (name, wanted, *answers)
            assert count(mine) == other.count(query), (name, wanted)
        ways = [other.by_column, other.by_constant_score]
        way = min(ways, key=lambda way: median_of(way, theirs))
        yield (
            name,
            [
                median_of(page, ours),
                median_of(way, theirs),
                median_of(lambda wanted: page(Query(**wanted.parameters)), chosen),
                median_of(lambda wanted: way(other.query(wanted)), chosen),
                median_of(count, ours),
                median_of(other.count, theirs),
            ],
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--signals", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=16, help="of each class")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    corpus = Corpus(options.signals, options.seed)
    builder = IndexBuilder.in_memory()
    builder.add_corpus(corpus)
    snapshot = builder.finish().snapshot()
    started = time.perf_counter()
    other = Tantivy(snapshot)
    took = time.perf_counter() - started
    print(f"{options.signals:,} signals; tantivy-py {version('tantivy')} built in {took:.0f} s,", end=" ")
    print(f"{other.searcher.num_segments} segment; microseconds, lower is better\n")
    print("| class | page | tantivy-py | times | query made inside | tantivy-py | times | count | tantivy-py | times |")
    print("|---" + "|--:" * 9 + "|")
    ratios: list[list[float]] = []
    for name, times in compare(snapshot, other, Draw(snapshot, corpus, 7), options.queries):
        pairs = list(zip(times[::2], times[1::2]))
        ratios.append([theirs / ours for ours, theirs in pairs])
        cells = [f"{ours:.1f} | {theirs:.1f} | {theirs / ours:.1f}" for ours, theirs in pairs]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    means = [f" | | **{statistics.geometric_mean(column):.1f}**" for column in zip(*ratios)]
    print(f"| **geometric mean** |{' |'.join(means)} |")


if __name__ == "__main__":
    main()
