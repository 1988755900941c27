#!/usr/bin/env python3
"""Writes measured figures into documents, docstrings and comments, from the records of the benches.

usage: benches/figures.py [--check | --list]

A figure stands between two markers:

    <!--figure:RECORD.NAME-->2.5<!--end-->

The markers of a table are lines of their own. RECORD is a file in one of FOLDERS, without its ending:

    {"date": …, "machine": …, "repeat": COMMAND,
     "values": {NAME: TEXT}, "tables": {NAME: {"columns": [TEXT], "rows": [[TEXT]]}}}

A cell of a table is a figure, too: RECORD.TABLE.FIRST-CELL-OF-ITS-ROW.COLUMN; a text may name others as {RECORD.NAME}.

`load` turns what programs write, such as 1m.json, into the same form. --check changes nothing: it names each file and
marker where something else stands, and exits with 1. --list prints all figures.
"""

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import capacity
import comparison
import question_goals

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ["benches/results", "tests/results", "crates/server/benches/load/results"]
PEERS = "benches/peers/results"
FIGURE = re.compile(r"<!--figure:([\w.-]+)-->(.*?)<!--end-->", re.S)
# At the beginning of a line, Markdown takes a comment as a block of its own.
AT_BEGIN = re.compile(r"^[ /!-]*<!--figure:([\w.-]+)-->.", re.M)


def read(path):
    return json.loads((ROOT / path).read_text())


def table(columns, rows):
    """Markdown, with numbers to the right."""
    rows = [[str(cell) for cell in row] for row in rows]
    numeric = [all(re.match(r"[*-]*(\d|$)", row[index]) for row in rows) for index in range(len(columns))]
    lines = [re.sub(" +", " ", f"| {' | '.join(row)} |") for row in [columns, *rows]]
    return "\n".join([lines[0], f"|{'|'.join('--:' if is_right else '---' for is_right in numeric)}|", *lines[1:]])


def scaled():
    """How many times as long ten times as many signals take: the means below each table of alone.md."""
    means = re.findall(r"^\| geometric mean \|(.*)", (ROOT / PEERS / "alone.md").read_text(), flags=re.M)
    page, middle, count, limit = re.findall(r"[\d.]+", " ".join(means))
    return {"values": {"page": page, "middle": middle, "count": count, "limit": limit}}


def http():
    """Requests per second by connections, of the second program in pace.md."""
    rows = {}
    sections = re.split(r"^## ", (ROOT / FOLDERS[-1] / "pace.md").read_text(), flags=re.M)[1:]
    for row in re.findall(r"^\| (\d+ \|.*) \|$", "".join(sections), flags=re.M):
        connections, *cells = row.split(" | ")
        rows.setdefault(connections, [connections]).append(f"{int(cells[4]):,}")
    columns = ["connections", *(section.split("\n")[0] for section in sections)]
    return {"tables": {"rates": {"columns": columns, "rows": [rows[n] for n in ("1", "16", "256")]}}}


def instructions():
    """Instructions of each task, and of several segments as multiples of those of one."""
    recorded = read("benches/instructions/recorded.json")
    values = {re.sub(r"\W+", "-", task): f"{count:,}" for task, count in recorded.items()}
    for kind in ("updated", "committed"):
        for task in ("page", "count"):
            pairs = {key: key.replace(f", {kind}", "") for key in recorded if key.endswith(f", {kind}, {task}")}
            ratios = [recorded[several] / recorded[one] for several, one in pairs.items() if one in recorded]
            values[f"{kind}-{task}"] = f"{comparison.mean(ratios):.2f}"
    return {"values": values}


def load():
    """All records, by name."""
    records = {path.stem: read(path) for folder in FOLDERS for path in (ROOT / folder).glob("*.json")}
    names = {"1m": "1,000,000 signals", "1m-avx2": "with AVX2 only", "real": "the real corpus"}
    runs = {title: comparison.Run(read(f"{PEERS}/{name}.json")) for name, title in names.items()}
    first = runs[names["1m"]]
    records |= {"1m": first.record(), "alone": scaled(), "pace": http(), "instructions": instructions()}
    records["peers"] = {"tables": {"times": comparison.times_as_fast(runs),
                                   "budget": comparison.budget(first, runs[names["real"]], records["sections"])}}
    records["capacity"] = capacity.record(records)
    records["goals"] = question_goals.record(records)
    return records


def figures():
    """The text of each figure by its name: of values, of tables, and of the cells of tables."""
    texts = {}
    for record, content in load().items():
        texts |= {f"{record}.{name}": text for name, text in content.get("values", {}).items()}
        for name, rows in content.get("tables", {}).items():
            texts[f"{record}.{name}"] = f"\n\n{table(**rows)}\n\n"
            for title, *cells in rows["rows"]:
                for column, cell in zip(rows["columns"][1:], cells):
                    if rows["columns"].count(column) == 1:
                        texts[".".join([record, name, slug(title), slug(column)])] = str(cell)
    # A table of prose names the figures of other records.
    return {name: re.sub(r"{([\w-]+\.[\w.-]+)}", lambda named: texts[named[1]], text) for name, text in texts.items()}


def slug(text):
    return re.sub(r"\W+", "-", str(text)).strip("-")


def sources():
    """The documents and sources that may have figures."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md", "*.rs", "*.py", "*.pyi", "*.toml"]
    paths = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return [ROOT / path for path in paths if path != "benches/figures.py" and (ROOT / path).exists()]


def main():
    texts, is_check, faults = figures(), "--check" in sys.argv, 0
    if "--list" in sys.argv:
        print("\n".join(f"{name}: {text}" for name, text in texts.items()))
        return
    for path in sources():
        content, name = path.read_text(), path.relative_to(ROOT)
        found = FIGURE.findall(content)
        if not len(found) == content.count("<!--figure:") == content.count("<!--end-->"):
            faults += 1
            print(f"{name}: a marker without an end, or an end without a marker")
            continue
        for figure in AT_BEGIN.findall(content):
            faults += 1
            print(f"{name}: {figure}: a value must not begin a line")
        for figure, text in found:
            if figure not in texts or is_check and texts[figure] != text:
                faults += 1
                pairs = itertools.zip_longest(text.split("\n"), texts.get(figure, "no such figure").split("\n"))
                has, wants = next(pair for pair in pairs if pair[0] != pair[1])
                print(f"{name}: {figure}: {has!r} should be {wants!r}")
        written = FIGURE.sub(lambda m: f"<!--figure:{m[1]}-->{texts.get(m[1], m[2])}<!--end-->", content)
        if written != content and not is_check:
            path.write_text(written)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
