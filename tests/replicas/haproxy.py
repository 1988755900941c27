#!/usr/bin/env python3
"""Two replicas behind haproxy under steady load, a kill, a restart and a new generation.

usage: tests/replicas/haproxy.py PROGRAM [REQUESTS-A-SECOND [KILLS [SIGNALS]]]

The replicas are killed in turn and restarted; then a generation is published that shares its largest
segment with the one before, and then the same compacted, which shares nothing. Every answer is
compared with what the program itself answers on the published directories. It has to hold that no
answer is wrong, that each belongs to one generation, that only requests fail which the killed replica
had under way, that the killed one answers again, that after the swap only the new generation is seen,
and that each replica then maps the files of that generation and no other.
"""

import collections
import http.client
import json
import math
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

PAGE = os.sysconf("SC_PAGE_SIZE")
AS_OF = "2026-06-30"
CLIENTS = 16
FOLLOW_INTERVAL = 0.25
SEARCHES = [
    "limit=50", "limit=7", "q=series", "q=series&limit=3&page=2", "all=series%20a", "exact=machine%20learning",
    "q=series%20-a", "any=raises%20hires", "exclude=series&limit=10", "country=Germany", "country=France&limit=5",
    "size=1-49", "days=30&limit=20", "dateRanges=7,older&limit=4", "dateFrom=2026-01-01&dateTo=2026-03-31",
    "categories=funding,hiring", "fundingCurrency=USD&fundingMin=1000000", "q=series&country=Germany&limit=11",
    "countOnly=true", "q=series&countOnly=true", "country=Germany&countOnly=true", "days=90&countOnly=true",
]
OPTIONS = ["", "country=Germany", "q=series&days=90"]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, (command, done.returncode, done.stderr)
    return done


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Replica:
    """A service that follows the store, with a directory of its own."""

    def __init__(self, name, program, folder, store, state, started):
        self.name, self.started = name, started
        self.port, self.admin_port = free_port(), free_port()
        self.cache = os.path.join(folder, f"cache-{name}")
        self.command = [program, "serve", "--follow", store, "--cache", self.cache, "--state", state,
                        "--follow-interval", str(FOLLOW_INTERVAL), "--as-of", AS_OF, "--log", "error",
                        "--addr", f"127.0.0.1:{self.port}", "--admin-addr", f"127.0.0.1:{self.admin_port}"]
        self.process = None

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.started.append(self.process)
        await_that(lambda: self.ready() is not None, f"{self.name} is ready")

    def ready(self):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            connection.request("GET", "/readyz")
            answer = connection.getresponse()
            return json.loads(answer.read()) if answer.status == 200 else None
        except OSError:
            return None

    def metric(self, name):
        connection = http.client.HTTPConnection("127.0.0.1", self.admin_port, timeout=5)
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
        return next(int(line.split()[1]) for line in lines if line.split()[0] == name)

    def kill(self):
        """Kills it, and says from when to when that took."""
        before = time.monotonic()
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.started.remove(self.process)
        return before, time.monotonic()

    def mapped(self):
        """The mappings of the cache's files: bytes, and those of files that are gone."""
        total = gone = 0
        with open(f"/proc/{self.process.pid}/maps") as maps:
            for line in maps:
                if self.cache in line:
                    start, end = (int(place, 16) for place in line.split()[0].split("-"))
                    total += end - start
                    gone += (end - start) * line.rstrip().endswith("(deleted)")
        return total, gone

    def stored(self):
        """Bytes of the segments in the cache, in whole pages."""
        files = [entry for entry in os.scandir(self.cache) if entry.name.startswith("segment-")]
        return sum(math.ceil(entry.stat().st_size / PAGE) * PAGE for entry in files)

    def resident(self):
        """Resident memory in kB: anonymous, and of files."""
        with open(f"/proc/{self.process.pid}/status") as status:
            lines = dict(line.split(":", 1) for line in status)
        return int(lines["RssAnon"].split()[0]), int(lines["RssFile"].split()[0])


def await_that(holds, what, seconds=60):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.02)


def start_haproxy(folder, replicas, log_port):
    port = free_port()
    servers = "\n".join(f"    server {replica.name} 127.0.0.1:{replica.port} check inter 200ms fall 2 rise 2"
                        for replica in replicas)
    # A refused connection goes to the other replica; what has been sent is never sent twice. Each
    # request has a connection of its own to a replica, so that none is sent on one whose replica has
    # died while it was idle.
    text = f"""
global
    log 127.0.0.1:{log_port} local0
defaults
    mode http
    log global
    log-format "%[capture.req.hdr(0)] %s %ST %tsc"
    timeout connect 1s
    timeout client 30s
    timeout server 30s
    retries 3
    option redispatch 1
    retry-on conn-failure
    option http-server-close
frontend clients
    bind 127.0.0.1:{port}
    http-request capture req.hdr(x-number) len 20
    default_backend replicas
backend replicas
    balance roundrobin
    option httpchk GET /readyz
    http-response set-header x-replica %s
{servers}
"""
    path = os.path.join(folder, "haproxy.cfg")
    with open(path, "w") as file:
        file.write(text)
    process = subprocess.Popen(["haproxy", "-db", "-q", "-f", path], stderr=subprocess.DEVNULL)
    return process, port


