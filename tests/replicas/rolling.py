#!/usr/bin/env python3
"""A rolling upgrade: two replicas behind haproxy are stopped and started in turn under steady load, and no request fails.

usage: tests/replicas/rolling.py PROGRAM [REQUESTS [REQUESTS-A-SECOND [NEW-PROGRAM]]]

Each replica gets SIGTERM, drains, ends and is started again, by the new program if there is one, until that many
requests were answered. Every answer is compared with what the program answers on the published directory.
"""

import json
import os
import signal
import sys
import tempfile
import threading
import time

from haproxy import (CLIENTS, Client, Log, Replica, await_that, check_charges, expected_answers, is_listening, publish,
                     run, start_haproxy)

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
    directory, store, state = (os.path.join(folder, name) for name in ("index", "store", "state.db"))
    corpus = os.path.join(folder, "corpus")
    run(program, "generate", "--signals", "5000", "--out", corpus)
    run(program, "build", "--companies", os.path.join(corpus, "companies.jsonl"), "--signals",
        os.path.join(corpus, "signals.jsonl"), "--out", directory)
    found = json.loads(run(program, "search", directory, "q=series&limit=10").stdout)["data"]["items"]
    expected = expected_answers(program, directory, [item["id"] for item in found])
    publish(program, directory, store)
    key = json.loads(run(program, "keys", "create", "--state", state, "--rate", "1000000", "--burst", "1000000").stdout)["key"]
    replicas = [Replica(name, program, folder, store, state, started) for name in ("one", "two")]
    for replica in replicas:
        replica.command += ["--drain-time", DRAIN_TIME]
        replica.start()
    log = Log()
    log.start()
    haproxy, port = start_haproxy(folder, replicas, log.port)
    started.append(haproxy)
    await_that(lambda: is_listening(port), "haproxy listens")
    time.sleep(1)
    stop = threading.Event()
    clients = [Client(place, port, key, sorted(expected), rate, stop) for place in range(CLIENTS)]
    for client in clients:
        client.start()
    upgrades = 0
    while sum(len(client.requests) for client in clients) < wanted or upgrades < 2:
        upgrade(replicas[upgrades % 2], new)
        upgrades += 1
    stop.set()
    for client in clients:
        client.join()
    requests = [request for client in clients for request in client.requests]
    failed = [request for request in requests if request.status != 200]
    assert not failed, (len(failed), failed[:3])
    wrong = [request for request in requests if request.data != expected[request.target]]
    assert not wrong, wrong[:1]
    served = {name: sum(request.replica == name for request in requests) for name in ("one", "two")}
    assert all(served.values()), served
    check_charges(program, state, requests)
    print(f"{len(requests)} requests, {upgrades} restarts in turn: 0 failed, 0 wrong; answered by {served}")


def main():
    program = os.path.abspath(sys.argv[1])
    wanted = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    rate = float(sys.argv[3]) if len(sys.argv) > 3 else 200.0
    new = os.path.abspath(sys.argv[4]) if len(sys.argv) > 4 else program
    started = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            drive(program, new, folder, wanted, rate, started)
        finally:
            for process in started:
                process.kill()
                process.wait()


if __name__ == "__main__":
    main()
