#!/usr/bin/env python3
"""What loading a corpus as CSV, Parquet and .xlsx costs beside its JSON lines, and a dump beside an export.

usage: benches/tables.py [SIGNALS] [FOLDER]

Generates SIGNALS (1,000,000) signals in FOLDER (target/tables), unless they are there, writes them in each form, and
builds an index of each three times. Prints the fewest CPU seconds of three runs, so that neighbours disturb little, the
ratio to JSON lines, and the greatest memory. A sheet has at most 1,048,576 rows: the time of .xlsx is that of a signal.
Needs pyarrow, to write Parquet.
"""
import csv
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


def best(command, out):
    """The fewest CPU seconds of some runs that write to a folder, and the greatest memory."""
    seconds, memory = [], []
    for _ in range(RUNS):
        if out.is_file():
            out.unlink()
        else:
            shutil.rmtree(out, ignore_errors=True)
        taken, held = run(command)
        seconds.append(taken)
        memory.append(held)
    return min(seconds), max(memory)


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


def main():
    signals = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "target/tables").absolute()
    build = ["cargo", "build", "--profile", "dist", "--features", "serve,xlsx,parquet"]
    subprocess.run(build, cwd=ROOT, check=True)
    program = ROOT / "target/dist/signaldex"
    corpus, index = folder / "corpus", folder / "index"
    companies = corpus / "companies.jsonl"
    if not corpus.exists():
        run([program, "generate", "--signals", str(signals), "--seed", "1", "--out", corpus])

    def load(file):
        command = [program, "build", "--companies", companies, "--signals", file, "--out", index]
        return best(command, index)

    seconds, memory = load(corpus / "signals.jsonl")
    print(f"JSON lines: {seconds:.2f} s, {memory:.0f} MB")
    files = {form: folder / f"signals.{form}" for form in ("csv", "parquet", "xlsx")}
    files["csv"].unlink(missing_ok=True)
    run([program, "export", index, "--format", "csv", "--columns", COLUMNS, "--out", files["csv"]])
    options = pyarrow.csv.ConvertOptions(column_types={"id": pyarrow.int64()}, strings_can_be_null=True)
    parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
    table = pyarrow.csv.read_csv(files["csv"], convert_options=options, parse_options=parse)
    pyarrow.parquet.write_table(table, files["parquet"])
    rows = {"csv": signals, "parquet": signals, "xlsx": write_workbook(files["csv"], files["xlsx"])}
    for form, file in files.items():
        taken, held = load(file)
        ratio = taken / rows[form] / (seconds / signals)
        print(f"{form}: {taken:.2f} s, {held:.0f} MB; {ratio:.2f} times JSON lines, at most {BOUNDS[form]}; "
              f"{held - memory:+.0f} MB, at most +100")
    exported = best([program, "export", index, "--out", folder / "all.ndjson"], folder / "all.ndjson")
    dumped = best([program, "dump", index, "--out", folder / "dump"], folder / "dump")
    print(f"dump: {dumped[0]:.2f} s; {dumped[0] / exported[0]:.2f} times an export, at most {BOUNDS['dump']}")


main()
