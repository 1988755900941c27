#!/usr/bin/env python3
"""Pages by value, aggregates and companies beside their goals: the table of benches/results/questions.md, and a chart.

usage: benches/question_goals.py > docs/images/questions.svg

A bar is what was measured over its goal, or the goal over what was measured where more is better, on a logarithmic scale:
one that passes the line misses. The records are those of benches/questions.py and of `signaldex-peers by-value`.
"""
import json
import math
import pathlib
from typing import NamedTuple

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
WORD_LISTED = "It is counted from the bits of the word by period; lists of filter options of frequent words are stored."
NUMBERED = "Each match is looked up in a numbering of companies; nothing of that is stored with the word."
WALKED = ("A page by id stops after 50 matches, mostly within a microsecond; one by value probes rows in the order of values, "
          "most of which do not match.")
# By name in the record of `benches/slow_shapes`: of what, and why the goal is missed.
SLOWEST = {
    "conditions": ("300 pages of companies with eight conditions of phrases",
                   "Each condition takes as long as the slowest counts of phrases, and those of `has` are counted again for "
                   "the page."),
    "by-value": ("300 pages by value under 50 rare phrases", ""),
    "groups": ("questions for 23,000 to 49,000 groups with quartiles", ""),
}
UNMEASURED = "The record is older than this question."


class Row(NamedTuple):
    """A goal: at most so much, or at least if it is more that is wanted."""
    name: str
    goal: float
    unit: str
    # None where it was not measured.
    measured: float | None
    # Said where the goal is missed.
    why: str
    is_least: bool = False

    def share(self):
        """What of the goal is used: over 1 it is missed."""
        return self.goal / self.measured if self.is_least else self.measured / self.goal

    def cells(self):
        goal = f"{'>=' if self.is_least else '<='} {self.goal:,g} {self.unit}"
        if self.measured is None:
            return [self.name, goal, "not measured", "", UNMEASURED]
        is_met = self.share() <= 1
        return [self.name, goal, f"{number(self.measured)} {self.unit}", "yes" if is_met else "**no**",
                "" if is_met else self.why]


def number(value):
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


class Measured:
    """The records by name, as `benches/figures.py` loads them."""

    def __init__(self, records):
        self.values = records["questions"]["values"]
        tables = records["questions"]["tables"]
        self.tasks = {name: (float(one), float(four)) for name, one, four, *_ in tables["tasks"]["rows"]}
        self.pages = {row[0]: [float(cell) for cell in row[2:]] for row in tables["pages"]["rows"]}
        peers = tables.get("peers", {"columns": [], "rows": []})
        self.peers = {row[0]: dict(zip(peers["columns"], row)) for row in peers["rows"]}
        self.by_value = records.get("by-value", {}).get("values", {})
        self.memory = records["questions-memory"]["values"]
        self.slowest = records["slow"]["values"]
        self.overhead = records["questions-overhead"]["values"]
        larger = records.get("questions-10000000", {}).get("tables")
        self.larger = larger and {name: {row[0]: row for row in larger[name]["rows"]} for name in ("tasks", "pages")}

    def time(self, task):
        return self.tasks[task][0]

    def over(self, task, other):
        return self.time(task) / self.time(other)

    def times(self, task, peer):
        """How many times as long as ours a peer takes."""
        cell = self.peers.get(task, {}).get(f"{peer} over signaldex")
        return float(cell.replace(",", "")) if cell else None

    def worst_page(self):
        """The largest ratio of a page by value to one by id, and its class."""
        return max((row[2], name) for name, row in self.pages.items())

    def segments(self):
        """The largest ratio of four segments to one: of pages, of aggregates, of companies."""
        pages = max((row[3] / row[1], name) for name, row in self.pages.items())
        kinds = {"page": pages}
        for kind in ("aggregates", "companies"):
            kinds[kind] = max((four / one, name) for name, (one, four) in self.tasks.items() if kind_of(name) == kind)
        return kinds

    def growth(self):
        """How many times as long 10,000,000 signals take: the mean of pages, the most of aggregates and companies."""
        if not self.larger:
            return {"page": None, "aggregates": None, "companies": None}
        pages = [math.log(float(row[3]) / self.pages[name][1]) for name, row in self.larger["pages"].items()
                 if name in self.pages]
        growth = {"page": math.exp(sum(pages) / len(pages))}
        for kind in ("aggregates", "companies"):
            growth[kind] = max(float(row[1]) / self.time(name) for name, row in self.larger["tasks"].items()
                               if kind_of(name) == kind)
        return growth


