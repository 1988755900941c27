#!/usr/bin/env python3
"""What publishing an update of a cluster's shards sends to the store.

usage: benches/published_bytes.py PROGRAM [SIGNALS [SHARDS]]    built with --features cluster; 500,000 signals, 8 shards

Publishes a generated corpus, then updates of signals all over it, one after the other, each with a new title.
"""

import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

CHANGED = (1, 100, 1000, 1000, 1000, 5000)


def run(program, *command):
    done = subprocess.run([program, *map(str, command)], capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stderr)
    return done.stderr


def sent(line):
    """The objects and the bytes that a publication names."""
    return re.search(r"(\d+) objects of (\d+) bytes", line).groups()


def change(lines, count, path):
    records = [json.loads(line) for line in random.sample(lines, count)]
    for record in records:
        record["title"] += " again"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def main():
    program = os.path.abspath(sys.argv[1])
    signals, shards = (int(text) for text in (sys.argv[2:] + ["500000", "8"][len(sys.argv) - 2:]))
    random.seed(3)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        corpus, parts, store, new = (folder / name for name in ("corpus", "parts", "store", "new.jsonl"))
        run(program, "generate", "--signals", signals, "--out", corpus)
        run(program, "shard", "--shards", shards, "--companies", corpus / "companies.jsonl", "--signals",
            corpus / "signals.jsonl", "--out", parts)
        print("all of it: {} objects, {} bytes".format(*sent(run(program, "publish-shards", parts, store))))
        lines = (corpus / "signals.jsonl").read_text().splitlines()
        for count in CHANGED:
            change(lines, count, new)
            line = run(program, "update", "--shards", parts, "--signals", new, "--publish", store)
            print("{} changed: {} objects, {} bytes".format(count, *sent(line)))


if __name__ == "__main__":
    main()
