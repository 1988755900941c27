#!/usr/bin/env python3
"""An upgrade of a cluster: four nodes in two zones behind haproxy, one zone after the other restarted under steady load.

usage: crates/cli/tests/cluster/upgrade.py PROGRAM [REQUESTS [REQUESTS-A-SECOND [NEW-PROGRAM]]]

Both nodes of a zone get SIGTERM, drain, end and are started again, by the new program if there is one; then those of the
other zone. In between nodes of two releases answer together. It goes on until that many requests were answered and both
zones were restarted. No request may fail, and every answer is compared with that of one index.
"""

import json
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "serve_replicas"))
from proxied import Proxied, Service, check_rolling, expected_answers, free_port, rolling_main, run

ZONES = {"one": "a", "two": "a", "three": "b", "four": "b"}
SHARDS = "8"
# haproxy notices after two checks, 0.2 s apart.
DRAIN_TIME = "1"


def prepare(program, folder):
    """A corpus in one index, and in the shards of a store; returns the answers of the index."""
    corpus, whole, parts, store = (os.path.join(folder, name) for name in ("corpus", "whole", "parts", "store"))
    run(program, "generate", "--signals", "5000", "--out", corpus)
    files = [f"--{name}={os.path.join(corpus, name)}.jsonl" for name in ("companies", "signals")]
    run(program, "build", *files, "--out", whole)
    run(program, "shard", *files, "--shards", SHARDS, "--out", parts)
    run(program, "publish-shards", parts, store)
    found = json.loads(run(program, "search", whole, "q=series&limit=10").stdout)["data"]["items"]
    return expected_answers(program, whole, [item["id"] for item in found])


def make_nodes(program, folder, state, started):
    ports = {name: free_port() for name in ZONES}
    file = os.path.join(folder, "cluster.json")
    with open(file, "w") as settings:
        json.dump({"cluster": "signals", "store": os.path.join(folder, "store"), "replicas": 2,
                   "seeds": [f"127.0.0.1:{port}" for port in ports.values()][:2]}, settings)
    return [Service(name, program, state, started,
                    ["--cluster", file, "--node", name, "--zone", ZONES[name], "--drain-time", DRAIN_TIME,
                     "--shard-cache", os.path.join(folder, f"cache-{name}"),
                     "--worker-addr", f"127.0.0.1:{ports[name]}"]) for name in ZONES]


def upgrade(nodes, program):
    """Restarts the nodes of a zone."""
    for node in nodes:
        node.stop()
        node.command[0] = program
    for node in nodes:
        node.spawn()
    for node in nodes:
        node.await_ready()
    # The proxy takes them back after two checks.
    time.sleep(0.6)


def drive(program, new, folder, wanted, rate, started):
    expected = prepare(program, folder)
    proxied = Proxied(program, folder, started, lambda state, started: make_nodes(program, folder, state, started))
    proxied.start_clients(sorted(expected), rate)
    upgrades = 0
    while sum(len(client.requests) for client in proxied.clients) < wanted or upgrades < 2:
        zone = "ab"[upgrades % 2]
        upgrade([node for node in proxied.services if ZONES[node.name] == zone], new)
        upgrades += 1
    check_rolling(program, proxied, expected, f"{upgrades} zones restarted")


if __name__ == "__main__":
    rolling_main(drive, 100.0)
