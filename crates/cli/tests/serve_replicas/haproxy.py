#!/usr/bin/env python3
"""Two replicas behind haproxy under steady load, a kill, a restart and a new generation.

usage: crates/cli/tests/serve_replicas/haproxy.py PROGRAM [REQUESTS-A-SECOND [KILLS [SIGNALS]]]

The replicas are killed in turn and restarted; then a generation is published that shares its largest
segment with the one before, and then the same compacted, which shares nothing. Every answer is
compared with what the program itself answers on the published directories. It has to hold that no
answer is wrong, that each belongs to one generation, that only requests fail which the killed replica
had under way, that the killed one answers again, that after the swap only the new generation is seen,
and that each replica then maps the files of that generation and no other.
"""

import collections
import json
import math
import os
import shutil
import sys
import threading
import time

from proxied import (CLIENTS, PAGE, Proxied, await_that, check_charges, expected_answers, pair_of_replicas, publish,
                     run, within_a_folder)


class Memory(threading.Thread):
    """The most that a replica has mapped, and has resident, while it swaps."""

    def __init__(self, replicas, stop):
        super().__init__()
        self.replicas, self.stop = replicas, stop
        self.most_mapped = collections.Counter()
        self.most_resident = collections.Counter()

    def run(self):
        while not self.stop.is_set():
            for replica in self.replicas:
                self.most_mapped[replica.name] = max(self.most_mapped[replica.name], replica.mapped()[0])
                self.most_resident[replica.name] = max(self.most_resident[replica.name], sum(replica.resident()))
            time.sleep(0.01)


