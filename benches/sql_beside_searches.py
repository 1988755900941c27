#!/usr/bin/env python3
"""How long searches take while four statements of SQL run in the same process.

usage: benches/sql_beside_searches.py PROGRAM [SIGNALS [SECONDS [ROUNDS]]]

PROGRAM, with the features `serve` and `sql`, generates SIGNALS (200,000) signals in target/sql, builds an index of them and
serves it with `--sql-addr`. One connection asks 200 searches a second for SECONDS (10), alone and then while four clients
of ADBC ask one statement after the other that reads every title, ROUNDS (5) times in turn. Prints the median of the rounds'
p50 and p99 in milliseconds and their ratio, as `benches/results` has them; ends with 1 if the ratio of the p99 is above 1.5.
"""
import http.client
import json
import multiprocessing
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "crates" / "sql" / "tests"))
import over_adbc  # noqa: E402

RATE = 200
BOUND = 1.5
SEARCHES = ["q=raises&limit=20", "q=robotics&days=90&limit=20", "country=germany&limit=20", "q=series+a&limit=20"]
# Reads all records, groups many rows, and returns few.
STATEMENT = "SELECT substr(title, 1, 12) AS start, count(*), sum(length(title)) FROM signals GROUP BY start ORDER BY 2 DESC LIMIT 5"


def searches(address, key, seconds):
    """The times of searches at a fixed rate, from when each was due."""
    connection = http.client.HTTPConnection(address)
    headers = {"Authorization": f"Bearer {key}"}
    times, started = [], time.perf_counter()
    for number in range(int(seconds * RATE)):
        due = started + number / RATE
        time.sleep(max(0.0, due - time.perf_counter()))
        connection.request("GET", f"/api/v1/signals?{SEARCHES[number % len(SEARCHES)]}", headers=headers)
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            sys.exit(f"{answer.status}: {SEARCHES[number % len(SEARCHES)]}")
        times.append((time.perf_counter() - due) * 1e3)
    times.sort()
    return times[len(times) // 2], times[len(times) * 99 // 100]


def statements(service, stop, done):
    """Asks one statement after the other. In a process of its own, of idle priority: clients are elsewhere, and in the process
    that measures they would delay it, since one thread of Python runs at a time."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    with service.connect() as connection:
        while not stop.is_set():
            over_adbc.ask(connection, STATEMENT)
            with done.get_lock():
                done.value += 1


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program = pathlib.Path(sys.argv[1]).resolve()
    signals = int(sys.argv[2]) if len(sys.argv) > 2 else 200_000
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 10.0
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 5
    folder = ROOT / "target" / "sql" / f"beside-{signals}"
    index, corpus = folder / "index", folder / "corpus"
    if not index.exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([program, "generate", "--signals", str(signals), "--out", corpus], check=True, capture_output=True)
        files = ["--companies", corpus / "companies.jsonl", "--signals", corpus / "signals.jsonl"]
        subprocess.run([program, "build", *files, "--out", index], check=True, capture_output=True)
    measured = {"alone": [], "beside": []}
    with tempfile.TemporaryDirectory() as state:
        state = pathlib.Path(state) / "state.db"
        service = over_adbc.Service(program, index, state)
        try:
            made = subprocess.run([program, "keys", "create", "--name", "bench", "--rate", "100000", "--state", state],
                                  check=True, capture_output=True, text=True).stdout
            key = re.search(r'"key":\s*"([^"]+)"', made)[1]
            address = next(re.search(r"listening on http://([^,]*),", line)[1] for line in service.lines("listening on"))
            searches(address, key, seconds / 4)
            processes = multiprocessing.get_context("fork")
            done = processes.Value("i", 0)
            for _ in range(rounds):
                measured["alone"].append(searches(address, key, seconds))
                stop = processes.Event()
                asking = {"target": statements, "args": (service, stop, done), "daemon": True}
                clients = [processes.Process(**asking) for _ in range(4)]
                for client in clients:
                    client.start()
                measured["beside"].append(searches(address, key, seconds))
                stop.set()
                for client in clients:
                    client.join()
        finally:
            service.stop()
    rows, ratio = [], 0.0
    for name, column in [("p50", 0), ("p99", 1)]:
        alone, beside = (statistics.median(round[column] for round in measured[kind]) for kind in measured)
        ratio = beside / alone
        rows.append([name, f"{alone:.2f}", f"{beside:.2f}", f"{ratio:.2f}"])
    print(json.dumps({
        "date": time.strftime("%Y-%m"),
        "machine": platform.processor() or platform.machine(),
        "repeat": f"benches/sql_beside_searches.py PROGRAM {signals} {seconds:g} {rounds}",
        "statements": done.value,
        "tables": {"sql-beside": {
            "columns": ["search", "alone, ms", "beside four statements, ms", "ratio"],
            "rows": rows,
        }},
    }, indent=2))
    sys.exit(0 if ratio <= BOUND else f"the p99 is {ratio:.2f} times as long, above {BOUND}")


if __name__ == "__main__":
    over_adbc.with_packages()
    main()
