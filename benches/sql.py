#!/usr/bin/env python3
"""Statements over an index beside DuckDB over Parquet, one core each.

usage: benches/sql.py PROGRAM [SIGNALS [RUNS [PROFILE]]]

PROGRAM, with the feature `sql`, generates SIGNALS (1,000,000) signals in target/sql, builds an index of them and exports
both tables as Parquet, unless they are there. Each statement runs RUNS (9) times within one process on one thread, after
a first time that is not counted: ours in `crates/sql/benches/statements.rs`, built with PROFILE (measured), DuckDB's from
Python. Both read from the page cache. For DuckDB a search is a substring of the title in lower case, which is the fastest
that it has; it finds the same rows here, or the script ends with an error. Prints the medians in milliseconds, their ratio
and the bound that it is held to, as `benches/results` has them; ends with 1 if a bound does not hold.
"""
import json
import pathlib
import platform
import statistics
import subprocess
import sys
import time

from environment import DUCKDB, with_packages

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "target" / "sql"
AS_OF = "2026-06-30"

# What is asked; our statement; what DuckDB is asked instead of the search; the least ratio of its time to ours.
QUESTIONS = [
    ("count(*)", "SELECT count(*) FROM signals", None, 1.0),
    ("one facet", "SELECT country, count(*) FROM signals GROUP BY country", None, 1.0),
    ("one facet of a search", "SELECT country, count(*) FROM signals WHERE {} GROUP BY country",
     ("q=\"series a\"", "contains(lower(title), 'series a')"), 20.0),
    ("country and month, sums", "SELECT country, date_trunc('month', date) AS month, count(*), sum(funding_amount) "
     "FROM signals GROUP BY country, month", None, 1 / 3),
    ("country and month, sums, of a search", "SELECT country, date_trunc('month', date) AS month, count(*), "
     "sum(funding_amount) FROM signals WHERE {} GROUP BY country, month",
     ("q=\"series a\"", "contains(lower(title), 'series a')"), 20.0),
    ("sums of a search in a country", "SELECT funding_stage, sum(funding_amount) FROM signals WHERE {} "
     "AND country = 'Germany' GROUP BY funding_stage", ("q=raises", "contains(lower(title), 'raises')"), 20.0),
    ("distinct companies of a search", "SELECT count(DISTINCT company_slug) FROM signals WHERE {}",
     ("q=raises", "contains(lower(title), 'raises')"), 10.0),
    ("ten companies by sum", "SELECT company_name, sum(funding_amount) AS total FROM signals GROUP BY company_name "
     "ORDER BY total DESC NULLS LAST LIMIT 10", None, 1 / 3),
    ("average and maximum by industry", "SELECT industry, avg(funding_amount), max(funding_amount) FROM signals "
     "GROUP BY industry", None, 1 / 3),
]


def ours(statement, search):
    return statement.format(f"query = '{search[0]}'") if search else statement


def theirs(statement, search):
    return statement.format(search[1]) if search else statement


def prepare(program, signals):
    """Makes the corpus, the index and the files of Parquet. Returns the folder."""
    folder = FOLDER / str(signals)
    if (folder / "companies.parquet").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    corpus, index = folder / "corpus", folder / "index"
    files = ["--companies", corpus / "companies.jsonl", "--signals", corpus / "signals.jsonl"]
    steps = [["generate", "--signals", str(signals), "--out", corpus], ["build", *files, "--out", index]]
    for table in ("signals", "companies"):
        order = "id" if table == "signals" else "slug"
        statement = f"SELECT * FROM {table} ORDER BY {order}"
        limits = ["--memory", "64GiB", "--timeout", "3600"]
        steps.append(["sql", index, statement, "--format", "parquet", "--out", folder / f"{table}.parquet", *limits])
    for step in steps:
        subprocess.run([program, *step], check=True, stdout=subprocess.DEVNULL)
    return folder


def measure_ours(folder, statements, runs, profile):
    """The median and the number of rows of each statement."""
    command = ["cargo", "bench", "--quiet", "--profile", profile, "--package", "signaldex-sql", "--bench", "statements",
               "--", folder / "index", AS_OF, str(runs)]
    run = subprocess.run(command, cwd=ROOT, input="\n".join(statements), capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stderr)
    lines = [line.split() for line in run.stdout.splitlines()]
    return [(float(median), int(rows)) for median, rows in lines]


def measure_theirs(folder, statements, runs):
    """The median and the number of rows of each statement."""
    database = duckdb.connect(config={"threads": 1})
    for table in ("signals", "companies"):
        database.execute(f"CREATE VIEW {table} AS FROM '{folder / table}.parquet'")
    measured = []
    for statement in statements:
        times = []
        for _ in range(runs + 1):
            started = time.perf_counter()
            rows = len(database.execute(statement).fetchall())
            times.append((time.perf_counter() - started) * 1e3)
        measured.append((statistics.median(times[1:]), rows))
    return measured


def check_rows(program, folder):
    """Ends the script if a search finds other rows than what DuckDB is asked instead."""
    database = duckdb.connect()
    for search in {search for _, _, search, _ in QUESTIONS if search}:
        statement = f"SELECT count(*), min(id), max(id) FROM signals WHERE query = '{search[0]}'"
        run = subprocess.run([program, "sql", folder / "index", statement, "--format", "csv"], check=True,
                             capture_output=True, text=True)
        found = run.stdout.splitlines()[1]
        statement = f"SELECT count(*), min(id), max(id) FROM '{folder}/signals.parquet' WHERE {search[1]}"
        expected = ",".join(map(str, database.execute(statement).fetchone()))
        if found != expected:
            sys.exit(f"{search}: {found} and {expected} rows")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program = pathlib.Path(sys.argv[1]).resolve()
    signals = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 9
    profile = sys.argv[4] if len(sys.argv) > 4 else "measured"
    folder = prepare(program, signals)
    check_rows(program, folder)
    index = measure_ours(folder, [ours(statement, search) for _, statement, search, _ in QUESTIONS], runs, profile)
    parquet = measure_theirs(folder, [theirs(statement, search) for _, statement, search, _ in QUESTIONS], runs)
    rows, failed = [], []
    for (name, _, _, bound), (one, found), (other, expected) in zip(QUESTIONS, index, parquet, strict=True):
        if found != expected:
            sys.exit(f"{name}: {found} and {expected} rows")
        rows.append([name, f"{one:.2f}", f"{other:.2f}", f"{other / one:.2f}", f"{bound:.2f}"])
        if other < bound * one:
            failed.append(name)
    print(json.dumps({
        "date": time.strftime("%Y-%m"),
        "machine": platform.processor() or platform.machine(),
        "repeat": f"benches/sql.py PROGRAM {signals} {runs} {profile}",
        "tables": {"sql": {
            "columns": ["question", "index, ms", f"DuckDB {duckdb.__version__}, ms", "ratio", "bound"],
            "rows": rows,
        }},
    }, indent=2))
    if failed:
        sys.exit(f"below its bound: {', '.join(failed)}")


if __name__ == "__main__":
    try:
        import duckdb
        import pytz  # noqa: F401  DuckDB needs it for points in time.
    except ImportError:
        with_packages("duckdb", DUCKDB)
    main()
