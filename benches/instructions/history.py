#!/usr/bin/env python3
"""Draws how many instructions each class of queries has taken, over the commits that recorded them.

usage: benches/instructions/history.py > docs/images/instructions.svg

A thin line is a class, the thick one their geometric mean, both as shares of what was recorded first,
on a logarithmic scale. A class that came later starts at the mean of the others. Needs the
repository's history.
"""
import json
import math
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).parent.parent.parent
RECORDED = "benches/instructions/recorded.json"
# The records before this commit counted the moving of records too.
SINCE = "eabf09c"
TASKS = ["page", "page from the middle", "parsed page", "count", "facets"]

# Pixels.
WIDTH, PANEL, GAP, LEFT, TOP = 720, 110, 34, 60, 24
# The least and the largest share shown.
LEAST, LARGEST = 0.25, 1.5
SHARES = [0.25, 0.5, 1.0]


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def records():
    """The date and the counts of each commit that recorded some, oldest first."""
    lines = git("log", "--reverse", "--format=%H %as", f"{SINCE}..", "--", RECORDED).splitlines()
    commits = [line.split() for line in lines]
    return [(date, json.loads(git("show", f"{commit}:{RECORDED}"))) for commit, date in commits]


def classes_of(counts, task):
    """The counts of a task by class. Those of updated indexes and of slow shapes are no such class."""
    split = (name.rpartition(", ") for name in counts)
    return {name: counts[f"{name}, {last}"] for name, _, last in split
            if last == task and not name.endswith(", updated") and not name.startswith("slow, ")}


def shares(history, task):
    """Of each class and of the mean: the index of a commit and the share there."""
    lines, mean, before = {}, [], {}
    for index, (_, counts) in enumerate(history):
        now = classes_of(counts, task)
        if not now:
            continue
        steps = {name: now[name] / before[name] for name in now if name in before}
        step = math.exp(sum(map(math.log, steps.values())) / len(steps)) if steps else 1
        level = mean[-1][1] * step if mean else 1
        mean.append((index, level))
        for name in now:
            line = lines.setdefault(name, [])
            line.append((index, line[-1][1] * steps.get(name, 1) if line else level))
        before = now
    return lines, mean


def polyline(points, last, top, stroke):
    def x(index):
        return LEFT + index / last * (WIDTH - LEFT - 10)

    coordinates = " ".join(f"{x(index):.1f},{height(share, top):.1f}" for index, share in points)
    return f'<polyline points="{coordinates}" fill="none" {stroke}/>'


def height(share, top):
    share = min(max(share, LEAST), LARGEST)
    return top + PANEL * (math.log(LARGEST / share) / math.log(LARGEST / LEAST))


def panel(history, task, top):
    lines, mean = shares(history, task)
    last = max(1, len(history) - 1)
    yield f'<text x="{LEFT}" y="{top - 8}" font-weight="bold">{task}</text>'
    for share in SHARES:
        y = height(share, top)
        yield f'<line x1="{LEFT}" x2="{WIDTH - 10}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{share:g}</text>'
    for line in lines.values():
        yield polyline(line, last, top, 'stroke="#9ab" stroke-width="0.8"')
    yield polyline(mean, last, top, 'stroke="#b40" stroke-width="2.2"')
    if mean:
        y = height(mean[-1][1], top) - 6
        yield f'<text x="{WIDTH - 10}" y="{y:.1f}" text-anchor="end" fill="#b40">{mean[-1][1]:.2f}</text>'


def main():
    history = records()
    rows = TOP + len(TASKS) * (PANEL + GAP)
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {rows}" '
          f'font-family="sans-serif" font-size="12" fill="#222">')
    print("<title>Instructions of each class over commits, as shares of the first record</title>")
    print(f'<rect width="{WIDTH}" height="{rows}" fill="white"/>')
    for number, task in enumerate(TASKS):
        for element in panel(history, task, TOP + number * (PANEL + GAP)):
            print(element)
    first, last = history[0][0], history[-1][0]
    print(f'<text x="{LEFT}" y="{rows - 10}">{first}</text>')
    print(f'<text x="{WIDTH - 10}" y="{rows - 10}" text-anchor="end">{last}</text>')
    print("</svg>")


if __name__ == "__main__":
    main()
