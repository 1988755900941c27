#!/usr/bin/env python3
"""Measures what the worst question of each kind of one key costs the clients of another.

usage: crates/server/tests/service/neighbour.py PROGRAM [SIGNALS [SECONDS]]

PROGRAM is a release build of signaldex. The script generates a corpus of SIGNALS signals (1,000,000 by
default), builds its index, and serves it with two keys. One key asks for pages of 50 signals on one
connection, and /healthz is asked beside it, for SECONDS (20 by default) alone and for as long again while the
other key, which has the default rate, asks on 16 connections: counts of phrases of 1,000 characters
(`countOnly=true&any=...`), then pages by amount, aggregates, and companies with eight conditions. It prints the median
and the 99th percentile of each in milliseconds.

It exits with 1 where, beside the neighbour, the median of the pages is more than twice that without it,
their 99th percentile is over 50 ms, or /healthz ever takes more than 20 ms. PORT chooses the port (18099).
The bounds are meant for a machine of two cores that does nothing else. Each client is a process of its own, and
the neighbour waits 50 ms after a refusal, so that what is measured is the service and not this script.
"""

import collections
import http.client
import json
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

CONNECTIONS = 16
ANY_CHARACTERS_MAX = 1000
MEDIAN_FACTOR_MAX = 2.0
PAGE_P99_MAX_MS = 50.0
HEALTH_MAX_MS = 20.0
# Pauses between requests: the measured clients do not load the service by themselves.
PAGE_PAUSE_S = 0.005
HEALTH_PAUSE_S = 0.02
REFUSED_PAUSE_S = 0.05
PORT = int(os.environ.get("PORT", "18099"))


