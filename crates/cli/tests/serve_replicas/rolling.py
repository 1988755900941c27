#!/usr/bin/env python3
"""A rolling upgrade: two replicas behind haproxy are stopped and started in turn under steady load, and no request fails.

usage: crates/cli/tests/serve_replicas/rolling.py PROGRAM [REQUESTS [REQUESTS-A-SECOND [NEW-PROGRAM]]]

Each replica gets SIGTERM, drains, ends and is started again, by the new program if there is one, until that many
requests were answered. Every answer is compared with what the program answers on the published directory.
"""

import json
import os
import time

from proxied import Proxied, check_rolling, expected_answers, pair_of_replicas, publish, rolling_main, run

# haproxy notices after two checks, 0.2 s apart.
DRAIN_TIME = "1"


def upgrade(replica, program):
    replica.stop()
    replica.command[0] = program
    replica.start()
    # The proxy takes it back after two checks.
    time.sleep(0.6)


def drive(program, new, folder, wanted, rate, started):
    directory, store = (os.path.join(folder, name) for name in ("index", "store"))
    corpus = os.path.join(folder, "corpus")
    run(program, "generate", "--signals", "5000", "--out", corpus)
    run(program, "build", "--companies", os.path.join(corpus, "companies.jsonl"), "--signals",
        os.path.join(corpus, "signals.jsonl"), "--out", directory)
    found = json.loads(run(program, "search", directory, "q=series&limit=10").stdout)["data"]["items"]
    expected = expected_answers(program, directory, [item["id"] for item in found])
    publish(program, directory, store)
    proxied = Proxied(program, folder, started, pair_of_replicas(program, folder, store, ["--drain-time", DRAIN_TIME]))
    proxied.start_clients(sorted(expected), rate)
    upgrades = 0
    while sum(len(client.requests) for client in proxied.clients) < wanted or upgrades < 2:
        upgrade(proxied.services[upgrades % 2], new)
        upgrades += 1
    check_rolling(program, proxied, expected, f"{upgrades} restarts in turn")


if __name__ == "__main__":
    rolling_main(drive, 200.0)
