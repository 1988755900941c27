#!/usr/bin/env python3
"""The machines that a cluster needs: the tables of docs/scaling.md, computed.

usage: benches/capacity.py [BYTES [QUERIED]]

BYTES is what a signal takes in the index, QUERIED the part of it that every query works on (`signaldex stats
--sections`); the rest are records, which may stay on a disk. The other assumptions are the constants below.
"""

import math
import sys

# Of a machine of 64 GB, for the index.
MEMORY = 50e9
REPLICAS = 2
# The most signals of a shard.
SHARD = 50e6
CORES = 16
# Processor milliseconds: what a node does for a client, what each other node that it asks costs both of them, and
# what a million signals cost.
KINDS = {"page": (0.16, 0.41, 0.0), "count under several filters": (0.03, 0.07, 0.02),
         "all facets under a common word": (0.08, 0.29, 0.4)}
# Of the processor time, under load that still is answered in time.
BUSY = 0.5


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


def main():
    total = float(sys.argv[1]) if len(sys.argv) > 1 else 204
    queried = float(sys.argv[2]) if len(sys.argv) > 2 else 93
    print("| signals | index | the part that queries work on | shards | nodes, all in memory | nodes, records on disk |")
    print("|--:|--:|--:|--:|--:|--:|")
    for signals in (10e6, 50e6, 100e6, 500e6, 1e9, 10e9):
        print(f"| {signals / 1e6:,.0f} million | {text(signals * total)} | {text(signals * queried)} |"
              f" {math.ceil(signals / SHARD)} | {machines(signals * total, REPLICAS)} |"
              f" {machines(signals * queried, REPLICAS)} |")
    signals = 1e9
    shards, nodes = math.ceil(signals / SHARD), machines(signals * total, REPLICAS)
    others = asked(shards, nodes)
    print(f"\n{shards} shards on {nodes} nodes of {CORES} cores; a query asks {others} other nodes\n")
    print("| | processor ms a request | requests a second | the largest shard, on one core, ms |")
    print("|---|--:|--:|--:|")
    for kind, (own, task, million) in KINDS.items():
        cost = own + others * task + million * signals / 1e6
        rate = nodes * CORES * 1000 * BUSY / cost
        print(f"| {kind} | {cost:,.1f} | {rate:,.0f} | {million * SHARD / 1e6:,.1f} |")


main()
