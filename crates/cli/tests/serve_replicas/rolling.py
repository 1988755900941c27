#!/usr/bin/env python3
"""A rolling upgrade: two replicas behind haproxy are stopped and started in turn under steady load, and no request fails.

usage: crates/cli/tests/serve_replicas/rolling.py PROGRAM [REQUESTS [REQUESTS-A-SECOND [NEW-PROGRAM]]]

Each replica gets SIGTERM, drains, ends and is started again, by the new program if there is one, until that many
requests were answered. Every answer is compared with what the program answers on the published directory.
"""

import json
import os
import signal
import sys
import time

from proxied import Proxied, check_charges, expected_answers, publish, run, within_a_folder

# haproxy notices after two checks, 0.2 s apart.
DRAIN_TIME = "1"


def upgrade(replica, program):
    """Stops a replica as systemd does, and starts it again."""
    replica.process.send_signal(signal.SIGTERM)
    assert replica.process.wait(30) == 0, "it ends by itself"
    replica.started.remove(replica.process)
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
    proxied = Proxied(program, folder, store, started, ["--drain-time", DRAIN_TIME])
    proxied.start_clients(sorted(expected), rate)
    upgrades = 0
    while sum(len(client.requests) for client in proxied.clients) < wanted or upgrades < 2:
        upgrade(proxied.replicas[upgrades % 2], new)
        upgrades += 1
    requests = proxied.requests()
    failed = [request for request in requests if request.status != 200]
    assert not failed, (len(failed), failed[:3])
    wrong = [request for request in requests if request.data != expected[request.target]]
    assert not wrong, wrong[:1]
    served = {name: sum(request.replica == name for request in requests) for name in ("one", "two")}
    assert all(served.values()), served
    check_charges(program, proxied.state, requests)
    print(f"{len(requests)} requests, {upgrades} restarts in turn: 0 failed, 0 wrong; answered by {served}")


def main():
    program = os.path.abspath(sys.argv[1])
    wanted = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    rate = float(sys.argv[3]) if len(sys.argv) > 3 else 200.0
    new = os.path.abspath(sys.argv[4]) if len(sys.argv) > 4 else program
    within_a_folder(lambda folder, started: drive(program, new, folder, wanted, rate, started))


if __name__ == "__main__":
    main()
