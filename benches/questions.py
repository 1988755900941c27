#!/usr/bin/env python3
"""Pages by value, aggregates and companies by their signals beside DuckDB and SQLite, one core each.

usage: benches/questions.py PROGRAM [SIGNALS [BENCH]]
       benches/questions.py --alone SIGNALS [BENCH]
       benches/questions.py --memory SIGNALS [BENCH]

PROGRAM, with the features `sql` and `parquet`, generates SIGNALS (1,000,000) signals in target/sql as benches/sql.py
does. DuckDB has the tables in memory and one thread; SQLite has them in memory with the indexes that suit the questions
and FTS5 for titles. Both are given the words of a title, so neither cuts a title while it is measured, and where there
are several statements for a question, the fastest counts. First, all answers are compared with those of PROGRAM; one
that differs ends the script. Then all are asked the questions RUNS times, and `cargo bench --bench questions`, or the
built BENCH, is run. Peers are asked for the groups that are shown, but not for totals, which ours has.

Prints the record benches/results/questions.json. With --alone only the bench runs, over SIGNALS signals: the record
benches/results/questions-10000000.json. With --memory `cargo bench --bench question_memory` shows what questions and
exports need beside the index: the record benches/results/questions-memory.json. What misses its goal is in
benches/results/questions.md.
"""
import datetime
import json
import math
import os
import pathlib
import re
import sqlite3
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

import sql
from environment import DUCKDB, with_packages
from question_statements import QUESTIONS, SQLITE_INDEXES, folded, groups, ids

ROOT = sql.ROOT
RUNS = 9
# More rows than any answer has.
ROWS_MAX = 1_000_000_000
COLUMNS = ("id, date, strftime(date, '%Y-%m') AS month, category, funding_stage, funding_amount, funding_currency, "
           "country, company_slug")
# Words as the index has them, in lower case with spaces around each.
WORDS = "' ' || regexp_replace(lower(title), '[^\\p{L}\\p{N}]+', ' ', 'g') || ' ' AS words"

TASK = re.compile(r"^ *([\d.]+) µs +([\d.]+) µs +([\d.]+)  (.+)$", re.M)
PAGE = re.compile(r"^ *([\d.]+) µs by id +([\d.]+) µs by (\S+) +([\d.]+), four segments +([\d.]+) µs +[\d.]+  (.+) "
                  r"\((\d+)\)$", re.M)
MEAN = re.compile(r"^geometric mean of (\d+): ([\d.]+)$", re.M)
MEMORY = re.compile(r"^ *([\d.]+) MiB for the (question|export) (.+)$", re.M)
# What tasks of ours have to reach by themselves.
GOALS = {
    "months of a word": "1.2 times one list of filter options",
    "months": "2 µs",
    "sums by month of a word": "2 times months",
    "medians by month of a word": "2 times sums",
    'sums by month and country of "series a"': "500 µs",
    "sums by month and country": "10,000 µs",
    "ten companies of a word": "200 µs",
    'ten companies of "raises"': "200 µs",
    "number of companies of a word": "200 µs",
    'number of companies of "raises"': "200 µs",
    "companies, two conditions": "10 times the two counts; 300 µs",
}


class Peer(NamedTuple):
    """An engine: how it runs a statement, and which member of a question has its statements."""
    name: str
    ask: object
    statements: str


def duckdb_peer(folder):
    """DuckDB with both tables in memory."""
    prepared = folder / "words.parquet"
    if not prepared.exists():
        unfinished = folder / "words.unfinished"
        duckdb.sql(f"COPY (SELECT {COLUMNS}, {WORDS} FROM '{folder}/signals.parquet' ORDER BY id) TO '{unfinished}' "
                   "(FORMAT parquet)")
        unfinished.rename(prepared)
    database = duckdb.connect(config={"threads": 1})
    database.execute(f"CREATE TABLE signals AS SELECT * EXCLUDE month FROM '{prepared}'")
    database.execute(f"CREATE TABLE companies AS FROM '{folder}/companies.parquet'")
    return Peer(f"DuckDB {duckdb.__version__}", lambda text: database.execute(text).fetchall(), "duckdb")


