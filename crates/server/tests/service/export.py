#!/usr/bin/env python3
"""Measures an export over HTTP: how long it takes, how much memory, and what it costs the clients of another key.

usage: crates/server/tests/service/export.py PROGRAM [SIGNALS [SECONDS]]

PROGRAM is a release build of signaldex. The script generates a corpus of SIGNALS signals (1,000,000 by default),
builds its index, and serves it with two keys on the first core; clients have the others. It downloads everything
as NDJSON and as CSV, three times each, charged durably, under an `Idempotency-Key` and without one, and samples
the memory of the process that is not its mapped index. Then one key asks for pages of 50 signals for SECONDS (20
by default) alone, and for as long again while another downloads on and on.

It exits with 1 where the fastest NDJSON download takes more than 3 µs a signal, the fastest under an
`Idempotency-Key` more than 1.25 times as long as the fastest without one, memory grows by more than 20 MB
during a download, or the 99th percentile of the pages beside it is more than twice that alone. PORT chooses the
port (18099). The bounds are meant for a machine of two cores that does nothing else.
"""

import json
import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

import neighbour

SECONDS_PER_SIGNAL_MAX = 3e-6
NAMED_FACTOR_MAX = 1.25
MEMORY_GROWTH_MAX_MB = 20
P99_FACTOR_MAX = 2.0
READ_BYTES = 1 << 20


def download(key, query="", name=None):
    """Reads a whole export; returns its bytes and lines."""
    with socket.create_connection(("127.0.0.1", neighbour.PORT), timeout=60) as connection:
        header = f"Idempotency-Key: {name}\r\n" if name else ""
        request = f"GET /api/v1/export?{query} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n{header}"
        connection.sendall((request + "Connection: close\r\n\r\n").encode())
        size, last, is_first = 0, b"", True
        while piece := connection.recv(READ_BYTES):
            assert not is_first or b" 200 " in piece[:20], piece[:300]
            size, last, is_first = size + len(piece), (last + piece)[-16:], False
        assert last.endswith(b"\r\n0\r\n\r\n"), "the download is whole"
        return size


def anonymous_mb(process):
    with open(f"/proc/{process}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) / 1000


class Watch(threading.Thread):
    """The most memory that a process has while this runs."""

    def __init__(self, process):
        super().__init__(daemon=True)
        self.process, self.most, self.is_over = process, anonymous_mb(process), False
        self.before = self.most
        self.start()

    def run(self):
        while not self.is_over:
            self.most = max(self.most, anonymous_mb(self.process))
            time.sleep(0.005)

    def growth(self):
        self.is_over = True
        self.join()
        return self.most - self.before


def download_all(key, stop):
    while not stop.is_set():
        download(key)


def main():
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    program = os.path.abspath(sys.argv[1])
    signals = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 20.0
    faults = []
    with tempfile.TemporaryDirectory(prefix="signaldex-export-") as folder:
        path = lambda name: os.path.join(folder, name)
        neighbour.build_index(program, path, signals)
        pages = neighbour.pages(neighbour.titles(path("corpus/signals.jsonl"), 50_000))
        page_key = neighbour.make_key(program, path("state.db"), "--rate", "100000", "--burst", "100000")
        export_key = neighbour.make_key(program, path("state.db"))
        service = subprocess.Popen(
            ["taskset", "-c", "0", program, "serve", path("index"), "--addr", f"127.0.0.1:{neighbour.PORT}",
             "--admin-addr", "127.0.0.1:0", "--state", path("state.db"), "--log", "warn"],
            stderr=subprocess.DEVNULL)
        others = set(os.sched_getaffinity(0)) - {0}
        os.sched_setaffinity(0, others or {0})
        try:
            neighbour.wait_until_ready()
            download(export_key, "maxItems=1000")
            for form in ("ndjson", "csv"):
                best, growths = {}, {False: [], True: []}
                # In turns, so that both meet the same load of the machine.
                for number in range(3):
                    for is_named in (False, True):
                        name = f"export-{form}-{number}" if is_named else None
                        watch = Watch(service.pid)
                        started = time.perf_counter()
                        size = download(export_key, f"format={form}", name)
                        taken = time.perf_counter() - started
                        growths[is_named].append(watch.growth())
                        best[is_named] = min(best.get(is_named, taken), taken)
                for is_named, seconds_taken in best.items():
                    growth = max(growths[is_named])
                    print(f"{form} {'under a key' if is_named else 'without a key':14} {signals} signals, "
                          f"{size / 1e6:.0f} MB: {seconds_taken:.2f} s, memory grows by {growth:.1f} MB")
                    if form == "ndjson" and seconds_taken > signals * SECONDS_PER_SIGNAL_MAX:
                        faults.append("the download is too slow")
                    if growth > MEMORY_GROWTH_MAX_MB:
                        faults.append("memory grows too much")
                if best[True] > NAMED_FACTOR_MAX * best[False]:
                    faults.append(f"{form}: the download under a key is too slow")
            usage = json.loads(neighbour.run(program, "usage", "--state", path("state.db")))
            charged = sum(line["signals"] for line in usage)
            print(f"charged: {charged}, delivered: {12 * signals + 1000}")
            if charged != 12 * signals + 1000:
                faults.append("what was charged is not what was delivered")
            alone, _, _ = neighbour.measure(seconds, pages, page_key)
            stop = multiprocessing.Event()
            downloading = multiprocessing.Process(target=download_all, args=(export_key, stop))
            downloading.start()
            time.sleep(1)
            beside, _, _ = neighbour.measure(seconds, pages, page_key)
            stop.set()
            downloading.join(60)
            neighbour.show("pages alone", alone)
            neighbour.show("pages beside an export", beside)
            if neighbour.percentile(beside, 0.99) > P99_FACTOR_MAX * neighbour.percentile(alone, 0.99):
                faults.append("the pages beside it are too slow")
        finally:
            service.terminate()
            service.wait()
    for fault in faults:
        print(fault, file=sys.stderr)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
