"""Objects that threads share, and the interpreter's lock, which is released while the engine works."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow
from test_library import ACME, TODAY

from signaldex import Corpus, Index, IndexBuilder, SavedSearches, Signal


def large_index() -> Index:
    builder = IndexBuilder.in_memory()
    builder.add_corpus(Corpus(20_000))
    return builder.finish()


def test_an_iterator_that_threads_share_gives_everything_once() -> None:
    index = large_index()
    wanted = sorted(index.matches("", TODAY).ids())
    iterator = index.matches("", TODAY).ids()
    with ThreadPoolExecutor(4) as pool:
        parts = [pool.submit(lambda: list(iterator)) for _ in range(4)]
    assert sorted(id for part in parts for id in part.result()) == wanted


def test_readers_go_on_beside_a_writer() -> None:
    index = large_index()
    snapshot = index.snapshot()
    wanted = snapshot.count("", TODAY)
    stop = threading.Event()
    failures: list[object] = []

    def read() -> None:
        while not stop.is_set():
            if snapshot.count("", TODAY) != wanted or len(index.search("limit=50", TODAY)) != 50:
                failures.append("a reader saw something else")
            if sum(1 for _ in index.matches("", TODAY).ids()) < wanted:
                failures.append("matches are missing")

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    with index.writer() as writer:
        writer.upsert_company(ACME)
        for number in range(40):
            writer.upsert_signals(Signal(id, "acme", "Acme hires") for id in range(1, 50))
            writer.commit()
            assert number or index.snapshot().signal_count == wanted + 49
    stop.set()
    for reader in readers:
        reader.join()
    assert failures == []


def test_a_writer_that_threads_share_loses_nothing() -> None:
    index = Index.in_memory()
    with index.writer() as writer:
        writer.upsert_company(ACME)

        def write(first: int) -> None:
            for id in range(first, first + 200):
                writer.upsert_signal(Signal(id, "acme", "Acme hires"))
                if id % 50 == 0:
                    writer.commit()

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, range(1, 801, 200)))
        writer.commit()
    assert index.count("", TODAY) == 800


def test_searches_that_threads_change_stay_whole() -> None:
    searches = SavedSearches()

    def change(first: int) -> None:
        for number in range(first, first + 100):
            searches.insert(str(number), "q=hires")
            searches.matches(Signal(1, "acme", "Acme hires"), ACME, TODAY)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(change, range(0, 400, 100)))
    assert len(searches) == 400
    assert len(searches.matches(Signal(1, "acme", "Acme hires"), ACME, TODAY)) == 400


def test_other_threads_run_while_the_engine_works() -> None:
    """A thread that counts in Python comes on while another one is within a single long call."""
    builder = IndexBuilder.in_memory()
    corpus = Corpus(100_000)
    counted, during = [0], [0]
    done = threading.Event()

    def count() -> None:
        while not done.is_set():
            counted[0] += 1
            time.sleep(0)

    counter = threading.Thread(target=count)
    counter.start()
    before = counted[0]
    builder.add_corpus(corpus)
    during[0] = counted[0] - before
    done.set()
    counter.join()
    # Held throughout, the lock would let the other thread in at most at the two ends of the call.
    assert during[0] > 100, during[0]
    table = pyarrow.table(builder.finish().matches("", corpus.as_of).arrow(["id"]))
    assert table.num_rows == corpus.signal_count