def sqlite_peer(folder):
    """SQLite with both tables in memory, copied from a file that is made once."""
    file = folder / "questions.sqlite"
    if not file.exists():
        unfinished = folder / "questions.unfinished"
        unfinished.unlink(missing_ok=True)
        fill_sqlite(sqlite3.connect(unfinished), folder)
        unfinished.rename(file)
    database = sqlite3.connect(":memory:")
    sqlite3.connect(file).backup(database)
    return Peer(f"SQLite {sqlite3.sqlite_version}", lambda text: database.execute(text).fetchall(), "sqlite")


def fill_sqlite(database, folder):
    source = duckdb.connect()
    database.execute("CREATE VIRTUAL TABLE titles USING fts5(words, content='', tokenize='unicode61 remove_diacritics 0')")
    tables = {"companies": f"SELECT * FROM '{folder}/companies.parquet' ORDER BY slug",
              # SQLite has no integers over 63 bits, so it numbers signals by their ids.
              "signals": "SELECT row_number() OVER (ORDER BY id) AS number, * EXCLUDE words REPLACE (CAST(id AS VARCHAR) "
                         f"AS id) FROM '{folder}/words.parquet' ORDER BY number",
              "titles": "SELECT row_number() OVER (ORDER BY id) AS rowid, words "
                        f"FROM '{folder}/words.parquet' ORDER BY rowid"}
    for table, statement in tables.items():
        rows = source.execute(statement)
        names = [column[0] for column in rows.description]
        if table != "titles":
            key = {"number": "number INTEGER PRIMARY KEY", "slug": "slug TEXT PRIMARY KEY"}
            database.execute(f"CREATE TABLE {table} ({', '.join(key.get(name, name) for name in names)})")
        insert = f"INSERT INTO {table}({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
        while some := rows.fetchmany(10_000):
            database.executemany(insert, [[plain(value) for value in row] for row in some])
    for index in SQLITE_INDEXES:
        database.execute(f"CREATE INDEX {index}")
    database.execute("INSERT INTO titles(titles) VALUES ('optimize')")
    database.execute("ANALYZE")
    database.commit()
    database.close()


def plain(value):
    """A value as JSON has it."""
    return value.isoformat() if isinstance(value, (datetime.date, datetime.datetime)) else value


def answer_of(program, folder, question):
    """What PROGRAM answers, as `data`."""
    command = [program, question.command, folder / "index", question.query, "--as-of", sql.AS_OF, "--format", "json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["data"]


def is_same(ours, theirs):
    """Whether two answers are equal; sums of doubles that peers add may differ in their last digits."""
    if isinstance(ours, float) or isinstance(theirs, float):
        return ours is not None and theirs is not None and math.isclose(ours, theirs, rel_tol=1e-9)
    if isinstance(ours, (list, tuple)):
        return len(ours) == len(theirs) and all(map(is_same, ours, theirs))
    return ours == theirs


def compare(program, folder, peers):
    """Ends the script if a statement answers otherwise than PROGRAM. Returns how many rows the groups have that each
    question shows."""
    shown = {}
    for question in QUESTIONS:
        answer = answer_of(program, folder, question)
        ours = question.read(answer)
        if not ours:
            sys.exit(f"{question.task}: nothing matches, so nothing is compared")
        for peer in peers:
            for statement in getattr(question, peer.statements):
                text = statement.format(rows=ROWS_MAX)
                rows = [[month(question, plain(value)) for value in row] for row in peer.ask(text)]
                theirs = [[int(id) for (id,) in rows]] if question.read is ids else rows
                if question.read is groups:
                    theirs = folded(rows)
                    if len(theirs) != answer["totals"]["groups"]:
                        sys.exit(f"{question.task}: {peer.name} has {len(theirs)} groups; {text}")
                    theirs = theirs[:len(ours)]
                    last = theirs[-1][:-2]
                    shown[question.task] = max(n for n, row in enumerate(rows, 1) if row[:-4] == last)
                if not is_same(ours, theirs):
                    pairs = zip(ours, theirs)
                    first = next((pair for pair in pairs if not is_same(*pair)), "one has more rows")
                    sys.exit(f"{question.task}: {peer.name} differs: {first}; {text}")
    return shown


def month(question, value):
    """A first day of a month, which DuckDB gives, as the month."""
    is_day = isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-01(T00:00:00)?", value)
    return value[:7] if is_day and "month" in question.query else value


def measure(peers, shown):
    """The median of the fastest statement in microseconds, by task and peer."""
    medians = {}
    for question in QUESTIONS:
        for peer in peers:
            of_statements = []
            for statement in getattr(question, peer.statements):
                text, times = statement.format(rows=shown.get(question.task)), []
                for _ in range(RUNS + 1):
                    started = time.perf_counter()
                    peer.ask(text)
                    times.append((time.perf_counter() - started) * 1e6)
                of_statements.append(statistics.median(times[1:]))
            medians[question.task, peer.name] = min(of_statements)
    return medians


def run_bench(bench, signals, name="questions"):
    """What the bench prints."""
    command = [bench] if bench else ["cargo", "bench", "--quiet", "--bench", name]
    environment = os.environ | {"SIGNALDEX_SIGNALS": str(signals)}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stderr)
    return run.stdout


