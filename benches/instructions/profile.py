#!/usr/bin/env python3
"""Says in which functions tasks spend their instructions, as tables in Markdown.

usage: benches/instructions/profile.py TASK... > benches/instructions/missed.md

A task is named as in recorded.json, such as "no filter, page". What explains a figure that is missed
stands in missed.md.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import check

FUNCTIONS = 8


def shares(part, names):
    """Instructions by function of one part of callgrind's output. Names stand where they come
    first, in whichever part, so `names` goes from part to part."""
    counts = collections.Counter()
    function, is_call = None, False
    for line in part.read_text().splitlines():
        named = re.match(r"(c?fn)=\((\d+)\)(?: (.*))?", line)
        cost = re.match(r"[+\-*\d]\S* (\d+)$", line.strip())
        if named:
            if named.group(3):
                names[named.group(2)] = named.group(3)
            if named.group(1) == "fn":
                function = named.group(2)
        elif line.startswith("calls="):
            # The line behind it is what the callee took, which counts there.
            is_call = True
        elif cost and is_call:
            is_call = False
        elif cost:
            counts[function] += int(cost.group(1))
    return counts


def shorter(name):
    """A function's path without crate hashes, types and compilers' suffixes."""
    name = re.sub(r"'\d+$|::h[0-9a-f]{16}$|\.llvm\.\d+$", "", name)
    return name.replace("signaldex::", "").replace("|", "/")


def main():
    wanted = sys.argv[1:] or sys.exit(__doc__)
    bench = check.built("instructions")
    with tempfile.TemporaryDirectory() as folder:
        index = os.path.join(folder, "index")
        subprocess.run([bench, "build", index], check=True)
        tasks = check.names_of(bench, index)
        check.counts_of([bench, "run", index], "instructions::measured", folder)
        parts = sorted(pathlib.Path(folder).glob("out.*"), key=lambda part: int(part.suffix[1:]))
        names = {}
        counted = dict(zip(tasks, [shares(part, names) for part in parts]))
    print("# Where the instructions go\n\nCreated by `benches/instructions/profile.py`: all queries of a class once.")
    for task in wanted:
        counts = counted[task]
        total = sum(counts.values())
        print(f"\n## {task}\n\n| share | function |\n|--:|---|")
        for function, count in counts.most_common(FUNCTIONS):
            print(f"| {100 * count / total:.0f} % | `{shorter(names.get(function, '?'))}` |")


if __name__ == "__main__":
    main()
