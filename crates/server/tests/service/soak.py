#!/usr/bin/env python3
"""Runs a service under load for a long time while faults are injected at random.

usage: crates/server/tests/service/soak.py PROGRAM [MINUTES [SEED]]

Clients search with idempotency keys and repeat a request until it is answered; another process updates
and compacts the index. Faults, one at a time with quiet time between: the service killed with SIGKILL
and started again, a writer killed, a writer stopped half way, a writer that meets a full disk (a limit
on file sizes), the state file locked by another process, a log that nobody reads, clients that hang up.
It has to hold that

- every answer is complete, and every unit charged was delivered: delivered = recorded at the end;
- no answer is 5xx outside a fault and the time it needs to heal;
- anonymous memory grows by less than 1 MB in 10 minutes, by a line fitted to the samples of the last two
  thirds of the run, in which the service is not killed.
"""

import http.client
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

PORT = int(os.environ.get("PORT", "18099"))
CLIENTS = 4
# Requests per second and client: kept answers take some 5 KB each for 24 hours.
RATE = 15
SIGNALS = 20_000
# After a fault ends, answers may still be 5xx for this many seconds.
HEALING_SECONDS = 3.0
# Growth allowed, in bytes per 10 minutes.
SLOPE_MAX = 1_000_000
FILTERS = ["", "q=raises&", "country=Germany&", "categories=funding&", "q=robotics%20-intern&", "size=1-49&days=90&"]


class Faults:
    """Which times belong to a fault."""

    def __init__(self):
        self.lock = threading.Lock()
        self.spans = []
        self.counts = {}

    def begin(self, name):
        with self.lock:
            self.counts[name] = self.counts.get(name, 0) + 1
            self.spans.append([time.monotonic(), None])

    def end(self):
        with self.lock:
            self.spans[-1][1] = time.monotonic()

    def covers(self, start, end):
        with self.lock:
            return any(start <= (done or end) + HEALING_SECONDS and begun <= end for begun, done in self.spans)


class Client(threading.Thread):
    """Searches at a steady pace and repeats what was not answered."""

    def __init__(self, number, key, faults, stop):
        super().__init__()
        self.random = random.Random(f"client-{number}")
        self.number, self.key, self.faults, self.stop = number, key, faults, stop
        self.delivered = self.answers = self.repeated = self.refused = 0
        self.problems = []

    def run(self):
        count = 0
        while not self.stop.is_set():
            count += 1
            target = f"/api/v1/signals?{self.random.choice(FILTERS)}limit={self.random.randint(1, 50)}"
            self.deliver(target, f"soak-{self.number}-{count}")
            time.sleep(self.random.expovariate(RATE))

    def deliver(self, target, name):
        """Asks until there is an answer; a client that hangs up is one that never reads the first."""
        if self.random.random() < 0.01:
            hang_up(target, self.key, name)
        while True:
            started = time.monotonic()
            try:
                status, body = ask(target, self.key, name)
            except (OSError, http.client.HTTPException):
                status, body = None, b""
            if status == 200:
                self.delivered += len(json.loads(body)["data"]["items"])
                self.answers += 1
                return
            self.refused += 1
            is_expected = status in (409, 429) or self.faults.covers(started, time.monotonic())
            if not is_expected:
                self.problems.append(f"{target}: {status} {body[:200]}")
                return
            self.repeated += 1
            time.sleep(0.1)


