"""What Python costs: a page above the engine, matches into a frame, threads.

usage: measure.py [--signals 1000000]

The engine's own time of a page is that of its explanation, the best of many; the time in Python is that of
``snapshot.search(query, today).ids``, made from a query that is there and from a query string.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import polars

from signaldex import Corpus, IndexBuilder, Query, Snapshot

QUERIES = [
    "",
    "q=raises",
    "country=Germany",
    'q="series a"&country=Germany',
    "q=raises&size=1-49&days=90",
    "any=robotics sales hires",
]
#: What threads do: work that is the engine's.
HEAVY = ['q=-"series a"', "exclude=raises", "any=raises hires opens", "q=raises&country=Germany"]


def best(call: Callable[[], object], runs: int = 2000) -> float:
    """The best time in microseconds."""
    least = float("inf")
    for _ in range(runs):
        started = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - started)
    return least * 1e6


def pages(snapshot: Snapshot, corpus: Corpus) -> None:
    today = corpus.as_of
    print("| page of 50 ids, microseconds | engine | Python | above | from a query string |")
    print("|---|--:|--:|--:|--:|")
    for text in QUERIES:
        query = Query.parse(text)
        engine = min(snapshot.explain(query, today).page_time for _ in range(200)) * 1e6
        python = best(lambda: snapshot.search(query, today).ids)
        parsed = best(lambda: snapshot.search(text, today).ids)
        print(f"| `{text or 'no filter'}` | {engine:.2f} | {python:.2f} | {python - engine:.2f} | {parsed:.2f} |")


def frames(snapshot: Snapshot, corpus: Corpus) -> None:
    matches = snapshot.matches("", corpus.as_of)
    for name, columns in [("all columns", None), ("id, title", ["id", "title"]), ("id", ["id"])]:
        stream = matches.arrow(columns)
        took = min(best(lambda: polars.DataFrame(stream), 1) for _ in range(3)) / 1e6
        print(f"{len(polars.DataFrame(stream)):,} matches into a polars frame, {name}: {took:.2f} s")


def threads(snapshot: Snapshot, corpus: Corpus) -> None:
    queries = [Query.parse(text) for text in HEAVY]

    def facets(_: int) -> None:
        for query in queries:
            snapshot.facets(query, corpus.as_of)

    def seconds(workers: int, rounds: int = 400) -> float:
        with ThreadPoolExecutor(workers) as pool:
            started = time.perf_counter()
            list(pool.map(facets, range(rounds)))
            return time.perf_counter() - started

    # In turn, so that what else the machine does meets both alike.
    ratio = statistics.median(seconds(1) / seconds(2) for _ in range(5))
    print(f"facets of {len(queries)} queries: two threads do {ratio:.2f} times what one does")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--signals", type=int, default=1_000_000)
    options = parser.parse_args()
    corpus = Corpus(options.signals)
    builder = IndexBuilder.in_memory()
    builder.add_corpus(corpus)
    snapshot = builder.finish().snapshot()
    pages(snapshot, corpus)
    frames(snapshot, corpus)
    threads(snapshot, corpus)


if __name__ == "__main__":
    main()
