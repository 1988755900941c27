"""The figures of runs of all engines (`benches/peers/results/*.json`), as `benches/figures.py` records them."""

import math

# The engines, and how the names of their layouts begin in a run.
PEERS = {"tantivy 0.27": "Tantivy", "Lucene 10.5.1": "Lucene", "SQLite FTS5": "Sqlite"}
ANY_PEER = tuple(PEERS.values())
PHRASES = "phrase of 2 or 3 words"
# Of the classes of queries, one of each kind, and those where signaldex is least ahead; `1m.md` has all.
SHOWN = ["frequent term", "rare term", PHRASES, "term + country + industry + size",
         "five categories + dates", "one company"]
# The tasks of a run that tables show: queries parsed within the measured time, and prepared beforehand.
PARSED = {"page of 50 ids": "PageMade", "exact count": "CountMade", "four facets": "Facets"}
PREPARED = {"page of 50 ids": "Page", "page from the middle": "Middle", "exact count": "Count", "four facets": "Facets"}


def figure(value):
    """A number with as many digits as mean something."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if value < 1 else f"{value:.1f}"


def mean(values):
    """The geometric mean."""
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values))


def bold_least(numbers):
    """The figures of some engines, the best in bold if there are several; none where an engine has none."""
    known = [number for number in numbers if number is not None]
    texts = {number: f"**{figure(number)}**" if number == min(known) and len(known) > 1 else figure(number)
             for number in known}
    return [texts.get(number, "") for number in numbers]


class Run:
    def __init__(self, run):
        self.run = run

    def times(self, task, engines="Signaldex", key="median"):
        """Microseconds by class, of the fastest layout of an engine, or of several engines."""
        if engines == "Signaldex" and task.endswith("Made"):
            engines = "SignaldexParsed"
        by_class = {}
        for each in self.run["classes"]:
            layouts = [times[key] for kind, times in each["tasks"].get(task, {}).items() if kind.startswith(engines)]
            if layouts:
                by_class[each["class"]] = min(layouts)
        return by_class

    def average(self, task, engines="Signaldex"):
        return mean(self.times(task, engines).values())

    def ratios(self, task, peers=ANY_PEER):
        """By class, how many times as long the fastest of some engines takes."""
        best = self.times(task, peers)
        return {name: best[name] / own for name, own in self.times(task).items() if name in best}

    def stored(self, part, key, engine="Signaldex"):
        return min(entry[key] for kind, entry in self.run[part].items() if kind.startswith(engine))

    def summary(self, peers):
        """Sizes, and geometric means of medians over the classes; the best in bold."""
        engines = [*(PEERS[name] for name in peers), "Signaldex"]
        rows = [["index on disk, MB (signaldex: with records)", *(self.stored("builds", "bytes", e) / 1e6 for e in engines)],
                ["memory after every query, MB", *(self.stored("opens", "memory", e) / 1e6 for e in engines)]]
        rows += [[f"{title}, µs", *(self.average(task, e) for e in engines)] for title, task in PARSED.items()]
        # No peer stores records.
        rows.insert(3, ["page of 50 with its records, µs", *(None for _ in peers), self.average("Records")])
        rows.append(["four facets of a frequent word, µs", *(self.times("Facets", e)["frequent term"] for e in engines)])
        bold = [[title, *bold_least(numbers)] for title, *numbers in rows]
        return {"columns": ["", *peers, "signaldex"], "rows": bold}

    def by_class(self):
        """Microseconds beside the fastest peer, in some classes."""
        times = [self.times(task, engines) for task in PARSED.values() for engines in ("Signaldex", ANY_PEER)]
        columns = [column for title in PARSED for column in (title, "best peer")]
        rows = [[name, *(figure(each[name]) if name in each else "" for each in times)] for name in SHOWN]
        return {"columns": ["class", *columns], "rows": rows}

    def record(self):
        sizes = {"bytes": self.stored("builds", "bytes") / self.run["signals"],
                 "disk": self.stored("builds", "bytes") / 1e6,
                 "disk-tantivy": self.stored("builds", "bytes", "Tantivy") / 1e6,
                 "memory-tantivy": self.stored("opens", "memory", "Tantivy") / 1e6}
        times = {"page": self.average("PageMade"), "page-tantivy": self.average("PageMade", "Tantivy"),
                 "count": self.average("CountMade"), "count-tantivy": self.average("CountMade", "Tantivy"),
                 "page-worst": max(self.times("Page").values()),
                 "page-worst-p99": max(self.times("Page", key="p99").values()),
                 "page-least": min(self.ratios("Page").values()),
                 "page-roaring": mean(self.ratios("Page", "Roaring").values()),
                 "count-roaring": mean(self.ratios("Count", "Roaring").values()),
                 "open": self.stored("opens", "milliseconds"),
                 "phrases": self.ratios("Count", "Limit")[PHRASES] ** -1}
        values = {name: f"{size:.0f}" for name, size in sizes.items()}
        values |= {name: figure(time) for name, time in times.items()}
        tables = {"readme": self.summary(list(PEERS)[:2]), "engines": self.summary(PEERS), "classes": self.by_class()}
        return {"values": values, "tables": tables}


def times_as_fast(runs):
    """How many times as fast as the fastest peer, by task and run, and in which class the factor is smallest."""
    rows = []
    for title, task in PREPARED.items():
        ratios = [run.ratios(task) for run in runs.values()]
        least = min(ratios[0], key=ratios[0].get)
        rows.append([title, *(figure(mean(each.values())) for each in ratios), f"{least} {figure(ratios[0][least])}"])
    return {"columns": ["", *runs, "least, of the first"], "rows": rows}


def budget(generated, real, sections):
    """Bytes a signal on disk and in memory, beside engines that hold no records."""
    values, runs = sections["values"], (generated, real)

    def both(part, key, engine):
        return [run.stored(part, key, engine) / run.run["signals"] for run in runs]

    def row(title, disk, memory):
        return [title, *(figure(number) if number else "" for pair in zip(disk, memory) for number in pair)]

    def recorded(name):
        return [float(values[f"{name}-{corpus}"].replace(",", "")) for corpus in ("generated", "real")]

    disk = both("builds", "bytes", "Signaldex")
    rows = [row("signaldex", disk, recorded("queried")),
            row("of the JSON lines", [each / json for each, json in zip(disk, recorded("json"))], (0, 0)),
            row("entropy bound", recorded("bound"), recorded("queried-bound"))]
    rows += [row(name, both("builds", "bytes", kind), both("opens", "memory", kind)) for name, kind in PEERS.items()]
    return {"columns": ["", "generated: disk", "memory", "real: disk", "memory"], "rows": rows}