def bench_record(printed):
    """The values and tables of what the bench printed."""
    pages = [[f"{name}, {order}", queries, by_id, by_value, ratio, four]
             for by_id, by_value, order, ratio, four, name, queries in PAGE.findall(printed)]
    tasks = [[name, one, four, ratio, GOALS.get(name, "")] for one, four, ratio, name in TASK.findall(printed)]
    classes, mean = MEAN.search(printed).groups()
    return {
        "values": {"by-value": f"{float(mean):.1f}", "classes": classes},
        "tables": {
            "pages": {"columns": ["class, order", "queries", "by id, µs", "by value, µs", "ratio",
                                  "four segments, µs"], "rows": pages},
            "tasks": {"columns": ["task", "one segment, µs", "four segments, µs", "four over one",
                                  "goal of one segment"], "rows": tasks},
        },
    }


def memory_record(printed):
    """What questions and exports need, and the most of each kind."""
    rows = [[kind, name, mib] for mib, kind, name in MEMORY.findall(printed)]
    values = {}
    for kind in ("question", "export"):
        most = max((row for row in rows if row[0] == kind), key=lambda row: float(row[2]))
        values |= {kind: most[2], f"{kind}-most": most[1]}
    return {"values": values, "tables": {"memory": {"columns": ["what", "which", "MiB"], "rows": rows}}}


def peer_table(record, medians, peers):
    """Each question: the times of all, the ratios, and the ratios that are wanted."""
    ours = {name: float(one) for name, one, *_ in record["tables"]["tasks"]["rows"]}
    names = [re.sub(" .*", "", peer.name) for peer in peers]
    columns = ["question", "signaldex, µs", *(f"{peer.name}, µs" for peer in peers),
               *(f"{name} over signaldex" for name in names), *(f"goal, {name}" for name in names)]
    rows = []
    for question in QUESTIONS:
        times = [medians[question.task, peer.name] for peer in peers]
        ratios = [f"{time / ours[question.task]:,.1f}" for time in times]
        goals = [str(question.goals.get(peer.statements, "")) for peer in peers]
        rows.append([question.task, f"{ours[question.task]:,.1f}", *(f"{time:,.0f}" for time in times), *ratios, *goals])
    return {"columns": columns, "rows": rows}


def machine():
    """The processor, and how busy the machine was: this run makes a load of one."""
    name = re.search(r"^model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return f"one core of {name[1] if name else 'an unknown processor'}, load average {os.getloadavg()[0]:.1f}"


def main():
    arguments = sys.argv[1:]
    if not arguments:
        sys.exit(__doc__)
    only = arguments[0] if arguments[0] in ("--alone", "--memory") else None
    signals = int(arguments[1]) if len(arguments) > 1 else 1_000_000
    bench = pathlib.Path(arguments[2]).resolve() if len(arguments) > 2 else None
    if only == "--memory":
        record = memory_record(run_bench(bench, signals, "question_memory"))
    elif only:
        record = bench_record(run_bench(bench, signals))
    else:
        program = pathlib.Path(arguments[0]).resolve()
        folder = sql.prepare(program, signals)
        peers = [duckdb_peer(folder), sqlite_peer(folder)]
        shown = compare(program, folder, peers)
        print("all answers are equal", file=sys.stderr)
        medians = measure(peers, shown)
        record = bench_record(run_bench(bench, signals))
        record["tables"]["peers"] = peer_table(record, medians, peers)
    repeat = f"benches/questions.py {only or 'PROGRAM'} {signals}"
    about = {"date": time.strftime("%Y-%m-%d"), "machine": machine(), "repeat": repeat}
    print(json.dumps(about | record, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    try:
        import duckdb
        import pytz  # noqa: F401  DuckDB needs it for points in time.
    except ImportError:
        with_packages("duckdb", DUCKDB)
    main()
