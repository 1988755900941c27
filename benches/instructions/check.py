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
from built import built, built_test  # noqa: E402

RECORDED = HERE / "recorded.json"
SLOWER_MAX = 1.05
FASTER_MIN = 0.85
RUNS = 3
# A repeated string instruction (`rep stosb`) counts once a byte under valgrind, though a processor moves a
# cache line a cycle. So the C library is told to fill and copy memory by vectors, at any length: some
# four instructions a cache line.
WITHOUT_REPEATED = "glibc.cpu.x86_rep_stosb_threshold=1073741824:glibc.cpu.x86_rep_movsb_threshold=1073741824"

# Questions through three nodes in one thread, by a test of the cluster, which is built as for tests: the engine is not
# compiled once more. So what they take is not what a release takes, but it shows what is added.
CLUSTER_TEST = "tests::instructions::questions_through_nodes"
CLUSTER_PATTERN = "signaldex_cluster::tests::instructions::measured"
CLUSTER_TASKS = ["cluster, 100 counts", "cluster, 100 pages", "cluster, 100 times all facets"]


def names_of(bench, index):
    lines = subprocess.run([bench, "names", index], check=True, stdout=subprocess.PIPE, text=True)
    return lines.stdout.splitlines()


def counts_of(command, pattern, folder):
    """Instructions of each call of the measured function, one part of the output each."""
    subprocess.run(["valgrind", "--quiet", "--tool=callgrind", "--collect-atstart=no",
                    f"--toggle-collect={pattern}", f"--dump-after={pattern}",
                    f"--callgrind-out-file={folder}/out", *command], check=True,
                   stdout=subprocess.DEVNULL, env=os.environ | {"GLIBC_TUNABLES": WITHOUT_REPEATED})
    parts = sorted(pathlib.Path(folder).glob("out.*"), key=lambda part: int(part.suffix[1:]))
    totals = [re.search(r"^(?:totals|summary): (\d+)", part.read_text(), re.M) for part in parts]
    return [int(total.group(1)) for total in totals if total]


def named_counts(names, command, pattern, folder):
    """The same, by the names of the tasks."""
    os.mkdir(folder)
    counts = counts_of(command, pattern, folder)
    if len(names) != len(counts):
        sys.exit(f"{len(names)} tasks, but {len(counts)} counts")
    return dict(zip(names, counts))


def measured_runs():
    """The least count of each task so far, after each run."""
    bench, test = built("instructions"), built_test("signaldex-cluster")
    ask = [test, "--exact", CLUSTER_TEST, "--ignored", "--test-threads=1"]
    least = {}
    with tempfile.TemporaryDirectory() as folder:
        index = os.path.join(folder, "index")
        subprocess.run([bench, "build", index], check=True)
        names = names_of(bench, index)
        for run in range(RUNS):
            parts = os.path.join(folder, str(run))
            counts = named_counts(names, [bench, "run", index], "instructions::measured", parts)
            counts |= named_counts(CLUSTER_TASKS, ask, CLUSTER_PATTERN, parts + "-cluster")
            for name, count in counts.items():
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


def can_compare():
    """Whether counts of this machine compare with what is recorded."""
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is needed: apt-get install valgrind")
    if "avx2" not in pathlib.Path("/proc/cpuinfo").read_text():
        print("not compared: this processor has no AVX2")
        return False
    return True


def main():
    if not can_compare():
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
