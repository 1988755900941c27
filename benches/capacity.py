#!/usr/bin/env python3
"""The machines that a cluster needs, and the times of large indexes: the tables of docs/scaling.md, computed.

usage: benches/capacity.py [BYTES [QUERIED]]

BYTES is what a signal takes in the index, QUERIED the part of it that every query works on (`signaldex stats
--sections`); the rest are records, which may stay on a disk. The other assumptions are the constants below.
"""

import itertools
import math
import sys

# Of a machine of 64 GB, for the index.
MEMORY = 50e9
REPLICAS = 2
# The most signals of a shard.
SHARD = 50e6
CORES = 16
# Processor milliseconds of a million signals.
MILLION = {"page": 0.0, "count under several filters": 0.02, "all facets under a common word": 0.4}
# Signals of the indexes that `benches/hundred_million.py` has measured.
MEASURED = [1_000_000, 10_000_000, 100_000_000]
# Of the processor time, under load that still is answered in time.
BUSY = 0.5
# What a node sends for a page of 50.
PAGE_BYTES = 44e3


def text(bytes_):
    for unit, size in (("TB", 1e12), ("GB", 1e9)):
        if bytes_ >= size:
            value = bytes_ / size
            return f"{value:.0f} {unit}" if value >= 10 else f"{value:.1f} {unit}"
    return f"{bytes_ / 1e6:.0f} MB"


def machines(bytes_, replicas):
    return max(math.ceil(bytes_ * replicas / MEMORY), replicas)


def asked(shards, nodes):
    """Other nodes that a query asks: as many as hold the shards that its own node has not."""
    own = shards * REPLICAS / nodes
    return max(math.ceil((shards - own) / own), 0)


def sizes(total, queried):
    columns = ["signals", "index", "the part that queries work on", "shards", "nodes, all in memory",
               "nodes, records on disk"]
    rows = [[f"{n / 1e6:,.0f} million", text(n * total), text(n * queried), math.ceil(n / SHARD),
             machines(n * total, REPLICAS), machines(n * queried, REPLICAS)]
            for n in (10e6, 50e6, 100e6, 500e6, 1e9, 10e9)]
    return {"columns": columns, "rows": rows}


def costs(cluster):
    """Processor milliseconds of a request: of the node that receives it, and of each node that it asks.

    Measured on three nodes, where a node asks one other."""
    measured = {row[0]: (float(row[1]), float(row[2])) for row in cluster["tables"]["cost"]["rows"]}
    titles = {"page": "page of 50", "count under several filters": "count",
              "all facets under a common word": "all facets"}
    return {kind: (one, three - one) for kind, title in titles.items() for one, three in [measured[title]]}


def requests(total, kinds, signals=1e9):
    """What many signals need; how many machines, and how many others each asks."""
    shards, nodes = math.ceil(signals / SHARD), machines(signals * total, REPLICAS)
    others = asked(shards, nodes)
    rows = []
    for kind, (own, other) in kinds.items():
        cost = own + others * other + MILLION[kind] * signals / 1e6
        rate = nodes * CORES * 1000 * BUSY / cost
        rows.append([kind, f"{cost:,.1f}", f"{rate:,.0f}", f"{MILLION[kind] * SHARD / 1e6:,.1f}"])
    columns = ["", "processor ms a request", "requests a second", "the largest shard, on one core, ms"]
    return shards, nodes, others, {"columns": columns, "rows": rows}


def duration(microseconds):
    """A time with two digits."""
    unit, size = next((pair for pair in (("s", 1e6), ("ms", 1e3)) if microseconds >= pair[1]), ("µs", 1))
    return f"{float(f'{microseconds / size:.2g}'):g} {unit}"


def times(measured, tenfold):
    """Times in larger and larger indexes: measured ones by number of signals, and one that is computed.

    It has five times as many signals as the largest measured one. Pages take longer by the same power of the number of
    signals as between the two largest measured ones, ten times as many of which take `tenfold` times as long; counts and
    facets grow with the signals."""
    signals, largest = max(measured.items())
    rows = [[f"{n / 1e6:.0f} million", "measured", *times_of(of, 1, 1)] for n, of in measured.items()]
    rows.append([f"{5 * signals / 1e6:.0f} million", "computed", *times_of(largest, tenfold ** math.log10(5), 5)])
    columns = ["signals in a process", "", "page of 50 ids", "slowest", "count", "slowest", "four facets", "slowest"]
    return {"columns": columns, "rows": rows}