def kind_of(task):
    """What a task belongs to; none for what others are compared with."""
    if task.startswith("one list of") or task.endswith("alone") or task.startswith("page"):
        return None
    return "companies" if task.startswith("companies") else "aggregates"


def rows(measured):
    """All goals in the order of their questions."""
    by_series, everything = 'sums by month and country of "series a"', "sums by month and country"
    conditions = "companies, two conditions"
    counted = ("Every match of both conditions is counted before the first page, one increment each; two counts alone are "
               "mostly stored.")
    worst, worst_class = measured.worst_page()
    least = measured.by_value.get("least")
    segments, growth = measured.segments(), measured.growth()
    memory, overhead, slowest = measured.memory, measured.overhead, measured.slowest
    made = [
        Row("page by date or amount over page by id, geometric mean", 3, "times", float(measured.values["by-value"]), WALKED),
        Row(f"the same, worst class: {worst_class}", 6, "times", worst, WALKED),
        Row(f"tantivy's order by a fast field over such a page, least class: {measured.by_value.get('least-class', '')}",
            10, "times", least and float(least),
            "With few matches both read little but the plan; the geometric mean of all classes is "
            f"{measured.by_value.get('mean', '')} times.", is_least=True),
        Row("months of a frequent word over one list of filter options", 1.2, "times",
            measured.over("months of a word", "one list of filter options of a word"), WORD_LISTED),
        Row("months without a filter", 2, "µs", measured.time("months"),
            "Counts by month are kept; to rank 79 groups and to write their keys remains."),
        Row("sums by month over months, of a frequent word", 2, "times",
            measured.over("sums by month of a word", "months of a word"),
            "Sums read the code of each amount; months only count bits."),
        Row("medians over sums", 2, "times", measured.over("medians by month of a word", "sums by month of a word"),
            "A histogram of codes is kept for each group."),
        Row("months × countries with sums, \"series a\"", 500, "µs", measured.time(by_series),
            "Some 4,500 groups: a quarter of the time allocates and frees their keys and figures, a sixth ranks them."),
        Row("DuckDB over the same", 200, "times", measured.times(by_series, "DuckDB"),
            "Ours misses its own goal by about as much, and DuckDB is given the words of titles in lower case.", is_least=True),
        Row("months × countries with sums, without a filter", 10_000, "µs", measured.time(everything), ""),
        Row("DuckDB over the same", 3, "times", measured.times(everything, "DuckDB"), "", is_least=True),
        Row("ten companies with most matches, `in`", 200, "µs", measured.time("ten companies of a word"), NUMBERED),
        Row("ten companies with most matches, `raises`", 200, "µs", measured.time('ten companies of "raises"'), NUMBERED),
        Row("number of companies, `in`", 200, "µs", measured.time("number of companies of a word"), NUMBERED),
        Row("number of companies, `raises`", 200, "µs", measured.time('number of companies of "raises"'), NUMBERED),
        Row("two conditions, page of 50 companies, over the two counts", 10, "times",
            measured.over(conditions, f"{conditions}, the two counts alone"), counted),
        Row("two conditions, page of 50 companies", 300, "µs", measured.time(conditions), counted),
        Row("DuckDB over the same", 20, "times", measured.times(conditions, "DuckDB"), counted, is_least=True),
        Row("SQLite over the same", 20, "times", measured.times(conditions, "SQLite"),
            "By index, SQLite counts companies in the order of slugs until the page is full; ours counts all of them.",
            is_least=True),
    ]
    whys = {
        "page": "Each segment is walked in its own order of values, and their pages are merged.",
        "aggregates": "Counts of deleted rows by value are not kept, so deleted rows are taken off one by one.",
        "companies": "Columns of each segment are compared, and companies within are looked up in one numbering.",
    }
    for kind, (ratio, name) in segments.items():
        made.append(Row(f"four segments with 1.5 % deleted rows over one, worst {kind}: {name}", 2, "times", ratio,
                        whys[kind]))
    for kind, goal in (("page", 3), ("aggregates", 10), ("companies", 10)):
        which = "geometric mean of pages by value" if kind == "page" else f"most of {kind}"
        made.append(Row(f"10,000,000 signals over 1,000,000, {which}", goal, "times", growth[kind],
                        "Columns and counters of ten times as many signals and companies do not fit into the caches."))
    for name, (what, why) in SLOWEST.items():
        made.append(Row(f"slowest of {what}", 20_000, "µs", float(slowest[name]), why))
    return made + [
        Row(f"memory of one question over 10,000,000 signals, most: {memory['question-most']}", 64, "MiB",
            float(memory["question"]), "Each group of each segment has its counters and its histogram."),
        Row(f"memory of an export in any order, most: {memory['export-most']}", 32, "MiB", float(memory["export"]),
            "Why was not looked for."),
        Row("index, bytes a signal more than before these questions", 2, "bytes", float(overhead["index-bytes"]), ""),
        Row("build, instructions more than before these questions", 3, "%", float(overhead["build-percent"]),
            "Rows in the order of amounts, columns of companies and counts of values are written besides."),
        Row(f"tasks recorded before, most instructions over those of then: {overhead['most-task']}", 1.01, "times",
            float(overhead["most-times"]),
            f"{overhead['tasks-over']} tasks take more than 1.01 times as many; why was not looked for task by task."),
    ]


