#!/usr/bin/env python3
"""Counts the cache misses of pages of an index that is in no cache, and compares them with what is recorded.

usage: benches/instructions/misses.py [--record]

Callgrind runs pages of five queries of each class over an index as that of check.py, with cachegrind's model of two
levels of 32 KiB and 1 MiB, whatever this machine has. `cold.rs` says what is evicted and what is not. For each class,
two means of a page:

- misses: reads of data that the last level does not have;
- places: load instructions with such a miss. The misses of one place belong to a loop over rows or words, whose
  iterations mostly do not wait for each other. So places bound a chain of misses that depend on each other better than
  misses do, and still not exactly: the model knows neither what an address was computed from nor prefetching, a few
  places of a structure do not wait for each other, and a binary search misses more than once in a place.

Fails where a class has more than 5 % and one more of either, and where it has 15 % and one fewer, so that a gain is
recorded before it is lost.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import check

RECORDED = check.HERE / "recorded-misses.json"
# Bytes, ways, and bytes of a line. Valgrind would take the caches of this machine.
CACHES = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64"]
FUNCTION = "instructions::measured"


def misses_and_places(part):
    """Of one page: the read misses of the last level, and the instructions that have some."""
    lines = iter(part.read_text().splitlines())
    misses, places, column = 0, 0, None
    for line in lines:
        if line.startswith("events: "):
            # Before the counts stand the address and the line; counts of 0 at the end are left out.
            column = 2 + line.split()[1:].index("DLmr")
        elif line.startswith("calls="):
            # What the callee took counts there.
            next(lines)
        elif re.match("0x", line):
            counts = line.split()
            if column < len(counts) and counts[column] != "0":
                misses += int(counts[column])
                places += 1
    return misses, places


def pages_of(bench, index, queries, folder):
    """The counts of each page, in their order."""
    program = subprocess.run(
        ["valgrind", "--quiet", "--tool=callgrind", "--cache-sim=yes", *CACHES, "--dump-instr=yes",
         "--compress-pos=no", "--collect-atstart=no", f"--toggle-collect={FUNCTION}", f"--dump-after={FUNCTION}",
         f"--callgrind-out-file={folder}/out", bench, "cold", index, queries],
        stderr=subprocess.PIPE, text=True, env=os.environ | {"GLIBC_TUNABLES": check.WITHOUT_REPEATED})
    if program.returncode:
        sys.exit(program.stderr)
    parts = sorted(pathlib.Path(folder).glob("out.*"), key=lambda part: int(part.suffix[1:]))
    return [misses_and_places(part) for part in parts]


def measured(bench):
    """The mean misses and places of a page, by class."""
    with tempfile.TemporaryDirectory() as folder:
        index = os.path.join(folder, "index")
        lines = subprocess.run([bench, "build-cold", index], check=True, stdout=subprocess.PIPE, text=True).stdout
        queries = pathlib.Path(folder) / "queries"
        queries.write_text(lines)
        classes = [line.split("\t")[0] for line in lines.splitlines()]
        parts = os.path.join(folder, "parts")
        os.mkdir(parts)
        pages = pages_of(bench, index, queries, parts)
    if len(classes) != len(pages):
        sys.exit(f"{len(classes)} pages, but {len(pages)} counts")
    by_class = {}
    for name, page in zip(classes, pages):
        by_class.setdefault(name, []).append(page)
    return {name: dict(zip(("misses", "places"), (round(sum(counts) / len(counts), 1) for counts in zip(*pages))))
            for name, pages in by_class.items()}


def differs(now, then):
    """Whether a count is more, or far fewer, than is tolerated."""
    return now > then * check.SLOWER_MAX + 1 or now < then * check.FASTER_MIN - 1


def main():
    if not check.can_compare():
        return
    now = measured(check.built("instructions"))
    if sys.argv[1:] == ["--record"]:
        RECORDED.write_text(json.dumps(now, indent=2) + "\n")
        print(f"{len(now)} classes recorded")
        return
    recorded = json.loads(RECORDED.read_text())
    differing = [name for name in now.keys() | recorded.keys()
                 if name not in now or name not in recorded
                 or any(differs(now[name][count], recorded[name][count]) for count in recorded[name])]
    for name in sorted(differing):
        print(f"{name}: {recorded.get(name)} recorded, {now.get(name)} counted")
    if differing:
        sys.exit("more cache misses, or a gain: fix it, or record it with --record")
    print(f"cache misses of {len(now)} classes are as recorded")


if __name__ == "__main__":
    main()
