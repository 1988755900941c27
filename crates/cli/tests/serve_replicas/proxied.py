"""Services behind haproxy, clients that ask them at a steady rate, and the answers that are right."""

import collections
import http.client
import json
import math
import os
import random
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


class Service:
    """A process that serves a corpus."""

    def __init__(self, name, program, state, started, options):
        self.name, self.started = name, started
        self.port, self.admin_port = free_port(), free_port()
        self.command = [program, "serve", *options, "--state", state, "--as-of", AS_OF, "--log", "error",
                        "--addr", f"127.0.0.1:{self.port}", "--admin-addr", f"127.0.0.1:{self.admin_port}"]
        self.process = None

    def start(self):
        self.spawn()
        self.await_ready()

    def spawn(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.started.append(self.process)

    def await_ready(self):
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

    def stop(self):
        """Stops it as systemd does; it has to end by itself."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0, f"{self.name} ends by itself"
        self.started.remove(self.process)

    def kill(self):
        """Kills it, and says from when to when that took."""
        before = time.monotonic()
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.started.remove(self.process)
        return before, time.monotonic()


class Replica(Service):
    """A service that follows the store, with a directory of its own."""

    def __init__(self, name, program, folder, store, state, started, options=()):
        self.cache = os.path.join(folder, f"cache-{name}")
        super().__init__(name, program, state, started, ["--follow", store, "--cache", self.cache, "--follow-interval",
                                                         str(FOLLOW_INTERVAL), *options])

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


def start_haproxy(folder, services, log_port):
    port = free_port()
    servers = "\n".join(f"    server {service.name} 127.0.0.1:{service.port} check inter 200ms fall 2 rise 2"
                        for service in services)
    # A refused connection goes to another service; what has been sent is never sent twice. Each
    # request has a connection of its own to a service, so that none is sent on one whose service has
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


def publish(program, directory, store):
    line = run(program, "publish", directory, store).stderr.strip()
    print(f"publish: {line}")
    return int(line.split(" objects of ")[1].split()[0])


def is_listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def check_charges(program, state, requests):
    """Each item of a complete answer is charged, and nothing that no request asked for."""
    is_search = lambda request: request.target.startswith("/api/v1/signals?")
    delivered = sum(len(request.data["items"]) for request in requests if request.status == 200 and is_search(request))
    failed = sum(50 for request in requests if request.status != 200 and is_search(request))
    recorded = sum(line["signals"] for line in json.loads(run(program, "usage", "--state", state).stdout))
    assert delivered <= recorded <= delivered + failed, (delivered, recorded, failed)
    print(f"{delivered} items delivered, {recorded} charged")


class Proxied:
    """Services behind haproxy, made with a state and the processes that are to be ended, and clients of them."""

    def __init__(self, program, folder, started, make_services):
        self.state = os.path.join(folder, "state.db")
        made = run(program, "keys", "create", "--state", self.state, "--rate", "1000000", "--burst", "1000000")
        self.key = json.loads(made.stdout)["key"]
        self.services = make_services(self.state, started)
        for service in self.services:
            service.spawn()
        for service in self.services:
            service.await_ready()
        self.log = Log()
        self.log.start()
        haproxy, self.port = start_haproxy(folder, self.services, self.log.port)
        started.append(haproxy)
        await_that(lambda: is_listening(self.port), "haproxy listens")
        time.sleep(1)

    def start_clients(self, targets, rate):
        self.stop = threading.Event()
        self.clients = [Client(place, self.port, self.key, targets, rate, self.stop) for place in range(CLIENTS)]
        for client in self.clients:
            client.start()

    def requests(self):
        """All requests, once the clients have stopped."""
        self.stop.set()
        for client in self.clients:
            client.join()
        return [request for client in self.clients for request in client.requests]


def pair_of_replicas(program, folder, store, options=()):
    return lambda state, started: [Replica(name, program, folder, store, state, started, options)
                                   for name in ("one", "two")]


def check_all_answered(requests, expected):
    """No request failed, and each answer is the one expected."""
    failed = [request for request in requests if request.status != 200]
    assert not failed, (len(failed), failed[:3])
    wrong = [request for request in requests if request.data != expected[request.target]]
    assert not wrong, wrong[:1]


def check_rolling(program, proxied, expected, restarted):
    """Ends the clients: nothing failed, each service answered some of it, and what was delivered is charged."""
    requests = proxied.requests()
    check_all_answered(requests, expected)
    names = [service.name for service in proxied.services]
    served = {name: sum(request.replica == name for request in requests) for name in names}
    assert all(served.values()), served
    check_charges(program, proxied.state, requests)
    print(f"{len(requests)} requests, {restarted}: 0 failed, 0 wrong; answered by {served}")


def rolling_main(drive, default_rate):
    """Runs a rolling upgrade: PROGRAM [REQUESTS [REQUESTS-A-SECOND [NEW-PROGRAM]]]."""
    program = os.path.abspath(sys.argv[1])
    wanted = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    rate = float(sys.argv[3]) if len(sys.argv) > 3 else default_rate
    new = os.path.abspath(sys.argv[4]) if len(sys.argv) > 4 else program
    within_a_folder(lambda folder, started: drive(program, new, folder, wanted, rate, started))


def within_a_folder(drive):
    """Drives a test in a folder of its own, and ends every process that it has started."""
    started = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            drive(folder, started)
        finally:
            for process in started:
                process.kill()
                process.wait()
