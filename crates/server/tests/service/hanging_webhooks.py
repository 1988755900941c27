#!/usr/bin/env python3
"""Measures what 1,000 webhooks that hang cost a service, its clients and a webhook that answers.

usage: crates/server/tests/service/hanging_webhooks.py PROGRAM [SIGNALS [SECONDS]]

PROGRAM is a release build of signaldex. The script serves SIGNALS generated signals (100,000) and asks for pages of 50 on
one connection, and for /healthz, for SECONDS (20): alone; then while the matches of 1,000 saved searches are due at as many
hosts, which take each connection and never answer. Meanwhile signals are committed that another search matches, whose
webhook answers.

It exits with 1 where the 99th percentile of pages is more than twice that alone and over 5 ms, where memory grows by more
than 50 MB, or where a match takes longer than 2 s from its commit to the webhook that answers. PORT chooses the port.
"""

import contextlib
import http.server
import json
import os
import queue
import socket
import subprocess
import sys
import tempfile
import threading
import time

import neighbour

HANGING = 1_000
COMMITS = 5
FACTOR_MAX, P99_MAX_MS = 2.0, 5.0
GROWTH_MAX_MB = 50.0
MATCH_MAX_S = 2.0
PERMITTED = ["--webhook-http", "--webhook-allow", "127.0.0.0/8"]


def hang(listener, kept):
    """Takes connections and never answers."""
    while True:
        kept.append(listener.accept()[0])


def receiver(arrivals):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            arrivals.put((time.time(), body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


def memory_mb(process):
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as lines:
        kilobytes = next(line.split()[1] for line in lines if line.startswith("RssAnon"))
    return int(kilobytes) / 1e3


@contextlib.contextmanager
def serving(program, path):
    service = subprocess.Popen(
        [program, "serve", path("index"), "--addr", f"127.0.0.1:{neighbour.PORT}", "--admin-addr", "127.0.0.1:0",
         "--state", path("state.db"), "--log", "off", "--webhook-pauses", ",".join(["1s"] * 32), *PERMITTED],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        neighbour.wait_until_ready()
        yield service
    finally:
        service.terminate()
        service.wait(60)


def save(program, path, key, name, query, since, url):
    neighbour.run(program, "searches", "create", "--state", path("state.db"), "--key", key, "--name", name,
                  "--query", query, "--since", since, "--webhook", url, *PERMITTED)


def commit(program, path, number):
    record = {"id": str(9_000_000_000 + number), "companySlug": "answering", "title": f"Zyzzyva {number}", "category": "funding",
              "slug": f"zyzzyva-{number}"}
    for name, lines in [("companies", {"slug": "answering", "name": "Answering"}), ("signals", record)]:
        with open(path(f"{name}.jsonl"), "w", encoding="utf-8") as file:
            file.write(json.dumps(lines) + "\n")
    subprocess.run([program, "update", path("index"), "--companies", path("companies.jsonl"), "--signals", path("signals.jsonl")],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.time()


def commits(program, path, seconds, arrivals, waits):
    """Commits signals over some time, and notes how long each takes to arrive."""
    for number in range(COMMITS):
        time.sleep(seconds / (COMMITS + 2))
        committed = commit(program, path, number)
        try:
            arrived, _ = arrivals.get(timeout=30)
            waits.append(arrived - committed)
        except queue.Empty:
            waits.append(30.0)


def main():
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    program = os.path.abspath(sys.argv[1])
    signals = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 20.0
    arrivals, kept = queue.Queue(), []
    listener = socket.create_server(("", 0), backlog=1_024)
    hanging_port = listener.getsockname()[1]
    threading.Thread(target=hang, args=(listener, kept), daemon=True).start()
    answering_port = receiver(arrivals)
    with tempfile.TemporaryDirectory(prefix="signaldex-hanging-") as folder:
        path = lambda name: os.path.join(folder, name)
        neighbour.build_index(program, path, signals)
        targets = neighbour.pages(neighbour.titles(path("corpus/signals.jsonl"), 50_000))
        page_key = neighbour.make_key(program, path("state.db"), "--name", "pages", "--rate", "100000", "--burst", "100000")
        key = json.loads(neighbour.run(program, "keys", "create", "--state", path("state.db"), "--name", "hooks"))["id"]
        other = json.loads(neighbour.run(program, "keys", "create", "--state", path("state.db"), "--name", "answers"))["id"]
        save(program, path, other, "answers", "q=zyzzyva", "now", f"http://127.0.0.1:{answering_port}/in")
        with serving(program, path) as service:
            neighbour.measure(2, targets, page_key)
            alone, health_alone, _ = neighbour.measure(seconds, targets, page_key)
            # From its first answer on, half of the attempts under way are left to it and its like.
            commit(program, path, COMMITS)
            arrivals.get(timeout=60)
            before = memory_mb(service)
        for number in range(HANGING):
            url = f"http://127.1.{number // 250}.{number % 250 + 1}:{hanging_port}/in"
            save(program, path, key, f"hangs {number}", "", "start", url)
        waits = []
        with serving(program, path) as service:
            neighbour.measure(2, targets, page_key)
            committing = threading.Thread(target=commits, args=(program, path, seconds, arrivals, waits))
            committing.start()
            beside, health_beside, _ = neighbour.measure(seconds, targets, page_key)
            committing.join()
            growth = memory_mb(service) - before
    neighbour.show("pages alone", alone)
    neighbour.show("pages beside webhooks that hang", beside)
    neighbour.show("/healthz alone", health_alone)
    neighbour.show("/healthz beside them", health_beside)
    print(f"memory alone {before:.1f} MB, {growth:.1f} MB more beside them; {len(kept)} connections that hang")
    print("from commit to arrival: " + ", ".join(f"{wait:.2f} s" for wait in waits))
    faults = []
    p99_alone, p99_beside = (neighbour.percentile(times, 0.99) for times in (alone, beside))
    if p99_beside > max(FACTOR_MAX * p99_alone, P99_MAX_MS):
        faults.append(f"the 99th percentile of pages is {p99_beside:.2f} ms, alone {p99_alone:.2f} ms")
    if growth > GROWTH_MAX_MB:
        faults.append(f"memory grows by {growth:.1f} MB")
    if len(waits) < COMMITS or max(waits) > MATCH_MAX_S:
        faults.append(f"a match takes longer than {MATCH_MAX_S} s")
    if len(kept) < 32:
        faults.append("fewer webhooks hang than the script is for")
    for fault in faults:
        print(f"over the bound: {fault}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