def times_of(record, of_page, of_others):
    """A row's times, multiplied: the mean over the classes, and the slowest query."""
    factors = {"page": of_page, "count": of_others, "facets": of_others}
    return [duration(record[f"cached-{task}"][of] * factor) for task, factor in factors.items() for of in ("mean", "slowest")]


def runs(records):
    """What indexes of each measured size take, and what is done with them."""
    many = {signals: records[f"many-{signals}"] for signals in MEASURED}

    def opened(step, state):
        def of(record):
            columns = record["tables"]["open"]["columns"]
            rows = {row[0]: row for row in record["tables"]["open"]["rows"]}
            return rows[step][columns.index(state)] + " ms"
        return of

    def value(name, unit=""):
        return lambda record: record["values"].get(name, "") + unit

    shown = {"index": value("index"), "build, seconds": value("build-seconds"), "processor seconds": value("build-cpu"),
             "memory of its own meanwhile": value("build-memory"), "most of the disk meanwhile": value("build-disk"),
             "open, cached": opened("open", "cached"), "with files evicted": opened("open", "evicted"),
             "first page with its records, evicted": opened("first page with records", "evicted"),
             "page of 50 ids, cached": value("cached-page"), "page of 50 ids, evicted": value("evicted-page"),
             "count, cached": value("cached-count"), "count, evicted": value("evicted-count"),
             "four facets, cached": value("cached-facets"), "four facets, evicted": value("evicted-facets"),
             "memory of its own after all queries": value("resident-own"),
             "mapped pages in memory then": value("resident-mapped"),
             "commit of 10,000 signals": value("commit-1"), "a second one": value("commit-2"),
             "merge of the two": value("merge-2"), "memory of its own for both": value("commit-memory")}
    columns = ["", *(f"{signals / 1e6:.0f} million" for signals in MEASURED)]
    rows = [[title, *(of(record) for record in many.values())] for title, of in shown.items()]
    return {"columns": columns, "rows": rows}


def record(records):
    """All tables, from the records of `benches/figures.py`."""
    total, queried = int(records["1m"]["values"]["bytes"]), int(records["sections"]["values"]["queried"])
    kinds = costs(records["cluster"])
    shards, nodes, others, needed = requests(total, kinds)
    each = {"columns": ["", "*c*", "*t*", "*m*"],
            "rows": [[kind, f"{own:.2f}", f"{other:.2f}", f"{MILLION[kind]:g}"] for kind, (own, other) in kinds.items()]}
    pages = needed["rows"][0][2]
    # A page is sent by each node that is asked, and to the client.
    gbits = float(pages.replace(",", "")) * (others + 1) * PAGE_BYTES * 8 / nodes / 1e9
    values = {"records": str(total - queried), "shards": str(shards), "nodes": str(nodes), "others": str(others),
              "pages": pages, "gbits": f"{gbits:.0f}", "fetched": text(shards * REPLICAS / nodes * SHARD * total),
              "build": f"{float(records['many-100000000']['values']['build-cpu-million']) * 1000 / 3600:.1f} hours"}
    measured = {signals: records[f"many-{signals}"]["microseconds"] for signals in MEASURED}
    growth = {task: [large[f"cached-{task}"]["mean"] / small[f"cached-{task}"]["mean"]
                     for small, large in itertools.pairwise(measured.values())] for task in ("page", "count", "facets")}
    values |= {f"growth-{task}-{number}": f"{factor:.1f}" for task, factors in growth.items()
               for number, factor in enumerate(factors, start=1)}
    return {"values": values,
            "tables": {"sizes": sizes(total, queried), "costs": each, "requests": needed,
                       "times": times(measured, growth["page"][-1]), "runs": runs(records)}}


def main():
    import figures

    records = figures.load()
    total = float(sys.argv[1] if len(sys.argv) > 1 else records["1m"]["values"]["bytes"])
    queried = float(sys.argv[2] if len(sys.argv) > 2 else records["sections"]["values"]["queried"])
    shards, nodes, others, needed = requests(total, costs(records["cluster"]))
    print(figures.table(**sizes(total, queried)))
    print(f"\n{shards} shards on {nodes} nodes of {CORES} cores; a query asks {others} other nodes\n")
    print(figures.table(**needed))


if __name__ == "__main__":
    main()
