#!/usr/bin/env python3
"""What loading a corpus as CSV, Parquet and .xlsx costs beside its JSON lines, and a dump beside an export.

usage: benches/tables.py [--record] [--program PROGRAM] [--signals SIGNALS] [--folder FOLDER]

Generates SIGNALS (1,000,000) signals in FOLDER (target/tables), unless they are there, writes them in each form, and
builds an index of each three times, in turn, on one core. Prints the fewest CPU seconds of three runs, so that
neighbours disturb little, the ratio to JSON lines, and the greatest memory. A sheet has at most 1,048,576 rows: the
time of .xlsx is that of a signal. --record writes benches/results/tables.json. Without PROGRAM the one that is
published is built, which takes minutes. Needs pyarrow, to write Parquet.
"""
import argparse
import csv
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile
from xml.sax.saxutils import escape

import pyarrow
import pyarrow.csv
import pyarrow.parquet

ROOT = pathlib.Path(__file__).parent.parent
RUNS = 3
ROWS_MAX = 1_048_576
COLUMNS = ("id,slug,title,evidence,category,date,publishedAt,updatedAt,companySlug,activityUrl,authorName,authorTitle,"
           "authorUrl,funding.stage,funding.amount,funding.currency,hiring.hiringType,hiring.jobFunction,"
           "hiring.seniority,hiring.employmentType,hiring.workArrangement")
# What each form may cost beside JSON lines.
BOUNDS = {"csv": 1.2, "parquet": 1.6, "xlsx": 3.0, "dump": 1.5}

PARTS = {
    "[Content_Types].xml":
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="xml" ContentType="application/xml"/></Types>',
    "_rels/.rels":
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml":
        '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
        'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>'
        '<sheet name="Signals" sheetId="1" r:id="r1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels":
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" '
        'Target="worksheets/sheet1.xml"/></Relationships>',
}


def run(command):
    """Runs a command that has to succeed. Returns its CPU seconds and its greatest memory in MB."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    told = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{command}: {told}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def fewest(commands):
    """The fewest CPU seconds and the greatest memory of some runs of each command, by name; each writes to a path."""
    taken = {name: [] for name in commands}
    for _ in range(RUNS):
        for name, (command, out) in commands.items():
            if out.is_file():
                out.unlink()
            else:
                shutil.rmtree(out, ignore_errors=True)
            taken[name].append(run(command))
    return {name: (min(seconds for seconds, _ in runs), max(held for _, held in runs)) for name, runs in taken.items()}


def write_workbook(table, path):
    """The rows of a CSV file as a sheet of inline texts. Returns the number of signals."""
    rows = 0
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in PARTS.items():
            archive.writestr(name, content)
        with archive.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as sheet:
            sheet.write(b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>')
            for row in csv.reader(open(table, newline="")):
                cells = (f'<c t="inlineStr"><is><t>{escape(cell)}</t></is></c>' if cell else "<c/>" for cell in row)
                sheet.write(f"<row>{''.join(cells)}</row>".encode())
                rows += 1
                if rows == ROWS_MAX:
                    break
            sheet.write(b"</sheetData></worksheet>")
    return rows - 1


def published():
    """Builds the program as it is published."""
    build = ["cargo", "build", "--profile", "dist", "--features", "serve,xlsx,parquet"]
    subprocess.run(build, cwd=ROOT, check=True)
    return ROOT / "target/dist/signaldex"


def write_forms(program, folder):
    """The signals of the corpus in each form, with their number."""
    jsonl, index = folder / "corpus/signals.jsonl", folder / "index"
    files = {form: folder / f"signals.{form}" for form in ("csv", "parquet", "xlsx")}
    if not all(file.exists() for file in files.values()):
        shutil.rmtree(index, ignore_errors=True)
        run([program, "build", "--companies", folder / "corpus/companies.jsonl", "--signals", jsonl, "--out", index])
        files["csv"].unlink(missing_ok=True)
        run([program, "export", index, "--format", "csv", "--columns", COLUMNS, "--out", files["csv"]])
        options = pyarrow.csv.ConvertOptions(column_types={"id": pyarrow.uint64()}, strings_can_be_null=True)
        parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
        table = pyarrow.csv.read_csv(files["csv"], convert_options=options, parse_options=parse)
        pyarrow.parquet.write_table(table, files["parquet"])
        write_workbook(files["csv"], files["xlsx"])
    return {"jsonl": jsonl} | files


def record(signals, loads, writes):
    """What is recorded: a table of loads, and the ratio of a dump."""
    seconds, memory = loads["jsonl"]
    rows = [["JSON lines", f"{seconds:.1f}", "1.00", "", f"{memory:.0f}"]]
    for form, name in (("csv", "CSV"), ("parquet", "Parquet"), ("xlsx", ".xlsx")):
        taken, held = loads[form]
        ratio = taken / min(signals, ROWS_MAX - 1) / (seconds / signals) if form == "xlsx" else taken / seconds
        rows.append([name, f"{taken:.1f}", f"{ratio:.2f}", str(BOUNDS[form]), f"{held:.0f}"])
    columns = ["file", "CPU seconds", "relative", "at most", "memory, MB"]
    dump = writes["dump"][0] / writes["export"][0]
    return {
        "date": datetime.date.today().isoformat(),
        "machine": f"one pinned core, with compilers beside it; {signals:,} generated signals",
        "repeat": "benches/tables.py",
        "values": {"dump": f"{dump:.2f}", "dump-max": str(BOUNDS["dump"])},
        "tables": {"loads": {"columns": columns, "rows": rows}},
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--program", type=pathlib.Path)
    parser.add_argument("--signals", type=int, default=1_000_000)
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "target/tables")
    options = parser.parse_args()
    program, folder = options.program or published(), options.folder.absolute()
    if not (folder / "corpus").exists():
        run([program, "generate", "--signals", str(options.signals), "--seed", "1", "--out", folder / "corpus"])
    files = write_forms(program, folder)
    # What is measured has one core, beginning with what this process starts.
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    index, companies = folder / "index", folder / "corpus/companies.jsonl"
    build = [program, "build", "--companies", companies, "--out", index, "--signals"]
    loads = fewest({form: ([*build, file], index) for form, file in files.items()})
    exported, dumped = folder / "all.ndjson", folder / "dump"
    writes = fewest({
        "export": ([program, "export", index, "--out", exported], exported),
        "dump": ([program, "dump", index, "--out", dumped], dumped),
    })
    measured = record(options.signals, loads, writes)
    print(json.dumps(measured, indent=2))
    if options.record:
        (ROOT / "benches/results/tables.json").write_text(json.dumps(measured, indent=2) + "\n")


main()
