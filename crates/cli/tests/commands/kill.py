#!/usr/bin/env python3
"""Kills the program at each call that changes files, and opens what it leaves.

usage: crates/cli/tests/commands/kill.py PROGRAM [SIGNALS]

Needs strace, on Linux, and a program with the feature `cluster`. An index of SIGNALS signals, 3,000 unless said
otherwise, is updated and compacted by the real program. strace first counts the calls of each kind, then kills the
program with SIGKILL as it enters the first of them, the second, and so on. Each time what is left has to pass `verify`
and hold either what was there before or what was to come, the latter where the program had said so, at the same position
in the feed of changes; and the same command run once more has to succeed.

Shards are updated likewise, by an update that moves signals from each shard to another. Each shard has to pass `verify`,
no signal may be in none, and the same command has to complete the update.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

CALLS = ["openat", "write", "pwrite64", "fsync", "fdatasync", "rename", "renameat2", "unlink",
         "ftruncate"]


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        prepare(program, int(sys.argv[2]) if len(sys.argv) > 2 else 3000)
        kills = 0
        for command in (update(program), [program, "compact", "index"]):
            kills += kill_everywhere(program, command)
            run(command)
        print(f"{kills} kills: every index opened as the old or the new one")
        print(f"{kill_shards(program)} kills: every update of shards was completed, no signal was lost")


def prepare(program, signals):
    run([program, "generate", "--signals", str(signals), "--seed", "1", "--out", "corpus"])
    corpus = ["--companies", "corpus/companies.jsonl", "--signals", "corpus/signals.jsonl"]
    run([program, "build", *corpus, "--out", "index"])
    run([program, "generate", "--signals", str(signals // 2), "--seed", "2", "--out", "changes"])
    # Deletions as well: every tenth signal of the corpus.
    with open("corpus/signals.jsonl") as lines, open("deleted", "w") as deleted:
        ids = [re.search(r'"id":\s*"?(\d+)', line).group(1) for line in lines]
        deleted.write("\n".join(ids[::10]))
    # The next commit moves the digests of these to a file.
    with open("absent", "w") as absent:
        absent.write("1")
    for _ in range(63):
        run([program, "update", "index", "--delete-signals", "absent"])


def update(program):
    return [program, "update", "index", "--companies", "changes/companies.jsonl", "--signals",
            "changes/signals.jsonl", "--delete-signals", "deleted"]


def kill_everywhere(program, command):
    shutil.copytree("index", "before")
    old = contents(program)
    run(command)
    new = contents(program)
    kills = 0
    for call in CALLS:
        number = 0
        while True:
            number += 1
            restore()
            if not kill(call, number, command):
                break
            check(program, command, old, new, f"{call} {number}")
            kills += 1
    restore()
    shutil.rmtree("before")
    return kills


def kill_shards(program):
    run([program, "generate", "--signals", "60", "--seed", "3", "--out", "few"])
    with open("few/signals.jsonl") as lines:
        signals = [json.loads(line) for line in lines]
    files = ["--companies", "few/companies.jsonl", "--signals"]
    run([program, "shard", *files, "few/signals.jsonl", "--shards", "2", "--out", "parts"])
    shutil.copytree("parts", "parts-before")
    # Each signal gets the company of another one.
    for signal, other in zip(signals, [signal["companySlug"] for signal in signals[1:]]):
        signal["companySlug"] = other
    with open("moved.jsonl", "w") as moved:
        moved.writelines(json.dumps(signal) + "\n" for signal in signals)
    command = [program, "update", "--shards", "parts", *files, "moved.jsonl"]
    run(command)
    new, kills = contents_of_shards(program), 0
    for call in CALLS:
        number = 0
        while True:
            number += 1
            shutil.rmtree("parts")
            shutil.copytree("parts-before", "parts")
            if not kill(call, number, command):
                break
            kills += 1
            found = "".join(contents_of_shards(program))
            lost = [signal["id"] for signal in signals if str(signal["id"]) not in found]
            if lost:
                sys.exit(f"killed at {call} {number}: no shard has the signals {lost}")
            run(command)
            run([program, "verify", "--shards", "parts"])
            if contents_of_shards(program) != new:
                sys.exit(f"killed at {call} {number}: done again, the shards are not the new ones")
    return kills


def contents_of_shards(program):
    """The signals of each shard, which is verified."""
    shards = ["parts/0", "parts/1"]
    for shard in shards:
        run([program, "verify", shard])
    return [run([program, "export", shard]) for shard in shards]


def kill(call, number, command):
    """Whether the program was killed, that is, made so many of these calls."""
    inject = f"inject={call}:signal=KILL:when={number}"
    traced = ["strace", "-f", "-qq", "-o", "trace", "-e", f"trace={call}", "-e", inject, *command]
    return subprocess.run(traced, capture_output=True).returncode != 0


def check(program, command, old, new, where):
    found = contents(program)
    if found not in (old, new):
        sys.exit(f"killed at {where}: neither the old nor the new index")
    # The next writer cleans up and finishes the work. A commit that was already made is followed by another, so only
    # the position may differ.
    run(command)
    if contents(program)[1:] != new[1:]:
        sys.exit(f"killed at {where}: done again, the index is not the new one")


def contents(program):
    """The position, and all signals and companies, verified."""
    run([program, "verify", "index"])
    return [run([program, "changes", "index"]), run([program, "export", "index"]),
            run([program, "export", "index", "--companies"])]


def restore():
    shutil.rmtree("index")
    shutil.copytree("before", "index")


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
