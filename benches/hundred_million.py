#!/usr/bin/env python3
"""One index of very many generated signals: what building, opening, queries, commits and merges take.

usage: benches/hundred_million.py [SIGNALS] [FOLDER] [STEP…]

SIGNALS is 100,000,000 unless it is given; FOLDER/SIGNALS is where the index is, target/many unless it is given. It must
be on a disk, with room for 60 GB: builds need three times the bytes of the index for a while. The steps are

  build    generates records straight into a builder; refused if there is an index
  draw     draws queries of the classes of benches/classes from the index; one of more than 10,000,000 signals is asked
           those of that size, since drawing reads all records
  open     opens it, and asks the first questions: cached, and with its files evicted from the page cache
  cached   times each drawn query with what it reads in memory
  limit    times each drawn query beside a plain loop over as many bytes as its plan reads
  evicted  times some queries of each class once, each in a process of its own, with all files evicted
  commit   commits 10,000 signals twice to a copy of hard links, with the merge of the two
  compact  merges all segments of that copy into one

All but `compact` are run unless some are named. Each adds what it measured to benches/results/many-SIGNALS.json, so that
one step can be repeated on the same index when nothing else runs on the machine. PROGRAM may name the built bench, and
RESULTS another folder for the record.
"""

import collections
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import threading
import time

from built import built
from comparison import mean
from open import evict

ROOT = pathlib.Path(__file__).resolve().parent.parent
STEPS = ["build", "draw", "open", "cached", "limit", "evicted", "commit"]
# Between looks at the memory of a step and at its files.
LOOK = 0.2
# Queries of a class that are timed with all files evicted, and openings.
EVICTED = 3
OPENED = 5
# The largest index that queries are drawn from.
DRAWN_MAX = 10_000_000
# A class that differs from others by where its pages start.
DEEP = "start deep in the ids"
# Signals of a commit.
COMMITTED = 10_000
GIGABYTE = 1e9


def memory(pid):
    """Bytes of a process that only it has, and those that it maps from files."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    kilobytes = {name: int(rest.split()[0]) for name, rest in (line.split(":", 1) for line in status)
                 if name in ("RssAnon", "RssFile")}
    return kilobytes.get("RssAnon", 0) * 1024, kilobytes.get("RssFile", 0) * 1024


def size(folder):
    """Bytes of a folder's files, some of which may be removed meanwhile."""
    total = 0
    for path in folder.glob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            pass
    return total


class Peaks:
    """The most memory of a process and the most bytes of a folder, looked at while the process runs."""

    def __init__(self, process, folder):
        self.anonymous = self.mapped = self.disk = 0
        self.process, self.folder = process, folder
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self):
        while self.process.poll() is None:
            try:
                anonymous, mapped = memory(self.process.pid)
            except (FileNotFoundError, ProcessLookupError):
                return
            self.anonymous, self.mapped = max(self.anonymous, anonymous), max(self.mapped, mapped)
            self.disk = max(self.disk, size(self.folder))
            time.sleep(LOOK)


