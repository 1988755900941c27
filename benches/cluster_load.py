#!/usr/bin/env python3
"""A cluster under load: what a request costs, and what happens when there are too many, or a node is lost.

usage: benches/cluster_load.py PROGRAM [SECONDS [SIGNALS]]

PROGRAM is built with `cargo build --profile measured --features cluster`. Three nodes on loopback hold six shards, or as
many as SIGNALDEX_SHARDS says, each twice. First, 16 connections in all ask one index of everything, and then the nodes, for
pages, counts and filter options alone: processor time a request; and 16, 64 and 256 ask the nodes for pages. Then 16, 64,
256 and 512 connections to each node, or those of SIGNALDEX_LEVELS, ask for all three, for SECONDS a level; after that a
node is killed and started again, and stopped and continued. Every answer is compared with that of the one index. The
tables are Markdown.
"""

import collections
import itertools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

NODES = ["one", "two", "three"]
SHARDS = int(os.environ.get("SIGNALDEX_SHARDS", "6"))
LEVELS = [int(level) for level in os.environ.get("SIGNALDEX_LEVELS", "16,64,256,512").split(",") if level]
KINDS = {
    "page": "/api/v1/signals?q=raises&limit=50",
    "count": "/api/v1/signals?q=raises&countOnly=true",
    "facets": "/api/v1/filter-options?q=raises",
}
# Seconds after which the processor time of a request no longer changes.
COST_SECONDS_MAX = 30
# Seconds that are watched after a node is lost.
AFTER_LOSS = 8
TICKS = os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Served:
    """A process that serves."""

    def __init__(self, program, folder, name, arguments):
        self.state = os.path.join(folder, f"{name}.db")
        made = subprocess.run([program, "keys", "create", "--state", self.state, "--rate", "1000000",
                               "--burst", "1000000"], check=True, capture_output=True)
        self.key = json.loads(made.stdout)["key"]
        self.log_path = os.path.join(folder, f"{name}.log")
        self.admin_port = free_port()
        self.command = [program, "serve", "--admin-addr", f"127.0.0.1:{self.admin_port}", "--log", "warn",
                        "--as-of", "2026-06-30",
                        "--max-connections", "4096", "--state", self.state, "--addr", f"127.0.0.1:{free_port()}",
                        *arguments]
        self.start()

    def start(self):
        with open(self.log_path, "a") as log:
            before = log.tell()
            self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=log)
        while "http://" not in (started := self.log()[before:]):
            time.sleep(0.05)
        host, port = started.split("http://")[1].split(",")[0].split(":")
        self.address = (host, int(port))

    def log(self):
        with open(self.log_path) as log:
            return log.read()

    def cpu(self):
        """Seconds of processor time so far."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def request(self, target):
        return (f"GET {target} HTTP/1.1\r\nhost: node\r\nauthorization: Bearer {self.key}\r\n\r\n").encode()

    def get(self, target):
        with socket.create_connection(self.address, timeout=30) as connection:
            connection.sendall(self.request(target))
            answer = b""
            while (parsed := parse(answer)) is None:
                piece = connection.recv(1 << 16)
                if not piece:
                    raise OSError("no answer")
                answer += piece
            return parsed

    def admin_get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.admin_port}{path}", timeout=30) as answer:
            return answer.read().decode()

    def wait(self):
        while True:
            try:
                if self.get("/readyz")[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.1)

    def stop(self):
        self.process.kill()
        self.process.wait()


def parse(answer):
    """Status, head and body of a whole answer, or None."""
    head, end, body = answer.partition(b"\r\n\r\n")
    if not end:
        return None
    length = head.lower().split(b"content-length: ", 1)
    if len(length) == 2 and len(body) < int(length[1].split(b"\r\n", 1)[0]):
        return None
    return int(head[9:12]), head, body


class Client:
    """A connection that asks again as soon as it is answered."""

    def __init__(self, served, kinds):
        self.served = served
        self.kinds = kinds
        self.connection = None

    def connect(self):
        self.connection = socket.create_connection(self.served.address, timeout=10)
        self.connection.setblocking(False)

    def ask(self):
        self.kind = next(self.kinds)
        self.answer = b""
        self.asked = time.perf_counter()
        self.connection.send(self.served.request(KINDS[self.kind]))


class Load:
    """Connections to some processes, and what came of their requests."""

    def __init__(self, served, connections, kinds, expected):
        self.expected = expected
        self.times = []
        self.codes = collections.Counter()
        self.wrong = 0
        self.last_error = None
        self.not_ready = self.looks = 0
        self.served = served
        self.clients = [Client(each, itertools.cycle(kinds[turn % len(kinds):] + kinds[:turn % len(kinds)]))
                        for each in served for turn in range(connections)]

    def run(self, seconds, at_start=lambda: None):
        poller = select.epoll()
        by_number = {}
        lost = []
        for client in self.clients:
            self.open(client, poller, by_number, lost)
        at_start()
        # On a thread of its own: an answer that waits for a look here would count as late.
        is_over = threading.Event()
        watcher = threading.Thread(target=self.watch, args=[is_over])
        watcher.start()
        self.started = time.perf_counter()
        while time.perf_counter() < self.started + seconds:
            for number, _ in poller.poll(0.05):
                self.read(by_number[number], poller, by_number, lost)
            for client in lost[:]:
                lost.remove(client)
                self.open(client, poller, by_number, lost)
        time_taken = time.perf_counter() - self.started
        for client in self.clients:
            if client.connection:
                client.connection.close()
        poller.close()
        is_over.set()
        watcher.join()
        return time_taken

    def open(self, client, poller, by_number, lost):
        try:
            client.connect()
            client.ask()
        except OSError:
            self.failed("connection")
            lost.append(client)
            return
        number = client.connection.fileno()
        by_number[number] = client
        poller.register(number, select.EPOLLIN)
        self.asked_once(client, poller, by_number, lost)

    def asked_once(self, client, poller, by_number, lost):
        """What happens after a request."""

    def failed(self, code):
        self.codes[code] += 1
        self.last_error = time.perf_counter()

    def read(self, client, poller, by_number, lost):
        try:
            piece = client.connection.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        if not piece:
            number = client.connection.fileno()
            poller.unregister(number)
            del by_number[number]
            client.connection.close()
            self.failed("connection")
            lost.append(client)
            return
        client.answer += piece
        parsed = parse(client.answer)
        if parsed is None:
            return
        status, head, body = parsed
        if status == 200:
            self.codes["200"] += 1
            # What was asked before had to wait for the other connections to be made.
            if client.asked >= self.started:
                self.times.append(time.perf_counter() - client.asked)
            self.wrong += body != self.expected[client.kind]
        else:
            problem = json.loads(body)
            has_pause = b"retry-after" in head.lower()
            detail = problem["detail"] if "queries are under way" not in problem["detail"] else "queue"
            code = f"{status} {problem['code']} ({detail})" + ("" if has_pause else " without Retry-After")
            self.codes[code] += 1
            if detail != "queue":
                self.last_error = time.perf_counter()
        client.ask()
        self.asked_once(client, poller, by_number, lost)

    def watch(self, is_over):
        while not is_over.wait(0.5):
            for served in self.served:
                self.looks += 1
                try:
                    self.not_ready += served.get("/readyz")[0] != 200
                except OSError:
                    self.not_ready += 1

    def p99(self):
        times = sorted(self.times)
        return times[int(len(times) * 0.99)] * 1000 if times else float("nan")


def cost(served, kind, seconds, expected):
    """Processor milliseconds a request of one kind, and requests a second."""
    load = Load(served, 16 // len(served) or 1, [kind], expected)
    before = []
    time_taken = load.run(seconds, lambda: before.extend(each.cpu() for each in served))
    spent = sum(each.cpu() for each in served) - sum(before)
    if load.wrong or set(load.codes) != {"200"}:
        sys.exit(f"{kind}: {load.wrong} wrong, {load.codes}")
    answers = load.codes["200"]
    return spent / answers * 1000, answers / time_taken


def dead(nodes):
    return sum(node.log().count("counts as dead") for node in nodes)


def describe(load, title, nodes_dead, seconds_until_normal=None):
    others = ", ".join(f"{count} {code}" for code, count in sorted(load.codes.items()) if code != "200")
    normal = "" if seconds_until_normal is None else f"{seconds_until_normal:.1f} s"
    print(f"| {title} | {load.codes['200']:,} | {load.wrong} | {others or 'none'} | {load.p99():.0f} ms | {nodes_dead} |"
          f" {load.not_ready} of {load.looks} | {normal} |", flush=True)


def lose(nodes, level, expected, name):
    """Takes a node away under load: killed, or stopped."""
    lost, left = nodes[2], nodes[:2]
    before = dead(left)
    load = Load(left, level, list(KINDS), expected)
    send = lambda: os.kill(lost.process.pid, getattr(signal, name))
    load.run(AFTER_LOSS, send)
    until = (load.last_error or load.started) - load.started
    describe(load, f"{level}, {name}", dead(left) - before, max(until, 0))
    if name == "SIGKILL":
        lost.process.wait()
        lost.start()
    else:
        os.kill(lost.process.pid, signal.SIGCONT)
    for node in nodes:
        node.wait()
    time.sleep(2)


def cluster_of(program, folder, signals):
    """One index and three nodes of the same signals, ready."""
    program = os.path.abspath(program)
    run = lambda *arguments: subprocess.run([program, *arguments], check=True, cwd=folder)
    run("generate", "--signals", str(signals), "--out", "corpus")
    corpus = ["--companies", "corpus/companies.jsonl", "--signals", "corpus/signals.jsonl"]
    run("build", *corpus, "--out", "whole")
    run("shard", *corpus, "--shards", str(SHARDS), "--out", "parts")
    run("publish-shards", "parts", f"{folder}/store")
    settings = {"store": f"{folder}/store", "replicas": 2,
                "nodes": [{"name": node, "address": f"127.0.0.1:{free_port()}"} for node in NODES]}
    with open(f"{folder}/cluster.json", "w") as file:
        json.dump(settings, file)
    whole = Served(program, folder, "whole", [f"{folder}/whole"])
    nodes = [Served(program, folder, node, ["--cluster", f"{folder}/cluster.json", "--node", node,
                                            "--shard-cache", f"{folder}/cache-{node}"]) for node in NODES]
    for served in (whole, *nodes):
        served.wait()
    time.sleep(2)
    return whole, nodes


def expected_of(whole):
    """The answers of one index."""
    return {kind: whole.get(target)[2] for kind, target in KINDS.items()}


def main():
    program = sys.argv[1]
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 20
    signals = int(sys.argv[3]) if len(sys.argv) > 3 else 100_000
    cost_seconds = min(seconds / 2, COST_SECONDS_MAX)
    with tempfile.TemporaryDirectory() as folder:
        whole, nodes = cluster_of(program, folder, signals)
        try:
            expected = expected_of(whole)
            print(f"\n{signals:,} signals, 16 connections\n")
            print("| | one index: CPU ms | a second | three nodes: CPU ms in all | a second | times |")
            print("|---|--:|--:|--:|--:|--:|")
            for kind in KINDS:
                one, one_rate = cost([whole], kind, cost_seconds, expected)
                all_nodes, rate = cost(nodes, kind, cost_seconds, expected)
                print(f"| {kind} | {one:.3f} | {one_rate:,.0f} | {all_nodes:.3f} | {rate:,.0f} | {all_nodes / one:.1f} |",
                      flush=True)
            print("\n| connections in all, for pages | answers | refused | p99 of answers |\n|---|--:|--:|--:|")
            for connections in [16, 64, 256]:
                load = Load(nodes, connections // len(nodes), ["page"], expected)
                load.run(cost_seconds)
                if load.wrong:
                    sys.exit(f"{connections} connections: {load.wrong} wrong")
                answered = load.codes["200"]
                refused = load.codes.total() - answered
                print(f"| {connections} | {answered:,} | {refused:,} | {load.p99():.1f} ms |", flush=True)
            print("\n| connections to each node | answers | wrong | others | p99 of answers | nodes taken for dead |"
                  " not ready | normal after |")
            print("|---|--:|--:|---|--:|--:|--:|--:|")
            for level in LEVELS:
                before = dead(nodes)
                load = Load(nodes, level, list(KINDS), expected)
                load.run(seconds)
                describe(load, level, dead(nodes) - before)
                lose(nodes, level, expected, "SIGKILL")
                lose(nodes, level, expected, "SIGSTOP")
        finally:
            for served in (whole, *nodes):
                served.stop()


if __name__ == "__main__":
    main()
