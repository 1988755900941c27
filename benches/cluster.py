#!/usr/bin/env python3
"""What a cluster costs: three workers, each with a third of a corpus, against the same in one process.

usage: benches/cluster.py PROGRAM [SIGNALS-PER-WORKER [QUERIES]]

PROGRAM is built with `cargo build --profile measured --features cluster`. Compared are three
processes on loopback with a shard each; the same three shards and the same plans in one process, without
a network; and one index of everything. Times are of HTTP requests one after the other over a kept
connection, by HEAD, which does all the work of a GET but for the charge. The table is Markdown.
"""

import hashlib
import http.client
import itertools
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time

WORKERS = 3
TODAY = "2026-06-30"
KINDS = [
    ("page of 50, no filter", "/api/v1/signals"),
    ("page of 50, a common word", "/api/v1/signals?q=raises"),
    ("page of 50, a phrase and a country", "/api/v1/signals?q=%22series%20a%22&country=germany"),
    ("page of 50, by words that exclude", "/api/v1/signals?any=new%20first&exclude=raises&days=90"),
    ("page of 10", "/api/v1/signals?limit=10&q=new"),
    ("page 20 of 50, by its number", "/api/v1/signals?page=20&q=new"),
    ("count of a word", "/api/v1/signals?q=raises&countOnly=true"),
    ("count of a phrase", "/api/v1/signals?q=%22series%20a%22&countOnly=true"),
    ("all facets under a word", "/api/v1/filter-options?q=raises"),
    ("one signal", None),
]


def holder(shard, names):
    """The node that holds a shard, as the program computes it."""
    def score(name):
        text = b"signaldex placement 1\n" + shard.to_bytes(4, "little") + WORKERS.to_bytes(4, "little")
        return int.from_bytes(hashlib.sha256(text + name.encode()).digest()[:8], "little")
    return max(names, key=score)


def even_names():
    """Names of nodes of which each holds one shard."""
    for start in itertools.count():
        names = [f"node-{start + place}" for place in range(WORKERS)]
        if len({holder(shard, names) for shard in range(WORKERS)}) == WORKERS:
            return names


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Served:
    def __init__(self, program, folder, name, arguments):
        state = os.path.join(folder, f"{name}.db")
        made = subprocess.run([program, "keys", "create", "--state", state, "--rate", "1000000",
                               "--burst", "1000000"], check=True, capture_output=True)
        self.headers = {"authorization": "Bearer " + json.loads(made.stdout)["key"]}
        self.log = open(os.path.join(folder, f"{name}.log"), "w+")
        command = [program, "serve", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--log", "warn",
                   "--as-of", TODAY, "--state", state, *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self.log)
        while True:
            line = open(self.log.name).read()
            if "http://" in line and "," in line:
                break
            time.sleep(0.05)
        self.address = line.split("http://")[1].split(",")[0]
        self.connection = http.client.HTTPConnection(self.address, timeout=60)

    def ask(self, target, method="HEAD"):
        self.connection.request(method, target, headers=self.headers)
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            sys.exit(f"{target}: {answer.status} {body[:300]} {open(self.log.name).read()[-2000:]}")
        return body

    def wait(self):
        while True:
            try:
                self.connection.request("GET", "/readyz")
                answer = self.connection.getresponse()
                answer.read()
                if answer.status == 200:
                    return
            except OSError:
                self.connection.close()
            time.sleep(0.1)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def cluster(program, folder, name, nodes):
    settings = {"store": f"{folder}/store", "replicas": 1,
                "nodes": [{"name": node, "address": f"127.0.0.1:{free_port()}"} for node in nodes]}
    path = os.path.join(folder, f"{name}.json")
    with open(path, "w") as file:
        json.dump(settings, file)
    started = []
    for node in nodes:
        arguments = ["--cluster", path, "--node", node, "--shard-cache", f"{folder}/{name}-{node}"]
        started.append(Served(program, folder, f"{name}-{node}", arguments))
    for served in started:
        served.wait()
    return started


def times(served, target, queries):
    for _ in range(max(queries // 10, 5)):
        served.ask(target)
    taken = []
    for _ in range(queries):
        started = time.perf_counter()
        served.ask(target)
        taken.append((time.perf_counter() - started) * 1000)
    taken.sort()
    return statistics.median(taken), taken[int(len(taken) * 0.99)]


def main():
    program = os.path.abspath(sys.argv[1])
    signals = int(sys.argv[2]) if len(sys.argv) > 2 else 300_000
    queries = int(sys.argv[3]) if len(sys.argv) > 3 else 300
    with tempfile.TemporaryDirectory() as folder:
        run = lambda *arguments: subprocess.run([program, *arguments], check=True, cwd=folder)
        run("generate", "--signals", str(signals * WORKERS), "--out", "corpus")
        corpus = ["--companies", "corpus/companies.jsonl", "--signals", "corpus/signals.jsonl"]
        run("build", *corpus, "--out", "whole")
        run("shard", *corpus, "--shards", str(WORKERS), "--out", "parts")
        subprocess.run(["rm", "-r", "corpus"], cwd=folder, check=True)
        run("publish-shards", "parts", f"{folder}/store")
        nodes = cluster(program, folder, "many", even_names())
        alone = cluster(program, folder, "alone", ["alone"])[0]
        whole = Served(program, folder, "whole", [f"{folder}/whole"])
        whole.wait()
        first = json.loads(whole.ask("/api/v1/signals?limit=1&q=new", "GET"))["data"]["items"][0]["id"]
        print(f"\n{WORKERS} x {signals:,} signals, {queries} requests each, milliseconds\n")
        print("| | three workers: median | 99 % | one process, same plan: median | 99 % | times |"
              " one index: median | 99 % |")
        print("|---|--:|--:|--:|--:|--:|--:|--:|")
        for name, target in KINDS:
            target = target or f"/api/v1/signals/{first}"
            answers = {served.ask(target, "GET") for served in (nodes[0], alone, whole)}
            if len(answers) != 1:
                sys.exit(f"{target}: different answers")
            many = times(nodes[0], target, queries)
            one = times(alone, target, queries)
            local = times(whole, target, queries)
            print(f"| {name} | {many[0]:.2f} | {many[1]:.2f} | {one[0]:.2f} | {one[1]:.2f} |"
                  f" {many[0] / one[0]:.1f} | {local[0]:.2f} | {local[1]:.2f} |", flush=True)
        for served in (*nodes, alone, whole):
            served.stop()


main()
