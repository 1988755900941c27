#!/usr/bin/env python3
"""Counts the instructions of a fixed set of tasks and compares them with what is recorded.

usage: benches/instructions/check.py [--record]

Fails where a task takes more than 5 % more instructions than recorded, and where it takes more
than 15 % fewer, so that a gain is recorded before it is lost. Needs valgrind, which emulates a processor with
AVX2; on other processors the counts differ, and nothing is compared. Where the memory that a task
gets lies differs from run to run, which shows in copies and in the allocator, so the least of up to
three runs counts.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from built import built  # noqa: E402

RECORDED = HERE / "recorded.json"
SLOWER_MAX = 1.05
FASTER_MIN = 0.85
RUNS = 3
# A repeated string instruction (`rep stosb`) counts once a byte under valgrind, though a processor moves a
# cache line a cycle. So the C library is told to fill and copy memory by vectors, at any length: some
# four instructions a cache line.
WITHOUT_REPEATED = "glibc.cpu.x86_rep_stosb_threshold=1073741824:glibc.cpu.x86_rep_movsb_threshold=1073741824"


def names_of(bench, index):
    lines = subprocess.run([bench, "names", index], check=True, stdout=subprocess.PIPE, text=True)
    return lines.stdout.splitlines()


def counts_of(bench, index, folder):
    """Instructions of each call of the measured function, one part of the output each."""
    pattern = "instructions::measured"
    subprocess.run(["valgrind", "--quiet", "--tool=callgrind", "--collect-atstart=no",
                    f"--toggle-collect={pattern}", f"--dump-after={pattern}",
                    f"--callgrind-out-file={folder}/out", bench, "run", index], check=True,
                   env=os.environ | {"GLIBC_TUNABLES": WITHOUT_REPEATED})
    parts = sorted(pathlib.Path(folder).glob("out.*"), key=lambda part: int(part.suffix[1:]))
    totals = [re.search(r"^(?:totals|summary): (\d+)", part.read_text(), re.M) for part in parts]
    return [int(total.group(1)) for total in totals if total]


def measured_runs():
    """The least count of each task so far, after each run."""
    bench = built("instructions")
    least = {}
    with tempfile.TemporaryDirectory() as folder:
        index = os.path.join(folder, "index")
        subprocess.run([bench, "build", index], check=True)
        names = names_of(bench, index)
        for run in range(RUNS):
            parts = os.path.join(folder, str(run))
            os.mkdir(parts)
            counts = counts_of(bench, index, parts)
            if len(names) != len(counts):
                sys.exit(f"{len(names)} tasks, but {len(counts)} counts")
            for name, count in zip(names, counts):
                least[name] = min(count, least.get(name, count))
            yield least


def compare(measured, recorded):
    """The tasks that are slower or faster than is tolerated, with what they took."""
    differing = []
    for name in sorted(measured.keys() | recorded.keys()):
        now, then = measured.get(name), recorded.get(name)
        if now is None or then is None or not FASTER_MIN <= now / then <= SLOWER_MAX:
            differing.append((name, then, now))
    return differing


def main():
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is needed: apt-get install valgrind")
    if "avx2" not in pathlib.Path("/proc/cpuinfo").read_text():
        print("not compared: this processor has no AVX2")
        return
    if sys.argv[1:] == ["--record"]:
        *_, measured = measured_runs()
        RECORDED.write_text(json.dumps(measured, indent=2) + "\n")
        print(f"{len(measured)} tasks recorded")
        return
    recorded = json.loads(RECORDED.read_text())
    for measured in measured_runs():
        differing = compare(measured, recorded)
        if not differing:
            print(f"{len(measured)} tasks take at most 5 % more than is recorded")
            return
    for name, then, now in differing:
        print(f"{name}: {then} instructions recorded, {now} counted")
    sys.exit("too many instructions, or a gain: fix it, or record it with --record")


if __name__ == "__main__":
    main()