def ask(target, key, name):
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
    try:
        headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": name}
        connection.request("GET", target, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def hang_up(target, key, name):
    try:
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
        connection.request("GET", target, headers={"Authorization": f"Bearer {key}", "Idempotency-Key": name})
        connection.close()
    except OSError:
        pass


class Service:
    """The program under test, and the pipe that takes its log."""

    def __init__(self, program, directory):
        self.command = [program, "serve", f"{directory}/index", "--addr", f"127.0.0.1:{PORT}",
                        "--admin-addr", "127.0.0.1:0", "--state", f"{directory}/state.db"]
        self.reads_log = threading.Event()
        self.start()

    def start(self):
        self.reads_log.set()
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        threading.Thread(target=self.read_log, args=[self.process.stderr], daemon=True).start()
        for _ in range(1000):
            try:
                connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=5)
                connection.request("GET", "/readyz")
                if connection.getresponse().status == 200:
                    return
            except OSError:
                pass
            time.sleep(0.02)
        raise SystemExit("the service does not start")

    def read_log(self, log):
        while True:
            self.reads_log.wait()
            if not os.read(log.fileno(), 1 << 16):
                return

    def anonymous_bytes(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            fields = dict(line.split(":", 1) for line in status)
        return int(fields["RssAnon"].split()[0]) * 1024


class Injector:
    """Injects one fault at a time."""

    def __init__(self, program, directory, service, faults, seed):
        self.program, self.directory, self.service, self.faults = program, directory, service, faults
        self.random = random.Random(seed)
        self.updates = self.compactions = 0

    def update(self, limit_bytes=None, stop_after=None, kill_after=None):
        """Rewrites some of the signals, as the writer of another process does."""
        with open(f"{self.directory}/signals.jsonl") as lines:
            chosen = [line for line in lines if self.random.random() < 0.01]
        path = f"{self.directory}/changed.jsonl"
        with open(path, "w") as changed:
            changed.writelines(chosen)
        command = [self.program, "update", f"{self.directory}/index", "--signals", path]
        if limit_bytes is not None:
            command = ["sh", "-c", f"trap '' XFSZ; ulimit -f {max(1, limit_bytes // 512)}; exec \"$@\"", "sh", *command]
        writer = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if kill_after is not None:
            time.sleep(kill_after)
            writer.kill()
        if stop_after is not None:
            time.sleep(stop_after)
            writer.send_signal(signal.SIGSTOP)
            time.sleep(2)
            writer.send_signal(signal.SIGCONT)
        code = writer.wait()
        self.updates += code == 0
        return code

    def compact(self):
        subprocess.run([self.program, "compact", f"{self.directory}/index"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.compactions += 1

    def kill_service(self):
        self.service.process.kill()
        self.service.process.wait()
        self.service.start()

    def kill_writer(self):
        self.update(kill_after=self.random.uniform(0, 0.2))

    def stop_writer(self):
        self.update(stop_after=self.random.uniform(0, 0.1))

    def fill_disk(self):
        assert self.update(limit_bytes=self.random.randrange(512, 65536)) != 0, "a full disk fails an update"

    def lock_state(self):
        state = sqlite3.connect(f"{self.directory}/state.db", timeout=10, isolation_level=None)
        state.execute("BEGIN IMMEDIATE")
        time.sleep(self.random.uniform(1, 8))
        state.execute("ROLLBACK")
        state.close()

    def stall_log(self):
        self.service.reads_log.clear()
        time.sleep(self.random.uniform(2, 10))
        self.service.reads_log.set()

    def inject(self, may_kill):
        faults = [self.kill_writer, self.stop_writer, self.fill_disk, self.lock_state, self.stall_log]
        fault = self.random.choice(faults + [self.kill_service] * may_kill)
        # Only what can touch an answer is an excuse for one: the others have to go unnoticed.
        is_excuse = fault in (self.kill_service, self.lock_state)
        if is_excuse:
            self.faults.begin(fault.__name__)
        else:
            self.faults.counts[fault.__name__] = self.faults.counts.get(fault.__name__, 0) + 1
        fault()
        if is_excuse:
            self.faults.end()


def slope(samples):
    """Bytes per 10 minutes, by least squares."""
    times = [moment for moment, _ in samples]
    sizes = [size for _, size in samples]
    mean_time, mean_size = sum(times) / len(times), sum(sizes) / len(sizes)
    above = sum((moment - mean_time) * (size - mean_size) for moment, size in samples)
    below = sum((moment - mean_time) ** 2 for moment in times)
    return above / below * 600


def main():
    program = os.path.abspath(sys.argv[1])
    minutes = float(sys.argv[2]) if len(sys.argv) > 2 else 30
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    with tempfile.TemporaryDirectory() as directory:
        def run(*arguments):
            return subprocess.check_output([program, *arguments], stderr=subprocess.DEVNULL)

        run("generate", "--signals", str(SIGNALS), "--out", directory)
        run("build", "--companies", f"{directory}/companies.jsonl", "--signals", f"{directory}/signals.jsonl",
            "--out", f"{directory}/index")
        made = run("keys", "create", "--state", f"{directory}/state.db", "--rate", "100000", "--burst", "100000")
        service = Service(program, directory)
        faults, stop = Faults(), threading.Event()
        injector = Injector(program, directory, service, faults, seed)
        clients = [Client(number, json.loads(made)["key"], faults, stop) for number in range(CLIENTS)]
        for client in clients:
            client.start()
        begun, samples = time.monotonic(), []
        end = begun + minutes * 60
        # The first third may kill the service; memory is sampled in the rest.
        quiet_from = begun + minutes * 20
        next_fault = begun
        while (now := time.monotonic()) < end:
            if now >= next_fault:
                injector.inject(may_kill=now < quiet_from)
                next_fault = time.monotonic() + injector.random.uniform(2, 10)
            elif injector.random.random() < 0.3:
                assert injector.update() == 0, "an update without a fault succeeds"
                if injector.updates % 10 == 0:
                    injector.compact()
            if now >= quiet_from:
                samples.append((now, service.anonymous_bytes()))
            time.sleep(1)
        stop.set()
        for client in clients:
            client.join()
        run("verify", f"{directory}/index")
        usage = json.loads(run("usage", "--state", f"{directory}/state.db"))
        service.process.send_signal(signal.SIGTERM)
        code = service.process.wait()
    recorded = sum(line["signals"] for line in usage)
    delivered = sum(client.delivered for client in clients)
    growth = slope(samples)
    problems = [problem for client in clients for problem in client.problems]
    print(f"{minutes:g} minutes, seed {seed}: {sum(client.answers for client in clients)} answers, "
          f"{sum(client.repeated for client in clients)} repeated; {injector.updates} updates, "
          f"{injector.compactions} compactions; faults {faults.counts}")
    print(f"{delivered} units delivered, {recorded} recorded; memory {growth / 1000:+.0f} KB in 10 minutes, "
          f"{samples[-1][1] / 1e6:.1f} MB at the end")
    minutes_apart = samples[:: max(1, len(samples) * 60 // max(1, round(samples[-1][0] - samples[0][0])))]
    print("anonymous memory in MB, by minute: " + " ".join(f"{size / 1e6:.1f}" for _, size in minutes_apart))
    for problem in problems[:20]:
        print(problem)
    assert not problems, f"{len(problems)} answers failed without a fault"
    assert delivered == recorded, f"{delivered} delivered, {recorded} recorded"
    assert growth < SLOPE_MAX, f"memory grows by {growth:.0f} bytes in 10 minutes"
    assert code == 0, f"SIGTERM ends the service with {code}"


if __name__ == "__main__":
    main()