def record(records):
    """The table, and how many goals are met and missed, as `benches/figures.py` takes them."""
    all_rows = rows(Measured(records))
    shares = [row.share() for row in all_rows if row.measured is not None]
    return {
        "values": {"count": str(len(shares)), "missed": str(sum(share > 1 for share in shares))},
        "tables": {"goals": {"columns": ["question", "goal", "measured", "met", "why not"],
                             "rows": [row.cells() for row in all_rows]}},
    }


# Pixels.
WIDTH, BAR, GAP, LEFT, TOP, RIGHT = 900, 14, 8, 500, 40, 60
# The shares at the ends of the scale.
LEAST, MOST = 0.1, 100
SHARES = [0.1, 1, 10, 100]


def x(share):
    share = min(max(share, LEAST), MOST)
    return LEFT + (WIDTH - LEFT - RIGHT) * math.log(share / LEAST) / math.log(MOST / LEAST)


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("`", "")


def chart(all_rows):
    """The lines of the SVG."""
    bars = [row for row in all_rows if row.measured is not None]
    height = TOP + len(bars) * (BAR + GAP) + 20
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
           f'font-size="11" fill="#222">')
    yield "<title>Pages by value, aggregates and companies: what was measured, over its goal</title>"
    yield f'<rect width="{WIDTH}" height="{height}" fill="white"/>'
    for share in SHARES:
        stroke = "#b40" if share == 1 else "#ddd"
        yield f'<line x1="{x(share):.1f}" x2="{x(share):.1f}" y1="{TOP - 12}" y2="{height - 20}" stroke="{stroke}"/>'
        yield f'<text x="{x(share):.1f}" y="{TOP - 18}" text-anchor="middle">{"goal" if share == 1 else f"{share:g}"}</text>'
    for number_, row in enumerate(bars):
        top, share = TOP + number_ * (BAR + GAP), row.share()
        name = row.name if len(row.name) < 82 else row.name[:80] + "…"
        yield f'<text x="{LEFT - 8}" y="{top + BAR - 3}" text-anchor="end">{escaped(name)}</text>'
        yield (f'<rect x="{LEFT}" y="{top}" width="{max(x(share) - LEFT, 1):.1f}" height="{BAR}" '
               f'fill="{"#b40" if share > 1 else "#486"}"/>')
        yield f'<text x="{x(share) + 5:.1f}" y="{top + BAR - 3}">{share:.2g}</text>'
    yield "</svg>"


def main():
    records = {path.stem: json.loads(path.read_text()) for path in RESULTS.glob("*.json")}
    print("\n".join(chart(rows(Measured(records)))))


if __name__ == "__main__":
    main()