def run(bench, folder, step, *arguments):
    """Runs a step in a process of its own. Returns its lines, its peaks, and its processor seconds."""
    before = os.times()
    process = subprocess.Popen([bench, step, folder, *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    peaks = Peaks(process, folder)
    lines = [line.split("\t") for line in process.stdout.read().splitlines()]
    if process.wait() != 0:
        sys.exit(f"{step} failed")
    peaks.thread.join()
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return lines, peaks, cpu


def figure(value):
    """Two digits, or all before the point."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def gigabytes(bytes_):
    return f"{bytes_ / GIGABYTE:.1f} GB" if bytes_ >= GIGABYTE else f"{bytes_ / 1e6:.0f} MB"


def duration(microseconds):
    for unit, length in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= length:
            return f"{figure(microseconds / length)} {unit}"
    return f"{figure(microseconds)} µs"


def build(bench, folder, signals, record):
    lines, peaks, cpu = run(bench, folder, "build", signals)
    seconds = {step: int(microseconds) / 1e6 for step, microseconds in lines}
    record["values"] |= {
        "build-seconds": figure(sum(seconds.values())), "build-cpu": figure(cpu),
        "build-cpu-million": figure(cpu / signals * 1e6), "build-memory": gigabytes(peaks.anonymous),
        "build-memory-signal": figure(peaks.anonymous / signals), "build-disk": gigabytes(peaks.disk),
        "index": gigabytes(size(folder)), "index-signal": figure(size(folder) / signals)}


def draw(bench, folder, queries):
    lines, _, _ = run(bench, folder, "draw")
    queries.write_text("".join("\t".join(line) + "\n" for line in lines))


def opened(bench, folder, record):
    times = {}
    for state in ("cached", "evicted"):
        for _ in range(OPENED):
            # What it reads is cached once it has been run; an index that is larger than the memory is never as a whole.
            if state == "evicted":
                evict(folder)
            elif not times:
                run(bench, folder, "open")
            lines, _, _ = run(bench, folder, "open")
            for step, microseconds in lines[:1] + lines[2:]:
                times.setdefault(step, {}).setdefault(state, []).append(int(microseconds) / 1e3)
    columns = ["milliseconds", "cached", "evicted"]
    rows = [[step, *(figure(statistics.median(by_state[state])) for state in columns[1:])]
            for step, by_state in times.items()]
    record["tables"]["open"] = {"columns": columns, "rows": rows}


def by_class(rows):
    """Lists of times by class and task, in the order of the queries."""
    times = collections.OrderedDict()
    for name, task, value in rows:
        if name == DEEP and task in ("count", "facets"):
            continue
        times.setdefault(name, {}).setdefault(task, []).append(value)
    return times


TASKS = {"page": "page of 50 ids", "records": "page with its records", "count": "count", "facets": "four facets"}


def of_classes(record, state, times):
    """A table of medians by class, and over the classes the geometric mean, the least, and the slowest query."""
    medians = {name: {task: statistics.median(of_task) for task, of_task in tasks.items()}
               for name, tasks in times.items()}
    tasks = [task for task in TASKS if any(task in of for of in medians.values())]
    rows = [[name, *(duration(of[task]) if task in of else "" for task in tasks)] for name, of in medians.items()]
    record["tables"][state] = {"columns": ["class", *(TASKS[task] for task in tasks)], "rows": rows}
    for task in tasks:
        of_task = [of[task] for of in medians.values() if task in of]
        slowest = max(max(of.get(task, [0])) for of in times.values())
        record["values"] |= {f"{state}-{task}": duration(mean(of_task)), f"{state}-{task}-least": duration(min(of_task)),
                             f"{state}-{task}-most": duration(max(of_task)), f"{state}-{task}-slowest": duration(slowest)}
        record["microseconds"][f"{state}-{task}"] = {
            "mean": mean(of_task), "least": min(of_task), "most": max(of_task), "slowest": slowest}


def cached(bench, folder, queries, record):
    lines, peaks, _ = run(bench, folder, "cached", queries)
    of_classes(record, "cached", by_class((name, task, float(value)) for name, task, _, value in lines))
    record["values"] |= {"resident-own": gigabytes(peaks.anonymous), "resident-mapped": gigabytes(peaks.mapped)}


def limit(bench, folder, queries, record):
    """How many times as long queries take as a plain AND and popcount over the bytes that their plans read."""
    lines, _, _ = run(bench, folder, "limit", queries)
    ratios = by_class((name, task, float(time) / float(of_loop)) for name, task, _, time, of_loop in lines)
    read = by_class((name, task, float(bytes_)) for name, task, bytes_, _, _ in lines)
    tasks = ["page", "count", "facets"]
    rows, means = [], {task: [] for task in tasks}
    for name, of in ratios.items():
        row = [name]
        for task in tasks:
            if task not in of:
                row += ["", ""]
                continue
            median = statistics.median(read[name][task])
            row += [f"{median / 1000:,.1f}", figure(mean(of[task]))]
            # Without bytes to read there is nothing to compare with but a look at one cache line.
            if median > 0:
                means[task].append(mean(of[task]))
        rows.append(row)
    columns = ["class", *(column for task in tasks for column in (f"{TASKS[task]}: kB read", "times a loop"))]
    rows.append(["geometric mean where bytes are read", *(cell for task in tasks for cell in ("", figure(mean(means[task]))))])
    record["tables"]["limit"] = {"columns": columns, "rows": rows}
    record["values"] |= {f"limit-{task}": figure(mean(means[task])) for task in tasks}
    record["values"] |= {f"limit-{task}-most": figure(max(means[task])) for task in tasks}


def evicted(bench, folder, queries, record):
    rows, taken = [], collections.Counter()
    for line in queries.read_text().splitlines():
        name, query = line.split("\t")
        taken[name] += 1
        if taken[name] > EVICTED:
            continue
        for task in TASKS:
            evict(folder)
            [[_, microseconds]], _, _ = run(bench, folder, "evicted", task, query)
            rows.append((name, task, float(microseconds)))
    of_classes(record, "evicted", by_class(rows))


def linked(folder):
    """A copy of an index whose files are those of the other: segments never change."""
    copy = folder.with_name(f"{folder.name}-changed")
    if copy.exists():
        shutil.rmtree(copy)
    shutil.copytree(folder, copy, copy_function=os.link)
    return copy


def commit(bench, folder, signals, record):
    copy = linked(folder)
    lines, peaks, cpu = run(bench, copy, "commit", signals, COMMITTED)
    for step, value in lines:
        name = step.replace(" ", "-")
        record["values"][name] = value if name.startswith("segments") else duration(float(value))
    written = size(copy) - size(folder)
    record["values"] |= {"commit-cpu": figure(cpu), "commit-memory": gigabytes(peaks.anonymous),
                         "commit-bytes": gigabytes(written)}


def compact(bench, folder, record):
    copy = folder.with_name(f"{folder.name}-changed")
    lines, peaks, cpu = run(bench, copy, "compact")
    values = dict(lines)
    record["values"] |= {"compact-seconds": figure(float(values["compact"]) / 1e6), "compact-cpu": figure(cpu),
                         "compact-memory": gigabytes(peaks.anonymous), "compact-disk": gigabytes(peaks.disk)}


def main():
    named = [argument for argument in sys.argv[1:] if argument in [*STEPS, "compact"]]
    others = [argument for argument in sys.argv[1:] if argument not in named]
    signals = int(others[0]) if others else 100_000_000
    parent = pathlib.Path(others[1]) if len(others) > 1 else ROOT / "target" / "many"
    parent.mkdir(parents=True, exist_ok=True)
    folder, queries = parent / str(signals), parent / f"{min(signals, DRAWN_MAX)}.queries"
    results = pathlib.Path(os.environ.get("RESULTS", ROOT / "benches" / "results"))
    path = results / f"many-{signals}.json"
    record = json.loads(path.read_text()) if path.exists() else {
        "date": "", "machine": f"{os.cpu_count()} cores, {total_memory():.0f} GiB",
        "repeat": f"benches/hundred_million.py {signals}", "values": {}, "tables": {}, "microseconds": {}}
    # PROGRAM names one that is built already.
    bench = os.environ.get("PROGRAM") or built("hundred_million")
    steps = {"build": lambda: build(bench, folder, signals, record), "draw": lambda: draw(bench, folder, queries),
             "open": lambda: opened(bench, folder, record), "cached": lambda: cached(bench, folder, queries, record),
             "limit": lambda: limit(bench, folder, queries, record),
             "evicted": lambda: evicted(bench, folder, queries, record),
             "commit": lambda: commit(bench, folder, signals, record),
             "compact": lambda: compact(bench, folder, record)}
    for step in named or STEPS:
        if step not in ("build", "compact") and not (folder / "manifest").exists():
            sys.exit(f"there is no index in {folder}: run the step `build` first")
        if step in ("cached", "limit", "evicted") and not queries.exists():
            sys.exit(f"there is no {queries}: run the steps `build` and `draw` of that size first")
        print(f"{step}, {time.strftime('%H:%M:%S')}", flush=True)
        if step != "draw" or signals <= DRAWN_MAX:
            steps[step]()
        record["date"] = time.strftime("%Y-%m-%d")
        path.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    print(json.dumps(record["values"], indent=2, ensure_ascii=False))


def total_memory():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


if __name__ == "__main__":
    main()
