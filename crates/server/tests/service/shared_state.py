#!/usr/bin/env python3
"""What processes that share a state file cost each other: latencies of charged requests.

usage: crates/server/tests/service/shared_state.py PROGRAM [SECONDS] [CLIENTS]

Serves the sample by two processes over one state file and prints percentiles of the latency of searches of one
signal, each charged durably: of one process alone, of two that are busy, and of one that is asked now and then beside
a busy one. Checks that each delivered signal is charged once.
"""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

TARGET = "/api/v1/signals?limit=1"


class Service:
    def __init__(self, program, folder):
        self.process = subprocess.Popen(
            [program, "serve", "@sample", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--log", "off",
             "--state", os.path.join(folder, "state.db")],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        assert "http://" in line, line
        self.address = line.split("http://")[1].split(",")[0].strip()

    def stop(self):
        self.process.kill()
        self.process.wait()


class Client(threading.Thread):
    """Asks one thing after the other, with a pause between."""

    def __init__(self, address, key, pause, stop):
        super().__init__()
        self.address, self.key, self.pause, self.stop = address, key, pause, stop
        self.latencies, self.delivered = [], 0

    def run(self):
        connection = http.client.HTTPConnection(self.address, timeout=30)
        while not self.stop.is_set():
            start = time.monotonic()
            connection.request("GET", TARGET, headers={"Authorization": f"Bearer {self.key}"})
            answer = connection.getresponse()
            body = answer.read()
            assert answer.status == 200, (answer.status, body)
            self.latencies.append(time.monotonic() - start)
            self.delivered += len(json.loads(body)["data"]["items"])
            time.sleep(self.pause)
        connection.close()


def measure(key, seconds, *groups):
    """Runs groups of (service, clients, pause) at once; the latencies of each, in milliseconds, ascending."""
    stop = threading.Event()
    clients = [[Client(service.address, key, pause, stop) for _ in range(count)] for service, count, pause in groups]
    for client in sum(clients, []):
        client.start()
    time.sleep(seconds)
    stop.set()
    for client in sum(clients, []):
        client.join()
    latencies = [sorted(1000 * latency for client in group for latency in client.latencies) for group in clients]
    return latencies, sum(client.delivered for client in sum(clients, []))


def shown(latencies):
    at = lambda share: latencies[min(len(latencies) - 1, int(share * len(latencies)))]
    return (f"{len(latencies):6} answers, median {at(0.5):6.1f} ms, 99th percentile {at(0.99):6.1f}, "
            f"longest {latencies[-1]:6.1f}")


def main():
    program = os.path.abspath(sys.argv[1])
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 10.0
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 8
    services = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("SIGNALDEX_FOLDER")) as folder:
        state = os.path.join(folder, "state.db")
        run = lambda *command: json.loads(
            subprocess.run([program, *command], capture_output=True, text=True, check=True).stdout)
        key = run("keys", "create", "--state", state, "--rate", "1000000", "--burst", "1000000")["key"]
        try:
            services += [Service(program, folder), Service(program, folder)]
            one, two = services
            cases = [
                ("one process, the other idle", [(one, count, 0.0)]),
                ("two busy processes", [(one, count, 0.0), (two, count, 0.0)]),
                ("a busy process, and a quiet one", [(one, count, 0.0), (two, 1, 0.02)]),
            ]
            delivered = 0
            for name, groups in cases:
                print(f"{name}:")
                latencies, here = measure(key, seconds, *groups)
                delivered += here
                for group in latencies:
                    print(f"  {shown(group)}")
            charged = sum(line["signals"] for line in run("usage", "--state", state))
            assert charged == delivered, (charged, delivered)
            print(f"{delivered} signals delivered and charged")
        finally:
            for service in services:
                service.stop()


if __name__ == "__main__":
    main()