def prepare(program, folder, signals):
    """Two generations of an index, of which the second shares its largest segment with the first, and
    the second compacted."""
    first, second = os.path.join(folder, "first"), os.path.join(folder, "second")
    for name, count, seed in [("all", signals, 1), ("more", max(signals // 20, 1000), 2)]:
        run(program, "generate", "--signals", str(count), "--seed", str(seed), "--out", os.path.join(folder, name))
    files = lambda name: ["--companies", os.path.join(folder, name, "companies.jsonl"),
                          "--signals", os.path.join(folder, name, "signals.jsonl")]
    run(program, "build", *files("all"), "--out", first)
    shutil.copytree(first, second)
    run(program, "update", second, *files("more"))
    third = os.path.join(folder, "third")
    shutil.copytree(second, third)
    run(program, "compact", third)
    ids = [item["id"] for item in json.loads(run(program, "search", first, "q=series&limit=10").stdout)["data"]["items"]]
    return (first, second, third), ids


def check_answers(requests, expected, settled):
    """Counts answers by generation; a wrong one ends the test."""
    seen = collections.Counter()
    for request in requests:
        if request.status != 200:
            continue
        is_first, is_second = (request.data == answers[request.target] for answers in expected)
        assert is_first or is_second, ("a wrong answer", request)
        assert is_second or request.start < settled, ("an old answer after the swap", request)
        seen["first only" if is_first and not is_second else "second only" if is_second and not is_first else "both"] += 1
    return seen


def check_failures(requests, log, kills):
    """Only what a killed replica had under way may have failed."""
    under_way = {request.number for name, before, after in kills for request in requests
                 if log.server_of.get(request.number) == name and request.start <= after and request.end >= before}
    failed = [request for request in requests if request.status != 200]
    for request in failed:
        described = (request.number, log.server_of.get(request.number), log.ends.get(request.number))
        assert request.number in under_way, ("a request failed that the kill does not explain", request, described)
    return under_way, failed


def main():
    program = os.path.abspath(sys.argv[1])
    rate = float(sys.argv[2]) if len(sys.argv) > 2 else 200.0
    kills = int(sys.argv[3]) if len(sys.argv) > 3 else 6
    signals = int(sys.argv[4]) if len(sys.argv) > 4 else 50_000
    within_a_folder(lambda folder, started: drive(program, folder, rate, kills, signals, started))


def drive(program, folder, rate, kills, signals, started):
    (first, second, third), ids = prepare(program, folder, signals)
    expected = [expected_answers(program, directory, ids) for directory in (first, second)]
    targets = sorted(expected[0])
    changed = sum(expected[0][target] != expected[1][target] for target in targets)
    print(f"{len(targets)} requests, of which {changed} are answered differently by the two generations")
    assert changed >= 10
    assert expected_answers(program, third, ids) == expected[1], "compacting changes no answer"
    store = os.path.join(folder, "store")
    publish(program, first, store)
    proxied = Proxied(program, folder, started, pair_of_replicas(program, folder, store))
    replicas = proxied.services
    begun = time.monotonic()
    proxied.start_clients(targets, rate)
    time.sleep(2)
    killed = [kill_and_restart(replicas[number % 2]) for number in range(kills)]
    restarted = time.monotonic()
    time.sleep(2)
    swaps = [swap(program, replicas, directory, store) for directory in (second, third)]
    time.sleep(1)
    requests = proxied.requests()
    ended = time.monotonic()
    time.sleep(0.5)

    seen = check_answers(requests, expected, swaps[0])
    under_way, failed = check_failures(requests, proxied.log, killed)
    for replica in replicas:
        again = sum(request.replica == replica.name and request.start > restarted for request in requests)
        assert again > 0, f"{replica.name} answers again after its restart"
    assert seen["first only"] > 0 and seen["second only"] > 0, seen
    check_charges(program, proxied.state, requests)
    print(f"{len(requests)} requests in {ended - begun:.0f} s by {CLIENTS} clients: {dict(seen)}, 0 wrong; {kills} kills, "
          f"{len(under_way)} requests under way on the killed replicas, {len(failed)} failed, all of them among these")


def kill_and_restart(replica):
    """Kills a replica in the middle of the load, and waits until it answers again."""
    before, after = replica.kill()
    time.sleep(1)
    replica.start()
    assert replica.metric("signaldex_fetched_bytes_total") == 0, "a restart fetches nothing"
    # The proxy takes it back after two checks.
    time.sleep(1)
    return replica.name, before, after


def swap(program, replicas, directory, store):
    """Publishes a generation, checks what it takes, and says when both replicas had swapped."""
    before = {replica.name: (replica.mapped()[0], replica.resident(), replica.metric("signaldex_fetched_bytes_total"))
              for replica in replicas}
    stop = threading.Event()
    memory = Memory(replicas, stop)
    memory.start()
    published = time.monotonic()
    sent = publish(program, directory, store)
    generation = int(sorted(os.listdir(os.path.join(store, "manifests")))[-1])
    await_that(lambda: all((replica.ready() or {}).get("generation") == generation for replica in replicas), "both swap")
    settled = time.monotonic()
    print(f"both had swapped {settled - published:.2f} s after `publish` began")
    # Requests on the old generation end, and the sampler sees it.
    time.sleep(2)
    stop.set()
    memory.join()
    for replica in replicas:
        check_memory(replica, before[replica.name], memory, sent, directory)
    return settled


def check_memory(replica, before, memory, sent, directory):
    (mapped, gone), (anonymous, files) = replica.mapped(), replica.resident()
    assert gone == 0, ("files of the old generation are still mapped", replica.name, gone)
    assert mapped == replica.stored(), (replica.name, mapped, replica.stored())
    of_index = [entry.stat().st_size for entry in os.scandir(directory) if entry.name.startswith("segment-")]
    assert mapped == sum(math.ceil(size / PAGE) * PAGE for size in of_index), (mapped, of_index)
    fetched = replica.metric("signaldex_fetched_bytes_total") - before[2]
    assert fetched == sent, ("only what is new is fetched", fetched, sent)
    mapped_before, (anonymous_before, files_before), _ = before
    print(f"{replica.name}: mapped {mapped_before / 1e6:.1f} MB before, at most {memory.most_mapped[replica.name] / 1e6:.1f}, "
          f"{mapped / 1e6:.1f} after, none of the old; resident {(anonymous_before + files_before) / 1e3:.1f} MB before, at "
          f"most {memory.most_resident[replica.name] / 1e3:.1f}, {(anonymous + files) / 1e3:.1f} after ({anonymous / 1e3:.1f} "
          f"anonymous); fetched {fetched} bytes, as many as were sent")


if __name__ == "__main__":
    main()