def ask_until(deadline, targets, key, pause_s):
    """Asks one target after the other on one connection; returns times in milliseconds and statuses."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
    times_ms, statuses, count = [], collections.Counter(), 0
    while time.time() < deadline:
        started = time.perf_counter()
        connection.request("GET", targets[count % len(targets)], headers=headers)
        answer = connection.getresponse()
        answer.read()
        times_ms.append((time.perf_counter() - started) * 1000)
        statuses[answer.status] += 1
        count += 1
        time.sleep(REFUSED_PAUSE_S if answer.status == 429 else pause_s)
    return times_ms, statuses


def ask_once(target, key):
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
    connection.request("GET", target, headers={"Authorization": f"Bearer {key}"})
    answer = connection.getresponse()
    body = answer.read()
    assert answer.status == 200, f"{answer.status} {body[:200]}"


def client(results, name, connections, *arguments):
    """A process of some connections; puts what they saw into a queue."""
    outcomes = []
    thread = lambda: outcomes.append(ask_until(*arguments))
    threads = [threading.Thread(target=thread) for _ in range(connections)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    times = [time_ms for times_ms, _ in outcomes for time_ms in times_ms]
    results.put((name, times, sum((statuses for _, statuses in outcomes), collections.Counter())))


def run(program, *arguments):
    return subprocess.run([program, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


def titles(path, count):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line)["title"] for _, line in zip(range(count), lines)]


def worst_count(sample):
    """Phrases of three words whose pairs occur: first those that stand in no title of the sample."""
    following = collections.defaultdict(collections.Counter)
    triples = set()
    for title in sample:
        words = ["".join(c for c in word.lower() if c.isalnum()) for word in title.split()]
        words = [word for word in words if word]
        for pair in zip(words, words[1:]):
            following[pair[0]][pair[1]] += 1
        triples.update(zip(words, words[1:], words[2:]))
    pairs = [(count, first, second) for first, rest in following.items() for second, count in rest.items()]
    candidates = []
    for count, first, second in pairs:
        for third, third_count in following[second].most_common(20):
            if (first, second, third) not in triples:
                candidates.append((min(count, third_count), first, second, third))
    candidates.sort(reverse=True)
    text = ""
    for _, *phrase in candidates:
        quoted = '"' + " ".join(phrase) + '" '
        if len(text) + len(quoted) > ANY_CHARACTERS_MAX:
            break
        text += quoted
    assert text, "the corpus has phrases to ask for"
    return "/api/v1/signals?countOnly=true&any=" + urllib.parse.quote_plus(text.strip())


def worst_questions(sample):
    """The worst question of each kind, by name: all under phrases whose titles have to be read."""
    count = worst_count(sample)
    phrases = urllib.parse.unquote_plus(count.split("any=")[1])
    some = urllib.parse.quote_plus(phrases[: phrases.index('" ', 400) + 1])
    # Eight conditions, each of which reads titles.
    few = phrases.split('" ')[:48]
    condition = lambda number: f"(any={chr(32).join(part.rstrip(chr(34)) + chr(34) for part in few[number::8])})"
    conditions = [urllib.parse.quote_plus(condition(number)) for number in range(8)]
    has, has_not = ",".join(conditions[:4]), ",".join(conditions[4:])
    return {
        "counts": count,
        "pages by amount": f"/api/v1/signals?limit=1&page=100&order=-amount&fundingCurrency=USD&any={some}",
        "aggregates": "/api/v1/aggregates?by=week,countries&measures=companies,sum,median,p25,p75&limit=1",
        "companies": f"/api/v1/companies?countOnly=true&facets=countries,industries,sizes&has={has}&hasNot={has_not}",
    }


def pages(sample):
    """Pages for common and rare words."""
    chosen = random.Random(1).sample(sample, 200)
    words = [max(title.split(), key=len) for title in chosen]
    words = [word for word in words if word.isalpha() and word.isascii()]
    return ["/api/v1/signals?limit=50&q=" + urllib.parse.quote_plus(word) for word in words]


def percentile(times, share):
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


def measure(seconds, page_targets, page_key, heavy_target=None, heavy_key=None):
    """Times of pages and of /healthz, beside the neighbour where there is one."""
    results = multiprocessing.Queue()
    # The neighbour starts a second before the others and ends after them.
    start = time.time() + (1 if heavy_target else 0)
    clients = [
        ("pages", 1, start + seconds, page_targets, page_key, PAGE_PAUSE_S),
        ("health", 1, start + seconds, ["/healthz"], None, HEALTH_PAUSE_S),
    ]
    if heavy_target:
        clients.insert(0, ("neighbour", CONNECTIONS, start + seconds + 0.5, [heavy_target], heavy_key, 0))
    processes = []
    for name, *arguments in clients:
        if name != "neighbour":
            time.sleep(max(0, start - time.time()))
        process = multiprocessing.Process(target=client, args=(results, name, *arguments), daemon=True)
        process.start()
        processes.append(process)
    seen = {}
    for _ in processes:
        name, times_ms, statuses = results.get(timeout=seconds + 120)
        seen[name] = (times_ms, statuses)
    for process in processes:
        process.join(60)
    for name in ("pages", "health"):
        assert set(seen[name][1]) == {200}, f"{name}: {seen[name][1]}"
    neighbour = dict(seen["neighbour"][1]) if heavy_target else {}
    return seen["pages"][0], seen["health"][0], neighbour


def show(name, times):
    print(f"{name:32} median {statistics.median(times):8.2f} ms, p99 {percentile(times, 0.99):8.2f} ms, "
          f"longest {max(times):8.2f} ms, {len(times)} requests")


def over_bounds(alone, beside, health_beside):
    """The bounds that were not kept beside a neighbour."""
    factor = statistics.median(beside) / statistics.median(alone)
    if factor > MEDIAN_FACTOR_MAX:
        yield f"the median of pages is {factor:.2f} times that without the neighbour"
    if percentile(beside, 0.99) > PAGE_P99_MAX_MS:
        yield f"the 99th percentile of pages is over {PAGE_P99_MAX_MS} ms"
    if max(health_beside) > HEALTH_MAX_MS:
        yield f"/healthz took more than {HEALTH_MAX_MS} ms"


def wait_until_ready():
    for _ in range(600):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=5)
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        time.sleep(0.1)
    sys.exit("the service does not become ready")


def build_index(program, path, signals):
    """Generates a corpus and builds its index below a folder."""
    run(program, "generate", "--signals", str(signals), "--out", path("corpus"))
    records = ["--companies", path("corpus/companies.jsonl"), "--signals", path("corpus/signals.jsonl")]
    run(program, "build", *records, "--out", path("index"))


def make_key(program, state, *settings):
    output = run(program, "keys", "create", "--state", state, *settings)
    return json.loads(output)["key"]


def main():
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    program = os.path.abspath(sys.argv[1])
    signals = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 20.0
    with tempfile.TemporaryDirectory(prefix="signaldex-neighbour-") as folder:
        path = lambda name: os.path.join(folder, name)
        build_index(program, path, signals)
        sample = titles(path("corpus/signals.jsonl"), 50_000)
        faults = []
        page_key = make_key(program, path("state.db"), "--rate", "100000", "--burst", "100000")
        heavy_key = make_key(program, path("state.db"))
        service = subprocess.Popen(
            [program, "serve", path("index"), "--addr", f"127.0.0.1:{PORT}", "--admin-addr", "127.0.0.1:0",
             "--state", path("state.db"), "--log", "warn"],
            stdout=subprocess.DEVNULL)
        try:
            wait_until_ready()
            targets = pages(sample)
            measure(2, targets, page_key)
            alone, health_alone, _ = measure(seconds, targets, page_key)
            show("pages alone", alone)
            show("/healthz alone", health_alone)
            for kind, heavy in worst_questions(sample).items():
                started = time.perf_counter()
                ask_once(heavy, heavy_key)
                print(f"{kind}: one takes {(time.perf_counter() - started) * 1000:.1f} ms alone")
                beside, health_beside, statuses = measure(seconds, targets, page_key, heavy, heavy_key)
                show("pages beside it", beside)
                show("/healthz beside it", health_beside)
                print(f"answers to the neighbour, by status: {statuses}")
                faults += [f"{kind}: {fault}" for fault in over_bounds(alone, beside, health_beside)]
        finally:
            service.terminate()
            service.wait(30)
    for fault in faults:
        print(f"over the bound: {fault}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