class Log(threading.Thread):
    """Which server haproxy gave each request to."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.server_of, self.ends = {}, {}

    def run(self):
        while True:
            line = self.socket.recv(65536).decode().strip()
            fields = line.rsplit(" ", 4)
            if len(fields) == 5 and fields[1].isdigit():
                self.server_of[int(fields[1])] = fields[2]
                self.ends[int(fields[1])] = (fields[3], fields[4])


Request = collections.namedtuple("Request", "number start end target status data replica error")


class Client(threading.Thread):
    """Asks at a steady rate, whatever the answers."""

    def __init__(self, place, port, key, targets, rate, stop):
        super().__init__()
        self.place, self.port, self.key, self.targets = place, port, key, targets
        self.interval, self.stop = CLIENTS / rate, stop
        self.random = random.Random(place)
        self.requests = []

    def run(self):
        due = time.monotonic() + self.interval * self.place / CLIENTS
        count = 0
        while not self.stop.is_set():
            time.sleep(max(0.0, due - time.monotonic()))
            due += self.interval
            number = count * CLIENTS + self.place
            count += 1
            self.requests.append(self.ask(number, self.random.choice(self.targets)))

    def ask(self, number, target):
        # From a client's second request on, haproxy answers the end of a replica by an end of its own,
        # and does not log it. So each request is the first of its connection.
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {"Authorization": f"Bearer {self.key}", "Connection": "close", "x-number": str(number)}
        start = time.monotonic()
        try:
            connection.request("GET", target, headers=headers)
            answer = connection.getresponse()
            body = answer.read()
            data = json.loads(body)["data"] if answer.status == 200 else None
            return Request(number, start, time.monotonic(), target, answer.status, data,
                           answer.getheader("x-replica"), None)
        except (OSError, http.client.HTTPException, ValueError) as error:
            return Request(number, start, time.monotonic(), target, 0, None, None, repr(error))
        finally:
            connection.close()


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


def expected_answers(program, directory, ids):
    """What the program answers on a directory, by target."""
    answers = {}
    ask = lambda *command: json.loads(run(program, *command).stdout)["data"]
    for query in SEARCHES:
        plain = query.replace("%20", " ")
        answers[f"/api/v1/signals?{query}"] = ask("search", directory, plain, "--as-of", AS_OF)
    for query in OPTIONS:
        target = "/api/v1/filter-options" + (f"?{query}" if query else "")
        answers[target] = ask("options", directory, query, "--as-of", AS_OF)
    for number in ids:
        answers[f"/api/v1/signals/{number}"] = ask("signal", directory, number)
    return answers


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


def publish(program, directory, store):
    line = run(program, "publish", directory, store).stderr.strip()
    print(f"publish: {line}")
    return int(line.split(" objects of ")[1].split()[0])


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
    started = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            drive(program, folder, rate, kills, signals, started)
        finally:
            for process in started:
                process.kill()
                process.wait()


def drive(program, folder, rate, kills, signals, started):
    (first, second, third), ids = prepare(program, folder, signals)
    expected = [expected_answers(program, directory, ids) for directory in (first, second)]
    targets = sorted(expected[0])
    changed = sum(expected[0][target] != expected[1][target] for target in targets)
    print(f"{len(targets)} requests, of which {changed} are answered differently by the two generations")
    assert changed >= 10
    assert expected_answers(program, third, ids) == expected[1], "compacting changes no answer"
    store, state = os.path.join(folder, "store"), os.path.join(folder, "state.db")
    publish(program, first, store)
    made = run(program, "keys", "create", "--state", state, "--rate", "1000000", "--burst", "1000000")
    key = json.loads(made.stdout)["key"]
    replicas = [Replica(name, program, folder, store, state, started) for name in ("one", "two")]
    for replica in replicas:
        replica.start()
    log = Log()
    log.start()
    haproxy, port = start_haproxy(folder, replicas, log.port)
    started.append(haproxy)
    await_that(lambda: is_listening(port), "haproxy listens")
    time.sleep(1)

    stop = threading.Event()
    clients = [Client(place, port, key, targets, rate, stop) for place in range(CLIENTS)]
    begun = time.monotonic()
    for client in clients:
        client.start()
    time.sleep(2)
    killed = [kill_and_restart(replicas[number % 2]) for number in range(kills)]
    restarted = time.monotonic()
    time.sleep(2)
    swaps = [swap(program, replicas, directory, store) for directory in (second, third)]
    time.sleep(1)
    stop.set()
    for client in clients:
        client.join()
    ended = time.monotonic()
    time.sleep(0.5)

    requests = [request for client in clients for request in client.requests]
    seen = check_answers(requests, expected, swaps[0])
    under_way, failed = check_failures(requests, log, killed)
    for replica in replicas:
        again = sum(request.replica == replica.name and request.start > restarted for request in requests)
        assert again > 0, f"{replica.name} answers again after its restart"
    assert seen["first only"] > 0 and seen["second only"] > 0, seen
    check_charges(program, state, requests)
    print(f"{len(requests)} requests in {ended - begun:.0f} s by {CLIENTS} clients: {dict(seen)}, 0 wrong; {kills} kills, "
          f"{len(under_way)} requests under way on the killed replicas, {len(failed)} failed, all of them among these")


def is_listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


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


def check_charges(program, state, requests):
    """Each item of a complete answer is charged, and nothing that no request asked for."""
    is_search = lambda request: request.target.startswith("/api/v1/signals?")
    delivered = sum(len(request.data["items"]) for request in requests if request.status == 200 and is_search(request))
    failed = sum(50 for request in requests if request.status != 200 and is_search(request))
    recorded = sum(line["signals"] for line in json.loads(run(program, "usage", "--state", state).stdout))
    assert delivered <= recorded <= delivered + failed, (delivered, recorded, failed)
    print(f"{delivered} items delivered, {recorded} charged")


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
